//! How the pieces of a tile get from the source into lanes of the result. A *source row* is one piece for each lane:
//! the pieces of a tile at all positions of the near axis and one position of the row.
//!
//! | pieces | how |
//! |---|---|
//! | of 1 or 2 bytes | read source row by source row, transposed in registers, written lane by lane |
//! | of 4, 8 or 16 bytes | squares of vectors transposed in registers, in blocks that fill one cache line of each lane; each by itself if the pieces of a source row are not contiguous |
//! | 2 to 4 channels of 1, 2 or 4 bytes, of pixels without gaps in the source | transposed in registers directly from the source |
//! | of other sizes | each by itself |

use super::{
    interleave::{Buffers, VECTOR, transposed},
    kernel::Kernel,
    rows::{Axis, along},
};
use crate::walk::Dim;
use std::{array, hint::black_box, ops::Range};

/// The size of a cache line in bytes, on x86-64 and most ARM64 processors.
pub(super) const LINE: usize = 64;

/// The size in bytes of a page of memory, or a divisor of it.
const PAGE: usize = 4096;

/// A transposed slice. The table at the top of `transpose.rs` explains the names.
#[derive(Clone, Copy)]
pub(super) struct Tiles<'a> {
    pub(super) unit: usize,
    /// The size of a piece in bytes.
    pub(super) piece: usize,
    /// The dimensions outside of the near axis.
    pub(super) outer: &'a [Dim],
    pub(super) near: Axis,
    /// The dimensions between the near axis and the row.
    pub(super) between: &'a [Dim],
    pub(super) row: Axis,
}

impl Tiles<'_> {
    /// The largest number of bytes that a tile reads along the near axis, and the largest number that it writes along a
    /// lane, unless a single piece is longer. Both are several cache lines, which the processor prefetches, and few
    /// enough that the tile stays in a cache. A tile of pieces of 4, 8 or 16 bytes writes one cache line per lane: such
    /// pieces need no buffers, so the tile can read further along the source. `Pixels` does not use the second
    /// number.
    pub(super) fn extent(&self) -> [usize; 2] {
        match self.piece {
            1 => [256, 256],
            2 => [256, 512],
            4 | 8 | 16 => [2048, LINE],
            ..16 => [512, 512],
            _ => [4096, 4096],
        }
    }

    /// The number of lanes of a tile, which is the number of positions of the near axis that the tile covers.
    pub(super) fn columns(&self) -> usize {
        let [width, _] = self.extent();
        (width / self.piece).clamp(1, self.near.size)
    }
}

/// One tile, or several tiles that follow each other along the row: `count` pieces of a row for each lane. The pieces
/// of the first lane begin at byte `at` of the source, and the other lanes follow along the near axis. The first `done`
/// pieces of each lane are already written.
pub(super) struct Tile<'a, 'd> {
    pub(super) tiles: &'a Tiles<'a>,
    pub(super) source: &'a [u8],
    pub(super) at: usize,
    pub(super) count: usize,
    pub(super) lanes: &'a mut [&'d mut [u8]],
    pub(super) done: usize,
}

/// Moves the pieces of a tile into its lanes. Each row of the table at the top of this file has one implementation.
pub(super) trait MoveTile {
    fn move_tile(&mut self, tile: Tile<'_, '_>);
}

/// Moves each piece by itself, for pieces of more than 16 bytes or of a size that is not a power of two.
pub(super) struct LongPieces;

impl MoveTile for LongPieces {
    fn move_tile(&mut self, tile: Tile<'_, '_>) {
        let Tile { tiles, source, .. } = tile;
        let [_, span] = tiles.extent();
        let some = (span / tiles.piece).max(1);
        for first in (0..tile.count).step_by(some) {
            let size = some.min(tile.count - first);
            let row = Axis { size, ..tiles.row };
            let mut at = along(tile.at, row.stride, first);
            let begin = (tile.done + first) * tiles.piece;
            let range = begin..begin + size * tiles.piece;
            touch(tile.lanes, range.clone());
            for lane in tile.lanes.iter_mut() {
                let dest = &mut lane[range.clone()];
                Kernel::of(tiles.piece, row).rows(source, at, row, 0, dest);
                at = at.wrapping_add_signed(tiles.near.stride);
            }
        }
    }
}

