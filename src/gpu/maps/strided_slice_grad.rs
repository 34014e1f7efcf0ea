//! The row map of a gradient: `shaders/strided_slice_grad.wgsl`.

use super::Lowered;
use crate::{
    gpu::params::{self, Flags},
    pairs::PairAxis,
};

/// Rows of the result, some of whose units have a source.
#[derive(Clone, Debug)]
pub(crate) struct Gradient {
    /// Units of a row, which all outer strides of the result are multiples of.
    pub(crate) row: usize,
    /// The units of a row that have a source: none if the size is 0.
    pub(crate) run: PairAxis,
    pub(crate) axes: Vec<PairAxis>,
    /// The first unit of the result that has a source.
    pub(crate) first: usize,
}

impl Gradient {
    pub(super) fn lowered(&self) -> Option<Lowered> {
        let Self {
            row, run, first, ..
        } = *self;
        let words = [run.to, first % row, run.size, first / row, row];
        let flags = Flags {
            dims: self.axes.len(),
            ..Flags::default()
        };
        Some(Lowered::of(
            params::pairs_map(&self.axes, row, words)?,
            flags,
        ))
    }
}
