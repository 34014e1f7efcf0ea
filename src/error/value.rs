//! Errors of arguments of any operation.

use super::{Error, argument};
use crate::{DType, text::Shape};

/// Returns the error for a tensor that is read as another element type than its own.
pub(crate) fn wrong_dtype(found_dtype: DType, asked_dtype: DType) -> Error {
    argument!(
        Dtype,
        "the tensor holds {found_dtype}, but was read as {asked_dtype}: read it as its own dtype"
    )
}

/// Returns the error for an index tensor whose element type is not `i32`, `i64` or `u32`.
pub(crate) fn index_dtype(argument: &str, found_dtype: DType) -> Error {
    argument!(
        IndexDtype,
        "{argument} are {found_dtype}, but must be i32, i64 or u32: convert them first"
    )
}

/// Returns the error for an argument with another element type than the array to which its elements are written.
pub(crate) fn dtype_mismatch(argument: &str, found_dtype: DType, needed_dtype: DType) -> Error {
    argument!(
        DtypeMismatch,
        "{argument} is {found_dtype}, but goes into an array of {needed_dtype}: convert it first, elements are \
         moved as they are"
    )
}

/// Returns the error for a plan with several steps that write the result, if the call needs a plan with one such step.
pub(crate) fn steps(intended_use: &str, operation: &str) -> Error {
    argument!(
        Steps,
        "several steps write the result of {operation}, so it cannot be {intended_use}: do that in a separate plan, before or \
         after"
    )
}

/// Returns the error for a number of inputs or outputs that differs from the plan's.
pub(crate) fn arguments(list_name: &str, found_count: usize, needed_count: usize) -> Error {
    argument!(
        Arguments,
        "the number of {list_name} must be {needed_count}, but the call has {found_count}: pass them in the order of \
         Plan::{list_name}"
    )
}

/// Returns the error for two tensors on different devices.
pub(crate) fn device_mismatch(argument: &str) -> Error {
    argument!(
        DeviceMismatch,
        "{argument} lives on another device than the tensor that it is used with: \
         upload it to the same backend"
    )
}

/// Returns the error for a destination tensor whose shape or element type differs from the result's.
pub(crate) fn dest_mismatch(
    shape: &[usize],
    dtype: DType,
    needed_shape: &[usize],
    needed_dtype: DType,
) -> Error {
    argument!(
        DestMismatch,
        "dest is {dtype} {}, but the result is {needed_dtype} {}: \
         pass a tensor of that shape and type, or let Tensor::slice make one",
        Shape(shape),
        Shape(needed_shape)
    )
}
