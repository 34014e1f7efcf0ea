//! Interleaves arrays: the result has the first piece of each array, then the second piece of each array. Stacking
//! planes along the last axis and concatenating columns have such results. If each array had its own step, the step
//! would write the array's pieces one by one, at a distance.
//!
//! If all arrays were in one buffer, interleaving them would be a transpose, which moves many pieces at a time. So a
//! thread copies a block of each array to a buffer in the first-level cache, the stage, and transposes the stage into
//! the result.

use super::{
    Dest,
    slice::LoopNest,
    threads::{self, Threads},
};
use crate::prelude::*;
use crate::{DType, View, walk::Walk};

/// The size of a stage in bytes. The first-level cache holds the stage and the block of the result.
const STAGE_BYTES: usize = 8 << 10;

/// The size in bytes of the shortest block of an array. With more arrays, blocks would be shorter, and copying them
/// would take longer than it saves.
const MIN_BLOCK_BYTES: usize = 128;

/// The maximum size of a piece in bytes. Copying longer pieces one by one is as fast as interleaving them by a
/// transpose.
const MAX_PIECE_BYTES: usize = 16;

/// An interleaving of arrays that have the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Weave {
    array_count: usize,
    /// The number of elements of a piece.
    piece_elements: usize,
    dtype: DType,
}

impl Weave {
    /// Returns the interleaving of `array_count` arrays, each of `piece_count` pieces with `piece_elements` elements.
    /// Returns `None` if a step for each array is as fast.
    pub(crate) fn if_faster(
        array_count: usize,
        piece_count: usize,
        piece_elements: usize,
        dtype: DType,
    ) -> Option<Self> {
        let piece_bytes = piece_elements * dtype.size();
        let is_worthwhile = (2..=STAGE_BYTES / MIN_BLOCK_BYTES).contains(&array_count)
            && (1..=MAX_PIECE_BYTES).contains(&piece_bytes)
            && piece_count * piece_bytes * array_count >= STAGE_BYTES;
        is_worthwhile.then_some(Self {
            array_count,
            piece_elements,
            dtype,
        })
    }

    fn piece_bytes(self) -> usize {
        self.piece_elements * self.dtype.size()
    }

    /// Returns the number of threads that write a result of `bytes` bytes.
    fn thread_count(self, bytes: usize, threads: Threads) -> usize {
        threads.count_for(bytes, bytes / MIN_BLOCK_BYTES)
    }

    pub(crate) fn explain(self, bytes: usize, threads: Threads) -> String {
        let description = format!(
            "pieces of {} arrays in turn, by a transpose",
            self.array_count
        );
        threads::explain(self.thread_count(bytes, threads), description)
    }

    /// Writes the result: for each position, the piece of every array.
    pub(crate) fn run(self, arrays: &[&[u8]], dest: Dest<'_>, threads: Threads) {
        let piece_bytes = self.piece_bytes();
        let row_bytes = self.array_count * piece_bytes;
        // The number of pieces of each array that a stage holds.
        let stage_pieces = STAGE_BYTES / row_bytes;
        let stage = View::whole(&[self.array_count, stage_pieces, self.piece_elements]);
        let Ok(transposed_stage) = stage.transpose(&[1, 0, 2]) else {
            unreachable!("three axes in another order");
        };
        let walk = Walk::from_view(&transposed_stage, self.dtype.size());
        let loop_nest = LoopNest::from_walk(&walk);
        let one_thread = Threads::at_most(1);
        let threads = self.thread_count(dest.len(), threads);
        threads::spread(dest, stage_pieces * row_bytes, threads, |first, dest| {
            let mut stage = vec![0; stage_pieces * row_bytes];
            let mut at = first / self.array_count;
            for block in dest.chunks_mut(stage_pieces * row_bytes) {
                let bytes = block.len() / self.array_count;
                for (array, stage) in arrays
                    .iter()
                    .zip(stage.chunks_exact_mut(stage_pieces * piece_bytes))
                {
                    stage[..bytes].copy_from_slice(&array[at..at + bytes]);
                }
                loop_nest.run(&stage, 0, block.into(), one_thread);
                at += bytes;
            }
        });
    }
}
