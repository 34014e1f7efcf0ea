//! Errors of index expressions with arrays.

use super::{Error, argument};
use crate::text::Shape;

/// Returns the error for a number of values that differs from the product of their shape.
pub(crate) fn wrong_value_count(item: usize, found: usize, shape: &[usize]) -> Error {
    argument!(
        Values,
        "entry {item} has {found} values, which do not fill its shape {}",
        Shape(shape)
    )
}

/// Returns the error for a position outside its dimension.
pub(crate) fn position_out_of_range(item: usize, position: i64, axis: usize, size: usize) -> Error {
    match size {
        0 => argument!(
            Position,
            "entry {item} has position {position}, but dimension {axis} has size 0, and no positions: take an array without \
             positions"
        ),
        _ => argument!(
            Position,
            "entry {item} has position {position}, but dimension {axis} has size {size}: positions are {} to {}",
            -(size as i64),
            size as i64 - 1
        ),
    }
}

/// Returns the error for a mask whose sizes differ from the sizes of the dimensions that it selects from.
pub(crate) fn mask_shape(item: usize, mask: &[usize], axis: usize, sizes: &[usize]) -> Error {
    argument!(
        MaskShape,
        "entry {item} is a mask of shape {}, but the dimensions from {axis} on have sizes {}: they must be equal",
        Shape(mask),
        Shape(sizes)
    )
}

/// Returns the error for arrays that cannot be broadcast against each other.
pub(crate) fn array_shapes(item: usize, found: &[usize], earlier: &[usize]) -> Error {
    argument!(
        ArrayShapes,
        "entry {item} selects positions of shape {}, which cannot be broadcast with {}, the shape of the entries before it: \
         counted from the last, sizes must be equal or 1; an outer expression takes all combinations",
        Shape(found),
        Shape(earlier)
    )
}

/// Returns the error for an outer expression with an array that does not have exactly one dimension.
pub(crate) fn outer_rank(item: usize, rank: usize) -> Error {
    argument!(
        OuterRank,
        "entry {item} has {rank} dimensions: in an outer expression an array has one"
    )
}
