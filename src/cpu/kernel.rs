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
    pub(super) fn rows(self, source: &[u8], at: usize, axis: Axis, pitch: isize, dest: &mut [u8]) {
        match self {
            Self::Steps { unit, stride } => {
                let count = axis.size;
                let rows = steps::Rows {
                    source,
                    at,
                    count,
                    pitch,
                    dest,
                };
                rows.run(unit, stride);
            }
            Self::Pieces { bytes } | Self::Copy { bytes } => {
                let rows = Rows {
                    source,
                    at,
                    axis,
                    pitch,
                    dest,
                };
                with_mover(bytes, rows);
            }
        }
    }
}

struct Rows<'a> {
    source: &'a [u8],
    at: usize,
    axis: Axis,
    pitch: isize,
    dest: &'a mut [u8],
}

impl Task for Rows<'_> {
    type Outcome = ();

    fn run<M: Mover>(self, mover: M) {
        let Self {
            source,
            at,
            axis,
            pitch,
            dest,
        } = self;
        copy_rows(mover, source, at, axis, pitch, dest);
    }
}

fn copy_rows<M: Mover>(
    mover: M,
    source: &[u8],
    mut at: usize,
    axis: Axis,
    pitch: isize,
    dest: &mut [u8],
) {
    for row in dest.chunks_exact_mut(axis.size * mover.bytes()) {
        let mut from = at;
        for piece in row.chunks_exact_mut(mover.bytes()) {
            mover
                .copy(source, from, piece)
                .expect("a plan's pieces lie within its source");
            from = from.wrapping_add_signed(axis.stride);
        }
        at = at.wrapping_add_signed(pitch);
    }
}
