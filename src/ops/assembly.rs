//! The common part of `concat`, `stack`, `pad` and `roll`: results that are assembled from pieces. `View::along` also
//! serves `split` and masks.
//!
//! A piece is a step from a view of an input to a view of the output. Together the pieces cover the output, and no two
//! of them overlap, so they can be written in any order.

use crate::prelude::*;
use crate::{Error, View, error, plan::Steps};

/// The largest number of pieces of a padded or rolled array: 3^10, for 10 dimensions that are padded at both ends.
const MAX_PIECES: usize = 59_049;

/// Positions along one dimension of a source: `count` positions from `first` on, `step` apart. They are copied to
/// neighbouring positions of the result, from `to` on. A step of 0 repeats a position.
#[derive(Clone, Copy, Debug)]
pub(super) struct PositionRun {
    pub(super) first: usize,
    pub(super) step: isize,
    pub(super) to: usize,
    pub(super) count: usize,
}

impl Steps {
    /// Adds a step from input 0 for each combination of one run from each dimension. `runs` has a list for each
    /// dimension. Fails for more than [`MAX_PIECES`] combinations.
    pub(super) fn put_runs(&mut self, x: &View, runs: &[Vec<PositionRun>]) -> Result<(), Error> {
        let piece_count = runs
            .iter()
            .fold(1usize, |count, runs| count.saturating_mul(runs.len()));
        if piece_count > MAX_PIECES {
            return Err(error::assembly::too_many_pieces(piece_count, MAX_PIECES));
        }
        let mut pieces = vec![(x.clone(), View::whole(self.shape()))];
        for (axis, runs) in runs.iter().enumerate() {
            let cut_pieces = |(from, to): &(View, View)| {
                let piece = |run: &PositionRun| {
                    (
                        from.along(axis, run.first, run.step, run.count),
                        to.along(axis, run.to, 1, run.count),
                    )
                };
                runs.iter().map(piece).collect::<Vec<_>>()
            };
            pieces = pieces.iter().flat_map(cut_pieces).collect();
        }
        self.reserve(pieces.len());
        for (from, to) in pieces {
            self.put(0, &from, to);
        }
        Ok(())
    }
}

impl View {
    /// Returns the part of this view with `count` positions of dimension `axis`, `step` apart, from `first` on.
    pub(super) fn along(&self, axis: usize, first: usize, step: isize, count: usize) -> Self {
        let mut view = self.clone();
        let stride = view.strides[axis];
        view.shape[axis] = count;
        view.strides[axis] = if count > 1 { stride * step } else { 0 };
        if count > 0 {
            view.offset = crate::layout::along(view.offset, stride, first);
        }
        view.normalize();
        view
    }
}
