//! Transposes squares of small pieces in registers.
//!
//! A square is a block of pieces: one cache line of each lane (see the table in `transpose.rs`), and one or more cache
//! lines of each source row. With pieces of 4 bytes, a square has 16 source rows and 16 or 64 lanes. Each cache line of
//! the source is read once, and each line of the result is written as a whole, however far apart the lines are. Between
//! the read and the write, the square is in the first-level cache.
//!
//! Registers hold a smaller square: `M` vectors of `M` pieces. A zip interleaves the pieces of two vectors. A round
//! zips each vector of the first half of the rows with its counterpart in the second half, and log2(`M`) rounds
//! transpose the square. To see why, write the position of a piece as the bits of its row number followed by the bits
//! of its column number: each round moves the first bit to the end.
//!
//! ```text
//! a0 a1 a2 a3       a0 c0 a1 c1       a0 b0 c0 d0
//! b0 b1 b2 b3   →   a2 c2 a3 c3   →   a1 b1 c1 d1
//! c0 c1 c2 c3       b0 d0 b1 d1       a2 b2 c2 d2
//! d0 d1 d2 d3       b2 d2 b3 d3       a3 b3 c3 d3
//! ```
//!
//! For large results that `lanes.rs` does not write, a square goes through two buffers. Its rows are copied to the first
//! buffer and transposed into the second. From there each cache line of the result is written as a whole and can bypass
//! the caches. For other results, squares are transposed without buffers: one or more squares along a group of lanes, then
//! the same number along the next group. Without buffers, transposes take up to 65 % less time than with them (Intel Xeon,
//! model 167).

use super::{
    fixed_copy::{CopyKernel, CopyTask},
    kernel::Kernel,
    memory::{self, LINE, LineWriter, Slice},
    processor::Processor,
    rows::{Axis, along},
    shuffle::{Shuffles, VECTOR, transpose, transpose_in_registers},
};

/// Pieces of several lanes that are moved together: for each lane, `row_count` rows of `count` pieces along `row`. The
/// pieces of the first lane begin at byte `at` of the source. The pieces of the other lanes follow along `near`.
pub(super) struct Tile<'a, 'd> {
    pub(super) near: Axis,
    pub(super) row: Axis,
    pub(super) source: &'a [u8],
    pub(super) at: usize,
    pub(super) count: usize,
    /// The number of rows. It is above 1 only if byte shuffles move the rows and the rows are short.
    pub(super) row_count: usize,
    /// The part of each lane that is not written yet.
    pub(super) lanes: &'a mut [Slice<'d>],
}

/// The number of lanes that get pieces together, one piece each, if pieces are moved in the order of the source. With 32
/// lanes and pieces of 96 and 200 bytes, this order took 14 and 18 % longer than moving rows (AMD EPYC, family 25).
pub(super) const LANES_ACROSS: usize = 16;

/// Copies the pieces in the order of the near axis, one to each of a few lanes, so the source is read as one stream.
impl CopyTask for Tile<'_, '_> {
    fn run(self, kernel: impl CopyKernel) {
        let mut first = self.at;
        for lanes in self.lanes.chunks_mut(LANES_ACROSS) {
            let mut at = first;
            for _ in 0..self.count {
                let mut from = at;
                for lane in &mut *lanes {
                    let piece = lane.take_front(kernel.bytes());
                    let outcome = kernel.copy(self.source, from, piece);
                    outcome.expect("a plan's pieces are within its source");
                    from = from.wrapping_add_signed(self.near.stride);
                }
                at = at.wrapping_add_signed(self.row.stride);
            }
            first = along(first, self.near.stride, lanes.len());
        }
    }
}

