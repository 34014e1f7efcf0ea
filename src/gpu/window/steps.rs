//! What is done for a scatter, step by step.

use super::{Dispatch, interval::Interval};
use crate::gpu::{params::wrap, scratch::Scratch};

/// What is done for a scatter, in this order.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// Look at all rows, where a bad one forbids everything.
    pub(crate) checks: Vec<Dispatch>,
    pub(crate) blocks: Vec<Step>,
    pub(crate) scratch: Scratch,
    /// The block before which `head` was cleared last.
    cleared: Option<Block>,
}

impl Steps {
    /// Takes the next step.
    pub(super) fn push(&mut self, block: &Block, mut step: Step, scratch: Scratch) {
        self.scratch = self.scratch.max(scratch);
        if let Some(before) = &mut step.before {
            self.number(block, before, &mut step.apply);
        }
        self.blocks.push(step);
    }

    /// Numbers the rows of a block so that those of earlier ones need not be cleared: they are less. Where
    /// others left something in `head`, or numbers would become too large, it begins anew.
    fn number(&mut self, block: &Block, before: &mut Before, apply: &mut Dispatch) {
        let continued = self.cleared.filter(|cleared| {
            let end = block.rows.first + block.rows.len;
            (cleared.slices, cleared.run) == (block.slices, block.run)
                && end - cleared.rows.first < i32::MAX as usize
        });
        if continued.is_some() {
            before.cleared = 0;
        }
        let cleared = *self.cleared.insert(continued.unwrap_or(*block));
        let number = wrap((block.rows.first - cleared.rows.first) as i64);
        before.resolve.params.dest_base = number;
        apply.params.first = number;
        for order in &mut before.order {
            order.params.first = number;
        }
    }

    /// Dispatches of all steps.
    #[cfg(test)]
    pub(crate) fn dispatches(&self) -> usize {
        let before = |step: &Step| {
            step.before
                .as_ref()
                .map_or(0, |before| 1 + before.order.len())
        };
        let blocks = self.blocks.iter().map(|step| before(step) + 1);
        self.checks.len() + blocks.sum::<usize>()
    }
}

/// What is done for a block.
#[derive(Debug)]
pub(crate) struct Step {
    /// None where rows need to know nothing of each other.
    pub(crate) before: Option<Before>,
    /// The last dispatch, which changes the destination.
    pub(crate) apply: Dispatch,
}

/// What is found out about the rows of a block.
#[derive(Debug)]
pub(crate) struct Before {
    /// Bytes of `head` that must be zeros before.
    pub(crate) cleared: u64,
    pub(crate) resolve: Dispatch,
    /// What puts the rows of each slice in order, if that counts.
    pub(crate) order: Vec<Dispatch>,
}

/// Some rows as far as they go to some slices, and of those a interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) rows: Interval,
    pub(super) slices: Interval,
    pub(super) run: Interval,
}

impl Block {
    /// Halves of one of its intervals.
    pub(super) fn halves(
        mut self,
        interval: impl Fn(&mut Self) -> &mut Interval,
    ) -> Option<[Self; 2]> {
        let halves = interval(&mut self).halves()?;
        Some(halves.map(|half| {
            *interval(&mut self) = half;
            self
        }))
    }
}
