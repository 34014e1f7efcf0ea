//! The errors of all operations. A message names the argument, its value, the broken rule and a remedy, where they
//! apply.

use any::Error;
use argument::argument;

pub(crate) mod any;
mod argument;
pub(crate) mod assembly;
mod axes;
mod cause;
pub(crate) mod convert;
pub(crate) mod crop;
pub(crate) mod gather;
pub(crate) mod index;
mod invalid_index;
mod kind;
pub(crate) mod mask;
mod parse;
pub(crate) mod scatter;
pub(crate) mod spec;
#[cfg(feature = "gpu")]
pub(crate) mod texture;
pub(crate) mod value;
pub(crate) mod view;
pub(crate) mod xla;

pub use argument::ArgumentError;
pub use cause::Cause;
pub use invalid_index::InvalidIndex;
pub use kind::ArgumentKind;
pub use parse::ParseError;
