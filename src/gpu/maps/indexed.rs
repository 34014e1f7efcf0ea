//! The row map of a gather, and how a scatter finds its slices: `shaders/indexed.wgsl`.
//!
//! Walked dimensions number the rows, and some of them also the index tuples: `src/ops/indexed.rs` says how. A tuple
//! consists of coordinates, each of which is an index into one dimension of params. A dispatch may bind only a part of
//! params and accept only an interval of the indices into the first indexed dimension. Other dispatches then process
//! the other indices.

use super::{Buffer, Facts, Lowered, Units, scaled, strides};
use crate::{
    Error,
    gpu::uniforms::{too_far, wrap},
    layout::Axis,
    ops::{
        index::{IndexType, Policy},
        indexed::Dimension,
        scatter_nd,
    },
};
use bytemuck::{Pod, Zeroable};
use std::ops::RangeInclusive;

pub(super) const GATHER: Facts = Facts {
    name: "gather",
    text: include_str!("../../../shaders/indexed.wgsl"),
    buffers: &[Buffer::SOURCE, Buffer::DEST, Buffer::INDICES],
    reports: true,
    unrolls: true,
    is_dense: true,
    moves: true,
    #[cfg(test)]
    layout: || super::layout!(Words: flags, first, count, bound, axes),
};

pub(super) const RESOLVE: Facts = Facts {
    name: "scatter_nd, resolve",
    text: include_str!("../../../shaders/indexed.wgsl"),
    buffers: &[
        Buffer::changed(Buffer::HEAD),
        Buffer::changed(Buffer::ROWS),
        Buffer::INDICES,
    ],
    reports: true,
    unrolls: true,
    is_dense: false,
    moves: false,
    #[cfg(test)]
    layout: || super::layout!(Words: flags, first, count, bound, axes),
};

/// The number of pairs of words in the map of a gather: as many as the uniforms have room for. Most hold an indexed or
/// a walked dimension. `Map` in `indexed.wgsl` says what each holds.
pub(crate) const INDEXED_PAIRS: usize = 10;

/// Pairs of a size and a stride, except pairs 0 and 9: `Map` in `indexed.wgsl` says what they hold.
pub(crate) type IndexedMap = [[u32; 2]; INDEXED_PAIRS];

/// `Map` of `indexed.wgsl`, which says what each field means.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Words {
    /// [`Flags`], as [`Flags::word`] packs them.
    flags: u32,
    first: u32,
    count: u32,
    bound: u32,
    axes: IndexedMap,
}

/// What the word `flags` of `Map` in `indexed.wgsl` tells all invocations of a dispatch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flags {
    /// The number of coordinates in an index tuple.
    pub(crate) dims: usize,
    /// The number of walked dimensions; 0 if row n has tuple n.
    pub(crate) walked: usize,
    /// Bit d is set if all positions of walked dimension d have the same tuples.
    pub(crate) repeats: u32,
    pub(crate) index: IndexType,
    pub(crate) policy: Policy,
    /// Whether the dispatch only checks the tuples of a scatter, and changes nothing.
    pub(crate) checks: bool,
    /// Whether a scatter links all rows of a slice, rather than keep only the slice's last row.
    pub(crate) chains: bool,
    /// The code of the operation by which atomics combine rows with slices, from
    /// [`Rule::combine_number`](crate::gpu::rule::Rule::combine_number); 0 without atomics.
    pub(crate) combine: u32,
}

impl Flags {
    pub(crate) fn word(self) -> u32 {
        let bit = |set, bit: u32| u32::from(set) << bit;
        // Four bits suffice: there are at most 9 coordinates and 10 walked dimensions.
        let four = |value: usize, bit: u32| u32::try_from(value & 15).unwrap_or_default() << bit;
        four(self.dims, 0)
            | four(self.walked, 4)
            | self.repeats << 8
            | bit(self.index != IndexType::U32, 18)
            | bit(self.policy.wraps(), 19)
            | bit(self.policy.clamps(), 20)
            | bit(self.checks, 21)
            | bit(self.chains, 22)
            | self.combine << 28
    }
}

/// The row map of a gather: rows begin where index tuples point.
#[derive(Clone, Debug)]
pub(crate) struct Gather {
    /// The dimensions that the coordinates of a tuple index.
    pub(crate) coordinates: Vec<Axis>,
    /// The dimensions that number the rows.
    pub(crate) walk: Vec<Dimension>,
    pub(crate) policy: Policy,
    pub(crate) tuples: Tuples,
}

