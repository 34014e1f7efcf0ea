//! What can be wrong with a gather. As for slices, the kinds are TensorFlow's, and so is their order.

use super::BadRow;
use crate::text::Shape;

/// `params`, `indices` and `batch_dims` that do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GatherError {
    /// `params` is a scalar.
    #[error("params is a scalar: it must have at least one dimension")]
    ParamsRank,
    /// `indices` is a scalar.
    #[error("indices is a scalar: its last dimension must hold the index tuples")]
    IndicesRank,
    /// Index tuples longer than `params` has dimensions.
    #[error(
        "indices of shape {} hold tuples of {depth}, which with batch_dims {batch_dims} is more \
         than the {} dimensions of params {}: shorten the last dimension of indices",
        Shape(indices), params.len(), Shape(params)
    )]
    IndexDepth {
        /// The length of a tuple.
        depth: usize,
        /// `batch_dims`.
        batch_dims: usize,
        /// The shape of `params`.
        params: Vec<usize>,
        /// The shape of `indices`.
        indices: Vec<usize>,
    },
    /// `batch_dims` does not leave both sides a dimension.
    #[error(
        "batch_dims is {batch_dims}, but must be below the rank of indices ({indices_rank}) \
         and below the rank of params ({params_rank})"
    )]
    BatchDims {
        /// `batch_dims`.
        batch_dims: usize,
        /// Rank of `params`.
        params_rank: usize,
        /// Rank of `indices`.
        indices_rank: usize,
    },
    /// `gather` along a dimension that `params` does not have.
    #[error(
        "axis is {axis}, but params has {params_rank} dimensions: \
         it must be in [-{params_rank}, {params_rank})"
    )]
    Axis {
        /// `axis`, or what stands for it.
        axis: isize,
        /// Rank of `params`.
        params_rank: usize,
    },
    /// `batch_dims` of `gather` that the indices or the axis do not allow.
    #[error(
        "batch_dims is {batch_dims}, but must be in [-{indices_rank}, {indices_rank}], the rank of \
         indices, and not above axis ({axis})"
    )]
    BatchDimsOfAxis {
        /// `batch_dims`.
        batch_dims: isize,
        /// The dimension of `params` that is indexed.
        axis: usize,
        /// Rank of `indices`.
        indices_rank: usize,
    },
    /// The leading `batch_dims` dimensions differ.
    #[error(
        "the first {batch_dims} dimensions of params {} and indices {} differ, \
         but with batch_dims {batch_dims} they must be equal",
        Shape(params),
        Shape(indices)
    )]
    BatchShape {
        /// `batch_dims`.
        batch_dims: usize,
        /// The shape of `params`.
        params: Vec<usize>,
        /// The shape of `indices`.
        indices: Vec<usize>,
    },
    /// Rows are asked of params that have no element.
    #[error(
        "params of shape {} is empty, so none of the {rows} index tuples can be gathered",
        Shape(params)
    )]
    EmptyParams {
        /// The shape of `params`.
        params: Vec<usize>,
        /// How many rows are asked for.
        rows: usize,
    },
    /// An index tuple points outside `params`.
    #[error(
        "{bad} of {rows} index tuples are out of range, the first at {first} of params {}: \
             correct them, or choose OutOfRange::Zero (--out-of-range zero) or OutOfRange::Clamp \
             (--out-of-range clamp)",
        Shape(params)
    )]
    OutOfRange {
        /// The first such tuple.
        first: BadRow,
        /// How many there are.
        bad: usize,
        /// How many tuples there are in all.
        rows: usize,
        /// The shape of `params`.
        params: Vec<usize>,
    },
}
