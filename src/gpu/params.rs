//! What a dispatch is told: the host's side of `shaders/params.wgsl` and of each `Map`.
//!
//! A test compares every size and offset here with the shaders'.

use crate::{
    Error,
    layout::Axis,
    ops::{gather_nd, strided_slice},
    plan::{Map, Plan},
};
use bytemuck::{Pod, Zeroable};

/// Dimensions that a map can hold. With the run that makes nine; a slice of rank 8 always fits.
pub(crate) const MAX_AXES: usize = 8;

/// The name that errors give to [`MAX_AXES`].
const AXES_LIMIT: &str = "shader limit of merged dimensions or index depth";

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct Params {
    pub(crate) run: u32,
    pub(crate) step: u32,
    pub(crate) units: u32,
    pub(crate) tiles: u32,
    pub(crate) segments: u32,
    pub(crate) segment: u32,
    pub(crate) lanes_log2: u32,
    pub(crate) grid_width: u32,
    pub(crate) source_base: u32,
    pub(crate) dest_base: u32,
    pub(crate) pad: [u32; 2],
    /// [`StridedSliceMap`] or [`GatherNdMap`].
    pub(crate) map: [u32; MAP_WORDS],
}

const MAP_WORDS: usize = size_of::<GatherNdMap>() / size_of::<u32>();

/// Pairs of size and stride.
type Axes = [[u32; 2]; MAX_AXES];

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct StridedSliceMap {
    pub(crate) offset: u32,
    pub(crate) dims: u32,
    pub(crate) pad: [u32; 2],
    pub(crate) axes: Axes,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct GatherNdMap {
    pub(crate) depth: u32,
    pub(crate) index_words: u32,
    pub(crate) batch_rows: u32,
    pub(crate) batch_stride: u32,
    pub(crate) axes: Axes,
}

/// The map of a plan as its shader reads it. `index_words` is 1 for i32 indices and 2 for i64.
pub(crate) fn map_words(map: &Map, index_words: u32) -> Result<[u32; MAP_WORDS], Error> {
    Ok(match map {
        Map::StridedSlice(strided_slice::Map { offset, axes }) => bytemuck::cast(StridedSliceMap {
            offset: word(*offset)?,
            dims: word(axes.len())?,
            pad: [0; 2],
            axes: axis_words(axes)?,
        }),
        Map::GatherNd(map) => {
            let gather_nd::Map {
                axes,
                batch_rows,
                batch_stride,
                ..
            } = map;
            bytemuck::cast(GatherNdMap {
                depth: word(axes.len())?,
                index_words,
                batch_rows: word(*batch_rows)?,
                batch_stride: word(*batch_stride)?,
                axes: axis_words(axes)?,
            })
        }
    })
}

fn axis_words(axes: &[Axis]) -> Result<Axes, Error> {
    if axes.len() > MAX_AXES {
        return Err(Error::DeviceLimit {
            what: "the operation",
            limit: AXES_LIMIT,
            needed: axes.len() as u64,
            allowed: MAX_AXES as u64,
        });
    }
    let mut words = Axes::default();
    for (words, axis) in words.iter_mut().zip(axes) {
        *words = [word(axis.size)?, signed_word(axis.stride)?];
    }
    Ok(words)
}

/// A count or offset as the shaders hold it.
///
/// Below 2^31, so that sums of two do not wrap and a negative i32 index, read as unsigned, is
/// above every size.
pub(crate) fn word(value: usize) -> Result<u32, Error> {
    i32::try_from(value)
        .map(i32::cast_unsigned)
        .map_err(|_| too_far(value))
}

/// A stride as the shaders hold it: negative ones wrap.
pub(crate) fn signed_word(value: isize) -> Result<u32, Error> {
    i32::try_from(value)
        .map(i32::cast_unsigned)
        .map_err(|_| too_far(value.unsigned_abs()))
}

fn too_far(value: usize) -> Error {
    Error::DeviceLimit {
        what: "an offset within the tensor",
        limit: "32-bit shader arithmetic",
        needed: value as u64,
        allowed: i32::MAX as u64,
    }
}

/// The words of a plan's source that offsets must reach.
pub(crate) fn check_reach(plan: &Plan) -> Result<(), Error> {
    word(plan.source_bytes() / plan.rows.unit)?;
    word(plan.rows.units())?;
    Ok(())
}