/// The index tuples of a gather or a crop, and the units of params that a dispatch binds for them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuples {
    pub(crate) index: IndexType,
    /// The word at which the first tuple begins, counted from the beginning of the indices' binding.
    pub(crate) base: u32,
    /// The number of units of params that are bound.
    pub(crate) bound: u64,
    /// Whether the binding holds all units that any tuple may point at.
    pub(crate) binds_all: bool,
    /// The first index into the first indexed dimension, or the first item of a crop, that the dispatch accepts. Rows
    /// whose index it does not accept belong to other dispatches.
    pub(crate) first: u64,
    /// The number of indices that the dispatch accepts, beginning with `first`.
    pub(crate) count: u32,
}

impl Tuples {
    /// The bitwise OR of all distances between rows, and of the number of bound units. The bound units must be whole
    /// vectors too: a row may begin wherever an index points, and no vector must reach beyond the binding.
    pub(super) fn distances(&self, coordinates: &[Axis], walk: &[Dimension]) -> i64 {
        let walk = walk.iter().map(|dimension| dimension.stride as i64);
        // If no unit is bound, 1 takes the place of 0, which would allow vectors of any size.
        let bound = self.bound.cast_signed().max(1);
        walk.fold(strides(coordinates) | bound, |all, stride| all | stride)
    }
}

/// The row map of the step of a scatter that finds, for each row, the slice at which the row's index tuple points.
#[derive(Clone, Debug)]
pub(crate) struct Resolve {
    /// The dimensions of the coordinates and of the walk, from [`resolve_map`].
    pub(crate) map: IndexedMap,
    /// The number of dimensions that number the rows, including the one that [`walk`] adds; 0 if row n has tuple n.
    pub(crate) walked: usize,
    /// The number of coordinates in a tuple.
    pub(crate) depth: usize,
    pub(crate) policy: Policy,
    /// Whether the dispatch is plain: see [`is_plain`].
    pub(crate) is_plain: bool,
    pub(crate) index: IndexType,
    /// The word at which the first tuple begins, counted from the beginning of the indices' binding.
    pub(crate) index_base: u32,
    /// Whether the number of rows is a multiple of four and the tuples begin at a whole vector of their binding.
    pub(crate) whole_fours: bool,
    /// The number of the first bound slice, and the number of bound slices. Slices are numbered from the slice that
    /// the first row goes to if all its indices are 0.
    pub(crate) slices: (i64, usize),
    /// Whether the dispatch only checks the tuples, and changes nothing.
    pub(crate) checks: bool,
    /// Whether all rows of a slice are linked. Otherwise only the slice's last row is kept.
    pub(crate) chains: bool,
}

/// How a shader reads index tuples: the values of the constants of `indexed.wgsl`, and whether `index_words.wgsl` or
/// `index_vectors.wgsl` is part of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Lookup {
    /// `DIMS`: the number of coordinates, if they are looked up without a loop; otherwise 0.
    pub(crate) unrolled: usize,
    /// `INDEX_WORDS`: the number of words per index.
    pub(crate) words: u32,
    /// `PLAIN`: whether the dispatch is plain, see [`is_plain`].
    pub(crate) plain: bool,
    /// Whether the indices are bound as vectors, so that the tuples of four rows are read at once.
    pub(crate) vectors: bool,
}

impl Lookup {
    /// The numbers of coordinates that are looked up without a loop. Most tuples have 1 or 2.
    const UNROLLED: RangeInclusive<usize> = 1..=2;

    /// The lookup of indices of this type, with a loop over coordinates.
    pub(crate) fn of(index: IndexType) -> Self {
        Self {
            unrolled: 0,
            words: index.words(),
            plain: false,
            vectors: false,
        }
    }

    /// The lookup of a plain dispatch (see [`is_plain`]) whose tuples have `depth` coordinates. `alone` says that row n
    /// has tuple n. Tuples of one or two coordinates then need no loop. Dispatches that are not plain are rare and
    /// always loop.
    pub(crate) fn plain(self, depth: usize, alone: bool) -> Self {
        let unrolled = alone && Self::UNROLLED.contains(&depth);
        Self {
            unrolled: if unrolled { depth } else { 0 },
            plain: true,
            ..self
        }
    }

    /// Makes the lookup read indices as vectors, if there is no loop over coordinates. `whole` says that the tuples of
    /// every four rows are whole, aligned vectors; otherwise nothing changes.
    pub(crate) fn vectors(self, whole: bool) -> Self {
        Self {
            vectors: whole && self.unrolled > 0,
            ..self
        }
    }
}

