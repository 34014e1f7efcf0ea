//! Chooses the loop that moves rows of pieces.

use super::{
    fixed_copy::{FIXED_MAX, with_copy_kernel},
    rows::{Axis, PieceRows},
    shuffle::{Near, Woven},
    strided_load,
};
use crate::text::counted;
use std::fmt;

/// A loop over rows of pieces.
#[derive(Clone, Copy)]
pub(super) enum Kernel {
    /// Pieces of `bytes` bytes at any distance, each copied by itself.
    Copy { bytes: usize },
    /// Pieces of a single unit of `unit` bytes, which begin `stride` bytes apart in the source. `stride` is a small
    /// multiple of `unit`, possibly negative. A loop compiled for this unit and this stride moves the pieces.
    Strided { unit: usize, stride: isize },
    /// Small pieces that lie a few bytes apart, which byte shuffles move.
    Near(Near),
    /// Pieces that lie in several planes, which byte shuffles interleave. Only [`Kernel::of_block`] returns this.
    Woven(Woven),
}

impl Kernel {
    /// The loop for rows of `axis.size` pieces of `bytes` bytes, which begin `axis.stride` bytes apart in the source.
    pub(super) fn of(bytes: usize, axis: Axis) -> Self {
        let stride = axis.stride;
        let is_strided = strided_load::supports(bytes, axis.size, stride);
        // For units of 2, 4 and 8 bytes, and for every second byte, a loop compiled for the stride is faster than shuffles.
        let prefers_loop = is_strided && (matches!(bytes, 2 | 4 | 8) || (bytes, stride) == (1, 2));
        if !prefers_loop && let Some(near) = Near::of(bytes, axis) {
            return Self::Near(near);
        }
        match is_strided {
            true => Self::Strided {
                unit: bytes,
                stride,
            },
            false => Self::Copy { bytes },
        }
    }

    /// The loop for blocks of such rows, which begin `block.stride` bytes apart in the source.
    pub(super) fn of_block(bytes: usize, row: Axis, block: Axis) -> Self {
        match Woven::of(bytes, row, block) {
            Some(woven) => Self::Woven(woven),
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
            Self::Strided { unit, stride } => rows.run_strided(unit, stride),
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
            Self::Strided { unit, stride } => {
                let (step, unit) = (stride / unit.cast_signed(), of(unit));
                write!(f, "units of {unit} at step {step} by a loop for this step")
            }
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
