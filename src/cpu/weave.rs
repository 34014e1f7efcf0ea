//! Arrays whose short pieces take turns in the result: planes that are stacked along the last axis, columns that are put
//! beside each other. A step for each array would write pieces of one array at a distance, one by one.
//!
//! The same pieces in the memory of one array would be a transpose, which moves many at once. So a block of each array is
//! copied to a stage in the nearest cache, and the stage is transposed into the result.

use super::{
    Dest,
    slice::LoopNest,
    threads::{self, Threads},
};
use crate::prelude::*;
use crate::{DType, View, walk::Walk};

/// The bytes of a stage, which the nearest cache holds beside the block of the result.
const STAGE: usize = 8 << 10;

/// The shortest blocks of an array, in bytes, and so the most arrays. Copies of fewer bytes take longer than they save.
const BLOCK: usize = 128;

/// The longest pieces in bytes. Longer ones are copied one by one as fast.
const LONGEST: usize = 16;

/// Arrays of one length whose pieces take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Weave {
    /// The number of arrays.
    count: usize,
    /// The number of elements of a piece.
    elements: usize,
    dtype: DType,
}

impl Weave {
    /// `count` arrays, each of `rows` pieces. `None` if the steps are as fast.
    pub(crate) fn of(count: usize, rows: usize, elements: usize, dtype: DType) -> Option<Self> {
        let piece = elements * dtype.size();
        let pays = (2..=STAGE / BLOCK).contains(&count)
            && (1..=LONGEST).contains(&piece)
            && rows * piece * count >= STAGE;
        pays.then_some(Self {
            count,
            elements,
            dtype,
        })
    }

    fn piece(self) -> usize {
        self.elements * self.dtype.size()
    }

    /// The number of threads that write a result of `bytes` bytes.
    fn threads(self, bytes: usize, threads: Threads) -> usize {
        threads.worth(bytes, bytes / BLOCK)
    }

    pub(crate) fn explain(self, bytes: usize, threads: Threads) -> String {
        let how = format!("pieces of {} arrays in turn, by a transpose", self.count);
        threads::explain(self.threads(bytes, threads), how)
    }

    /// Writes the pieces of the arrays to `dest` in turn.
    pub(crate) fn run(self, arrays: &[&[u8]], dest: Dest<'_>, threads: Threads) {
        let piece = self.piece();
        let row = self.count * piece;
        // The pieces of each array that a stage holds.
        let pieces = STAGE / row;
        let stage = View::whole(&[self.count, pieces, self.elements]);
        let Ok(turned) = stage.transpose(&[1, 0, 2]) else {
            unreachable!("three axes in another order");
        };
        let walk = Walk::of_view(&turned, self.dtype.size());
        let nest = LoopNest::of(&walk);
        let alone = Threads::at_most(1);
        let threads = self.threads(dest.len(), threads);
        threads::spread(dest, pieces * row, threads, |first, dest| {
            let mut stage = vec![0; pieces * row];
            let mut at = first / self.count;
            for block in dest.chunks_mut(pieces * row) {
                let bytes = block.len() / self.count;
                for (array, stage) in arrays.iter().zip(stage.chunks_exact_mut(pieces * piece)) {
                    stage[..bytes].copy_from_slice(&array[at..at + bytes]);
                }
                nest.run(&stage, 0, block.into(), alone);
                at += bytes;
            }
        });
    }
}
