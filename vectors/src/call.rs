//! Which operation a case calls, and with what: one variant for each operation of vector files.
//!
//! Beside TensorFlow's arguments, which `tests/vectors/README.md` lists, a case may have
//!
//! | operation | argument | meaning |
//! |---|---|---|
//! | gathers and scatters | `negative: "wrap"` | negative indices count from the end |
//! | gathers and scatters | `out_of_range: "clamp"` | other indices move to the nearest end |
//! | gathers | `view` | params are what these steps make of the tensor `params` |
//!
//! and there are the operations `view`, which is steps alone, `batch_gather` and
//! `tensor_scatter_nd_add`.

use crate::{
    arguments::{Encoded, Step},
    case::{BadLine, Case, Tensor},
};
use wgslice::reference::Indexing;

/// An operation with its arguments, by TensorFlow's names of both.
#[allow(missing_docs, reason = "the names are TensorFlow's")]
#[derive(Clone, Debug)]
pub enum Call<'a> {
    StridedSlice {
        input: &'a Tensor,
        spec: Encoded,
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
        spec: Encoded,
        dy: &'a Tensor,
    },
    StridedSliceUpdate {
        input: &'a Tensor,
        spec: Encoded,
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
        /// Whether updates are added, rather than put in place.
        adds: bool,
        indexing: Indexing,
    },
}

/// What is gathered from: a view of a tensor.
#[derive(Clone, Debug)]
pub struct Params<'a> {
    /// The source of the view.
    pub tensor: &'a Tensor,
    /// The steps from there; none where it is all of the tensor.
    pub view: Vec<Step>,
}

impl<'a> Call<'a> {
    /// The call of a case. None where there is no such operation.
    ///
    /// # Errors
    ///
    /// Names the line.
    pub fn of(case: &'a Case) -> Result<Option<Self>, BadLine> {
        let args = case.arguments();
        let tensor = |name| case.tensor(name);
        let params = || {
            Ok::<_, BadLine>(Params {
                tensor: tensor("params")?,
                view: args.steps("view")?,
            })
        };
        Ok(Some(match case.op.as_str() {
            "strided_slice" => Self::StridedSlice {
                input: tensor("input")?,
                spec: args.encoded()?,
            },
            "view" => Self::View {
                input: tensor("input")?,
                steps: args.steps("steps")?,
            },
            "slice" => Self::Slice {
                input: tensor("input")?,
                begin: args.integers("begin")?,
                size: args.integers("size")?,
            },
            "strided_slice_grad" => Self::StridedSliceGrad {
                shape: args.sizes("shape")?,
                spec: args.encoded()?,
                dy: tensor("dy")?,
            },
            "tensor_strided_slice_update" => Self::StridedSliceUpdate {
                input: tensor("input")?,
                spec: args.encoded()?,
                value: tensor("value")?,
            },
            "gather_nd" => Self::GatherNd {
                params: params()?,
                indices: tensor("indices")?,
                batch_dims: args.size("batch_dims")?,
                indexing: args.indexing()?,
            },
            "gather" => Self::Gather {
                params: params()?,
                indices: tensor("indices")?,
                axis: args.integer("axis")?,
                batch_dims: args.integer("batch_dims")?,
                indexing: args.indexing()?,
            },
            "batch_gather" => Self::BatchGather {
                params: params()?,
                indices: tensor("indices")?,
                indexing: args.indexing()?,
            },
            "scatter_nd" => Self::ScatterNd {
                indices: tensor("indices")?,
                updates: tensor("updates")?,
                shape: args.sizes("shape")?,
                indexing: args.indexing()?,
            },
            op @ ("tensor_scatter_nd_update" | "tensor_scatter_nd_add") => Self::TensorScatterNd {
                tensor: tensor("tensor")?,
                indices: tensor("indices")?,
                updates: tensor("updates")?,
                adds: op == "tensor_scatter_nd_add",
                indexing: args.indexing()?,
            },
            _ => return Ok(None),
        }))
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

    /// How the indices are read.
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

    /// Whether values are added, for which they must be numbers.
    pub fn adds(&self) -> bool {
        match self {
            Self::ScatterNd { .. } => true,
            Self::TensorScatterNd { adds, .. } => *adds,
            _ => false,
        }
    }
}
