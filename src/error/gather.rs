//! Errors of gathers. If arguments break several rules of a TensorFlow operation, the crate returns the error that
//! TensorFlow raises.

use super::{Error, argument, axes::AxisList};
use crate::prelude::*;
use crate::text::Shape;

/// Returns the error for scalar `params`.
pub(crate) fn params_rank() -> Error {
    argument!(
        ParamsRank,
        "params is a scalar: it must have at least one dimension"
    )
}

/// Returns the error for scalar `indices` of `gather_nd`.
pub(crate) fn indices_rank() -> Error {
    argument!(
        IndicesRank,
        "indices is a scalar: its last dimension must hold the index tuples"
    )
}

/// Returns the error for index tuples with more integers than `params` has dimensions after the first `batch_dims`.
pub(crate) fn index_depth(
    depth: usize,
    batch_dims: usize,
    params_shape: &[usize],
    indices_shape: &[usize],
) -> Error {
    argument!(
        IndexDepth,
        "indices of shape {} hold tuples of {depth}, which with batch_dims {batch_dims} is more \
         than the {} dimensions of params {}: shorten the last dimension of indices",
        Shape(indices_shape),
        params_shape.len(),
        Shape(params_shape)
    )
}

/// Returns the error for a `batch_dims` of `gather_nd` that is negative, or not below the rank of `params`, or not
/// below the rank of `indices`.
pub(crate) fn batch_dims(batch_dims: isize, params_rank: usize, indices_rank: usize) -> Error {
    argument!(
        BatchDims,
        "batch_dims is {batch_dims}, but must be {}below the rank of indices ({indices_rank}) \
         and below the rank of params ({params_rank})",
        if batch_dims < 0 { "at least 0, " } else { "" }
    )
}

/// Returns the error for an axis of `gather` or `gather_elements` that `params` does not have.
pub(crate) fn axis_out_of_range(axis: isize, params_rank: usize) -> Error {
    argument!(
        Axis,
        "axis is {axis}, but params {} (gather without an axis takes batch_dims as the axis)",
        AxisList(params_rank)
    )
}

/// Returns the error for a `batch_dims` of `gather` that is above `axis`, or outside `[-indices_rank, indices_rank]`.
pub(crate) fn batch_dims_of_axis(batch_dims: isize, axis: usize, indices_rank: usize) -> Error {
    argument!(
        BatchDims,
        "batch_dims is {batch_dims}, but must be {}",
        match indices_rank {
            0 => "0, as indices is a scalar".to_string(),
            rank =>
                format!("in [-{rank}, {rank}], the rank of indices, and not above axis ({axis})"),
        }
    )
}

/// Returns the error for indices of `gather_elements` that differ from `params` in rank, or are longer than `params` in
/// a dimension other than the axis.
pub(crate) fn elements_shape(
    axis: usize,
    params_shape: &[usize],
    indices_shape: &[usize],
) -> Error {
    argument!(
        ElementsShape,
        "indices of shape {} must have as many dimensions as params {}, and can be longer only along \
         dimension {axis}, the axis",
        Shape(indices_shape),
        Shape(params_shape)
    )
}

/// Returns the error for `params` and `indices` with different sizes in the first `batch_dims` dimensions.
pub(crate) fn batch_shape(
    batch_dims: usize,
    params_shape: &[usize],
    indices_shape: &[usize],
) -> Error {
    argument!(
        BatchShape,
        "the first {batch_dims} dimensions of params {} and indices {} differ, \
         but with batch_dims {batch_dims} they must be equal",
        Shape(params_shape),
        Shape(indices_shape)
    )
}

/// Returns the error for a `gather_nd` that has index tuples but `params` without elements.
pub(crate) fn empty_params(params_shape: &[usize], tuple_count: usize) -> Error {
    argument!(
        EmptyParams,
        "params of shape {} has no elements, but there {}: pass no tuples, or params with elements",
        Shape(params_shape),
        match tuple_count {
            1 => "is 1 index tuple".to_string(),
            tuple_count => format!("are {tuple_count} index tuples"),
        }
    )
}
