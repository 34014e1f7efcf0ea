//! Errors of gathers. If several errors apply to an operation of TensorFlow, the one that TensorFlow raises is
//! returned.

use super::axes::Axes;
use crate::text::Shape;

/// `params`, `indices`, the axis and `batch_dims` do not fit together, or an index is out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GatherError {
    /// `params` is a scalar.
    #[error("params is a scalar: it must have at least one dimension")]
    ParamsRank,
    /// `indices` of `gather_nd` is a scalar.
    #[error("indices is a scalar: its last dimension must hold the index tuples")]
    IndicesRank,
    /// Index tuples with more integers than `params` has dimensions after the first `batch_dims`.
    #[error(
        "indices of shape {} hold tuples of {depth}, which with batch_dims {batch_dims} is more \
         than the {} dimensions of params {}: shorten the last dimension of indices",
        Shape(indices), params.len(), Shape(params)
    )]
    IndexDepth {
        /// The number of integers in a tuple.
        depth: usize,
        /// The given `batch_dims`.
        batch_dims: usize,
        /// The shape of `params`.
        params: Vec<usize>,
        /// The shape of `indices`.
        indices: Vec<usize>,
    },
    /// `batch_dims` of `gather_nd` that is neither 0 nor below both the rank of `params` and the rank of `indices`, or
    /// that is negative.
    #[error(
        "batch_dims is {batch_dims}, but must be {}below the rank of indices ({indices_rank}) \
         and below the rank of params ({params_rank})",
        if *batch_dims < 0 { "at least 0, " } else { "" }
    )]
    BatchDims {
        /// The given `batch_dims`.
        batch_dims: isize,
        /// The rank of `params`.
        params_rank: usize,
        /// The rank of `indices`.
        indices_rank: usize,
    },
    /// The axis of `gather` or `gather_elements` is not a dimension of `params`.
    #[error(
        "axis is {axis}, but params {} (gather without an axis takes batch_dims as the axis)",
        Axes(*params_rank)
    )]
    Axis {
        /// The given `axis`. If `gather` was given none, the given `batch_dims`, which it then uses as the axis.
        axis: isize,
        /// The rank of `params`.
        params_rank: usize,
    },
    /// `batch_dims` of `gather` that is above `axis`, or outside `[-indices_rank, indices_rank]`.
    #[error(
        "batch_dims is {batch_dims}, but must be {}",
        match indices_rank {
            0 => "0, as indices is a scalar".to_string(),
            rank => format!("in [-{rank}, {rank}], the rank of indices, and not above axis ({axis})"),
        }
    )]
    BatchDimsOfAxis {
        /// The given `batch_dims`.
        batch_dims: isize,
        /// The dimension of `params` that is indexed, counted from 0.
        axis: usize,
        /// The rank of `indices`.
        indices_rank: usize,
    },
    /// Indices of `gather_elements` that differ from `params` in rank, or are longer than `params` in a dimension
    /// other than the axis.
    #[error(
        "indices of shape {} must have as many dimensions as params {}, and no longer ones but \
         dimension {axis}, the axis",
        Shape(indices),
        Shape(params)
    )]
    ElementsShape {
        /// The dimension of `params` that is indexed, counted from 0.
        axis: usize,
        /// The shape of `params`.
        params: Vec<usize>,
        /// The shape of `indices`.
        indices: Vec<usize>,
    },
    /// The first `batch_dims` dimensions of `params` and of `indices` differ.
    #[error(
        "the first {batch_dims} dimensions of params {} and indices {} differ, \
         but with batch_dims {batch_dims} they must be equal",
        Shape(params),
        Shape(indices)
    )]
    BatchShape {
        /// The number of batch dimensions. Differs from the given `batch_dims` if that is negative.
        batch_dims: usize,
        /// The shape of `params`.
        params: Vec<usize>,
        /// The shape of `indices`.
        indices: Vec<usize>,
    },
    /// `gather_nd` has index tuples, but `params` has no elements.
    #[error(
        "params of shape {} has no elements, but there {}: pass no tuples, or params with elements",
        Shape(params),
        match tuples {
            1 => "is 1 index tuple".to_string(),
            tuples => format!("are {tuples} index tuples"),
        }
    )]
    EmptyParams {
        /// The shape of `params`.
        params: Vec<usize>,
        /// The number of index tuples.
        tuples: usize,
    },
}
