//! What a dispatch reads: the host's side of `shaders/params.wgsl` and of each `Map`.
//!
//! A test compares every size and offset here with the shaders'.

use crate::{
    Error,
    layout::Axis,
    ops::{
        index::{IndexType, Policy},
        scatter_nd,
    },
    pairs::PairAxis,
};
use bytemuck::{Pod, Zeroable};

/// Dimensions that the map of a slice can hold. With the run that makes nine; a slice of rank 8 always
/// fits.
pub(crate) const MAX_AXES: usize = 8;

/// Pairs of words in the map of a gather; see `Map` in `indexed.wgsl`. All but one are for coordinates
/// and for the dimensions of the walk, of which the outermost needs no size.
pub(crate) const INDEXED_PAIRS: usize = 10;

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct Params {
    pub(crate) run: u32,
    pub(crate) step: u32,
    pub(crate) units: u32,
    pub(crate) tiles: u32,
    pub(crate) segment: u32,
    /// Workgroups along x, and from bit 16 on the logarithm of the lanes of a tile.
    pub(crate) grid: u32,
    /// [`Flags::word`].
    pub(crate) flags: u32,
    pub(crate) window: u32,
    pub(crate) source_base: u32,
    pub(crate) dest_base: u32,
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// [`StridedSliceMap`], [`PairsMap`], [`IndexedMap`] or that of [`scatter_map`].
    pub(crate) map: MapWords,
}

/// What all invocations of a dispatch agree on, beside numbers: `params.wgsl` reads it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flags {
    /// Dimensions that the map of a slice walks, or coordinates of an index tuple.
    pub(crate) dims: usize,
    /// Dimensions that a gather walks beside its tuples, and a bit for each that repeats them.
    pub(crate) walked: usize,
    pub(crate) repeats: u32,
    pub(crate) index: IndexType,
    pub(crate) policy: Policy,
    /// Whether each four neighbouring rows of a slice lie evenly apart.
    pub(crate) even: bool,
    /// `checks`: a scatter only looks for rows out of range. `strict`: it changes nothing if it has found one.
    pub(crate) checks: bool,
    pub(crate) strict: bool,
    /// Bytes of the elements that units hold in reverse order, if they do; or of a unit of `row_words.wgsl`.
    pub(crate) element: usize,
    /// How atomics combine numbers: 0 to 4.
    pub(crate) combine: u32,
}

impl Flags {
    pub(crate) fn word(self) -> u32 {
        let bit = |set, bit: u32| u32::from(set) << bit;
        // Four bits each: there are at most 9 coordinates and 10 walked dimensions.
        let four = |value: usize, bit: u32| u32::try_from(value & 15).unwrap_or_default() << bit;
        four(self.dims, 0)
            | four(self.walked, 4)
            | self.repeats << 8
            | bit(self.index != IndexType::U32, 18)
            | bit(self.policy.wraps(), 19)
            | bit(self.policy.clamps(), 20)
            | bit(self.even, 21)
            | bit(self.checks, 22)
            | bit(self.strict, 23)
            | four(self.element, 24)
            | self.combine << 28
    }
}

impl Params {
    pub(crate) fn grid_width(&self) -> u32 {
        self.grid & 0xffff
    }

    /// Lanes of a tile.
    pub(crate) fn lanes(&self) -> u32 {
        1 << (self.grid >> 16)
    }
}

/// The size of the params, which is also the room for immediates that a device must have.
pub(crate) const PARAMS_BYTES: u32 = 128;
const _: () = assert!(size_of::<Params>() == PARAMS_BYTES as usize);

/// Any operation's map.
pub(crate) type MapWords = [u32; size_of::<IndexedMap>() / size_of::<u32>()];

/// Pairs of size and stride.
type Axes = [[u32; 2]; MAX_AXES];

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct StridedSliceMap {
    pub(crate) axes: Axes,
    /// [`Tiling::words`].
    pub(crate) tiling: [u32; 4],
}

/// How a transpose is cut into tiles; see `transpose.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tiling {
    /// The dimension along which neighbours lie side by side in the source.
    pub(crate) near_dim: usize,
    /// The logarithms of the columns of a line, and of the words of a row.
    pub(crate) line_log2: u32,
    pub(crate) words_log2: u32,
    /// By how many bits the number of a word is shifted to find the place where it lies.
    pub(crate) swizzle: u32,
    /// All lines are one stretch of the source.
    pub(crate) is_stretch: bool,
    /// Rows begin anywhere in a word of the result.
    pub(crate) rows_shift: bool,
    /// Near positions and words of a row that the first tile has room for in front of the first.
    pub(crate) near_shift: usize,
    pub(crate) row_shift: usize,
    /// Tiles along each.
    pub(crate) near_tiles: u32,
    pub(crate) row_tiles: u32,
}

