//! Errors of arguments of any operation.

use crate::text::Shape;

/// An argument of another type, shape or device than needed, or an option that the operation does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ValueError {
    /// A tensor that is read as an element type other than its own.
    #[error("the tensor holds {found} and was asked for as {asked}: read it as its own dtype")]
    DType {
        /// The element type of the tensor.
        found: crate::DType,
        /// The requested element type.
        asked: crate::DType,
    },
    /// An index tensor whose element type is not `i32`, `i64` or `u32`.
    #[error("{argument} are {found}, but must be i32, i64 or u32: convert them first")]
    IndexDType {
        /// The name of the argument: `"indices"`, or `"begins"` of a crop.
        argument: &'static str,
        /// The element type of the index tensor.
        found: crate::DType,
    },
    /// An argument whose elements go into an array of another element type.
    #[error(
        "{argument} is {found}, but goes into an array of {needed}: convert it first, elements are \
         moved as they are"
    )]
    DTypeMismatch {
        /// The name of the argument.
        argument: &'static str,
        /// The element type of the argument.
        found: crate::DType,
        /// The element type of the array.
        needed: crate::DType,
    },
    /// An option that the operation does not have: it must keep its default.
    #[error("{operation} has no {option}: leave it as in the default options")]
    UnusedOption {
        /// The name of the operation.
        operation: &'static str,
        /// The name of the option.
        option: &'static str,
    },
    /// Two tensors on different devices.
    #[error(
        "{argument} lives on another device than the tensor that it is used with: \
         upload it to the same backend"
    )]
    DeviceMismatch {
        /// The name of the argument.
        argument: &'static str,
    },
    /// A destination tensor whose shape or element type is not that of the result.
    #[error(
        "dest is {dtype} {}, but the result is {needed_dtype} {}: \
         pass a tensor of that shape and type, or let Tensor::slice make one",
        Shape(shape),
        Shape(needed_shape)
    )]
    DestMismatch {
        /// The shape of the tensor.
        shape: Vec<usize>,
        /// The element type of the tensor.
        dtype: crate::DType,
        /// The shape of the result.
        needed_shape: Vec<usize>,
        /// The element type of the result.
        needed_dtype: crate::DType,
    },
}
