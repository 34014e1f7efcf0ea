//! Row maps: where the rows of a job begin on both sides.
//!
//! | file | rows begin |
//! |---|---|
//! | `strided_slice` | by an odometer in the source, one after the other in the result |
//! | `indexed` | where index tuples point, one after the other in the result; the slices of a scatter are found so too |
//! | `strided_slice_update` | by an odometer that turns on both sides |
//! | `strided_slice_grad` | the other way round: units of the result have a source, or become zeros |
//! | `scatter_nd` | in the slices that the steps before have found |
//!
//! Each has a file of the same name in `shaders/`, and writes its part of the uniform in the units of the launch.

mod indexed;
mod scatter_nd;
mod strided_slice;
mod strided_slice_grad;
mod strided_slice_update;

#[cfg(test)]
pub(crate) use indexed::{Flags, Words as IndexedWords};
pub(crate) use indexed::{Gather, IndexedMap, Lookup, Resolve, is_plain, resolve_map};
pub(crate) use scatter_nd::{Atomic, Order, Scatter, Sort};
#[cfg(test)]
pub(crate) use scatter_nd::{ScatterWords, SortWords};
#[cfg(test)]
pub(crate) use strided_slice::Words as SliceWords;
pub(crate) use strided_slice::{MAX_AXES, Slice, Tiling};
pub(crate) use strided_slice_grad::Gradient;
#[cfg(test)]
pub(crate) use strided_slice_grad::Words as GradientWords;
#[cfg(test)]
pub(crate) use strided_slice_update::Words as UpdateWords;
pub(crate) use strided_slice_update::{MAX_PAIR_AXES, Update};

use super::{lists::Lists, rule::Rule};
use crate::{Error, layout::Axis};
use bytemuck::Pod;

/// How a launch counts the rows and units of its job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Units {
    /// Units of the job in one of those that the source is counted in.
    pub(crate) factor: usize,
    /// The run as one dimension of the map more, where each unit is a row of its own.
    pub(crate) split_run: Option<Axis>,
    /// The tiles of a transpose.
    pub(crate) tiling: Option<Tiling>,
    /// Words from one of the four that an invocation of `row_words.wgsl` writes together to the next.
    pub(crate) quarter: usize,
    /// Whether four rows are looked up at once, and there is a multiple of four.
    pub(crate) four_rows: bool,
    /// Whether index tuples may be read as vectors.
    pub(crate) reads_vectors: bool,
}

/// Where the rows of a job begin.
#[derive(Clone, Debug)]
pub(crate) enum RowMap {
    Slice(Slice),
    Update(Update),
    Gradient(Gradient),
    Gather(Gather),
    Resolve(Resolve),
    Sort(Sort),
    Scatter(Scatter),
    Atomic(Atomic),
}

/// An operation as pipelines know it, or a step of one.
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

/// What pipelines need to know of an operation.
pub(crate) struct Facts {
    /// The name of its bind groups, and the beginning of its pipelines' names.
    pub(crate) name: &'static str,
    /// The WGSL of its row map.
    pub(crate) text: &'static str,
    /// The buffers of `BUFFERS_GROUP` in the order of their bindings, and whether each is only read.
    pub(crate) buffers: &'static [bool],
    /// Whether rows can be without a source, and are counted.
    pub(crate) reports: bool,
    /// Whether rows lie one after the other in the result, and all of it is written.
    pub(crate) is_dense: bool,
    /// Whether rows are moved, rather than resolved, sorted or combined.
    pub(crate) moves: bool,
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

    pub(crate) fn facts(self) -> &'static Facts {
        match self {
            Self::StridedSlice => &strided_slice::FACTS,
            Self::StridedSliceUpdate => &strided_slice_update::FACTS,
            Self::StridedSliceGrad => &strided_slice_grad::FACTS,
            Self::Gather => &indexed::GATHER,
            Self::ScatterResolve => &indexed::RESOLVE,
            Self::ScatterSort => &scatter_nd::SORT,
            Self::ScatterMove => &scatter_nd::MOVE,
            Self::ScatterCombine => &scatter_nd::COMBINE,
            Self::ScatterAtomic => &scatter_nd::ATOMIC,
        }
    }
}

