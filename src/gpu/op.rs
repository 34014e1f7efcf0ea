//! The operations as the shaders know them, what moves their rows, and the texts of both.

#[cfg(test)]
use super::width::Width;
use super::{kernel::Kernel, width::Way};
use crate::{ops::scatter_nd::Combine, plan::Map};

const ROWS_SERIAL: &str = include_str!("../../shaders/rows_serial.wgsl");
const PACK_WORDS: &str = include_str!("../../shaders/pack_words.wgsl");
const PACK_BYTES: &str = include_str!("../../shaders/pack_bytes.wgsl");
const SUBWORD: &str = include_str!("../../shaders/subword.wgsl");
const UNALIGNED: &str = include_str!("../../shaders/unaligned.wgsl");
const ROWS_COALESCED: &str = include_str!("../../shaders/rows_coalesced.wgsl");
const SUBWORD_STORE: &str = include_str!("../../shaders/subword_store.wgsl");
const SUBWORD_GRADIENT: &str = include_str!("../../shaders/subword_gradient.wgsl");
const COMBINE: &str = concat!(
    include_str!("../../shaders/combine_words.wgsl"),
    include_str!("../../shaders/combine.wgsl")
);
const COMBINE_SUBWORD: &str = include_str!("../../shaders/combine_subword.wgsl");
const COMBINE_ATOMIC: &str = include_str!("../../shaders/combine_atomic.wgsl");
const STRIDED_SLICE: &str = include_str!("../../shaders/strided_slice.wgsl");
const STRIDED_SLICE_UPDATE: &str = include_str!("../../shaders/strided_slice_update.wgsl");
const STRIDED_SLICE_GRAD: &str = include_str!("../../shaders/strided_slice_grad.wgsl");
const SCATTER_RESOLVE: &str = include_str!("../../shaders/scatter_resolve.wgsl");
const SCATTER_SORT: &str = include_str!("../../shaders/scatter_sort.wgsl");
const SCATTER_ND: &str = include_str!("../../shaders/scatter_nd.wgsl");
const INDEXED: &str = include_str!("../../shaders/indexed.wgsl");

/// An operation as the shaders know it.
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
    pub(super) const ALL: [Self; 9] = [
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

    /// The operation of a plan; the one that moves, where there are several steps.
    pub(crate) fn of(map: &Map) -> Self {
        match map {
            Map::ScatterNd(map) => match map.options.combine {
                Combine::Update => Self::ScatterMove,
                _ => Self::ScatterCombine,
            },
            Map::StridedSlice(_) => Self::StridedSlice,
            Map::StridedSliceUpdate(map) if map.as_slice().is_some() => Self::StridedSlice,
            Map::StridedSliceUpdate(_) => Self::StridedSliceUpdate,
            Map::StridedSliceGrad(_) => Self::StridedSliceGrad,
            Map::Indexed(_) => Self::Gather,
        }
    }

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
    pub(super) fn source(self) -> &'static str {
        match self {
            Self::StridedSlice => STRIDED_SLICE,
            Self::StridedSliceUpdate => STRIDED_SLICE_UPDATE,
            Self::StridedSliceGrad => STRIDED_SLICE_GRAD,
            Self::Gather | Self::ScatterResolve | Self::ScatterAtomic => INDEXED,
            Self::ScatterSort => SCATTER_SORT,
            Self::ScatterMove | Self::ScatterCombine => SCATTER_ND,
        }
    }

    /// The buffers of [`BUFFERS_GROUP`] in the order of their bindings, and whether each is only
    /// read.
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

    /// What moves rows.
    pub(crate) fn mover(self, kernel: &Kernel) -> Mover {
        let width = kernel.width;
        match (self, width.unit, width.way) {
            (Self::ScatterResolve, ..) => Mover::Resolve,
            (Self::ScatterSort, ..) => Mover::Sort,
            (Self::ScatterAtomic, ..) => Mover::CombineAtomic,
            (Self::StridedSliceUpdate | Self::ScatterMove, ..4, _) => Mover::SubwordStore,
            (Self::ScatterCombine, ..4, _) => Mover::CombineSubword,
            (Self::ScatterCombine, ..) => Mover::Combine,
            (Self::StridedSliceGrad, ..4, _) => Mover::SubwordGradient,
            (_, _, Way::PackedBytes) => Mover::PackBytes,
            (_, _, Way::PackedWords) => Mover::PackWords,
            (_, _, Way::Unaligned) => Mover::Unaligned,
            (_, ..4, _) => Mover::Subword,
            _ if kernel.grid.rows > 0 => Mover::RowsCoalesced,
            _ => Mover::RowsSerial,
        }
    }

    /// Whether it has a shader for units of this width.
    #[cfg(test)]
    pub(super) fn takes(self, width: Width) -> bool {
        match self {
            Self::StridedSlice | Self::Gather => true,
            Self::StridedSliceUpdate | Self::StridedSliceGrad | Self::ScatterMove => {
                width.way == Way::Whole
            }
            Self::ScatterResolve | Self::ScatterSort | Self::ScatterAtomic => {
                width == Width::whole(4)
            }
            Self::ScatterCombine => width.way == Way::Whole && width.unit <= 16,
        }
    }
}

/// What moves rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mover {
    RowsSerial,
    RowsCoalesced,
    Unaligned,
    PackWords,
    PackBytes,
    Subword,
    SubwordStore,
    SubwordGradient,
    Combine,
    CombineSubword,
    CombineAtomic,
    /// Nothing is moved: it is found out where rows go.
    Resolve,
    /// The shader of the operation is all that there is.
    Sort,
}

impl Mover {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RowsSerial => "serial rows",
            Self::RowsCoalesced => "coalesced rows",
            Self::Unaligned => "unaligned",
            Self::PackWords => "packed words",
            Self::PackBytes => "packed bytes",
            Self::Subword => "subword",
            Self::SubwordStore => "subword store",
            Self::SubwordGradient => "subword gradient",
            Self::Combine => "combine",
            Self::CombineSubword => "subword combine",
            Self::CombineAtomic => "atomic combine",
            Self::Resolve => "resolve",
            Self::Sort => "sort",
        }
    }

    pub(super) fn source(self) -> &'static str {
        match self {
            Self::RowsSerial => ROWS_SERIAL,
            Self::RowsCoalesced => ROWS_COALESCED,
            Self::Unaligned => UNALIGNED,
            Self::PackWords => PACK_WORDS,
            Self::PackBytes => PACK_BYTES,
            Self::Subword => SUBWORD,
            Self::SubwordStore => SUBWORD_STORE,
            Self::SubwordGradient => SUBWORD_GRADIENT,
            Self::Combine => COMBINE,
            Self::CombineSubword => COMBINE_SUBWORD,
            Self::CombineAtomic => COMBINE_ATOMIC,
            Self::Resolve => SCATTER_RESOLVE,
            Self::Sort => "",
        }
    }
}
