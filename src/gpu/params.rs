//! What a dispatch is told: the host's side of `shaders/params.wgsl` and of each `Map`.
//!
//! A test compares every size and offset here with the shaders'.

use crate::{
    Error,
    layout::Axis,
    ops::{gather_nd, strided_slice},
    pairs::PairAxis,
};
use bytemuck::{Pod, Zeroable};

/// Dimensions that a map can hold. With the run that makes nine; a slice of rank 8 always fits.
pub(crate) const MAX_AXES: usize = 8;

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct Params {
    pub(crate) run: u32,
    pub(crate) step: u32,
    pub(crate) units: u32,
    pub(crate) tiles: u32,
    pub(crate) segment: u32,
    pub(crate) lanes_log2: u32,
    pub(crate) grid_width: u32,
    pub(crate) window: u32,
    pub(crate) source_base: u32,
    pub(crate) dest_base: u32,
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// [`StridedSliceMap`], [`PairsMap`] or [`GatherNdMap`].
    pub(crate) map: MapWords,
}

/// Any operation's map.
pub(crate) type MapWords = [u32; size_of::<GatherNdMap>() / size_of::<u32>()];

/// Pairs of size and stride.
type Axes = [[u32; 2]; MAX_AXES];

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct StridedSliceMap {
    pub(crate) axes: Axes,
    pad: [u32; 4],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct GatherNdMap {
    pub(crate) index_base: u32,
    pub(crate) batch_rows: u32,
    pub(crate) batch_stride: u32,
    /// The axes are vectors in the shader, which lie at multiples of 16 bytes.
    pad: u32,
    pub(crate) axes: Axes,
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
pub(crate) fn pairs_map(axes: &[PairAxis], to_unit: usize, words: [usize; 4]) -> Option<MapWords> {
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

/// The map of a slice. None where it has too many dimensions, or strides beyond 32 bits.
pub(crate) fn slice_map(map: &strided_slice::Map) -> Option<MapWords> {
    Some(bytemuck::cast(StridedSliceMap {
        axes: axis_words(&map.axes)?,
        pad: [0; 4],
    }))
}

/// The map of a gather whose tuples begin at word `index_base` of their binding, and that looks at
/// indices into the first dimension from `first` on.
///
/// That dimension may be longer than 32 bits tell, and what is counted along it farther apart: a
/// dispatch looks only at so many indices that offsets between them do not wrap. The last pair of the
/// axes, if no axis needs it, holds the high words of its size and of `first`.
pub(crate) fn gather_map(
    map: &gather_nd::Map,
    index_base: u32,
    first: u64,
) -> Result<MapWords, Error> {
    let depth = map.axes.len();
    if depth > MAX_AXES {
        return Err(Error::DeviceLimit {
            what: "the index depth",
            limit: "shader limit of dimensions",
            needed: depth as u64,
            allowed: MAX_AXES as u64,
        });
    }
    let mut axes = Axes::default();
    let mut outer_high = [0; 2];
    for (number, (words, axis)) in axes.iter_mut().zip(&map.axes).enumerate() {
        let size = halves(axis.size as u64);
        *words = [size[0], halves(axis.stride.unsigned_abs() as u64)[0]];
        match (number, size[1]) {
            (0, high) => outer_high = [high, halves(first)[1]],
            (_, 0) => {}
            _ => return Err(too_far(axis.size as u64)),
        }
    }
    match axes.last_mut() {
        Some(last) if depth < MAX_AXES => *last = outer_high,
        _ if outer_high == [0; 2] => {}
        _ => return Err(too_far(map.axes[0].size as u64)),
    }
    let word = |value: usize| u32::try_from(value).map_err(|_| too_far(value as u64));
    Ok(bytemuck::cast(GatherNdMap {
        index_base,
        batch_rows: word(map.batch_rows)?,
        // Used where several batches are looked at together, which then lie within 32 bits.
        batch_stride: word(map.batch_stride).unwrap_or(0),
        pad: 0,
        axes,
    }))
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
