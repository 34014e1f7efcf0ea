//! Row maps: where the rows of a job begin on both sides, the source and the result or destination.
//!
//! On a *strided* side, the number of a row gives its position along each dimension of the map, and the row begins at
//! the sum of these positions, each times the stride of its dimension.
//!
//! | file | rows begin |
//! |---|---|
//! | `strided_slice` | strided in the source, contiguous in the result |
//! | `indexed` | where index tuples point in the source, contiguous in the result; also finds the slices of a scatter |
//! | `crop` | at a position within a box that index tuples place in the source, contiguous in the result |
//! | `strided_slice_update` | strided on both sides |
//! | `strided_slice_grad` | strided in the source, contiguous in the result, where units without a source become zeros |
//! | `scatter_nd` | contiguous in the source, in the destination at the slices that earlier steps have found |
//!
//! Each row map has a file of the same name in `shaders/`, and writes its part of the uniforms in the units of the
//! launch. The files of slices, updates and gradients also halve the plans that need several dispatches; `window` cuts
//! the other plans. A slice of a scatter is the part of the destination that an index tuple points at; `lists` says what a block
//! and a link are.

mod crop;
mod indexed;
mod scatter_nd;
mod strided_slice;
mod strided_slice_grad;
mod strided_slice_update;

pub(crate) use crop::Crop;
#[cfg(test)]
pub(crate) use indexed::Flags;
pub(crate) use indexed::{Gather, IndexedMap, Lookup, Resolve, Tuples, is_plain, resolve_map};
pub(crate) use scatter_nd::{Atomic, Order, Scatter, Sort};
pub(crate) use strided_slice::{MAX_AXES, Slice, Tiling};
pub(crate) use strided_slice_grad::Gradient;
pub(crate) use strided_slice_update::{MAX_PAIR_AXES, Update};

use super::{kernels::Dispatch, lists::Lists, rule::Rule, window::Cutter};
use crate::{Error, layout::Axis, ops::strided_slice_update::as_slice, plan::Map};
use bytemuck::Pod;

/// How a launch counts the rows and units of its job, and what the row map's part of the uniforms holds for its kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Units {
    /// The number of the job's units per unit of the launch. All strides in the source are multiples of this number.
    pub(crate) factor: usize,
    /// The job's run as a dimension, which the map adds as its innermost. `None` unless the launch makes each unit of
    /// the job a row.
    pub(crate) split_run: Option<Axis>,
    /// How a transpose is cut into tiles; `None` for other kernels.
    pub(crate) tiling: Option<Tiling>,
    /// The distance in words between neighbouring words of the four that an invocation of `row_words.wgsl` writes
    /// together.
    pub(crate) quarter: usize,
    /// Whether an invocation may look up four rows at once. In a slice, the number of rows is then a multiple of four.
    pub(crate) four_rows: bool,
    /// Whether index tuples may be read as vectors.
    pub(crate) reads_vectors: bool,
}

impl Cutter<'_> {
    /// Cuts a plan that is not empty and not a scatter into dispatches. `map` is the plan's.
    pub(crate) fn dispatches(&self, map: &Map) -> Result<Vec<Dispatch>, Error> {
        let mut out = Vec::with_capacity(1);
        match map {
            Map::StridedSlice(map) => self.slice(map, self.rows, 0, &mut out)?,
            Map::StridedSliceUpdate(None) => {}
            Map::StridedSliceUpdate(Some(pairs)) => match as_slice(pairs) {
                Some((rows, map, first)) => self.slice(&map, &rows, first as u64, &mut out)?,
                None => self.update(pairs, &mut out)?,
            },
            Map::StridedSliceGrad(pairs) => self.gradient(pairs.as_ref(), &mut out)?,
            Map::Indexed(map) => self.gather(map, None, &mut out)?,
            Map::Crop(map) => self.gather(&map.gather, Some(map), &mut out)?,
            // Scatters are cut by `scatter_steps`.
            Map::ScatterNd(_) => {}
        }
        Ok(out)
    }
}

