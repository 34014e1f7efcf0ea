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
    /// A plan whose result cannot be written to a view.
    #[error(
        "{operation} has no result that could be written to a view: it changes an array itself, or converts; use a \
         slice, a gather or a crop"
    )]
    IntoView {
        /// The name of the plan's operation.
        operation: &'static str,
    },
    /// A destination of another shape than the result.
    #[error(
        "the destination is a view of shape {}, but the result has shape {}",
        Shape(found),
        Shape(needed)
    )]
    DestShape {
        /// The shape of the destination.
        found: Vec<usize>,
        /// The shape of the result.
        needed: Vec<usize>,
    },
    /// A plan that does not change this tensor in place.
    #[error(
        "{plan} does not change an array of shape {} and of this tensor's type in place",
        Shape(shape)
    )]
    InPlace {
        /// The plan, in words.
        plan: String,
        /// The shape of the tensor.
        shape: Vec<usize>,
    },
    /// An argument of a plan that is missing, that is too many, or that has another shape.
    #[error(
        "{argument}: the call has {}, the plan needs {}",
        shape_or_none(found),
        shape_or_none(needed)
    )]
    Argument {
        /// The name of the argument.
        argument: &'static str,
        /// Its shape. `None` if there is none.
        found: Option<Vec<usize>>,
        /// The shape that the plan needs. `None` if it takes no such argument.
        needed: Option<Vec<usize>>,
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

fn shape_or_none(shape: &Option<Vec<usize>>) -> String {
    match shape {
        Some(shape) => format!("shape {}", Shape(shape)),
        None => "none".into(),
    }
}
