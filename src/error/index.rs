//! Errors of index expressions with arrays.

use crate::text::Shape;

/// Arrays that cannot index an array of this shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum IndexError {
    /// A number of values that is not the product of their shape.
    #[error(
        "entry {item} has {found} values, which do not fill its shape {}",
        Shape(shape)
    )]
    Values {
        /// The number of the entry, from 0.
        item: usize,
        /// The number of its values.
        found: usize,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// A position outside of its dimension.
    #[error(
        "entry {item} has position {position}, but dimension {axis} has size {size}: positions are {} to {}",
        -(*size as i64),
        *size as i64 - 1
    )]
    Position {
        /// The number of the entry.
        item: usize,
        /// The position.
        position: i64,
        /// The dimension.
        axis: usize,
        /// Its size.
        size: usize,
    },
    /// A mask of other sizes than those of the dimensions that it selects from.
    #[error(
        "entry {item} is a mask of shape {}, but the dimensions from {axis} on have sizes {}: they must be equal",
        Shape(mask),
        Shape(sizes)
    )]
    MaskShape {
        /// The number of the entry.
        item: usize,
        /// The shape of the mask.
        mask: Vec<usize>,
        /// The first dimension.
        axis: usize,
        /// The sizes of the dimensions.
        sizes: Vec<usize>,
    },
    /// Arrays that cannot be broadcast against each other.
    #[error(
        "entry {item} selects positions of shape {}, which cannot be broadcast with {}, the shape of those before: \
         counted from the last, sizes must be equal or 1; an outer expression takes all combinations",
        Shape(found),
        Shape(before)
    )]
    ArrayShapes {
        /// The number of the entry.
        item: usize,
        /// Its shape.
        found: Vec<usize>,
        /// The shape of the entries before it.
        before: Vec<usize>,
    },
    /// An array of an outer expression that does not have one dimension.
    #[error("entry {item} has {rank} dimensions: in an outer expression an array has one")]
    OuterRank {
        /// The number of the entry.
        item: usize,
        /// The number of dimensions.
        rank: usize,
    },
}
