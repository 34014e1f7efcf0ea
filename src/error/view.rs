//! Errors of views.

use crate::text::Shape;
use std::ops::Range;

/// A view or a tensor that cannot be permuted, broadcast or reshaped as asked, or a plan that has no such part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ViewError {
    /// A permutation that does not name each dimension once.
    #[error(
        "the permutation {permutation:?} does not order {rank} dimensions: \
         it must name each of 0 to {rank} (exclusive) once"
    )]
    Permutation {
        /// The given permutation.
        permutation: Vec<usize>,
        /// The number of dimensions.
        rank: usize,
    },
    /// A shape that the view cannot be broadcast to.
    #[error(
        "shape {} cannot be broadcast to {}: counted from the last, each dimension must be equal or 1",
        Shape(from),
        Shape(to)
    )]
    Broadcast {
        /// The shape of the view.
        from: Vec<usize>,
        /// The requested shape.
        to: Vec<usize>,
    },
    /// A destination that was broadcast.
    #[error(
        "the destination, a view of shape {}, selects elements several times: write to a view that was not broadcast",
        Shape(shape)
    )]
    Repeats {
        /// The shape of the destination.
        shape: Vec<usize>,
    },
    /// A shape whose number of elements is not that of the tensor.
    #[error(
        "a tensor of shape {} cannot be reshaped to {}: both must have equally many elements",
        Shape(from),
        Shape(to)
    )]
    Reshape {
        /// The shape of the tensor.
        from: Vec<usize>,
        /// The requested shape.
        to: Vec<usize>,
    },
    /// A box that does not lie in the result of a plan.
    #[error(
        "the box {ranges:?} does not lie in a result of shape {}: \
         it must have a range for each dimension, which ends at its size or before",
        Shape(shape)
    )]
    Box {
        /// The given ranges.
        ranges: Vec<Range<usize>>,
        /// The shape of the result.
        shape: Vec<usize>,
    },
    /// A plan that the called method cannot cut into parts.
    #[error(
        "a {operation} has no such parts: Plan::part takes slices, views, and gathers with their indices"
    )]
    NoParts {
        /// The name of the operation.
        operation: &'static str,
    },
}
