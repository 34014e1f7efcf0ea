//! The row map of an update: `shaders/strided_slice_update.wgsl`.

use super::{Lowered, Units};
use crate::{
    gpu::params::{self, Flags},
    pairs::PairAxis,
};

/// An odometer that turns on both sides at once.
#[derive(Clone, Debug)]
pub(crate) struct Update {
    pub(crate) run: PairAxis,
    pub(crate) axes: Vec<PairAxis>,
}

impl Update {
    pub(super) fn lowered(&self, units: &Units) -> Option<Lowered> {
        let mut axes = self.axes.clone();
        let mut step = self.run.to;
        if units.split_run.is_some() {
            axes.push(self.run);
            step = 1;
        }
        let flags = Flags {
            dims: axes.len(),
            ..Flags::default()
        };
        Some(Lowered::of(
            params::pairs_map(&axes, 1, [step, 0, 0, 0, 0])?,
            flags,
        ))
    }
}
