//! How the pieces of a tile get from rows of the source into lanes of the result.
//!
//! | pieces | how |
//! |---|---|
//! | of 1 or 2 bytes | read row by row, transposed in registers, written lane by lane |
//! | of 4, 8 or 16 bytes | each by itself, in blocks of a cache line of each lane |
//! | of pixels, whose channels lie together | transposed in registers from where they lie |
//! | others | each by itself |

use super::{
    interleave::{Buffers, VECTOR},
    kernel::Kernel,
    slice::along,
    transpose::{LINE, Tiles},
};
use crate::layout::Axis;
use std::{array, hint::black_box, ops::Range};

/// A way of moving pieces of rows into lanes.
pub(super) trait MoveTile {
    /// Moves the first `count` pieces of the row that begins at `at` into the first lane, and of its
    /// neighbours along the near axis into the others, behind those that are `done`.
    fn move_tile(
        &mut self,
        tiles: &Tiles<'_>,
        source: &[u8],
        at: usize,
        count: usize,
        lanes: &mut [&mut [u8]],
        done: usize,
    );
}

/// Pieces of more than 16 bytes, or of no power of two of bytes.
pub(super) struct LongPieces;

impl MoveTile for LongPieces {
    fn move_tile(
        &mut self,
        tiles: &Tiles<'_>,
        source: &[u8],
        at: usize,
        count: usize,
        lanes: &mut [&mut [u8]],
        done: usize,
    ) {
        let [_, span] = tiles.extent();
        let some = (span / tiles.piece).max(1);
        for first in (0..count).step_by(some) {
            let size = some.min(count - first);
            let row = Axis { size, ..tiles.row };
            let mut at = along(at, row.stride, first);
            let begin = (done + first) * tiles.piece;
            let stretch = begin..begin + size * tiles.piece;
            touch(lanes, stretch.clone());
            for lane in lanes.iter_mut() {
                let dest = &mut lane[stretch.clone()];
                Kernel::of(tiles.piece, row).rows(source, at, row, 0, dest);
                at = at.wrapping_add_signed(tiles.near.stride);
            }
        }
    }
}

/// Pieces of `N` bytes, several of which fill a vector.
pub(super) struct Interleaved<const N: usize> {
    /// Bytes of a lane that a tile writes.
    span: usize,
    buffers: Buffers,
    /// The tile as it is read, row by row.
    read: Vec<u8>,
    /// The tile as it is written, lane by lane.
    written: Vec<[u8; VECTOR]>,
}

impl<const N: usize> Interleaved<N> {
    /// How many pieces fill a vector.
    const MANY: usize = VECTOR / N;

    pub(super) fn of(tiles: &Tiles<'_>) -> Self {
        let [_, span] = tiles.extent();
        let span = span.min((tiles.row.size * N).next_multiple_of(VECTOR));
        let columns = tiles.columns();
        Self {
            span,
            buffers: Buffers::of(columns * VECTOR),
            read: vec![0; columns * span],
            written: vec![[0; VECTOR]; columns * span / VECTOR],
        }
    }

    /// Reads `count` pieces of a row for each lane, and puts them in the order in which they are written.
    fn tile(&mut self, tiles: &Tiles<'_>, source: &[u8], at: usize, count: usize, columns: usize) {
        let read = &mut self.read[..count * columns * N];
        if tiles.near.stride == N.cast_signed() {
            let row = Axis {
                size: count,
                ..tiles.row
            };
            Kernel::of_piece(columns * N).rows(source, at, row, 0, read);
        } else {
            let near = Axis {
                size: columns,
                ..tiles.near
            };
            Kernel::of(N, near).rows(source, at, near, tiles.row.stride, read);
        }
        let vectors = self.span / VECTOR;
        // The last rows are interleaved with others, which are not written.
        let rows = count.next_multiple_of(Self::MANY);
        let rows = self.read[..rows * columns * N].chunks_exact(columns * VECTOR);
        for (i, rows) in rows.enumerate() {
            let transposed = self.buffers.rows::<N>(rows);
            for (to, &vector) in self.written[i..]
                .iter_mut()
                .step_by(vectors)
                .zip(transposed)
            {
                *to = vector;
            }
        }
    }
}

impl<const N: usize> MoveTile for Interleaved<N> {
    fn move_tile(
        &mut self,
        tiles: &Tiles<'_>,
        source: &[u8],
        at: usize,
        count: usize,
        lanes: &mut [&mut [u8]],
        done: usize,
    ) {
        let span = self.span;
        for first in (0..count).step_by(span / N) {
            let at = along(at, tiles.row.stride, first);
            let count = (span / N).min(count - first);
            let begin = (done + first) * N;
            let stretch = begin..begin + count * N;
            touch(lanes, stretch.clone());
            self.tile(tiles, source, at, count, lanes.len());
            let written = self.written.as_flattened().chunks_exact(span);
            for (lane, written) in lanes.iter_mut().zip(written) {
                lane[stretch.clone()].copy_from_slice(&written[..count * N]);
            }
        }
    }
}

/// Pieces of `N` bytes, `R` of which fill a cache line.
pub(super) struct Lines<const N: usize, const R: usize>;

impl<const N: usize, const R: usize> Lines<N, R> {
    /// Lanes whose cache lines are read before they are written. Lines at multiples of 16 KiB share sets of the
    /// cache: beyond 128 they evict each other before they are written.
    const LANES: usize = 128;