/// A row map as the shaders read it: the words of its own `Map`.
pub(crate) type MapWords = [u32; 24];

/// A row map as the shaders read it, and how they read index tuples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lowered {
    pub(crate) words: MapWords,
    pub(crate) lookup: Lookup,
}

impl Lowered {
    fn of(map: impl Pod) -> Self {
        Self {
            words: bytemuck::cast(map),
            lookup: Lookup::default(),
        }
    }
}

impl RowMap {
    pub(crate) fn op(&self) -> Op {
        match self {
            Self::Slice(_) => Op::StridedSlice,
            Self::Update(_) => Op::StridedSliceUpdate,
            Self::Gradient(_) => Op::StridedSliceGrad,
            Self::Gather(_) => Op::Gather,
            Self::Resolve(_) => Op::ScatterResolve,
            Self::Sort(_) => Op::ScatterSort,
            Self::Scatter(map) if map.combines => Op::ScatterCombine,
            Self::Scatter(_) => Op::ScatterMove,
            Self::Atomic(_) => Op::ScatterAtomic,
        }
    }

    /// The map as a launch counts. None if it has more dimensions or longer strides than a shader holds.
    pub(crate) fn lowered(&self, units: &Units) -> Result<Option<Lowered>, Error> {
        Ok(match self {
            Self::Slice(map) => map.lowered(units),
            Self::Update(map) => map.lowered(units),
            Self::Gradient(map) => map.lowered(units),
            Self::Gather(map) => return map.lowered(units).map(Some),
            Self::Resolve(map) => Some(map.lowered()),
            Self::Sort(map) => map.lowered(),
            Self::Scatter(map) => map.lowered(units),
            Self::Atomic(map) => Some(map.lowered()),
        })
    }

    /// A number that all distances between the rows of a job are multiples of, as far as powers of two go: the bits of
    /// all of them.
    pub(crate) fn distances(&self) -> i64 {
        match self {
            Self::Slice(map) => strides(&map.axes),
            Self::Gather(map) => map.distances(),
            Self::Scatter(map) => map.pitch as i64,
            // Updates and gradients come in the widest units that the plan allows, and tuples one by one.
            Self::Update(_) | Self::Gradient(_) => 1,
            Self::Resolve(_) | Self::Sort(_) | Self::Atomic(_) => 1,
        }
    }

    /// Whether rows lie one after the other in the result, all have a source or become zeros, and the dispatch binds
    /// all that they may be read from.
    pub(crate) fn is_dense(&self) -> bool {
        match self {
            Self::Gather(map) => map.binds_all,
            _ => self.op().facts().is_dense,
        }
    }

    /// How rows are combined with slices, if they are so in a step of their own.
    pub(crate) fn rule(&self) -> Option<Rule> {
        match self {
            Self::Scatter(map) if map.combines => Some(map.rule),
            _ => None,
        }
    }

    /// The lists that this step puts in order.
    pub(crate) fn lists(&self, step: Order) -> Option<Lists> {
        match self {
            Self::Sort(map) if map.step == step => Some(map.lists),
            _ => None,
        }
    }
}

fn strides(axes: &[Axis]) -> i64 {
    axes.iter().fold(0, |all, axis| all | axis.stride as i64)
}

/// The axes in units that are `factor` times as large.
fn scaled(axes: impl IntoIterator<Item = Axis>, factor: usize) -> Vec<Axis> {
    let axes = axes.into_iter();
    axes.map(|Axis { size, stride }| Axis {
        size,
        stride: stride / factor.cast_signed(),
    })
    .collect()
}
