//! Errors of nonzero, boolean_mask, compress, select, masked_update and masked_scatter.

use super::{Error, argument, axes::AxisList};
use crate::prelude::*;
use crate::{
    DType,
    text::{Shape, counted},
};

/// Returns the error for an axis that the array does not have.
pub(crate) fn axis(axis: isize, rank: usize) -> Error {
    argument!(Axis, "axis is {axis}, but x {}", AxisList(rank))
}

/// Returns the error for a mask with more true elements than the capacity.
pub(crate) fn capacity_exceeded(count: usize, capacity: usize) -> Error {
    argument!(
        MaskCapacity,
        "the mask has {count} true elements, but the capacity is {capacity}: \
         ask for a larger capacity, or use the first {capacity}"
    )
}

/// Returns the error for a number of values that differs from the number of true elements.
pub(crate) fn count(count: usize, values: usize) -> Error {
    argument!(
        MaskCount,
        "the mask has {count} true elements, and there are {values} rows of values: pass one for each"
    )
}

/// Fails if arrays of this type cannot be masks.
pub(crate) fn check(found_dtype: DType) -> Result<(), Error> {
    match found_dtype {
        DType::Bool | DType::U8 => Ok(()),
        _ => Err(argument!(
            MaskDtype,
            "the mask is {found_dtype}, but must be bool or u8: compare it with zero first"
        )),
    }
}

/// Returns the error for an integer type that cannot hold every position in the mask.
pub(crate) fn index(found_dtype: DType, mask_shape: &[usize]) -> Error {
    argument!(
        MaskIndex,
        "positions in a mask of shape {} cannot be {found_dtype}: ask for i64, or for i32 or u32 if they hold every position",
        Shape(mask_shape)
    )
}

/// Returns the error for a condition that is not a vector.
pub(crate) fn condition_rank(shape: &[usize]) -> Error {
    argument!(
        Condition,
        "the condition has shape {}: it must have one dimension",
        Shape(shape)
    )
}

/// Returns the error for a condition of `compress` with more elements than the axis has positions.
pub(crate) fn condition(length: usize, size: usize) -> Error {
    let limit = match size {
        0 => "none, since the axis has no positions".into(),
        _ => format!("at most {size}, the size of the axis"),
    };
    argument!(
        Condition,
        "the condition has {}: it must have {limit}",
        counted(length, "element", "elements")
    )
}

/// Returns the error for a scalar mask.
pub(crate) fn scalar() -> Error {
    argument!(
        MaskScalar,
        "the mask is a scalar: it must have at least one dimension"
    )
}

/// Returns the error for a mask whose shape differs from the dimensions that it selects from.
pub(crate) fn shape(mask_shape: &[usize], x_shape: &[usize], axis: usize) -> Error {
    argument!(
        MaskShape,
        "the mask has shape {}, but must have the dimensions of x {} from dimension {axis} on",
        Shape(mask_shape),
        Shape(x_shape)
    )
}

/// Returns the error for values whose shape differs from the shape of the slices that they replace.
pub(crate) fn values(values_shape: &[usize], x_shape: &[usize], mask_rank: usize) -> Error {
    argument!(
        MaskValues,
        "values of shape {} replace slices of x {} that a mask of {mask_rank} dimensions selects: \
         they must have one dimension more than a slice, and then its shape",
        Shape(values_shape),
        Shape(x_shape)
    )
}

/// Returns the error for a plan that cannot get the number of true elements as an output: it does not count them, or it
/// already has this output.
pub(crate) fn no_count(operation: &str) -> Error {
    argument!(
        Count,
        "{operation} has no number of true elements to add as an output: use a plan that searches a mask, such as \
         Plan::nonzero or Plan::boolean_mask, and add the output once"
    )
}