/// Where the rows of a job begin.
#[derive(Clone, Debug)]
pub(crate) enum RowMap {
    Slice(Slice),
    Update(Update),
    Gradient(Gradient),
    Gather(Gather),
    Crop(Crop),
    Resolve(Resolve),
    Sort(Sort),
    Scatter(Scatter),
    Atomic(Atomic),
}

/// An operation, or a step of a scatter, with pipelines of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    StridedSlice,
    StridedSliceUpdate,
    StridedSliceGrad,
    /// All gathers: gather_nd, gather, batch_gather and gather_elements.
    Gather,
    Crop,
    /// The step of a scatter that finds the slice of each row.
    ScatterResolve,
    /// The steps that sort the list of each slice's rows.
    ScatterSort,
    /// The step that replaces each slice by the last of its rows.
    ScatterMove,
    /// The step that combines each slice with the rows of its list.
    ScatterCombine,
    /// The only step of a scatter whose rows are combined with slices by atomics, since their order makes no
    /// difference.
    ScatterAtomic,
}

/// A buffer that the shaders of an operation bind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    /// The number of the argument that lies in the buffer. A recording passes its arguments in the order of these
    /// numbers.
    pub(crate) argument: usize,
    /// Whether shaders only read the buffer.
    pub(crate) read_only: bool,
}

impl Buffer {
    const SOURCE: Self = Self::read(0);
    const DEST: Self = Self::changed(1);
    const INDICES: Self = Self::read(2);
    /// The numbers of the arguments `head` and `rows`, the scratch memory of a scatter.
    const HEAD: usize = 3;
    const ROWS: usize = 4;

    const fn read(argument: usize) -> Self {
        Self {
            argument,
            read_only: true,
        }
    }

    const fn changed(argument: usize) -> Self {
        Self {
            argument,
            read_only: false,
        }
    }
}

/// What pipelines need to know of an operation.
pub(crate) struct Facts {
    /// The name of the operation's bind groups, and the beginning of its pipelines' names.
    pub(crate) name: &'static str,
    /// The WGSL of the operation's row map.
    pub(crate) text: &'static str,
    /// The buffers of `BUFFERS_GROUP`, in the order of their bindings.
    pub(crate) buffers: &'static [Buffer],
    /// Whether shaders read index tuples. They then count the tuples that are out of range in a report.
    pub(crate) reports: bool,
    /// Whether there are separate pipelines for plain dispatches, and for tuples of one and of two coordinates: see
    /// [`Lookup`].
    pub(crate) unrolls: bool,
    /// Whether rows are contiguous in the result, and all of the result is written.
    pub(crate) is_dense: bool,
    /// Whether rows are moved, rather than resolved, sorted or combined.
    pub(crate) moves: bool,
    /// Where the host writes the members of the WGSL struct `Map`.
    #[cfg(test)]
    pub(crate) layout: fn() -> Layout,
}

/// The names and offsets of the members of a WGSL struct, and the size of the struct in bytes.
#[cfg(test)]
pub(crate) type Layout = (Vec<(String, usize)>, usize);

/// The layout of a struct of the host whose fields have the names of the WGSL struct's members.
#[cfg(test)]
macro_rules! layout {
    ($type:ident: $($field:ident),* $(,)?) => {
        (
            vec![$((stringify!($field).to_owned(), std::mem::offset_of!($type, $field))),*],
            size_of::<$type>(),
        )
    };
}
#[cfg(test)]
pub(crate) use layout;

impl Op {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 10] = [
        Self::StridedSlice,
        Self::StridedSliceUpdate,
        Self::StridedSliceGrad,
        Self::Gather,
        Self::Crop,
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
            Self::Crop => &crop::FACTS,
            Self::ScatterResolve => &indexed::RESOLVE,
            Self::ScatterSort => &scatter_nd::SORT,
            Self::ScatterMove => &scatter_nd::MOVE,
            Self::ScatterCombine => &scatter_nd::COMBINE,
            Self::ScatterAtomic => &scatter_nd::ATOMIC,
        }
    }
}