impl Tiling {
    fn words(&self) -> Option<[u32; 4]> {
        let bits = u32::try_from(self.near_dim).ok()?
            | self.line_log2 << 4
            | self.words_log2 << 8
            | self.swizzle << 12
            | u32::from(self.is_stretch) << 16
            | u32::from(self.rows_shift) << 17;
        let near_shift = u32::from(u16::try_from(self.near_shift).ok()?);
        let row_shift = u32::from(u16::try_from(self.row_shift).ok()?);
        let shifts = near_shift | row_shift << 16;
        Some([bits, shifts, self.near_tiles, self.row_tiles])
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct IndexedMap {
    pub(crate) axes: [[u32; 2]; INDEXED_PAIRS],
}

/// Dimensions outside of the run that a map of pairs can hold. One of more is cut along the outermost.
pub(crate) const MAX_PAIR_AXES: usize = 5;

/// What goes from one side to another: of an update and of a gradient.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct PairsMap {
    /// Size, stride in the source, stride in the destination, and a word that belongs to no dimension:
    /// the shaders say which.
    pub(crate) axes: [[u32; 4]; MAX_PAIR_AXES],
}

/// The map of pairs, with strides of the destination in `to_unit` units of it. None where it has too
/// many dimensions, or strides beyond 32 bits.
pub(crate) fn pairs_map(
    axes: &[PairAxis],
    to_unit: usize,
    words: [usize; MAX_PAIR_AXES],
) -> Option<MapWords> {
    if axes.len() > MAX_PAIR_AXES {
        return None;
    }
    let mut map = PairsMap::zeroed();
    for (map, axis) in map.axes.iter_mut().zip(axes) {
        map[0] = i32::try_from(axis.size).ok()?.cast_unsigned();
        // A negative stride wraps.
        map[1] = i32::try_from(axis.from).ok()?.cast_unsigned();
        map[2] = i32::try_from(axis.to / to_unit).ok()?.cast_unsigned();
    }
    for (map, word) in map.axes.iter_mut().zip(words) {
        map[3] = u32::try_from(word).ok()?;
    }
    Some(bytemuck::cast(map))
}

/// The first words of the map of a scatter's later steps.
pub(crate) fn scatter_map(words: [usize; 3]) -> MapWords {
    let mut map = MapWords::default();
    for (to, word) in map.iter_mut().zip(words) {
        // A distance is used where several slices are bound together, which then lie within 32 bits.
        *to = u32::try_from(word).unwrap_or(0);
    }
    map
}

/// The map by which the slices of a scatter are found. Its first pair is left open: where the tuples begin,
/// and the first slice that is bound.
pub(crate) fn resolve_map(map: &scatter_nd::Map) -> Result<IndexedMap, Error> {
    // Neither the number of a slice nor one behind the last may be what stands for none.
    let most = u32::MAX as usize - 1;
    let sizes = map.axes.iter().map(|axis| axis.size).chain([map.slices]);
    match sizes.max().filter(|&size| size > most) {
        Some(size) => Err(too_far(size as u64)),
        None => Ok(bytemuck::cast(indexed_map(&map.axes, &[], 0, 0)?)),
    }
}

/// The map of a slice. None where it has too many dimensions, or strides beyond 32 bits.
pub(crate) fn slice_map(axes: &[Axis], tiling: Tiling) -> Option<MapWords> {
    Some(bytemuck::cast(StridedSliceMap {
        axes: axis_words(axes)?,
        tiling: tiling.words()?,
    }))
}

/// The map of a gather with these coordinates and walked dimensions, whose tuples begin at word
/// `index_base` of their binding, and that looks at indices into the first dimension from `first` on.
///
/// That dimension may be longer than 32 bits tell, and what is counted along it farther apart: a
/// dispatch looks only at so many indices that offsets between them do not wrap. The last pair, if
/// nothing else needs it, holds the high words of its size and of `first`.
pub(crate) fn indexed_map(
    coordinates: &[Axis],
    walk: &[Axis],
    index_base: u32,
    first: u64,
) -> Result<MapWords, Error> {
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
    Ok(bytemuck::cast(IndexedMap { axes }))
}

/// Whether a dispatch that looks at `count` indices into the first dimension from `first` on looks at all of
/// them, all dimensions are shorter than 2^31, and indices outside have no source: `PLAIN` in `indexed.wgsl`.
pub(crate) fn is_plain(coordinates: &[Axis], first: u64, count: u32, policy: Policy) -> bool {
    let outer = coordinates.first().map_or(0, |outer| outer.size as u64);
    let short = |axis: &Axis| i32::try_from(axis.size).is_ok();
    let all = first == 0 && outer <= count.into() && coordinates.iter().all(short);
    all && !policy.wraps() && !policy.clamps()
}

fn axis_words(axes: &[Axis]) -> Option<Axes> {
    let mut words = Axes::default();
    if axes.len() > words.len() {
        return None;
    }
    for (words, axis) in words.iter_mut().zip(axes) {
        let size = i32::try_from(axis.size).ok()?;
        let stride = i32::try_from(axis.stride).ok();
        // A negative stride wraps.
        *words = [size.cast_unsigned(), stride?.cast_unsigned()];
    }
    Some(words)
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

/// The low and the high word.
#[expect(clippy::cast_possible_truncation, reason = "the two halves of it")]
fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// The error for offsets that 32 bits do not reach.
pub(crate) fn too_far(units: u64) -> Error {
    Error::DeviceLimit {
        what: "an offset within the tensor",
        limit: "32-bit shader arithmetic",
        needed: units,
        allowed: u64::from(i32::MAX.cast_unsigned()),
    }
}

/// A value as the shaders hold it: negative ones wrap, and so do offsets that are only a step on the way to one within
/// the binding.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the shaders compute modulo 2^32"
)]
pub(crate) fn wrap(value: i64) -> u32 {
    value as u32
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
            negative: crate::Negative::Wrap,
            ..Policy::default()
        };
        assert!(!is_plain(&[], 0, u32::MAX, wraps), "negative indices");
        assert!(!of(&[most, most], 0, 0x7fff_fffe), "a part of the indices");
        assert!(!of(&[4, 3], 1, u32::MAX), "a later part");
        assert!(!of(&[most + 1], 0, u32::MAX), "a long dimension");
        assert!(!of(&[3, most + 1], 0, u32::MAX), "a long inner dimension");
    }
}
