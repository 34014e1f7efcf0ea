//! placeholder
#![forbid(unsafe_code)]
mod dtype;
pub use dtype::DType;
