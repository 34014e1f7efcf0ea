//! What can be wrong with the dimensions of a view.

use crate::text::Shape;

/// Dimensions that cannot be put in another order, or made larger.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// An order of dimensions that leaves one out.
    #[error(
        "the permutation {permutation:?} does not order {rank} dimensions: \
         it must name each of 0 to {rank} (exclusive) once"
    )]
    Permutation {
        /// What was given.
        permutation: Vec<usize>,
        /// How many dimensions there are.
        rank: usize,
    },
    /// A shape that others cannot be repeated to.
    #[error(
        "shape {} cannot be broadcast to {}: counted from the last, each dimension must be equal or 1",
        Shape(from),
        Shape(to)
    )]
    Broadcast {
        /// The shape there is.
        from: Vec<usize>,
        /// The shape that was asked for.
        to: Vec<usize>,
    },
}