/// Returns a function that moves tiles of pieces of `N` bytes. `M` pieces fill a vector, `R` pieces fill a cache line,
/// and `C` pieces fill the `WIDTH` bytes of a source row that are read together. `is_cached` means that the lines of
/// the result stay in the cache, so squares need no buffers.
pub(super) fn squares<'d, const N: usize, const M: usize, const R: usize, const C: usize>(
    shuffles: Shuffles,
    is_cached: bool,
) -> impl FnMut(Tile<'_, 'd>, &mut LineWriter<'d>) {
    const { assert!(N * M == VECTOR && N * R == LINE && N * C == WIDTH) };
    let mut squares = Squares::<N, M, R, C> {
        shuffles,
        buffers: None,
    };
    move |tile, line_writer| match is_cached && tile.near.stride == N.cast_signed() {
        true => squares.move_in_registers(tile, line_writer),
        false => squares.move_in_buffers(tile, line_writer),
    }
}

struct Squares<const N: usize, const M: usize, const R: usize, const C: usize> {
    shuffles: Shuffles,
    /// The buffers, as soon as a tile needs them.
    buffers: Option<Buffers<R, C>>,
}

/// The two buffers: parts of source rows, and a line of each lane. Both are aligned to a cache line.
#[repr(C, align(64))]
struct Buffers<const R: usize, const C: usize> {
    rows: [[u8; WIDTH]; R],
    columns: [[u8; LINE]; C],
}

impl<const R: usize, const C: usize> Buffers<R, C> {
    fn new() -> Self {
        Self {
            rows: [[0; WIDTH]; R],
            columns: [[0; LINE]; C],
        }
    }
}

/// The size in bytes of the part of a source row that is read before the next row.
const WIDTH: usize = 4 * LINE;

impl<const N: usize, const M: usize, const R: usize, const C: usize> Squares<N, M, R, C> {
    /// Copies a part of a source row into each of `rows`. The first part begins at byte `at` of the source, and source
    /// rows are `pitch` bytes apart. `kernel` copies the pieces along `near` if they are not contiguous.
    #[inline(always)]
    fn read(
        kernel: Kernel,
        source: &[u8],
        mut at: usize,
        near: Axis,
        pitch: isize,
        rows: &mut [[u8; WIDTH]],
    ) {
        let width = near.size * N;
        let is_contiguous = near.stride == N.cast_signed();
        let square_distance = along(0, pitch, R);
        let reach = near.size * near.stride.unsigned_abs();
        // The distance between pieces. It is less than `N` if they overlap.
        let piece_distance = near.stride.unsigned_abs();
        let bytes_below = if near.stride < 0 {
            reach - piece_distance
        } else {
            0
        };
        for row in rows {
            // Prefetches this row of the next square.
            let prefetch_start = at.wrapping_add(square_distance).wrapping_sub(bytes_below);
            for line in (0..reach.min(2 * WIDTH)).step_by(LINE) {
                memory::prefetch(source, prefetch_start.wrapping_add(line));
            }
            if !is_contiguous {
                kernel.move_rows(source, at, near, 0, &mut row[..width]);
            } else if width == WIDTH {
                let from = source[at..].first_chunk();
                *row = *from.expect("a plan's pieces are within its source");
            } else {
                row[..width].copy_from_slice(&source[at..][..width]);
            }
            at = at.wrapping_add_signed(pitch);
        }
    }

    /// Writes the next `count` pieces of each lane.
    #[inline(always)]
    fn write<'d>(
        columns: &[[u8; LINE]],
        lanes: &mut [Slice<'d>],
        count: usize,
        line_writer: &mut LineWriter<'d>,
    ) {
        for (lane, column) in lanes.iter_mut().zip(columns) {
            if count == R {
                line_writer.write_front(lane, bytemuck::cast(*column));
            } else {
                lane.copy_to_front(&column[..count * N]);
            }
        }
    }

