//! Which loop moves a row of pieces.

use super::{
    fixed_copy::{FIXED_MAX, with_copy_kernel},
    rows::PieceRows,
    strided_load,
};
use crate::{layout::Axis, text::counted};
use std::fmt;

/// A loop over rows of pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kernel {
    /// Long pieces, each copied by `memcpy`.
    Copy { bytes: usize },
    /// Short pieces, each copied by moves of fixed size.
    Pieces { bytes: usize },
    /// Single units a small step apart, many at a time. `stride` is in bytes of the source.
    Strided { unit: usize, stride: isize },
}

impl Kernel {
    /// The loop for rows of `axis.size` pieces, `axis.stride` bytes apart.
    pub(super) fn of(bytes: usize, axis: Axis) -> Self {
        if strided_load::supports(bytes, axis.size, axis.stride) {
            let (unit, stride) = (bytes, axis.stride);
            Self::Strided { unit, stride }
        } else {
            Self::of_piece(bytes)
        }
    }

    /// The loop for pieces of `bytes` bytes at any distance.
    pub(super) fn of_piece(bytes: usize) -> Self {
        if bytes <= FIXED_MAX {
            Self::Pieces { bytes }
        } else {
            Self::Copy { bytes }
        }
    }

    /// Moves whole rows: row `i` begins at byte `at + i · pitch` of the source.
    pub(super) fn rows(self, source: &[u8], at: usize, row: Axis, pitch: isize, dest: &mut [u8]) {
        self.run(PieceRows {
            source,
            at,
            row,
            pitch,
            block_bytes: dest.len(),
            stride: 0,
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
        let (Self::Strided { unit: bytes, .. } | Self::Pieces { bytes } | Self::Copy { bytes }) =
            self;
        self.run(PieceRows {
            source,
            at,
            row,
            pitch: block.stride,
            block_bytes: bytes * row.size * block.size,
            stride,
            dest,
        });
    }

    fn run(self, rows: PieceRows<'_>) {
        match self {
            Self::Strided { unit, stride } => rows.run_strided(unit, stride),
            Self::Pieces { bytes } | Self::Copy { bytes } => with_copy_kernel(bytes, rows),
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |bytes| counted(bytes, "byte", "bytes");
        match self {
            Self::Copy { bytes } => write!(f, "pieces of {} by memcpy", of(bytes)),
            Self::Pieces { bytes } => write!(f, "pieces of {} by fixed moves", of(bytes)),
            Self::Strided { unit, stride } => {
                let (step, unit) = (stride / unit.cast_signed(), of(unit));
                write!(f, "units of {unit} at step {step} by a loop for this step")
            }
        }
    }
}
