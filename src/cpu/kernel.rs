//! Chooses the loop that moves rows of pieces.

use super::{
    fixed_copy::{FIXED_MAX, with_copy_kernel},
    rows::{Axis, PieceRows},
    shuffle::Shuffle,
};
use crate::text::counted;
use core::fmt;

/// A loop over rows of pieces.
#[derive(Clone, Copy)]
pub(super) enum Kernel {
    /// Pieces of `bytes` bytes at any distance, each copied by itself.
    Copy { bytes: usize },
    /// Pieces of `bytes` bytes, 4 or 8, with gaps of the same size between them in the source. The compiler turns this
    /// loop into shuffles of two vectors, one operation for each vector of the result. A byte shuffle reads one vector,
    /// so byte shuffles would need three operations.
    EverySecond { bytes: usize },
    /// Small pieces that are a few bytes apart or in a few planes. Byte shuffles move them.
    Shuffle(Shuffle),
}

/// The minimum number of pieces of a row for which [`Kernel::EverySecond`] is used.
const EVERY_SECOND_MIN_PIECES: usize = 8;

impl Kernel {
    /// Returns the loop for rows of `row.size` pieces of `bytes` bytes. The pieces begin `row.stride` bytes apart in
    /// the source.
    #[inline]
    pub(super) fn for_row(bytes: usize, row: Axis) -> Self {
        let is_every_second = row.stride == 2 * bytes.cast_signed() && [4, 8].contains(&bytes);
        if is_every_second && row.size >= EVERY_SECOND_MIN_PIECES {
            return Self::EverySecond { bytes };
        }
        match Shuffle::for_row(bytes, row) {
            Some(shuffle) => Self::Shuffle(shuffle),
            None => Self::Copy { bytes },
        }
    }

    /// Returns the loop for blocks of rows. The rows begin `block.stride` bytes apart in the source. See
    /// [`Self::for_row`] for `bytes` and `row`.
    #[inline]
    pub(super) fn for_block(bytes: usize, row: Axis, block: Axis) -> Self {
        match Shuffle::for_block(bytes, row, block) {
            Some(shuffle) => Self::Shuffle(shuffle),
            None => Self::for_row(bytes, row),
        }
    }

    /// Moves the rows that fill `dest`. `row` has the number of pieces of a row, and the distance in bytes from one
    /// piece to the next in the source. Row `i` begins at byte `at + i · pitch` of the source.
    pub(super) fn move_rows(
        self,
        source: &[u8],
        at: usize,
        row: Axis,
        pitch: isize,
        dest: &mut [u8],
    ) {
        self.move_blocks(PieceRows::new(source, at, row, pitch, dest));
    }

    pub(super) fn move_blocks(self, rows: PieceRows<'_>) {
        match self {
            Self::Shuffle(shuffle) => shuffle.run(rows),
            Self::EverySecond { bytes: 4 } => copy_every_second::<4, 8>(rows),
            Self::EverySecond { .. } => copy_every_second::<8, 16>(rows),
            Self::Copy { bytes } => with_copy_kernel(bytes, rows),
        }
    }
}