/// The words of the WGSL struct `Map`, which the row map's file in `shaders/` defines: the last 96 bytes of the
/// uniforms.
pub(crate) type MapWords = [u32; 24];

/// A row map as the shaders read it, and how the shaders read index tuples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lowered {
    pub(crate) words: MapWords,
    pub(crate) lookup: Lookup,
}

impl Lowered {
    /// Takes the words of `map`, whose size must be that of [`MapWords`].
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
            Self::Crop(_) => Op::Crop,
            Self::Resolve(_) => Op::ScatterResolve,
            Self::Sort(_) => Op::ScatterSort,
            Self::Scatter(map) if map.combines => Op::ScatterCombine,
            Self::Scatter(_) => Op::ScatterMove,
            Self::Atomic(_) => Op::ScatterAtomic,
        }
    }

    /// Converts the map to the units of a launch. `None` if the map has more dimensions, or larger numbers, than the
    /// uniforms hold: the job must then be cut. An error if a gather or a crop has too many or too long dimensions.
    pub(crate) fn lowered(&self, units: &Units) -> Result<Option<Lowered>, Error> {
        Ok(match self {
            Self::Slice(map) => map.lowered(units),
            Self::Update(map) => map.lowered(units),
            Self::Gradient(map) => map.lowered(units),
            Self::Gather(map) => return map.lowered(units).map(Some),
            Self::Crop(map) => return map.lowered(units).map(Some),
            Self::Resolve(map) => Some(map.lowered()),
            Self::Sort(map) => map.lowered(),
            Self::Scatter(map) => map.lowered(units),
            Self::Atomic(map) => Some(map.lowered()),
        })
    }

    /// The bitwise OR of all distances between the rows of a job, in units. A power of two divides all distances if
    /// and only if it divides this number.
    pub(crate) fn distances(&self) -> i64 {
        match self {
            Self::Slice(map) => strides(&map.axes),
            Self::Gather(map) => map.tuples.distances(&map.coordinates, &map.walk),
            Self::Crop(Crop { map, tuples, .. }) => {
                tuples.distances(&map.gather.coordinates, &map.gather.walk)
            }
            Self::Scatter(map) => map.pitch as i64,
            // 1 allows no larger vectors. Updates and gradients already have the widest units that the plan allows. The
            // other steps of a scatter process index tuples or lists.
            Self::Update(_) | Self::Gradient(_) => 1,
            Self::Resolve(_) | Self::Sort(_) | Self::Atomic(_) => 1,
        }
    }

    /// Whether rows are contiguous in the result, the dispatch writes all of them, and it binds all units that they may
    /// be read from.
    pub(crate) fn is_dense(&self) -> bool {
        match self {
            Self::Gather(map) => map.tuples.binds_all,
            Self::Crop(map) => map.tuples.binds_all,
            _ => self.op().facts().is_dense,
        }
    }

    /// The rule of the step that combines each slice with its list of rows. `None` for all other steps and operations,
    /// and for [`Atomic`], which needs no lists.
    pub(crate) fn rule(&self) -> Option<Rule> {
        match self {
            Self::Scatter(map) if map.combines => Some(map.rule),
            _ => None,
        }
    }

    /// The lists of the block, if this is the job of the sorting step `step`.
    pub(crate) fn lists(&self, step: Order) -> Option<Lists> {
        match self {
            Self::Sort(map) if map.step == step => Some(map.lists),
            _ => None,
        }
    }
}

/// The bitwise OR of all strides.
fn strides(axes: &[Axis]) -> i64 {
    axes.iter().fold(0, |all, axis| all | axis.stride as i64)
}

/// The axes, with strides in units that are `factor` times as large.
fn scaled(axes: impl IntoIterator<Item = Axis>, factor: usize) -> Vec<Axis> {
    let axes = axes.into_iter();
    axes.map(|Axis { size, stride }| Axis {
        size,
        stride: stride / factor.cast_signed(),
    })
    .collect()
}
