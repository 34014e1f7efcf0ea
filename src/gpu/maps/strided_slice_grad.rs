//! The row map of a gradient: `shaders/strided_slice_grad.wgsl`.

use super::{
    Buffer, Facts, Lowered, Units,
    strided_slice_update::{MAX_PAIR_AXES, pair_words},
};
use crate::pairs::PairAxis;
use bytemuck::{Pod, Zeroable};

pub(super) const FACTS: Facts = Facts {
    name: "strided_slice_grad",
    text: include_str!("../../../shaders/strided_slice_grad.wgsl"),
    buffers: &[Buffer::SOURCE, Buffer::DEST],
    reports: false,
    unrolls: false,
    is_dense: false,
    moves: true,
    #[cfg(test)]
    layout: || super::layout!(Words: dims, quarter, row_units, first_row, axes),
};

/// `Map` of `strided_slice_grad.wgsl`, which says what each field means.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Words {
    dims: u32,
    quarter: u32,
    row_units: u32,
    first_row: u32,
    axes: [[u32; 4]; MAX_PAIR_AXES],
}

/// The row map of a gradient: rows are contiguous in the result. Some rows have units with a source. `axes` say which
/// rows these are, and where their sources begin.
#[derive(Clone, Debug)]
pub(crate) struct Gradient {
    /// The number of units in a row. The strides of `axes` in the result are multiples of this number.
    pub(crate) row: usize,
    /// The units with a source, in each row that has such units. If the size is 0, no row has them.
    pub(crate) run: PairAxis,
    pub(crate) axes: Vec<PairAxis>,
    /// The number of the result's first unit that has a source.
    pub(crate) first: usize,
}

impl Gradient {
    pub(super) fn lowered(&self, units: &Units) -> Option<Lowered> {
        let Self {
            row, run, first, ..
        } = *self;
        let mut axes = pair_words(&self.axes, row)?;
        for (axis, word) in axes.iter_mut().zip([run.to, first % row, run.size]) {
            axis[3] = u32::try_from(word).ok()?;
        }
        Some(Lowered::of(Words {
            dims: u32::try_from(self.axes.len()).ok()?,
            quarter: u32::try_from(units.quarter).ok()?,
            row_units: u32::try_from(row).ok()?,
            first_row: u32::try_from(first / row).ok()?,
            axes,
        }))
    }
}
