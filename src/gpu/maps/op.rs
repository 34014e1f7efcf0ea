//! The operations as pipelines know them: what a row map binds, and its text.

/// An operation, or a step of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    StridedSlice,
    StridedSliceUpdate,
    StridedSliceGrad,
    /// gather_nd and gather.
    Gather,
    /// The steps of a scatter: where the rows go, in which order, and that they get there.
    ScatterResolve,
    ScatterSort,
    ScatterMove,
    ScatterCombine,
    /// All of them at once, where the order makes no difference.
    ScatterAtomic,
}

impl Op {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 9] = [
        Self::StridedSlice,
        Self::StridedSliceUpdate,
        Self::StridedSliceGrad,
        Self::Gather,
        Self::ScatterResolve,
        Self::ScatterSort,
        Self::ScatterMove,
        Self::ScatterCombine,
        Self::ScatterAtomic,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::StridedSlice => "strided_slice",
            Self::StridedSliceUpdate => "strided_slice_update",
            Self::StridedSliceGrad => "strided_slice_grad",
            Self::Gather => "gather",
            Self::ScatterResolve => "scatter_nd, resolve",
            Self::ScatterSort => "scatter_nd, sort",
            Self::ScatterMove | Self::ScatterCombine | Self::ScatterAtomic => "scatter_nd",
        }
    }

    /// The text of its row map.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::StridedSlice => include_str!("../../../shaders/strided_slice.wgsl"),
            Self::StridedSliceUpdate => include_str!("../../../shaders/strided_slice_update.wgsl"),
            Self::StridedSliceGrad => include_str!("../../../shaders/strided_slice_grad.wgsl"),
            Self::Gather | Self::ScatterResolve | Self::ScatterAtomic => {
                include_str!("../../../shaders/indexed.wgsl")
            }
            Self::ScatterMove | Self::ScatterCombine => {
                include_str!("../../../shaders/scatter_nd.wgsl")
            }
            // Its kernel needs no row map.
            Self::ScatterSort => "",
        }
    }

    /// The buffers of `BUFFERS_GROUP` in the order of their bindings, and whether each is only read.
    pub(crate) fn buffers(self) -> &'static [bool] {
        match self {
            Self::StridedSlice | Self::StridedSliceUpdate | Self::StridedSliceGrad => {
                &[true, false]
            }
            Self::Gather | Self::ScatterAtomic => &[true, false, true],
            Self::ScatterResolve => &[false, false, true],
            Self::ScatterSort => &[false, false],
            Self::ScatterMove | Self::ScatterCombine => &[true, false, true, true],
        }
    }

    /// Whether rows can be without a source.
    pub(crate) fn reports(self) -> bool {
        matches!(
            self,
            Self::Gather | Self::ScatterResolve | Self::ScatterAtomic
        )
    }

    /// Whether rows lie one after the other in the result, and all of it is written.
    pub(crate) fn is_dense(self) -> bool {
        matches!(self, Self::StridedSlice | Self::Gather)
    }

    /// Whether rows are moved, rather than resolved, sorted or combined.
    pub(crate) fn moves(self) -> bool {
        match self {
            Self::StridedSlice | Self::StridedSliceUpdate | Self::StridedSliceGrad => true,
            Self::Gather | Self::ScatterMove => true,
            Self::ScatterResolve | Self::ScatterSort => false,
            Self::ScatterCombine | Self::ScatterAtomic => false,
        }
    }
}
