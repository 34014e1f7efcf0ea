//! Chooses the loop that moves rows of pieces.

use super::{
    fixed_copy::{FIXED_MAX, with_copy_kernel},
    rows::{Axis, PieceRows},
    shuffle::{Near, Woven},
};
use crate::text::counted;
use std::fmt;

/// A loop over rows of pieces.
#[derive(Clone, Copy)]
pub(super) enum Kernel {
    /// Pieces of `bytes` bytes at any distance, each copied by itself.
    Copy { bytes: usize },
    /// Small pieces that lie a few bytes apart, which byte shuffles move.
    Near(Near),
    /// Pieces that lie in several planes, which byte shuffles interleave. Only [`Kernel::of_block`] returns this.
    Woven(Woven),
}

impl Kernel {
    /// The loop for rows of `row.size` pieces of `bytes` bytes, which begin `row.stride` bytes apart in the source.
    #[inline]
    pub(super) fn of(bytes: usize, row: Axis) -> Self {
        match Near::of_row(bytes, row) {
            Some(near) => Self::Near(near),
            None => Self::Copy { bytes },
        }
    }

    /// The loop for blocks of such rows, which begin `block.stride` bytes apart in the source.
    #[inline]
    pub(super) fn of_block(bytes: usize, row: Axis, block: Axis) -> Self {
        if let Some(woven) = Woven::of(bytes, row, block) {
            return Self::Woven(woven);
        }
        match Near::of_block(bytes, row, block) {
            Some(near) => Self::Near(near),
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
            Self::Near(near) => near.run(rows),
            Self::Woven(woven) => woven.run(rows),
            Self::Copy { bytes } => with_copy_kernel(bytes, rows),
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |bytes| counted(bytes, "byte", "bytes");
        match self {
            Self::Copy { bytes } if *bytes > FIXED_MAX => {
                write!(f, "pieces of {} by memcpy", of(bytes))
            }
            Self::Copy { bytes } => write!(f, "pieces of {} by fixed moves", of(bytes)),
            Self::Near(Near { piece, stride, .. }) => {
                let piece = of(piece);
                write!(
                    f,
                    "pieces of {piece} at a distance of {stride} by byte shuffles"
                )
            }
            Self::Woven(Woven { piece, planes, .. }) => {
                write!(
                    f,
                    "pieces of {} from {planes} planes by byte shuffles",
                    of(piece)
                )
            }
        }
    }
}
