//! The row map of a slice: `shaders/strided_slice.wgsl`.

use super::{Lowered, Units, scaled};
use crate::{
    gpu::params::{self, Flags, MAX_AXES},
    layout::Axis,
    plan::Rows,
};

/// An odometer in the source.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    pub(crate) axes: Vec<Axis>,
}

impl Slice {
    /// Rows with each unit as a row of its own, and the dimension that their run becomes, if there is room for one more.
    pub(crate) fn split(&self, rows: &Rows) -> Option<(Rows, Axis)> {
        let run = Axis {
            size: rows.run,
            stride: rows.step,
        };
        let rows = Rows {
            count: rows.units(),
            run: 1,
            step: 1,
            ..*rows
        };
        (self.axes.len() < MAX_AXES).then_some((rows, run))
    }

    pub(super) fn lowered(&self, units: &Units) -> Option<Lowered> {
        let axes = scaled(
            self.axes.iter().copied().chain(units.split_run),
            units.factor,
        );
        let inner = axes.last().map_or(1, |axis| axis.size);
        let flags = Flags {
            dims: axes.len(),
            even: units.four_rows && inner.is_multiple_of(4),
            ..Flags::default()
        };
        Some(Lowered::of(
            params::slice_map(&axes, units.tiling.unwrap_or_default())?,
            flags,
        ))
    }
}
