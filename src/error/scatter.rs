//! Errors of scatters.

use super::{Error, argument, axes::AxisList};
use crate::text::Shape;

/// Returns the error for scalar `indices` or `updates`.
pub(crate) fn updates_rank(indices_shape: &[usize], updates_shape: &[usize]) -> Error {
    argument!(
        UpdatesRank,
        "indices have shape {} and updates {}: both must have at least one dimension",
        Shape(indices_shape),
        Shape(updates_shape)
    )
}

/// Returns the error for an empty `indices`, `updates` or destination, unless `indices` and `updates` are both empty.
/// For a new array, a scalar destination counts as empty, as in TensorFlow.
pub(crate) fn empty_output(
    indices_shape: &[usize],
    updates_shape: &[usize],
    shape: &[usize],
) -> Error {
    argument!(
        EmptyOutput,
        "indices of shape {} and updates of shape {} cannot be scattered into shape {}: {}",
        Shape(indices_shape),
        Shape(updates_shape),
        Shape(shape),
        if shape.is_empty() && !indices_shape.contains(&0) && !updates_shape.contains(&0) {
            "a new array must have at least one dimension, such as [1]"
        } else {
            "where one of the three is empty, indices and updates must both be"
        }
    )
}

/// Returns the error for updates that do not have one slice for each index tuple, and for indices of rank 1. TensorFlow
/// rejects such indices unless they and the first dimension of the destination are empty.
pub(crate) fn updates_shape(
    indices_shape: &[usize],
    updates_shape: &[usize],
    shape: &[usize],
) -> Error {
    argument!(
        UpdatesShape,
        "updates have shape {}, but with indices of shape {} into shape {} they must have all \
         dimensions of the indices but the last, of which there must be one, and then those of the \
         output that the last does not index",
        Shape(updates_shape),
        Shape(indices_shape),
        Shape(shape)
    )
}

/// Returns the error for `scatter_elements` along a dimension that the destination does not have.
pub(crate) fn axis_out_of_range(axis: isize, rank: usize) -> Error {
    argument!(
        Axis,
        "axis is {axis}, but the destination {}",
        AxisList(rank)
    )
}

/// Returns the error for indices of `scatter_elements` that differ from the destination in rank, or are longer than the
/// destination in a dimension other than the axis.
pub(crate) fn elements_shape(axis: usize, indices_shape: &[usize], shape: &[usize]) -> Error {
    argument!(
        ElementsShape,
        "indices of shape {} must have as many dimensions as the destination {}, and can be longer only \
         along dimension {axis}, the axis",
        Shape(indices_shape),
        Shape(shape)
    )
}

/// Returns the error for updates of `scatter_elements` whose shape differs from the shape of the indices.
pub(crate) fn update_for_each_index(indices_shape: &[usize], updates_shape: &[usize]) -> Error {
    argument!(
        UpdatesShape,
        "updates have shape {}, but there must be one for each index: indices have shape {}",
        Shape(updates_shape),
        Shape(indices_shape)
    )
}

/// Returns the error for a combination that is not defined for the element type.
pub(crate) fn undefined_combination(
    combine: crate::options::Combine,
    dtype: crate::DType,
) -> Error {
    argument!(
        Undefined,
        "Combine::{combine:?} is not defined for {dtype}: booleans cannot be subtracted, and complex \
         numbers have no minimum or maximum; choose another Combine, or convert the elements"
    )
}
