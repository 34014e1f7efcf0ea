//! The errors of all operations. A message names the argument, its value, the broken rule and a remedy, as far as the
//! error has these.

use any::Error;

pub(crate) mod any;
mod argument;
mod assembly;
mod axes;
mod cause;
mod convert;
mod crop;
mod gather;
mod index;
mod invalid_index;
mod mask;
mod parse;
mod scatter;
mod spec;
mod texture;
mod value;
mod view;
mod xla;

pub use argument::ArgumentError;
pub(crate) use assembly::AssemblyError;
pub use cause::Cause;
pub(crate) use convert::ConvertError;
pub(crate) use crop::CropError;
pub(crate) use gather::GatherError;
pub(crate) use index::IndexError;
pub use invalid_index::InvalidIndex;
pub(crate) use mask::MaskError;
pub use parse::ParseError;
pub(crate) use scatter::ScatterError;
pub(crate) use spec::SpecError;
pub(crate) use texture::TextureError;
pub(crate) use value::ValueError;
pub(crate) use view::ViewError;
pub(crate) use xla::XlaError;
