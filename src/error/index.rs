//! Errors of index expressions with arrays.

use super::{Error, argument};
use crate::text::Shape;

/// Returns the error for a number of values that differs from the product of their shape.
pub(crate) fn wrong_value_count(entry_index: usize, found_count: usize, shape: &[usize]) -> Error {
    argument!(
        Values,
        "entry {entry_index} has {found_count} values, which do not fill its shape {}",
        Shape(shape)
    )
}

/// Returns the error for a position outside its dimension.
pub(crate) fn position_out_of_range(
    entry_index: usize,
    position: i64,
    axis: usize,
    size: usize,
) -> Error {
    match size {
        0 => argument!(
            Position,
            "entry {entry_index} has position {position}, but dimension {axis} has size 0, and no positions: take an array without \
             positions"
        ),
        _ => argument!(
            Position,
            "entry {entry_index} has position {position}, but dimension {axis} has size {size}: positions are {} to {}",
            -(size as i64),
            size as i64 - 1
        ),
    }
}

/// Returns the error for a mask whose sizes differ from the sizes of the dimensions that it selects from.
pub(crate) fn mask_shape(
    entry_index: usize,
    mask_shape: &[usize],
    axis: usize,
    sizes: &[usize],
) -> Error {
    argument!(
        MaskShape,
        "entry {entry_index} is a mask of shape {}, but the dimensions from {axis} on have sizes {}: they must be equal",
        Shape(mask_shape),
        Shape(sizes)
    )
}

/// Returns the error for arrays that cannot be broadcast against each other.
pub(crate) fn array_shapes(
    entry_index: usize,
    found_shape: &[usize],
    earlier_shape: &[usize],
) -> Error {
    argument!(
        ArrayShapes,
        "entry {entry_index} selects positions of shape {}, which cannot be broadcast with {}, the shape of the entries before it: \
         counted from the last, sizes must be equal or 1; an outer expression takes all combinations",
        Shape(found_shape),
        Shape(earlier_shape)
    )
}

/// Returns the error for an outer expression with an array that does not have exactly one dimension.
pub(crate) fn outer_rank(entry_index: usize, rank: usize) -> Error {
    argument!(
        OuterRank,
        "entry {entry_index} has {rank} dimensions: in an outer expression an array has one"
    )
}
