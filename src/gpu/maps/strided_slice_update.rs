//! The row map of an update: `shaders/strided_slice_update.wgsl`.

use super::{Buffer, Facts, Lowered, Units};
use crate::pairs::PairAxis;
use bytemuck::{Pod, Zeroable};

/// The most dimensions besides the run that the map of an update or a gradient can hold, one in each of the five
/// vectors of the map. A plan with more dimensions is cut along its outermost dimension.
pub(crate) const MAX_PAIR_AXES: usize = 5;

pub(super) const FACTS: Facts = Facts {
    name: "strided_slice_update",
    text: include_str!("../../../shaders/strided_slice_update.wgsl"),
    buffers: &[Buffer::SOURCE, Buffer::DEST],
    reports: false,
    unrolls: false,
    is_dense: false,
    moves: true,
    #[cfg(test)]
    layout: || super::layout!(Words: dims, spacing, quarter, axes),
};

/// `Map` of `strided_slice_update.wgsl`, which says what each field means.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Words {
    dims: u32,
    spacing: u32,
    quarter: u32,
    pad: u32,
    axes: [[u32; 4]; MAX_PAIR_AXES],
}

/// The row map of an update: rows are strided along `axes` on both sides.
#[derive(Clone, Debug)]
pub(crate) struct Update {
    /// The number of units in a row, and the distances between neighbouring units on both sides.
    pub(crate) run: PairAxis,
    pub(crate) axes: Vec<PairAxis>,
}

impl Update {
    pub(super) fn lowered(&self, units: &Units) -> Option<Lowered> {
        let mut axes = self.axes.clone();
        let mut spacing = self.run.to;
        if units.split_run.is_some() {
            axes.push(self.run);
            spacing = 1;
        }
        Some(Lowered::of(Words {
            dims: u32::try_from(axes.len()).ok()?,
            spacing: u32::try_from(spacing).ok()?,
            quarter: u32::try_from(units.quarter).ok()?,
            pad: 0,
            axes: pair_words(&axes, 1)?,
        }))
    }
}

/// Converts each dimension to a vector of its size, its stride in the source, its stride in the destination divided by
/// `to_unit`, and 0. `None` if there are too many dimensions, or if a size or a stride does not fit in a signed 32-bit
/// word.
pub(super) fn pair_words(axes: &[PairAxis], to_unit: usize) -> Option<[[u32; 4]; MAX_PAIR_AXES]> {
    if axes.len() > MAX_PAIR_AXES {
        return None;
    }
    let mut all = [[0; 4]; MAX_PAIR_AXES];
    for (words, axis) in all.iter_mut().zip(axes) {
        let size = i32::try_from(axis.size).ok()?;
        // A negative stride is stored modulo 2^32.
        let from = i32::try_from(axis.from).ok()?;
        let to = i32::try_from(axis.to / to_unit).ok()?;
        *words = [size, from, to, 0].map(i32::cast_unsigned);
    }
    Some(all)
}