    /// Moves one piece of each of `R` rows, from `at` on, into each of the lanes.
    fn lines(tiles: &Tiles<'_>, source: &[u8], at: usize, lanes: &mut [&mut [u8]], begin: usize) {
        let width = lanes.len() * N;
        let rows: [_; R] = array::from_fn(|r| {
            let row = &source[along(at, tiles.row.stride, r)..][..width];
            row.as_chunks::<N>().0.as_chunks::<R>()
        });
        let (blocks, rest) = lanes.as_chunks_mut::<R>();
        for (i, block) in blocks.iter_mut().enumerate() {
            let rows: [&[[u8; N]; R]; R] = array::from_fn(|r| &rows[r].0[i]);
            for (column, lane) in block.iter_mut().enumerate() {
                let line = line::<N, R>(lane, begin);
                // Not made apart and copied: that goes through the stack, at a third of the speed.
                for r in 0..R {
                    line[r] = rows[r][column];
                }
            }
        }
        for (column, lane) in rest.iter_mut().enumerate() {
            let line = line::<N, R>(lane, begin);
            for r in 0..R {
                line[r] = rows[r].1[column];
            }
        }
    }

    /// Moves pieces of `count` rows, each by itself.
    fn pieces(
        tiles: &Tiles<'_>,
        source: &[u8],
        mut at: usize,
        count: usize,
        lanes: &mut [&mut [u8]],
        begin: usize,
    ) {
        for lane in lanes {
            let (pieces, _) = lane[begin..][..count * N].as_chunks_mut::<N>();
            for (r, to) in pieces.iter_mut().enumerate() {
                to.copy_from_slice(&source[along(at, tiles.row.stride, r)..][..N]);
            }
            at = at.wrapping_add_signed(tiles.near.stride);
        }
    }
}

impl<const N: usize, const R: usize> MoveTile for Lines<N, R> {
    fn move_tile(
        &mut self,
        tiles: &Tiles<'_>,
        source: &[u8],
        at: usize,
        count: usize,
        lanes: &mut [&mut [u8]],
        done: usize,
    ) {
        let together = tiles.near.stride == N.cast_signed();
        let mut first = 0;
        while first < count {
            let begin = (done + first) * N;
            // The first tile has fewer rows if the first lane does not begin at a cache line.
            let ahead = lanes[0][begin..].as_ptr().addr().wrapping_neg() % LINE / N;
            let rows = if ahead == 0 { R } else { ahead }.min(count - first);
            let mut at = along(at, tiles.row.stride, first);
            for lanes in lanes.chunks_mut(Self::LANES) {
                touch(lanes, begin..begin + rows * N);
                if together && rows == R {
                    Self::lines(tiles, source, at, lanes, begin);
                } else {
                    Self::pieces(tiles, source, at, rows, lanes, begin);
                }
                at = along(at, tiles.near.stride, lanes.len());
            }
            first += rows;
        }
    }
}

/// The `R` pieces of `N` bytes of a lane that begin at `begin`.
fn line<const N: usize, const R: usize>(lane: &mut [u8], begin: usize) -> &mut [[u8; N]; R] {
    let (pieces, _) = lane[begin..].as_chunks_mut::<N>();
    &mut pieces.as_chunks_mut::<R>().0[0]
}

/// Reads what is about to be written: many reads are in flight together, but few writes.
fn touch(lanes: &[&mut [u8]], stretch: Range<usize>) {
    let mut touched = 0;
    for lane in lanes {
        for line in lane[stretch.clone()].iter().step_by(LINE) {
            touched ^= line;
        }
    }
    // Nobody asks what was read, but it must have been.
    black_box(touched);
}

/// Pixels of `C` channels of `N` bytes, which become planes. `HALF` is half of the elements of as many
/// pixels as fill a vector.
pub(super) struct Pixels<const N: usize, const C: usize, const HALF: usize>(Buffers);

impl<const N: usize, const C: usize, const HALF: usize> Pixels<N, C, HALF> {
    /// Bytes of as many pixels as fill a vector.
    const BLOCK: usize = C * VECTOR;
    /// Blocks that are transposed together.
    const SOME: usize = 1024 / Self::BLOCK;

    pub(super) fn new() -> Self {
        Self(Buffers::of(Self::SOME * Self::BLOCK))
    }
}

impl<const N: usize, const C: usize, const HALF: usize> MoveTile for Pixels<N, C, HALF> {
    fn move_tile(
        &mut self,
        _: &Tiles<'_>,
        source: &[u8],
        at: usize,
        count: usize,
        lanes: &mut [&mut [u8]],
        done: usize,
    ) {
        let pixels = &source[at..][..((count - 1) * C + lanes.len()) * N];
        let mut begin = done * N;
        // Of a part of the channels nothing is read behind the last.
        let whole = pixels.len() / Self::BLOCK * Self::BLOCK;
        let whole = if lanes.len() == C { whole } else { 0 };
        let (blocks, rest) = pixels.split_at(whole);
        for blocks in blocks.chunks(Self::SOME * Self::BLOCK) {
            let vectors = self.0.blocks::<N, HALF>(blocks);
            let length = blocks.len() / C;
            for (channel, lane) in lanes.iter_mut().enumerate() {
                let (to, _) = lane[begin..][..length].as_chunks_mut::<VECTOR>();
                for (to, &vector) in to.iter_mut().zip(vectors.iter().skip(channel).step_by(C)) {
                    *to = vector;
                }
            }
            begin += length;
        }
        let (pieces, _) = rest.as_chunks::<N>();
        for (channel, lane) in lanes.iter_mut().enumerate() {
            let (to, _) = lane[begin..].as_chunks_mut::<N>();
            for (to, &piece) in to.iter_mut().zip(pieces.iter().skip(channel).step_by(C)) {
                *to = piece;
            }
        }
    }
}
