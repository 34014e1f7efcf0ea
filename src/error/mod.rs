//! The errors of all operations. A message names the argument, its value, the broken rule and a remedy, as far as the
//! error has these.

pub(crate) mod any;
mod axes;
mod cause;
mod crop;
mod gather;
mod invalid_index;
mod parse;
mod scatter;
mod spec;
mod texture;
mod view;

pub use cause::Cause;
pub use crop::CropError;
pub use gather::GatherError;
pub use invalid_index::InvalidIndex;
pub use parse::ParseError;
pub use scatter::ScatterError;
pub use spec::SpecError;
pub use texture::TextureError;
pub use view::ViewError;
