//! Chooses the loop that moves rows of pieces.

use super::{
    fixed_copy::{FIXED_MAX, with_copy_kernel},
    rows::{Axis, PieceRows},
    shuffle::Shuffle,
};
use crate::text::counted;
use std::fmt;

/// A loop over rows of pieces.
#[derive(Clone, Copy)]
pub(super) enum Kernel {
    /// Pieces of `bytes` bytes at any distance, each copied by itself.
    Copy { bytes: usize },
    /// Small pieces that lie a few bytes apart or in a few planes, which byte shuffles move.
    Shuffle(Shuffle),
}

impl Kernel {
    /// The loop for rows of `row.size` pieces of `bytes` bytes, which begin `row.stride` bytes apart in the source.
    #[inline]
    pub(super) fn of(bytes: usize, row: Axis) -> Self {
        match Shuffle::of_row(bytes, row) {
            Some(shuffle) => Self::Shuffle(shuffle),
            None => Self::Copy { bytes },
        }
    }

    /// The loop for blocks of such rows, which begin `block.stride` bytes apart in the source.
    #[inline]
    pub(super) fn of_block(bytes: usize, row: Axis, block: Axis) -> Self {
        match Shuffle::of_block(bytes, row, block) {
            Some(shuffle) => Self::Shuffle(shuffle),
            None => Self::of(bytes, row),
        }
    }

    /// Moves the rows that fill `dest`. `row` is the number of pieces of a row and the distance from one piece to the
    /// next, in bytes of the source. Row `i` begins at byte `at + i · pitch` of the source.
    pub(super) fn rows(self, source: &[u8], at: usize, row: Axis, pitch: isize, dest: &mut [u8]) {
        self.blocks(PieceRows {
            source,
            at,
            row,
            pitch,
            block_bytes: dest.len(),
            stride: 0,
            dest,
        });
    }

    pub(super) fn blocks(self, rows: PieceRows<'_>) {
        match self {
            Self::Shuffle(shuffle) => shuffle.run(rows),
            Self::Copy { bytes } => with_copy_kernel(bytes, rows),
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Copy { bytes } | Self::Shuffle(Shuffle { piece: bytes, .. })) = self;
        write!(f, "pieces of {}", counted(*bytes, "byte", "bytes"))?;
        match self {
            Self::Copy { bytes } if *bytes > FIXED_MAX => write!(f, " by memcpy"),
            Self::Copy { .. } => write!(f, " by fixed moves"),
            Self::Shuffle(Shuffle {
                planes: 1, stride, ..
            }) => {
                write!(f, " at a distance of {stride} by byte shuffles")
            }
            Self::Shuffle(Shuffle { planes, .. }) => {
                write!(f, " from {planes} planes by byte shuffles")
            }
        }
    }
}
