//! Which loop moves a row of pieces.

use super::{
    mover::{Mover, SHORT, Task, with_mover},
    steps,
};
use crate::layout::Axis;

/// A loop over rows of pieces. Pieces lie `stride` bytes apart in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kernel {
    /// Long pieces, each copied by `memcpy`.
    Copy { bytes: usize },
    /// Short pieces, each copied by moves of fixed size.
    Pieces { bytes: usize },
    /// Single units a small step apart, many at a time.
    Steps { unit: usize, stride: isize },
}

impl Kernel {
    /// The loop for rows of `axis.size` pieces, `axis.stride` bytes apart.
    pub(super) fn of(bytes: usize, axis: Axis) -> Self {
        if steps::has(bytes, axis.size, axis.stride) {
            let (unit, stride) = (bytes, axis.stride);
            Self::Steps { unit, stride }
        } else {
            Self::of_piece(bytes)
        }
    }

    /// The loop for pieces of `bytes` bytes, wherever they lie.
    pub(super) fn of_piece(bytes: usize) -> Self {
        if bytes <= SHORT {
            Self::Pieces { bytes }
        } else {
            Self::Copy { bytes }
        }
    }

    /// Moves whole rows: row `i` begins at byte `at + i · pitch` of the source.
    pub(super) fn rows(self, source: &[u8], at: usize, row: Axis, pitch: isize, dest: &mut [u8]) {
        let (block_bytes, stride) = (dest.len(), 0);
        self.run(Rows {
            source,
            at,
            row,
            pitch,
            block_bytes,
            stride,
            dest,
        });
    }

    /// Moves whole blocks of `block.size` rows: block `i` begins at byte `at + i · stride` of the source.
    pub(super) fn blocks(
        self,
        source: &[u8],
        at: usize,
        row: Axis,
        block: Axis,
        stride: isize,
        dest: &mut [u8],
    ) {
        let (Self::Steps { unit: bytes, .. } | Self::Pieces { bytes } | Self::Copy { bytes }) =
            self;
        let (block_bytes, pitch) = (bytes * row.size * block.size, block.stride);
        self.run(Rows {
            source,
            at,
            row,
            pitch,
            block_bytes,
            stride,
            dest,
        });
    }

    fn run(self, rows: Rows<'_>) {
        match self {
            Self::Steps { unit, stride } => steps::run(rows, unit, stride),
            Self::Pieces { bytes } | Self::Copy { bytes } => with_mover(bytes, rows),
        }
    }
}

/// Rows of pieces, in blocks.
pub(super) struct Rows<'a> {
    pub(super) source: &'a [u8],
    /// Where the first piece of the first row lies.
    pub(super) at: usize,
    /// The pieces of a row.
    pub(super) row: Axis,
    /// Bytes of the source from row to row.
    pub(super) pitch: isize,
    /// Bytes that the rows of a block write.
    pub(super) block_bytes: usize,
    /// Bytes of the source from block to block.
    pub(super) stride: isize,
    /// As many whole blocks as there are to be moved.
    pub(super) dest: &'a mut [u8],
}

impl Rows<'_> {
    /// Calls `write` with where each row begins, and its place in the destination.
    #[inline(always)]
    pub(super) fn each(self, row_bytes: usize, mut write: impl FnMut(usize, &mut [u8])) {
        let mut first = self.at;
        let mut rest = self.dest;
        while !rest.is_empty() {
            let block;
            (block, rest) = rest.split_at_mut(self.block_bytes);
            let mut at = first;
            for row in block.chunks_exact_mut(row_bytes) {
                write(at, row);
                at = at.wrapping_add_signed(self.pitch);
            }
            first = first.wrapping_add_signed(self.stride);
        }
    }
}

impl Task for Rows<'_> {
    type Outcome = ();

    fn run<M: Mover>(self, mover: M) {
        let (source, row) = (self.source, self.row);
        self.each(row.size * mover.bytes(), |at, dest| {
            let mut from = at;
            for piece in dest.chunks_exact_mut(mover.bytes()) {
                mover
                    .copy(source, from, piece)
                    .expect("a plan's pieces lie within its source");
                from = from.wrapping_add_signed(row.stride);
            }
        });
    }
}
