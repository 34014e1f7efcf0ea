//! Errors of scatters.

use super::axes::Axes;
use crate::text::Shape;

/// Indices, updates and the destination do not match, the combination is not defined for the element type, or an index
/// is out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ScatterError {
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
    /// `indices`, `updates` or the destination is empty, but `indices` and `updates` are not both empty. For a new
    /// array, a scalar destination counts as empty, as in TensorFlow.
    #[error(
        "indices of shape {} and updates of shape {} cannot be scattered into shape {}: {}",
        Shape(indices),
        Shape(updates),
        Shape(shape),
        if shape.is_empty() && !indices.contains(&0) && !updates.contains(&0) {
            "a new array must have at least one dimension, such as [1]"
        } else {
            "where one of the three is empty, indices and updates must both be"
        }
    )]
    EmptyOutput {
        /// The shape of `indices`.
        indices: Vec<usize>,
        /// The shape of `updates`.
        updates: Vec<usize>,
        /// The shape of the destination.
        shape: Vec<usize>,
    },
    /// Updates that do not have one slice for each index tuple, or indices of rank 1, which TensorFlow refuses unless
    /// they and the first dimension of the destination are empty.
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
        /// The shape of the destination.
        shape: Vec<usize>,
    },
    /// `scatter_elements` along a dimension that the destination does not have.
    #[error("axis is {axis}, but the destination {}", Axes(*rank))]
    Axis {
        /// The given `axis`.
        axis: isize,
        /// The rank of the destination.
        rank: usize,
    },
    /// Indices of `scatter_elements` that differ from the destination in rank, or are longer than the destination in
    /// a dimension other than the axis.
    #[error(
        "indices of shape {} must have as many dimensions as the destination {}, and no longer \
         ones but dimension {axis}, the axis",
        Shape(indices),
        Shape(shape)
    )]
    ElementsShape {
        /// The dimension of the destination that is indexed, counted from 0.
        axis: usize,
        /// The shape of `indices`.
        indices: Vec<usize>,
        /// The shape of the destination.
        shape: Vec<usize>,
    },
    /// `scatter_elements` with updates whose shape is not that of the indices.
    #[error(
        "updates have shape {}, but there must be one for each index: indices have shape {}",
        Shape(updates),
        Shape(indices)
    )]
    UpdateForEachIndex {
        /// The shape of `indices`.
        indices: Vec<usize>,
        /// The shape of `updates`.
        updates: Vec<usize>,
    },
    /// A combination that is not defined for the element type.
    #[error(
        "Combine::{combine:?} is not defined for {dtype}: booleans cannot be subtracted, and complex \
         numbers have no minimum or maximum; choose another Combine, or convert the elements"
    )]
    Undefined {
        /// How the scatter combines elements.
        combine: crate::options::Combine,
        /// The element type.
        dtype: crate::DType,
    },
}
