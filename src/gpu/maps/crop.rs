//! The row map of a crop: `shaders/crop.wgsl`.

use super::{Buffer, Facts, Lookup, Lowered, Tuples, Units, scaled};
use crate::{
    Error,
    gpu::uniforms::{too_far, wrap},
    ops::{
        crop,
        index::{IndexType, OutOfRange},
        indexed::Dimension,
    },
};
use bytemuck::{Pod, Zeroable};

pub(super) const FACTS: Facts = Facts {
    name: "crop",
    text: include_str!("../../../shaders/crop.wgsl"),
    buffers: &[Buffer::SOURCE, Buffer::DEST, Buffer::INDICES],
    reports: true,
    unrolls: false,
    is_dense: true,
    moves: true,
    #[cfg(test)]
    layout: || {
        super::layout!(Words:
            flags, index_base, first_row, bound, items, item_stride, first, count, axes,
        )
    },
};

/// The number of vectors that the map has for dimensions. A cropped dimension takes one vector, as do two kept
/// dimensions.
const VECTORS: usize = 4;

/// `Map` of `crop.wgsl`, which says what each field means.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Words {
    flags: u32,
    index_base: u32,
    first_row: u32,
    bound: u32,
    items: u32,
    item_stride: u32,
    first: u32,
    count: u32,
    axes: [[u32; 4]; VECTORS],
}

/// The row map of a crop: rows begin at a position within a box.
#[derive(Clone, Debug)]
pub(crate) struct Crop {
    pub(crate) map: crop::Map,
    pub(crate) tuples: Tuples,
    /// The number of the dispatch's first row, counted from the first row of its box.
    pub(crate) first_row: u64,
}

impl Crop {
    /// Converts the map to the units of a launch. Fails if the map has too few vectors for the dimensions, or if a
    /// size, a position or a distance between positions exceeds 31 bits.
    pub(super) fn lowered(&self, units: &Units) -> Result<Lowered, Error> {
        let crop::Map {
            gather,
            extents,
            boxes,
        } = &self.map;
        let tuples = &self.tuples;
        let axes = scaled(gather.coordinates.iter().copied(), units.factor);
        let walk = scaled(gather.walk.iter().map(Dimension::axis), units.factor);
        let ([item, axes @ ..], [numbered, walk @ ..]) = (&axes[..], &walk[..]) else {
            unreachable!("a crop has items and boxes")
        };
        let (dims, kept) = (extents.len(), &walk[extents.len()..]);
        let used = dims + kept.len().div_ceil(2);
        if used > VECTORS {
            return Err(Error::DeviceLimit {
                what: "the number of cropped dimensions, with those that are kept,",
                limit: "room for dimensions in a shader",
                needed: used as u64,
                allowed: VECTORS as u64,
            });
        }
        // The shader needs positions, and the distances between them, to be less than 2^31.
        let word = |number: u128| {
            let number = u64::try_from(number).unwrap_or(u64::MAX);
            i32::try_from(number)
                .map(i32::cast_unsigned)
                .map_err(|_| too_far(number))
        };
        let mut words = [[0; 4]; VECTORS];
        for (words, (axis, extent)) in words.iter_mut().zip(axes.iter().zip(extents)) {
            let step = if extent.reach() == 0 { 1 } else { extent.step };
            word(extent.reach())?;
            *words = [
                word(extent.size as u128)?,
                word(axis.size as u128)?,
                low(axis.stride),
                low(step),
            ];
        }
        for (d, axis) in kept.iter().enumerate() {
            let pair = &mut words[dims + d / 2][2 * (d % 2)..][..2];
            pair.copy_from_slice(&[word(axis.size as u128)?, low(axis.stride)]);
        }
        let bit = |set, bit: u32| u32::from(set) << bit;
        let clamps = gather.policy.out_of_range == OutOfRange::Clamp;
        // At most 4 cropped and 8 kept dimensions: both numbers fit in four bits.
        let flags = wrap(dims as i64)
            | wrap(kept.len() as i64) << 4
            | bit(boxes.box_indices, 8)
            | bit(boxes.flips, 9)
            | bit(tuples.index != IndexType::U32, 10)
            | bit(clamps, 11);
        let of_items = if boxes.box_indices { item } else { numbered };
        Ok(Lowered {
            lookup: Lookup::of(tuples.index),
            ..Lowered::of(Words {
                flags,
                index_base: tuples.base,
                first_row: word(self.first_row.into())?,
                bound: wrap(tuples.bound.cast_signed() / units.factor as i64),
                items: word(item.size as u128)?,
                item_stride: low(of_items.stride),
                first: word(tuples.first.into())?,
                count: tuples.count,
                axes: words,
            })
        })
    }
}

/// A stride modulo 2^32.
fn low(stride: isize) -> u32 {
    wrap(stride as i64)
}