    /// Moves the pieces of a tile into its lanes: whole squares of `M` rows and `M` lanes without buffers, and the
    /// remaining pieces through buffers.
    fn move_in_registers<'d>(&mut self, tile: Tile<'_, 'd>, line_writer: &mut LineWriter<'d>) {
        let Tile {
            source, at, row, ..
        } = tile;
        let (lanes, other_lanes) = tile.lanes.split_at_mut(tile.lanes.len() / M * M);
        let square_rows = tile.count / M * M;
        let uses_blocks = N >= MIN_BLOCK_PIECE_BYTES;
        let lines_at_once = match uses_blocks {
            true => LINES_OF_BLOCKS,
            false => LINES_OF_SQUARES,
        };
        let row_lines = match uses_blocks {
            true => Processor::here().lines_at_once(row.stride.unsigned_abs()),
            false => 1,
        };
        for first in (0..square_rows).step_by(lines_at_once * R) {
            let bytes = (lines_at_once * R).min(square_rows - first) * N;
            let block_count = if uses_blocks { bytes / LINE } else { 0 };
            let begin = along(at, row.stride, first);
            let begins = (begin..).step_by(row_lines * LINE);
            for (begin, lanes) in begins.zip(lanes.chunks_mut(row_lines * R)) {
                let from = (source, begin, row.stride);
                transpose_in_registers::<N, M, R>(self.shuffles, from, (block_count, bytes), lanes);
            }
        }
        let width = lanes.len() * N;
        if !lanes.is_empty() && square_rows < tile.count {
            let at = along(at, row.stride, square_rows);
            let count = tile.count - square_rows;
            self.move_in_buffers(
                Tile {
                    at,
                    count,
                    lanes,
                    ..tile
                },
                line_writer,
            );
        }
        if !other_lanes.is_empty() {
            let (at, lanes) = (at + width, other_lanes);
            self.move_in_buffers(Tile { at, lanes, ..tile }, line_writer);
        }
    }

    /// Moves the pieces of a tile into its lanes. If this function is inlined, a transpose of 64 × 64 f32 takes 3 %
    /// more time.
    #[inline(never)]
    fn move_in_buffers<'d>(&mut self, tile: Tile<'_, 'd>, line_writer: &mut LineWriter<'d>) {
        let Tile { source, count, .. } = tile;
        let (near, row) = (tile.near, tile.row);
        // If the bytes to write in the first lane do not begin at a cache line, the first square has fewer source
        // rows, so that the next square begins at a cache line.
        let first_rows = tile.lanes[0].bytes_to_line() / N;
        let first_rows = if first_rows == 0 { R } else { first_rows };
        let max_lanes = C.min(tile.lanes.len());
        let longest_near = Axis {
            size: max_lanes,
            ..near
        };
        let kernel = Kernel::for_row(N, longest_near);
        let buffers = self.buffers.get_or_insert_with(Buffers::new);
        let mut first = 0;
        while first < count {
            let end = match first {
                0 => first_rows + (LINES_IN_BUFFERS - 1) * R,
                _ => first + LINES_IN_BUFFERS * R,
            }
            .min(count);
            let mut at = along(tile.at, row.stride, first);
            for lanes in tile.lanes.chunks_mut(C) {
                let near = Axis {
                    size: lanes.len(),
                    ..near
                };
                let mut from = at;
                let mut next_row = first;
                while next_row < end {
                    let count = if next_row == 0 { first_rows } else { R }.min(end - next_row);
                    let rows = &mut buffers.rows[..count];
                    Self::read(kernel, source, from, near, row.stride, rows);
                    let padded_count = count.div_ceil(M) * M;
                    let rows = &buffers.rows[..padded_count];
                    let columns = &mut buffers.columns[..near.size.next_multiple_of(M)];
                    transpose::<N, M, WIDTH>(self.shuffles, rows, columns);
                    Self::write(columns, lanes, count, line_writer);
                    next_row += count;
                    from = along(from, row.stride, count);
                }
                at = along(at, near.stride, lanes.len());
            }
            first = end;
        }
    }
}

/// The size in bytes of the smallest pieces that are transposed in blocks. A block is a cache line of each of `R` rows
/// and becomes a cache line of each of `R` lanes. With blocks, few bounds checks are needed and each line is read and
/// written only once, whatever the distance between rows is. With smaller pieces, a block would have 32 or 64 rows,
/// which is too many for these gains.
const MIN_BLOCK_PIECE_BYTES: usize = 4;

/// If blocks are transposed without buffers, each lane of a group gets this many cache lines before the lanes of the
/// next group are written. With 4 or 64, some arrays take 20 % more time.
const LINES_OF_BLOCKS: usize = 16;

