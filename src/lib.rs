//! placeholder
#![forbid(unsafe_code)]
mod dtype;
pub mod reference;
pub use dtype::DType;