/// Copies every second piece of `N` bytes, by a loop that is compiled to vectors.
fn copy_every_second<const N: usize, const PAIR: usize>(rows: PieceRows<'_>) {
    let (source, bytes) = (rows.source, rows.row.size * N);
    rows.for_each_row(bytes, |at, dest| {
        let (pairs, source_end) = source[at..].as_chunks::<PAIR>();
        let (dest, _) = dest.as_chunks_mut::<N>();
        let whole_pair_count = dest.len() - usize::from(pairs.len() < dest.len());
        let (dest, last) = dest.split_at_mut(whole_pair_count);
        for (to, from) in dest.iter_mut().zip(&pairs[..whole_pair_count]) {
            *to = *from.first_chunk().expect("half a pair");
        }
        if let [to] = last {
            *to = *source_end.first_chunk().expect("the last piece");
        }
    });
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Copy { bytes }
        | Self::EverySecond { bytes }
        | Self::Shuffle(Shuffle { piece: bytes, .. })) = self;
        write!(f, "pieces of {}", counted(*bytes, "byte", "bytes"))?;
        match self {
            Self::Copy { bytes } if *bytes > FIXED_MAX => write!(f, " by memcpy"),
            Self::Copy { .. } => write!(f, " by fixed moves"),
            Self::EverySecond { .. } => write!(f, ", every second"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::{rows::along, shuffle::SHUFFLES};

    /// Moves blocks by vector operations and compares the result with copies of single pieces. Returns false, without
    /// moving anything, if the kernel itself copies single pieces.
    fn check_moves(source: &[u8], piece: usize, row: Axis, block: Axis, at: usize) -> bool {
        let kernel = Kernel::for_block(piece, row, block);
        if matches!(kernel, Kernel::Copy { .. }) {
            return false;
        }
        let mut dest = vec![0; block.size * row.size * piece];
        kernel.move_rows(source, at, row, block.stride, &mut dest);
        for (number, moved_piece) in dest.chunks(piece).enumerate() {
            let piece_start = along(at, block.stride, number / row.size);
            let piece_start = along(piece_start, row.stride, number % row.size);
            assert_eq!(
                moved_piece,
                &source[piece_start..][..piece],
                "{number} of {piece}, {row:?}, {block:?}"
            );
        }
        true
    }

    fn test_source() -> Vec<u8> {
        (0..=255).cycle().take(20_000).collect()
    }

    fn axis(size: usize, stride: isize) -> Axis {
        Axis { size, stride }
    }

    /// Moves rows of many sizes, distances and directions, near both ends of the source.
    #[test]
    fn moved_rows_equal_single_copies() {
        let (source, mut checked_count) = (test_source(), 0);
        for piece in 1..=8 {
            for stride in (-64_isize..=64).filter(|stride| *stride != 0) {
                for size in [4, 16, 17, 33, 61] {
                    let row_reach = (size - 1) * stride.unsigned_abs();
                    for lowest_byte in [0, 3, source.len() - row_reach - piece] {
                        let at = if stride < 0 {
                            lowest_byte + row_reach
                        } else {
                            lowest_byte
                        };
                        checked_count += usize::from(check_moves(
                            &source,
                            piece,
                            axis(size, stride),
                            Axis::ONE,
                            at,
                        ));
                    }
                }
            }
        }
        assert!(
            SHUFFLES.is_none() || checked_count > 1000,
            "{checked_count}"
        );
    }

    /// Moves blocks of short rows, and planes that become the channels of pixels, in both directions.
    #[test]
    fn moved_blocks_equal_single_copies() {
        let (source, mut checked_count) = (test_source(), 0);
        for (piece, size) in [
            (1_isize, 2_usize),
            (1, 3),
            (1, 4),
            (1, 7),
            (2, 3),
            (2, 8),
            (3, 2),
            (4, 3),
            (8, 2),
        ] {
            let row_bytes = piece * size.cast_signed();
            let near_strides = [(-1, 1), (-1, -1), (1, 2), (2, 2), (-2, 3), (3, -4), (-1, 9)];
            let near_strides =
                near_strides.map(|(stride, pitch)| (stride * piece, pitch * row_bytes));
            let planes = [(700, piece), (-701, piece), (333, -piece), (16, piece)];
            for (stride, pitch) in near_strides.into_iter().chain(planes) {
                for row_count in [16, 17, 32, 47] {
                    let (row, block) = (axis(size, stride), axis(row_count, pitch));
                    checked_count += usize::from(check_moves(
                        &source,
                        piece.unsigned_abs(),
                        row,
                        block,
                        10_000,
                    ));
                }
            }
        }
        assert!(SHUFFLES.is_none() || checked_count > 120, "{checked_count}");
    }
}