/// Moves pieces of `N` bytes, several of which fill a vector: reads source rows into a buffer, transposes these rows,
/// and writes the lanes from a second buffer.
pub(super) struct Interleaved<const N: usize> {
    /// The number of bytes of a lane that are written at once.
    span: usize,
    buffers: Buffers,
    /// The pieces in the order in which they are read, source row by source row.
    read: Vec<u8>,
    /// The pieces in the order in which they are written, `span` bytes for each lane.
    written: Vec<[u8; VECTOR]>,
}

impl<const N: usize> Interleaved<N> {
    /// The number of pieces that fill a vector.
    const MANY: usize = VECTOR / N;

    pub(super) fn of(tiles: &Tiles<'_>) -> Self {
        let [_, span] = tiles.extent();
        let span = span.min((tiles.row.size * N).next_multiple_of(VECTOR));
        let columns = tiles.columns();
        Self {
            span,
            buffers: Buffers::new(columns * VECTOR),
            read: vec![0; columns * span],
            written: vec![[0; VECTOR]; columns * span / VECTOR],
        }
    }

    /// Reads `count` source rows of `columns` pieces, the first of which begins at byte `at` of the source, and leaves
    /// them transposed in `written`.
    fn tile(&mut self, tiles: &Tiles<'_>, source: &[u8], at: usize, count: usize, columns: usize) {
        let read = &mut self.read[..count * columns * N];
        if tiles.near.stride == N.cast_signed() {
            let row = Axis {
                size: count,
                ..tiles.row
            };
            Kernel::Copy { bytes: columns * N }.rows(source, at, row, 0, read);
        } else {
            let near = Axis {
                size: columns,
                ..tiles.near
            };
            Kernel::of(N, near).rows(source, at, near, tiles.row.stride, read);
        }
        let vectors = self.span / VECTOR;
        // [`Self::MANY`] source rows are transposed at once. The last transposition may include rows of an earlier tile
        // that are still in `read` after the `count` rows. The pieces of those rows are not copied to the lanes.
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
    fn move_tile(&mut self, tile: Tile<'_, '_>) {
        let Tile { tiles, source, .. } = tile;
        let span = self.span;
        for first in (0..tile.count).step_by(span / N) {
            let at = along(tile.at, tiles.row.stride, first);
            let count = (span / N).min(tile.count - first);
            let begin = (tile.done + first) * N;
            let range = begin..begin + count * N;
            touch(tile.lanes, range.clone());
            self.tile(tiles, source, at, count, tile.lanes.len());
            let written = self.written.as_flattened().chunks_exact(span);
            for (lane, written) in tile.lanes.iter_mut().zip(written) {
                lane[range.clone()].copy_from_slice(&written[..count * N]);
            }
        }
    }
}

/// Moves pieces of `N` bytes, `M` of which fill a vector, in blocks that fill a cache line of each lane. A line has
/// [`VECTORS`] vectors, and `M` source rows fill a vector of each lane.
pub(super) struct Lines<const N: usize, const M: usize>;

/// The number of vectors in a cache line.
const VECTORS: usize = LINE / VECTOR;

impl<const N: usize, const M: usize> Lines<N, M> {
    /// The number of source rows that fill a cache line of each lane.
    const ROWS: usize = VECTORS * M;
    /// The number of lanes for which [`touch`] reads a cache line before the first of these lines is written. Lines
    /// whose addresses differ by multiples of 16 KiB share sets of the cache: more than 128 such lines would evict each
    /// other before they are written. Half of that leaves room for the lines of the source.
    const LANES: usize = 64;

