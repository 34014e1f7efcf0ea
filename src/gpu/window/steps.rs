//! What is done for a scatter, step by step.

use super::{Dispatch, stretch::Stretch};
use crate::gpu::{scratch::Scratch, uniforms::wrap};

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
    /// The block since which `head` need not be cleared: its rows and those of later blocks have greater numbers than
    /// earlier ones.
    fn cleared(&self, block: &Block) -> Option<Block> {
        self.cleared.filter(|cleared| {
            let end = block.rows.first + block.rows.len;
            (cleared.slices, cleared.run) == (block.slices, block.run)
                && end - cleared.rows.first < i32::MAX as usize
        })
    }

    /// The number of a block's first row. Where other blocks have used `head`, or numbers would become too large,
    /// numbers begin anew.
    pub(super) fn number(&self, block: &Block) -> u32 {
        let cleared = self.cleared(block).unwrap_or(*block);
        wrap((block.rows.first - cleared.rows.first) as i64)
    }

    /// Takes the next step.
    pub(super) fn push(&mut self, block: &Block, mut step: Step, scratch: Scratch) {
        self.scratch = self.scratch.max(scratch);
        if let Some(before) = &mut step.before {
            let cleared = self.cleared(block);
            if cleared.is_some() {
                before.cleared = 0;
            }
            self.cleared = Some(cleared.unwrap_or(*block));
        }
        self.blocks.push(step);
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

/// Some rows as far as they go to some slices, and of those a stretch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) rows: Stretch,
    pub(super) slices: Stretch,
    pub(super) run: Stretch,
}

impl Block {
    /// Halves of one of its stretches.
    pub(super) fn halves(
        mut self,
        stretch: impl Fn(&mut Self) -> &mut Stretch,
    ) -> Option<[Self; 2]> {
        let halves = stretch(&mut self).halves()?;
        Some(halves.map(|half| {
            *stretch(&mut self) = half;
            self
        }))
    }
}
