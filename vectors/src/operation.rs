//! The operations of cases, and their names in vector files.

use std::fmt;

/// An operation. All but views and sums are TensorFlow's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "`name` says them as TensorFlow does")]
pub enum Operation {
    StridedSlice,
    View,
    Slice,
    StridedSliceGrad,
    StridedSliceUpdate,
    GatherNd,
    Gather,
    BatchGather,
    ScatterNd,
    TensorScatterNdUpdate,
    TensorScatterNdAdd,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 11] = [
        Self::StridedSlice,
        Self::View,
        Self::Slice,
        Self::StridedSliceGrad,
        Self::StridedSliceUpdate,
        Self::GatherNd,
        Self::Gather,
        Self::BatchGather,
        Self::ScatterNd,
        Self::TensorScatterNdUpdate,
        Self::TensorScatterNdAdd,
    ];

    /// Its name in vector files.
    pub fn name(self) -> &'static str {
        match self {
            Self::StridedSlice => "strided_slice",
            Self::View => "view",
            Self::Slice => "slice",
            Self::StridedSliceGrad => "strided_slice_grad",
            Self::StridedSliceUpdate => "tensor_strided_slice_update",
            Self::GatherNd => "gather_nd",
            Self::Gather => "gather",
            Self::BatchGather => "batch_gather",
            Self::ScatterNd => "scatter_nd",
            Self::TensorScatterNdUpdate => "tensor_scatter_nd_update",
            Self::TensorScatterNdAdd => "tensor_scatter_nd_add",
        }
    }

    /// The operation with this name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|op| op.name() == name)
    }

    /// Whether out-of-range index tuples drop their rows, rather than giving zeros as in a gather.
    pub(crate) fn scatters(self) -> bool {
        match self {
            Self::ScatterNd | Self::TensorScatterNdUpdate | Self::TensorScatterNdAdd => true,
            Self::StridedSlice
            | Self::View
            | Self::Slice
            | Self::StridedSliceGrad
            | Self::StridedSliceUpdate
            | Self::GatherNd
            | Self::Gather
            | Self::BatchGather => false,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
