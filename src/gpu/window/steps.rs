//! The dispatches of a scatter, step by step.
//!
//! `head` is scratch memory with an entry for each slice of a block. The entry names a row that goes to the slice. Row
//! numbers grow from block to block, so a number below those of the current block's rows was left by an earlier block
//! and is ignored. `head` is cleared only before the first block, before a block with other slices or units than the
//! previous block, and where row numbers would become too large.

use super::{Dispatch, interval::Interval};
use crate::gpu::{scratch::Scratch, uniforms::wrap, work::Pass};

/// The dispatches of a scatter: all checks, then the blocks in order.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// The dispatches that check all rows. Empty unless a single row out of range forbids all changes.
    pub(crate) checks: Vec<Dispatch>,
    /// A pass for each block. Its last dispatch changes the destination.
    pub(crate) blocks: Vec<Pass<Dispatch>>,
    /// The scratch memory that suffices for every block.
    pub(crate) scratch: Scratch,
    /// The block before which `head` was last cleared.
    cleared: Option<Block>,
}

impl Steps {
    /// The block before which `head` was last cleared. `None` if `head` must be cleared for `block` too, because there
    /// was no block before, the blocks differ in slices or units, or row numbers would exceed 31 bits (the highest bit
    /// of an entry is a flag).
    fn cleared(&self, block: &Block) -> Option<Block> {
        self.cleared.filter(|cleared| {
            let end = block.rows.first + block.rows.len;
            (cleared.slices, cleared.run) == (block.slices, block.run)
                && end - cleared.rows.first < i32::MAX as usize
        })
    }

    /// The number that `head` gives to the first row of `block`. Numbers count from the first row of the block before
    /// which `head` was last cleared, so this is 0 if `head` must be cleared for `block` itself.
    pub(super) fn number(&self, block: &Block) -> u32 {
        let cleared = self.cleared(block).unwrap_or(*block);
        wrap((block.rows.first - cleared.rows.first) as i64)
    }

    /// Appends the pass of `block`, which needs the scratch memory `scratch`. Leaves out the clearing of `head` if it
    /// is not needed.
    pub(super) fn push(&mut self, block: &Block, mut pass: Pass<Dispatch>, scratch: Scratch) {
        self.scratch = self.scratch.max(scratch);
        if scratch.head > 0 {
            let cleared = self.cleared(block);
            if cleared.is_some() {
                pass.cleared = 0..0;
            }
            self.cleared = Some(cleared.unwrap_or(*block));
        }
        self.blocks.push(pass);
    }

    #[cfg(test)]
    pub(crate) fn dispatches(&self) -> usize {
        let blocks = self.blocks.iter().map(|pass| pass.dispatches.len());
        self.checks.len() + blocks.sum::<usize>()
    }
}

/// A block: the units `run` of those rows of the interval `rows` that go to slices of the interval `slices`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) rows: Interval,
    pub(super) slices: Interval,
    pub(super) run: Interval,
}