    /// Moves [`Self::ROWS`] source rows, the first of which begins at byte `at` of the source, to byte `begin` of the
    /// lanes. Pieces are contiguous along the near axis.
    fn lines(tiles: &Tiles<'_>, source: &[u8], at: usize, lanes: &mut [&mut [u8]], begin: usize) {
        let width = lanes.len() * N;
        let rows: [[_; M]; VECTORS] = array::from_fn(|v| {
            array::from_fn(|r| {
                let row = along(at, tiles.row.stride, v * M + r);
                source[row..][..width].as_chunks::<VECTOR>().0
            })
        });
        let (blocks, rest) = lanes.as_chunks_mut::<M>();
        let at = along(at, tiles.near.stride, blocks.len() * M);
        for (i, block) in blocks.iter_mut().enumerate() {
            for (v, rows) in rows.iter().enumerate() {
                let columns = transposed::<N, M>(array::from_fn(|r| rows[r][i]));
                for (lane, column) in block.iter_mut().zip(columns) {
                    lane[begin + v * VECTOR..][..VECTOR].copy_from_slice(&column);
                }
            }
        }
        Self::pieces(tiles, source, at, Self::ROWS, rest, begin);
    }

    /// Moves `count` source rows, the first of which begins at byte `at` of the source, to byte `begin` of the lanes.
    /// The near axis may have any stride.
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

impl<const N: usize, const M: usize> MoveTile for Lines<N, M> {
    fn move_tile(&mut self, tile: Tile<'_, '_>) {
        let Tile {
            tiles,
            source,
            count,
            lanes,
            ..
        } = tile;
        let together = tiles.near.stride == N.cast_signed();
        let mut first = 0;
        while first < count {
            let begin = (tile.done + first) * N;
            // If the bytes to write in the first lane do not begin at a cache line, the first block has fewer source
            // rows, so that the next block begins at a cache line.
            let ahead = lanes[0][begin..].as_ptr().addr().wrapping_neg() % LINE / N;
            let rows = if ahead == 0 { Self::ROWS } else { ahead }.min(count - first);
            let mut at = along(tile.at, tiles.row.stride, first);
            for lanes in lanes.chunks_mut(Self::LANES) {
                touch(lanes, begin..begin + rows * N);
                if together && rows == Self::ROWS {
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

/// Reads the cache lines of bytes `range` of each lane shortly before they are written, because the processor keeps
/// many reads in flight, but few writes. `range` begins at 0 or where the range of the previous call for these lanes
/// ended.
///
/// A page that may be new, because the range enters it, is written first. Reading a new page would map the system's
/// page of zeros, which the write would then replace on all cores, at many times the cost.
fn touch(lanes: &mut [&mut [u8]], range: Range<usize>) {
    let mut touched = 0;
    for lane in lanes {
        for bytes in lane[range.clone()].chunks_mut(PAGE) {
            let in_page = bytes.as_ptr().addr() % PAGE;
            let enters = range.start == 0 || in_page == 0 || in_page + bytes.len() > PAGE;
            if let [first, .., last] = bytes
                && enters
            {
                (*first, *last) = (0, 0);
                black_box((first, last));
            }
            for line in bytes.iter().step_by(LINE) {
                touched ^= line;
            }
        }
    }
    // The bytes are not used; `black_box` keeps the compiler from removing the reads.
    black_box(touched);
}

/// Transposes pixels of `C` channels of `N` bytes. Each channel becomes a lane. A block has `2 · HALF` elements of `N`
/// bytes, [`Self::BLOCK`] bytes in all.
pub(super) struct Pixels<const N: usize, const C: usize, const HALF: usize>(Buffers);

impl<const N: usize, const C: usize, const HALF: usize> Pixels<N, C, HALF> {
    /// The size in bytes of a block: the pixels that fill one vector per channel.
    const BLOCK: usize = C * VECTOR;
    /// The number of blocks that are transposed in one call: as many as fit in 1 KiB, which stays in the first-level
    /// cache.
    const SOME: usize = 1024 / Self::BLOCK;

    pub(super) fn new() -> Self {
        Self(Buffers::new(Self::SOME * Self::BLOCK))
    }
}

impl<const N: usize, const C: usize, const HALF: usize> MoveTile for Pixels<N, C, HALF> {
    fn move_tile(&mut self, tile: Tile<'_, '_>) {
        let lanes = tile.lanes;
        let pixels = &tile.source[tile.at..][..((tile.count - 1) * C + lanes.len()) * N];
        let mut begin = tile.done * N;
        // A block is transposed into all channels. If only some channels are lanes of the tile, its pieces are moved
        // one by one, and `pixels` ends inside the last pixel.
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
