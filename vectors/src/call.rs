//! The operation of a case with its arguments: one variant for each operation of vector files.
//!
//! Beside TensorFlow's arguments, which `tests/vectors/README.md` lists, a case may have
//!
//! | operation | argument | meaning |
//! |---|---|---|
//! | gathers and scatters | `negative: "wrap"` | negative indices count from the end |
//! | gathers and scatters | `out_of_range: "clamp"` | other indices move to the nearest end |
//! | gathers | `view` | params are the tensor `params` after these steps |
//!
//! The operations `view` (steps alone), `batch_gather` and `tensor_scatter_nd_add` are additional.

use crate::{
    case::{BadLine, Case, Tensor},
    operation::Operation,
    step::Step,
};
use wgslice::{StridedSlice, reference::Indexing};

/// An operation with its arguments, by TensorFlow's names of both.
#[allow(missing_docs, reason = "the names are TensorFlow's")]
#[derive(Clone, Debug)]
pub enum Call<'a> {
    StridedSlice {
        input: &'a Tensor,
        spec: StridedSlice,
    },
    View {
        input: &'a Tensor,
        steps: Vec<Step>,
    },
    Slice {
        input: &'a Tensor,
        begin: Vec<i64>,
        size: Vec<i64>,
    },
    StridedSliceGrad {
        shape: Vec<usize>,
        spec: StridedSlice,
        dy: &'a Tensor,
    },
    StridedSliceUpdate {
        input: &'a Tensor,
        spec: StridedSlice,
        value: &'a Tensor,
    },
    GatherNd {
        params: Params<'a>,
        indices: &'a Tensor,
        batch_dims: usize,
        indexing: Indexing,
    },
    Gather {
        params: Params<'a>,
        indices: &'a Tensor,
        axis: i64,
        batch_dims: i64,
        indexing: Indexing,
    },
    BatchGather {
        params: Params<'a>,
        indices: &'a Tensor,
        indexing: Indexing,
    },
    ScatterNd {
        indices: &'a Tensor,
        updates: &'a Tensor,
        shape: Vec<usize>,
        indexing: Indexing,
    },
    TensorScatterNd {
        tensor: &'a Tensor,
        indices: &'a Tensor,
        updates: &'a Tensor,
        /// Whether updates are added rather than written.
        adds: bool,
        indexing: Indexing,
    },
}

/// The params of a gather: a view of a tensor.
#[derive(Clone, Debug)]
pub struct Params<'a> {
    /// The source of the view.
    pub tensor: &'a Tensor,
    /// The steps of the view. None for the whole tensor.
    pub view: Vec<Step>,
}

impl<'a> Call<'a> {
    /// The call of a case.
    ///
    /// # Errors
    ///
    /// An error with the line number.
    pub fn of(case: &'a Case) -> Result<Self, BadLine> {
        let args = case.arguments();
        let tensor = |name| case.tensor(name);
        let params = || {
            Ok::<_, BadLine>(Params {
                tensor: tensor("params")?,
                view: args.steps("view")?,
            })
        };
        Ok(match case.op {
            Operation::StridedSlice => Self::StridedSlice {
                input: tensor("input")?,
                spec: args.strided_slice()?,
            },
            Operation::View => Self::View {
                input: tensor("input")?,
                steps: args.steps("steps")?,
            },
            Operation::Slice => Self::Slice {
                input: tensor("input")?,
                begin: args.integers("begin")?,
                size: args.integers("size")?,
            },
            Operation::StridedSliceGrad => Self::StridedSliceGrad {
                shape: args.sizes("shape")?,
                spec: args.strided_slice()?,
                dy: tensor("dy")?,
            },
            Operation::StridedSliceUpdate => Self::StridedSliceUpdate {
                input: tensor("input")?,
                spec: args.strided_slice()?,
                value: tensor("value")?,
            },
            Operation::GatherNd => Self::GatherNd {
                params: params()?,
                indices: tensor("indices")?,
                batch_dims: args.size("batch_dims")?,
                indexing: args.indexing()?,
            },
            Operation::Gather => Self::Gather {
                params: params()?,
                indices: tensor("indices")?,
                axis: args.integer("axis")?,
                batch_dims: args.integer("batch_dims")?,
                indexing: args.indexing()?,
            },
            Operation::BatchGather => Self::BatchGather {
                params: params()?,
                indices: tensor("indices")?,
                indexing: args.indexing()?,
            },
            Operation::ScatterNd => Self::ScatterNd {
                indices: tensor("indices")?,
                updates: tensor("updates")?,
                shape: args.sizes("shape")?,
                indexing: args.indexing()?,
            },
            Operation::TensorScatterNdUpdate | Operation::TensorScatterNdAdd => {
                Self::TensorScatterNd {
                    tensor: tensor("tensor")?,
                    indices: tensor("indices")?,
                    updates: tensor("updates")?,
                    adds: case.op == Operation::TensorScatterNdAdd,
                    indexing: args.indexing()?,
                }
            }
        })
    }

    /// The index tuples of a gather or a scatter.
    pub fn indices(&self) -> Option<&'a Tensor> {
        match self {
            Self::StridedSlice { .. }
            | Self::View { .. }
            | Self::Slice { .. }
            | Self::StridedSliceGrad { .. }
            | Self::StridedSliceUpdate { .. } => None,
            Self::GatherNd { indices, .. }
            | Self::Gather { indices, .. }
            | Self::BatchGather { indices, .. }
            | Self::ScatterNd { indices, .. }
            | Self::TensorScatterNd { indices, .. } => Some(indices),
        }
    }

    /// The policies of the indices.
    pub fn indexing(&self) -> Indexing {
        match self {
            Self::GatherNd { indexing, .. }
            | Self::Gather { indexing, .. }
            | Self::BatchGather { indexing, .. }
            | Self::ScatterNd { indexing, .. }
            | Self::TensorScatterNd { indexing, .. } => *indexing,
            _ => Indexing::default(),
        }
    }

    /// Whether values are added, and so must be numbers.
    pub fn adds(&self) -> bool {
        match self {
            Self::ScatterNd { .. } => true,
            Self::TensorScatterNd { adds, .. } => *adds,
            _ => false,
        }
    }
}