/// If squares are transposed without buffers and without blocks, each lane of a group gets this many cache lines before
/// the lanes of the next group are written. With 8, arrays with rows a power of 2 apart take up to 30 % more time than
/// with 4, because the lines that are read compete for the same few places in the first-level cache.
const LINES_OF_SQUARES: usize = 4;

/// If squares are transposed through buffers, each lane of a group gets this many cache lines, 1 KiB, before the lanes
/// of the next group are written. With more lines, too many pages of the source would be read for a group.
const LINES_IN_BUFFERS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::memory::Slices;
    use crate::cpu::{IS_OTHER_KIND, shuffle::SHUFFLES};
    use core::sync::atomic::Ordering;

    /// Moves a tile of pieces of `N` bytes into lanes that begin anywhere in a cache line. The pieces are from every
    /// column, in either order, or from every third column. Source rows are at least `min_pitch` bytes apart.
    fn check_squares<const N: usize, const M: usize, const R: usize, const C: usize>(
        min_pitch: usize,
    ) {
        let Some(shuffles) = *SHUFFLES else { return };
        let source_bytes = (3 * R).max(150) * min_pitch.max(120 * 3 * N);
        let source: Vec<u8> = (0..=250).cycle().take(source_bytes).collect();
        for (bypasses_caches, stride_in_pieces, lane_count, count, skip) in [
            (false, 1, C, 3 * R, 0),
            (false, 1, C + 2 * M, 2 * R + 1, 3),
            (false, 1, 120, 150, 0),
            // Without buffers, 7 groups of lanes that are written in blocks, and some other lanes.
            (false, 1, 7 * R + 3 * M + 1, 150, 0),
            (true, 1, 120, 150, 16),
            (true, 1, C, 3 * R, 0),
            (false, 3, 120, 150, 48),
            (true, -1, 77, 41, 5),
            (false, 1, 1, 1, 1),
            (true, 1, M + 1, R + 1, 64 - N),
        ] {
            let stride_in_pieces: isize = stride_in_pieces;
            let width = (120 * stride_in_pieces.unsigned_abs() * N).max(min_pitch);
            let axis = |size, stride: usize| Axis {
                size,
                stride: stride.cast_signed(),
            };
            let near = Axis {
                size: lane_count,
                stride: stride_in_pieces * N.cast_signed(),
            };
            let row = axis(count, width);
            let at = if stride_in_pieces < 0 {
                (lane_count - 1) * N
            } else {
                0
            };
            let lane_pitch = count * N + 7;
            for is_cached in [false, true] {
                let mut dest = vec![0; skip + lane_count * lane_pitch];
                let mut lanes = Slices::with_capacity(lane_count);
                lanes.push_old(&mut dest[skip..], lane_pitch);
                memory::streaming(bypasses_caches, |line_writer| {
                    let tile = Tile {
                        near,
                        row,
                        source: &source,
                        at,
                        count,
                        row_count: 1,
                        lanes: &mut lanes,
                    };
                    squares::<N, M, R, C>(shuffles, is_cached)(tile, line_writer);
                });
                assert!(lanes.iter().all(|lane| lane.len() == 7));
                drop(lanes);
                for (column, lane) in dest[skip..].chunks(lane_pitch).enumerate() {
                    let at = along(at, near.stride, column);
                    let pieces = (0..count).flat_map(|row| &source[at + row * width..][..N]);
                    assert!(lane.iter().eq(pieces.chain(&[0; 7])), "{N} {column}");
                }
            }
        }
    }

    #[test]
    fn rows_become_lanes() {
        // The order in which pieces are read depends on the kind of processor and on the distance between rows.
        for is_other_kind in [true, false] {
            IS_OTHER_KIND.store(is_other_kind, Ordering::Relaxed);
            for min_pitch in [0, 20 << 10] {
                check_squares::<1, 16, 64, 256>(min_pitch);
                check_squares::<2, 8, 32, 128>(min_pitch);
                check_squares::<4, 4, 16, 64>(min_pitch);
                check_squares::<8, 2, 8, 32>(min_pitch);
                check_squares::<16, 1, 4, 16>(min_pitch);
            }
        }
    }
}
