//! What can be wrong with a scatter.

use super::BadRow;
use crate::text::Shape;

/// Indices, updates and an array that they are scattered into, which do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScatterError {
    /// `indices` or `updates` is a scalar.
    #[error(
        "indices have shape {} and updates {}: both must have at least one dimension",
        Shape(indices),
        Shape(updates)
    )]
    UpdatesRank {
        /// The shape of `indices`.
        indices: Vec<usize>,
        /// The shape of `updates`.
        updates: Vec<usize>,
    },
    /// Something is empty, and not all of it.
    #[error(
        "indices of shape {} and updates of shape {} cannot be scattered into shape {}: where one of \
         the three is empty, indices and updates must both be",
        Shape(indices),
        Shape(updates),
        Shape(shape)
    )]
    EmptyOutput {
        /// The shape of `indices`.
        indices: Vec<usize>,
        /// The shape of `updates`.
        updates: Vec<usize>,
        /// The shape that they go into.
        shape: Vec<usize>,
    },
    /// Updates that are not a slice for each index tuple.
    #[error(
        "updates have shape {}, but with indices of shape {} into shape {} they must have all \
         dimensions of the indices but the last, of which there must be one, and then those of the \
         output that the last does not index",
        Shape(updates),
        Shape(indices),
        Shape(shape)
    )]
    UpdatesShape {
        /// The shape of `indices`.
        indices: Vec<usize>,
        /// The shape of `updates`.
        updates: Vec<usize>,
        /// The shape that they go into.
        shape: Vec<usize>,
    },
    /// Elements that cannot be combined so.
    #[error(
        "Combine::{combine:?} is not defined for {dtype}: booleans cannot be subtracted, and complex \
         numbers have no minimum or maximum; choose another Combine, or convert the elements"
    )]
    Undefined {
        /// What a row was to do to its slice.
        combine: crate::Combine,
        /// The element type.
        dtype: crate::DType,
    },
    /// An index tuple points outside.
    #[error(
        "{bad} of {rows} index tuples are out of range, the first at {first} of shape {}: \
         correct them, or choose OutOfRange::Zero or OutOfRange::Clamp",
        Shape(shape)
    )]
    OutOfRange {
        /// The first such tuple.
        first: Box<BadRow>,
        /// How many there are.
        bad: usize,
        /// How many tuples there are in all.
        rows: usize,
        /// The shape that they go into.
        shape: Vec<usize>,
    },
}