impl Gather {
    /// Whether row n has tuple n.
    fn is_alone(&self) -> bool {
        match &self.walk[..] {
            [] => true,
            [only] => only.stride == 0 && !only.repeats,
            _ => false,
        }
    }

    fn lookup(&self) -> Lookup {
        let Tuples {
            index,
            first,
            count,
            ..
        } = self.tuples;
        let lookup = Lookup::of(index);
        match is_plain(&self.coordinates, first, count, self.policy) {
            false => lookup,
            true => lookup.plain(self.coordinates.len(), self.is_alone()),
        }
    }

    /// Whether row n has tuple n, the tuples of every four rows are whole vectors, and tuples are looked up without
    /// loops.
    pub(crate) fn is_listed(&self) -> bool {
        let fours = self.is_alone() && self.tuples.base.is_multiple_of(4);
        fours && self.lookup().unrolled > 0
    }

    pub(super) fn lowered(&self, units: &Units) -> Result<Lowered, Error> {
        let coordinates = scaled(self.coordinates.iter().copied(), units.factor);
        let walk = scaled(self.walk.iter().map(Dimension::axis), units.factor);
        let tuples = &self.tuples;
        let alone = self.is_alone();
        let bits = self.walk.iter().zip(0..);
        let flags = Flags {
            dims: coordinates.len(),
            walked: if alone { 0 } else { walk.len() },
            repeats: bits.fold(0, |bits, (dimension, d)| {
                bits | u32::from(dimension.repeats) << d
            }),
            index: tuples.index,
            policy: self.policy,
            ..Flags::default()
        };
        let lookup = self
            .lookup()
            .vectors(units.reads_vectors && self.is_listed());
        let words = Words {
            flags: flags.word(),
            first: wrap(tuples.first.cast_signed()),
            count: tuples.count,
            bound: wrap(tuples.bound.cast_signed() / units.factor as i64),
            axes: indexed_map(&coordinates, &walk, tuples.base, tuples.first)?,
        };
        Ok(Lowered {
            lookup,
            ..Lowered::of(words)
        })
    }
}

impl Resolve {
    pub(super) fn lowered(&self) -> Lowered {
        self.combined(0)
    }

    /// Returns the same as [`Resolve::lowered`], but with the given [`Flags::combine`].
    pub(super) fn combined(&self, combine: u32) -> Lowered {
        let (first, slices) = self.slices;
        let mut axes = self.map;
        axes[0] = [self.index_base, wrap(first)];
        let lookup = Lookup::of(self.index);
        let plain = lookup.plain(self.depth, self.walked == 0);
        let flags = Flags {
            dims: self.depth,
            walked: self.walked,
            index: self.index,
            policy: self.policy,
            checks: self.checks,
            chains: self.chains,
            combine,
            ..Flags::default()
        };
        Lowered {
            // Dispatches that are not plain are rare, and not worth a pipeline without loops.
            lookup: match self.is_plain && plain.unrolled > 0 {
                true => plain.vectors(self.whole_fours),
                false => lookup,
            },
            ..Lowered::of(Words {
                flags: flags.word(),
                first: 0,
                count: u32::MAX,
                bound: wrap(slices as i64),
                axes,
            })
        }
    }
}

/// The map by which a shader finds the slice for each index tuple of a scatter. The first pair of words is a
/// placeholder: [`Resolve::combined`] replaces it by the word at which the tuples begin and the number of the first
/// bound slice. Fails if the map has too few pairs for the dimensions, or if a dimension or the number of slices
/// exceeds 2^32 - 2.
pub(crate) fn resolve_map(map: &scatter_nd::Map) -> Result<IndexedMap, Error> {
    // `u32::MAX` stands for no slice, so it must be neither the number of a slice nor the number of slices.
    let most = u32::MAX as usize - 1;
    let sizes = map.axes.iter().map(|axis| axis.size).chain([map.slices]);
    match sizes.max().filter(|&size| size > most) {
        Some(size) => Err(too_far(size as u64)),
        None => indexed_map(&map.axes, &walk(map), 0, 0),
    }
}

/// The dimensions that number the rows of a scatter, outermost first, with a dimension of size 1 added before them. An
/// [`IndexedMap`] stores only the stride of the outermost dimension, and [`Resolve::combined`] overwrites that stride
/// with the number of the first bound slice. The added dimension needs no stride. Empty if row n has tuple n.
fn walk(map: &scatter_nd::Map) -> Vec<Axis> {
    let one = Axis { size: 1, stride: 0 };
    let outermost = (!map.walk.is_empty()).then_some(one);
    outermost
        .into_iter()
        .chain(map.walk.iter().copied())
        .collect()
}

