//! Columns of tensors: their types and their values.
//!
//! A column of tensors is a nested `FixedSizeList` of numbers: `FixedSizeList<FixedSizeList<f32, 3>, 2>` has a tensor
//! of shape [2, 3] in each row. The shape is part of the Arrow type, so every engine keeps it. All values are in one
//! buffer in row-major order, so reading them copies nothing, with two exceptions. Booleans are copied, because Arrow
//! stores them as bits, and the library takes bytes. Tensors with permuted dimensions are copied into row-major order.
//!
//! | column | tensors |
//! |---|---|
//! | booleans, integers of 8 to 64 bits, floats of 16 to 64 bits | scalars, of shape [] |
//! | `FixedSizeList` of these, nested to any depth | a dimension for each level of lists |
//! | one `FixedSizeList` of these with the extension type `arrow.fixed_shape_tensor` | the shape in the field's metadata, its dimensions in the order of the `permutation` |
//!
//! A null row is a missing tensor. Nulls within a tensor are rejected.

mod column;
mod tensor_type;

pub use column::{Column, Integers, zeroed};
pub use tensor_type::{Layout, TensorType};
