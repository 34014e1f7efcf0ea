//! Errors of nonzero, boolean_mask, compress, select, masked_update and masked_scatter.

use super::axes::Axes;
use crate::{
    DType,
    text::{Shape, counted},
};

/// A mask that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MaskError {
    /// An axis that the array does not have.
    #[error("axis is {axis}, but x {}", Axes(*rank))]
    Axis {
        /// The given axis.
        axis: isize,
        /// The number of dimensions of x.
        rank: usize,
    },
    /// More true elements than there is room for.
    #[error(
        "the mask has {count} true elements, but there is room for {capacity}: \
         ask for a larger capacity, or use the first {capacity}"
    )]
    Capacity {
        /// The number of true elements.
        count: usize,
        /// The number that there is room for.
        capacity: usize,
    },
    /// Values that are not as many as the true elements.
    #[error(
        "the mask has {count} true elements, and there are {values} rows of values: pass one for each"
    )]
    Count {
        /// The number of true elements.
        count: usize,
        /// The number of values.
        values: usize,
    },
    /// A mask of another type than bool and u8.
    #[error("the mask is {found}, but must be bool or u8: compare it with zero first")]
    DType {
        /// The element type of the mask.
        found: DType,
    },
    /// A type that does not hold all positions.
    #[error(
        "positions in a mask of shape {} are to be {found}: ask for i64, or for i32 or u32 if they hold every position",
        Shape(mask)
    )]
    Index {
        /// The type that was asked for.
        found: DType,
        /// The shape of the mask.
        mask: Vec<usize>,
    },
    /// A condition that is not a vector.
    #[error("the condition has shape {}: it must have one dimension", Shape(shape))]
    ConditionRank {
        /// The shape of the condition.
        shape: Vec<usize>,
    },
    /// A condition that is longer than the axis.
    #[error(
        "the condition has {}: it must have at most {size}, the size of the axis",
        counted(*length, "element", "elements")
    )]
    Condition {
        /// The number of elements of the condition.
        length: usize,
        /// The size of the axis.
        size: usize,
    },
    /// A scalar mask.
    #[error("the mask is a scalar: it must have at least one dimension")]
    Scalar,
    /// A mask whose shape is not that of the dimensions that it selects from.
    #[error(
        "the mask has shape {}, which must be that of the dimensions of x {} from dimension {axis} on",
        Shape(mask),
        Shape(x)
    )]
    Shape {
        /// The shape of the mask.
        mask: Vec<usize>,
        /// The shape of x.
        x: Vec<usize>,
        /// The first dimension.
        axis: usize,
    },
    /// Values whose shape is not that of the slices that they replace.
    #[error(
        "values of shape {} replace slices of x {} that a mask of {mask} dimensions selects: \
         they must have one dimension more than a slice, and its shape behind that",
        Shape(values),
        Shape(x)
    )]
    Values {
        /// The shape of the values.
        values: Vec<usize>,
        /// The shape of x.
        x: Vec<usize>,
        /// The number of dimensions of the mask.
        mask: usize,
    },
}