/// The map of a dispatch with the indexed dimensions `coordinates` and the walked dimensions `walk`. The tuples begin
/// at word `index_base` of their binding. The dispatch accepts indices into the first dimension from `first` on.
///
/// The size of the first dimension may exceed 32 bits: a dispatch accepts so few indices that the offsets between them
/// do not wrap. The last pair, if no dimension takes it, holds the high words of this size and of `first`. Fails if the
/// map has too few pairs, if another size exceeds 32 bits, or if the high words are not 0 but a dimension takes the
/// last pair.
fn indexed_map(
    coordinates: &[Axis],
    walk: &[Axis],
    index_base: u32,
    first: u64,
) -> Result<IndexedMap, Error> {
    let mut axes = [[0; 2]; INDEXED_PAIRS];
    let (pairs, inner) = (&mut axes[1..], walk.get(1..).unwrap_or_default());
    let used = coordinates.len() + inner.len();
    if used > pairs.len() {
        let what = match inner.len() {
            0 => "the index depth",
            _ => "the index depth, with the dimensions that are walked beside the tuples,",
        };
        return Err(Error::DeviceLimit {
            what,
            limit: "room for dimensions in a shader",
            needed: used as u64,
            allowed: pairs.len() as u64,
        });
    }
    let dimensions = coordinates.iter().chain(inner).enumerate();
    for (words, (number, axis)) in pairs.iter_mut().zip(dimensions) {
        let [size, high] = halves(axis.size as u64);
        if high > 0 && number > 0 {
            return Err(too_far(axis.size as u64));
        }
        *words = [size, low(axis.stride)];
    }
    let outer = coordinates.first().map_or(0, |outer| outer.size as u64);
    let high = [halves(outer)[1], halves(first)[1]];
    match pairs.get_mut(used..).and_then(<[_]>::last_mut) {
        Some(last) => *last = high,
        None if high == [0; 2] => {}
        None => return Err(too_far(outer)),
    }
    axes[0] = [index_base, walk.first().map_or(0, |axis| low(axis.stride))];
    Ok(axes)
}

/// Whether a dispatch is plain (`PLAIN` in `indexed.wgsl`): it accepts all indices into the first dimension, all
/// dimensions have fewer than 2^31 positions, and indices neither wrap nor are clamped. `first` and `count` are the
/// first index into the first dimension that the dispatch accepts, and how many it accepts.
pub(crate) fn is_plain(coordinates: &[Axis], first: u64, count: u32, policy: Policy) -> bool {
    let outer = coordinates.first().map_or(0, |outer| outer.size as u64);
    let short = |axis: &Axis| i32::try_from(axis.size).is_ok();
    let all = first == 0 && outer <= count.into() && coordinates.iter().all(short);
    all && !policy.wraps() && !policy.clamps()
}

/// A stride modulo 2^32.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the shaders compute modulo 2^32"
)]
fn low(stride: isize) -> u32 {
    stride as u32
}

/// The low and the high word of a number.
#[expect(clippy::cast_possible_truncation, reason = "the two halves of it")]
fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

#[cfg(test)]
mod tests {
    use super::{Axis, Policy, is_plain};

    #[test]
    fn plain_dispatches_look_at_all_of_short_dimensions() {
        let of = |sizes: &[usize], first, count| {
            let axes: Vec<_> = sizes.iter().map(|&size| Axis { size, stride: 1 }).collect();
            is_plain(&axes, first, count, Policy::default())
        };
        let most = 0x7fff_ffff;
        assert!(of(&[], 0, u32::MAX));
        assert!(of(&[most, most], 0, 0x7fff_ffff));
        assert!(of(&[0, 3], 0, u32::MAX));
        let wraps = Policy {
            negative: crate::options::NegativeIndex::Wrap,
            ..Policy::default()
        };
        assert!(!is_plain(&[], 0, u32::MAX, wraps), "negative indices");
        assert!(!of(&[most, most], 0, 0x7fff_fffe), "a part of the indices");
        assert!(!of(&[4, 3], 1, u32::MAX), "a later part");
        assert!(!of(&[most + 1], 0, u32::MAX), "a long dimension");
        assert!(!of(&[3, most + 1], 0, u32::MAX), "a long inner dimension");
    }
}
