//! Moves rows of small pieces with the processor's byte shuffles, 16 bytes at a time.
//!
//! A byte shuffle copies any bytes of a 16-byte vector to any positions of another vector and sets the other positions
//! to zero. If 16 bytes of the result come from up to four vectors of the source, each of these vectors is shuffled,
//! and OR combines the shuffled vectors:
//!
//! ```text
//! source   r0 g0 b0 r1 g1 b1 r2 …        every third byte
//! result   r0 r1 r2 r3 r4 r5 …           shuffle(bytes 0 to 15) | shuffle(bytes 16 to 31) | shuffle(bytes 32 to 47)
//! ```
//!
//! Compilers do not generate these instructions for distances that are known only at run time, and not every x86-64
//! processor has them. [`fearless_simd`] detects them at run time. Without them, or without the standard library,
//! pieces are copied one by one.
//!
//! Without the standard library, `no_shuffle` replaces this file.

use super::{
    fixed_copy::with_copy_kernel,
    memory::{self, LINE, NewMemory, Slice, VectorLine},
    rows::{Axis, PieceRows, along},
};
use fearless_simd::{Level, prelude::*, u8x16, u16x8, u32x4, u64x2};
pub(super) use instructions::Shuffles;
use std::{array, iter, mem, sync::LazyLock};

pub(super) const VECTOR: usize = 16;

/// The size in bytes of the longest row that is prefetched before it is written in descending order. In longer rows,
/// the processor itself prefetches the lines that are written next.
const MAX_PREFETCHED_ROW_BYTES: usize = 4 << 10;

/// The largest number of source vectors that the bytes of one vector of the result can come from.
const MAX_VECTORS: usize = 4;

/// Byte shuffles are SSSE3 instructions. All processors with SSE 4.2 support SSSE3.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod instructions {
    pub(in super::super) type Shuffles = fearless_simd::Sse4_2;
    pub(super) const FIND: fn(super::Level) -> Option<Shuffles> = super::Level::as_sse4_2;
}

#[cfg(target_arch = "aarch64")]
mod instructions {
    pub(in super::super) type Shuffles = fearless_simd::Neon;
    pub(super) const FIND: fn(super::Level) -> Option<Shuffles> = super::Level::as_neon;
}

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod instructions {
    pub(in super::super) type Shuffles = fearless_simd::WasmSimd128;
    pub(super) const FIND: fn(super::Level) -> Option<Shuffles> = super::Level::as_wasm_simd128;
}

/// No shuffles: without vector instructions, shuffles are slower than copies of single pieces.
#[cfg(not(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "aarch64",
    all(target_arch = "wasm32", target_feature = "simd128")
)))]
mod instructions {
    pub(in super::super) type Shuffles = fearless_simd::Fallback;
    pub(super) const FIND: fn(super::Level) -> Option<Shuffles> = |_| None;
}

/// The byte shuffles of this processor, if it has them.
pub(super) static SHUFFLES: LazyLock<Option<Shuffles>> = LazyLock::new(|| {
    // If this variable is `none`, tests run as on a processor without byte shuffles.
    #[cfg(any(test, feature = "test-seams"))]
    if std::env::var("WGSLICE_TEST_SHUFFLES").is_ok_and(|value| value == "none") {
        return None;
    }
    (instructions::FIND)(Level::new())
});

/// The indices of a byte shuffle: for each byte of the result, the index of the source byte that is copied there, or
/// [`NO_BYTE`].
type ByteIndices = [u8; VECTOR];

/// The index for which a shuffle writes a zero.
const NO_BYTE: u8 = 0xff;

/// A loop that moves pieces by byte shuffles. The pieces are of one of two kinds:
///
/// - Pieces a few bytes apart, in either direction, along long rows or in the short rows of a block.
/// - Planes that become the channels of pixels. A row has 2 to 4 pieces, one from each plane. Neighbouring rows of a
///   block are neighbours in each plane.
#[derive(Clone, Copy)]
pub(super) struct Shuffle {
    shuffles: Shuffles,
    pub(super) piece: usize,
    pub(super) stride: isize,
    /// The number of planes. 1 for pieces that are a few bytes apart.
    pub(super) planes: usize,
    /// True if a vector of the result has several rows of a block, false if it has pieces of one long row.
    joins_rows: bool,
    /// The number of rows, or of pieces of a long row, that fit into a vector of the result. For planes, the number of
    /// rows that fit into as many vectors as there are planes.
    rows_per_step: usize,
    /// The number of source vectors that the `rows_per_step` rows or pieces come from.
    loads: usize,
    /// The distance in bytes from the first piece of a short row down to its lowest byte: 0 if its pieces ascend.
    bytes_below: usize,
    /// For each vector of the source, the shuffle indices that copy its bytes to a vector of the result. Unused for
    /// planes: each vector of their result has its own indices, which `move_rows` computes.
    indices: [ByteIndices; MAX_VECTORS],
}

impl Shuffle {
    /// Returns the loop for rows of pieces of `piece` bytes along `row`. Returns `None` if shuffles cannot move them
    /// or are slower than copies.
    #[inline]
    pub(super) fn for_row(piece: usize, row: Axis) -> Option<Self> {
        // Copies of 8 bytes are faster for a few pieces.
        let copies_are_faster = piece == 8 && row.size < 8;
        (piece <= VECTOR / 2 && !copies_are_faster)
            .then(|| Self::for_near_rows(piece, Axis::ONE, row))?
    }

    /// Returns the loop for blocks of short rows. The pieces of a row are along `row`, and the rows of a block are
    /// along `block`. Returns `None` if shuffles cannot move them.
    #[inline]
    pub(super) fn for_block(piece: usize, row: Axis, block: Axis) -> Option<Self> {
        let has_planes = (2..=MAX_VECTORS).contains(&row.size)
            && [1, 2, 4].contains(&piece)
            && block.stride.unsigned_abs() == piece
            && block.size * piece >= 2 * VECTOR;
        if has_planes {
            return Some(Self {
                shuffles: (*SHUFFLES)?,
                piece,
                stride: row.stride,
                planes: row.size,
                joins_rows: true,
                rows_per_step: VECTOR / piece,
                loads: row.size,
                bytes_below: 0,
                indices: [[NO_BYTE; VECTOR]; MAX_VECTORS],
            });
        }
        (row.size > 1 && row.size * piece <= VECTOR)
            .then(|| Self::for_near_rows(piece, row, block))?
    }

    fn for_near_rows(piece: usize, inner: Axis, outer: Axis) -> Option<Self> {
        let row_bytes = inner.size * piece;
        let row_count = VECTOR / row_bytes;
        let reach = |axis: Axis, size: usize| axis.stride.unsigned_abs().saturating_mul(size - 1);
        let span = reach(inner, inner.size)
            .saturating_add(reach(outer, row_count))
            .saturating_add(piece);
        let joins_rows = inner.size > 1;
        // Single copies move a few pieces faster: with shuffles, padding pixels by 8 reflected pixels on each side takes
        // up to 30 % more time.
        let min_bytes = if joins_rows { VECTOR } else { 2 * VECTOR };
        if outer.size * row_bytes < min_bytes || span > MAX_VECTORS * VECTOR {
            return None;
        }
        let bytes_below = match inner.stride < 0 {
            true => reach(inner, inner.size),
            false => 0,
        };
        let [indices] = indices(piece, inner, outer, row_count, bytes_below);
        Some(Self {
            shuffles: (*SHUFFLES)?,
            piece,
            stride: if joins_rows { inner } else { outer }.stride,
            planes: 1,
            joins_rows,
            rows_per_step: row_count,
            loads: span.div_ceil(VECTOR),
            bytes_below,
            indices,
        })
    }

    /// Returns whether the pieces are elements of a contiguous row in reverse order, for [`Self::reverse`].
    pub(super) fn is_reversal(&self) -> bool {
        let are_contiguous = self.stride == -self.piece.cast_signed();
        are_contiguous && !self.joins_rows && VECTOR.is_multiple_of(self.piece)
    }

    /// Copies the pieces of `source` in reverse order to the front of new memory, which needs no zeros first.
    pub(super) fn reverse(&self, source: &[u8], dest: &mut NewMemory<'_>) {
        let simd = self.shuffles;
        simd.vectorize(
            #[inline(always)]
            || {
                let indices = [u8x16::from_slice(simd, &self.indices[0])];
                let (first_pieces, vectors) = source.as_rchunks();
                dest.write_reversed(vectors.iter().map(
                    #[inline(always)]
                    |&vector| join_shuffled_vectors(simd, &[vector], &indices).into(),
                ));
                for piece in first_pieces.rchunks_exact(self.piece) {
                    dest.copy_to_front(piece);
                }
            },
        );
    }

    /// Moves rows. The pieces must have the size and the distances that the constructor was called with.
    pub(super) fn run(&self, rows: PieceRows<'_>) {
        let is_descending = if self.joins_rows {
            rows.pitch
        } else {
            rows.row.stride
        } < 0;
        match is_descending {
            true => self.run_direction::<true>(rows),
            false => self.run_direction::<false>(rows),
        }
    }

    fn run_direction<const DOWN: bool>(&self, rows: PieceRows<'_>) {
        self.shuffles.vectorize(
            #[inline(always)]
            || match (self.planes, self.loads) {
                (1, 1) => self.move_rows::<1, 1, DOWN>(rows),
                (1, 2) => self.move_rows::<2, 1, DOWN>(rows),
                (1, 3) => self.move_rows::<3, 1, DOWN>(rows),
                (1, _) => self.move_rows::<MAX_VECTORS, 1, DOWN>(rows),
                (2, _) => self.move_rows::<2, 2, DOWN>(rows),
                (3, _) => self.move_rows::<3, 3, DOWN>(rows),
                _ => self.move_rows::<MAX_VECTORS, MAX_VECTORS, DOWN>(rows),
            },
        );
    }

    /// Moves rows. Each step computes `STORES` vectors of the result from `LOADS` vectors of the source. `STORES` is
    /// the number of planes.
    #[inline(always)]
    fn move_rows<const LOADS: usize, const STORES: usize, const DOWN: bool>(
        &self,
        mut rows: PieceRows<'_>,
    ) {
        let Self {
            shuffles: simd,
            piece,
            rows_per_step,
            bytes_below,
            ..
        } = *self;
        let source = rows.source;
        let row_bytes = rows.row.size * piece;
        let (inner, pitch, row_or_piece_bytes, bytes) = match self.joins_rows {
            true => (rows.row, rows.pitch, row_bytes, rows.block_bytes),
            false => (Axis::ONE, rows.row.stride, piece, row_bytes),
        };
        let indices: [[ByteIndices; LOADS]; STORES] = match STORES {
            1 => [array::from_fn(|load| self.indices[load]); STORES],
            _ => {
                let planes = Axis {
                    size: STORES,
                    stride: VECTOR.cast_signed(),
                };
                let block = Axis {
                    size: rows_per_step,
                    stride: pitch,
                };
                indices(piece, planes, block, rows_per_step, 0)
            }
        };
        let indices = indices.map(|loads| loads.map(|indices| u8x16::from_slice(simd, &indices)));
        let filled_bytes = match STORES {
            1 => rows_per_step * row_or_piece_bytes,
            _ => STORES * VECTOR,
        };
        if STORES == 1 && self.joins_rows && bytes == filled_bytes && (!DOWN || bytes == VECTOR) {
            let bytes_below = match DOWN {
                true => along(0, pitch.wrapping_neg(), rows_per_step - 1) + bytes_below,
                false => bytes_below,
            };
            move_single_vectors(simd, &mut rows, bytes_below, &indices[0]);
        }
        let step = rows_per_step * pitch.unsigned_abs();
        // True if each vector of the source, or of the planes, is used exactly once.
        let are_bytes_used_once = STORES > 1 || filled_bytes == VECTOR && step == LOADS * VECTOR;
        // Vectors are read in ascending order, because processors prefetch memory in this order. A vector that would
        // extend beyond the source is not read: the last pieces are copied one by one.
        rows.for_each_row(
            bytes,
            #[inline(always)]
            |at, mut dest| {
                let mut from = at - bytes_below;
                if DOWN {
                    // A short row is written in descending order but prefetched in ascending order, because the next
                    // row is at higher addresses.
                    if dest.len() <= MAX_PREFETCHED_ROW_BYTES {
                        for line in (0..dest.len()).step_by(LINE) {
                            memory::prefetch(dest, line);
                        }
                    }
                    from = along(at, pitch, bytes / row_or_piece_bytes - 1) - bytes_below;
                }
                if are_bytes_used_once {
                    let max_steps = dest.len() / (STORES * VECTOR);
                    let (near_vectors, _) = source[from..].as_chunks().0.as_chunks::<LOADS>();
                    let step_count = match STORES {
                        1 => max_steps.min(near_vectors.len()),
                        _ => max_steps,
                    };
                    let planes: [&[[u8; VECTOR]]; LOADS] = array::from_fn(|plane| match STORES {
                        1 => &[],
                        _ => {
                            &source[along(from, inner.stride, plane)..].as_chunks().0[..step_count]
                        }
                    });
                    let bytes = step_count * STORES * VECTOR;
                    if DOWN {
                        let (unwritten, to) = dest.split_at_mut(dest.len() - bytes);
                        let (to, _) = to.as_chunks_mut().0.as_chunks_mut();
                        fill(simd, to.iter_mut().rev(), near_vectors, &planes, &indices);
                        dest = unwritten;
                    } else {
                        let (to, unwritten) = dest.split_at_mut(bytes);
                        let (to, _) = to.as_chunks_mut().0.as_chunks_mut();
                        fill(simd, to.iter_mut(), near_vectors, &planes, &indices);
                        dest = unwritten;
                    }
                    from += step_count * step;
                }
                while STORES == 1
                    && DOWN
                    && let Some((unwritten, to)) = dest.split_last_chunk_mut::<VECTOR>()
                    && let Some(vectors) = source.get(from..from + LOADS * VECTOR)
                    && let Some(vectors) = vectors.as_chunks().0.first_chunk()
                {
                    join_shuffled_vectors(simd, vectors, &indices[0]).store_slice(to);
                    // The vector begins with zeros if its rows do not fill it. The next vector overwrites them.
                    let end = unwritten.len() + VECTOR - filled_bytes;
                    dest = &mut dest[..end];
                    from += step;
                }
                while STORES == 1
                    && !DOWN
                    && let Some(to) = dest.first_chunk_mut::<VECTOR>()
                    && let Some(vectors) = source.get(from..from + LOADS * VECTOR)
                    && let Some(vectors) = vectors.as_chunks().0.first_chunk()
                {
                    join_shuffled_vectors(simd, vectors, &indices[0]).store_slice(to);
                    dest = &mut dest[filled_bytes..];
                    from += step;
                }
                if !dest.is_empty() {
                    let at = if DOWN { at } else { from + bytes_below };
                    with_copy_kernel(piece, PieceRows::new(source, at, inner, pitch, dest));
                }
            },
        );
    }
}

/// Moves blocks that fill a vector or a part of one, except the blocks at the end of the source or of the result.
/// Removes the moved blocks from `rows`. The lowest piece of a block is `bytes_below` bytes below its first piece.
#[inline(always)]
fn move_single_vectors<const LOADS: usize>(
    simd: Shuffles,
    rows: &mut PieceRows<'_>,
    bytes_below: usize,
    indices: &[u8x16<Shuffles>; LOADS],
) {
    let (mut at, mut dest) = (rows.at, mem::take(&mut rows.dest));
    while let Some(to) = dest.first_chunk_mut::<VECTOR>()
        && let Some(vectors) = rows.source.get(at - bytes_below..)
        && let Some(vectors) = vectors.as_chunks().0.first_chunk()
    {
        join_shuffled_vectors(simd, vectors, indices).store_slice(to);
        dest = &mut dest[rows.block_bytes..];
        at = at.wrapping_add_signed(rows.block_stride);
    }
    (rows.at, rows.dest) = (at, dest);
}

/// Returns the shuffle indices for each of `STORES` vectors of the result and each of `LOADS` vectors of the source.
/// The source vectors contain `row_count` rows, at distances given by `outer`. `inner` gives the number and the
/// distance of a row's pieces. The lowest row begins `bytes_below` bytes after the first byte of the source vectors.
fn indices<const LOADS: usize, const STORES: usize>(
    piece: usize,
    inner: Axis,
    outer: Axis,
    row_count: usize,
    bytes_below: usize,
) -> [[ByteIndices; LOADS]; STORES] {
    let mut indices = [[[NO_BYTE; VECTOR]; LOADS]; STORES];
    let row_bytes = inner.size * piece;
    for row in 0..row_count {
        // If the rows have descending addresses in the source, they fill the vectors from the end.
        let to = match outer.stride < 0 {
            true => STORES * VECTOR - (row + 1) * row_bytes,
            false => row * row_bytes,
        };
        let from = bytes_below + row * outer.stride.unsigned_abs();
        for number in 0..inner.size {
            let from = along(from, inner.stride, number);
            for byte in 0..piece {
                let (to, from) = (to + number * piece + byte, from + byte);
                indices[to / VECTOR][from / VECTOR][to % VECTOR] = index(from % VECTOR);
            }
        }
    }
    indices
}

/// Writes `STORES` vectors at a time. Their bytes come from the vectors in `near_vectors` if `STORES` is 1, otherwise
/// from one vector of each plane.
#[inline(always)]
fn fill<'d, const LOADS: usize, const STORES: usize>(
    simd: Shuffles,
    to: impl Iterator<Item = &'d mut [[u8; VECTOR]; STORES]>,
    near_vectors: &[[[u8; VECTOR]; LOADS]],
    planes: &[&[[u8; VECTOR]]; LOADS],
    indices: &[[u8x16<Shuffles>; LOADS]; STORES],
) {
    let store = |to: &mut [[u8; VECTOR]; STORES], from: &[[u8; VECTOR]; LOADS]| {
        for (to, indices) in to.iter_mut().zip(indices) {
            join_shuffled_vectors(simd, from, indices).store_slice(to);
        }
    };
    match STORES {
        1 => to.zip(near_vectors).for_each(|(to, from)| store(to, from)),
        _ => to
            .zip(0..)
            .for_each(|(to, number)| store(to, &planes.map(|plane| plane[number]))),
    }
}

/// Shuffles each vector by its indices and combines the results by OR.
#[inline(always)]
fn join_shuffled_vectors<const N: usize>(
    simd: Shuffles,
    from: &[[u8; VECTOR]; N],
    indices: &[u8x16<Shuffles>; N],
) -> u8x16<Shuffles> {
    let mut combined = u8x16::splat(simd, 0);
    for (from, &indices) in from.iter().zip(indices) {
        combined |= simd.swizzle_dyn_precise_u8x16(u8x16::from_slice(simd, from), indices);
    }
    combined
}

/// Transposes rows of pieces of `N` bytes into columns, by the zips that `square.rs` explains. The numbers of rows and
/// of columns are multiples of `M`.
#[inline(always)]
pub(super) fn transpose<const N: usize, const M: usize, const WIDTH: usize>(
    shuffles: Shuffles,
    rows: &[[u8; WIDTH]],
    columns: &mut [[u8; LINE]],
) {
    shuffles.vectorize(
        #[inline(always)]
        || transpose_squares::<N, M, WIDTH>(shuffles, rows, columns),
    );
}

#[inline(always)]
fn transpose_squares<const N: usize, const M: usize, const WIDTH: usize>(
    simd: Shuffles,
    rows: &[[u8; WIDTH]],
    columns: &mut [[u8; LINE]],
) {
    let columns = columns.as_chunks_mut::<M>().0.iter_mut();
    for (left, columns) in (0..).step_by(VECTOR).zip(columns) {
        let rows = rows.as_chunks::<M>().0.iter();
        for (top, rows) in (0..).step_by(VECTOR).zip(rows) {
            let rows = rows.iter().map(|row| vector_at(row, left));
            let square = transposed::<N, M>(simd, rows);
            for (vector, column) in square.iter().zip(&mut *columns) {
                column[top..][..VECTOR].copy_from_slice(vector);
            }
        }
    }
}

/// Transposes a square of pieces of `N` bytes: `R` rows, each a cache line. Calls `write` with the number of each column
/// and its line. The function is inlined into one that [`vectorize`] calls.
#[inline(always)]
pub(super) fn transpose_lines<const N: usize, const M: usize, const R: usize>(
    simd: Shuffles,
    rows: &[&[u8; LINE]; R],
    mut write: impl FnMut(usize, VectorLine),
) {
    const VECTORS: usize = LINE / VECTOR;
    // Registers cannot hold the lines of 8 or 16 columns. All rows are read before lines are written, because with lines
    // written between the reads, bytes take 40 % more time.
    if N <= 2 {
        let mut columns = [[[0; VECTOR]; VECTORS]; R];
        for across in 0..VECTORS {
            for below in 0..VECTORS {
                let square = small_square::<N, M, R>(simd, rows, across, below);
                for (column, vector) in columns[across * M..].iter_mut().zip(square) {
                    column[below] = vector;
                }
            }
        }
        for (number, column) in columns.iter().enumerate() {
            write(number, *column);
        }
        return;
    }
    for across in 0..VECTORS {
        let mut lines = [[[0; VECTOR]; VECTORS]; M];
        for below in 0..VECTORS {
            let square = small_square::<N, M, R>(simd, rows, across, below);
            for (line, vector) in lines.iter_mut().zip(square) {
                line[below] = vector;
            }
        }
        for (number, line) in lines.iter().enumerate() {
            write(across * M + number, *line);
        }
    }
}

/// Transposes the square of `M` rows whose left upper piece is in vector `across` of row `below * M`.
#[inline(always)]
fn small_square<const N: usize, const M: usize, const R: usize>(
    simd: Shuffles,
    rows: &[&[u8; LINE]; R],
    across: usize,
    below: usize,
) -> [[u8; VECTOR]; M] {
    let rows = rows[below * M..].iter();
    transposed::<N, M>(simd, rows.map(|row| &row.as_chunks().0[across]))
}

/// Returns the vector that begins at byte `at`.
#[inline(always)]
fn vector_at(bytes: &[u8], at: usize) -> &[u8; VECTOR] {
    let vector = bytes[at..].first_chunk();
    vector.expect("a plan's pieces are within its source")
}

/// Calls `run`, compiled for processors with byte shuffles if it is inlined.
#[inline(always)]
pub(super) fn vectorize<R>(shuffles: Shuffles, run: impl FnOnce() -> R) -> R {
    shuffles.vectorize(run)
}

/// Transposes rows of the source without buffers and writes the next `bytes` bytes of each lane. The first row begins
/// at byte `at` of the source, and rows are `pitch` bytes apart. Every `R` lanes are a group, whose first `block_count`
/// cache lines are written in blocks. `bytes` is a multiple of a vector's size, and the number of lanes is a multiple of
/// `M`.
#[inline(always)]
pub(super) fn transpose_in_registers<const N: usize, const M: usize, const R: usize>(
    shuffles: Shuffles,
    (source, at, pitch): (&[u8], usize, isize),
    (block_count, bytes): (usize, usize),
    lanes: &mut [Slice<'_>],
) {
    shuffles.vectorize(
        #[inline(always)]
        || {
            if block_count == 0 {
                return squares_to_lanes::<N, M>(shuffles, (source, at, pitch), bytes, lanes);
            }
            let (groups, other_lanes) = lanes.as_chunks_mut::<R>();
            let others = (source, at + groups.len() * LINE, pitch);
            squares_to_lanes::<N, M>(shuffles, others, bytes, other_lanes);
            blocks_to_lanes::<N, M, R>(shuffles, (source, at, pitch), block_count, groups);
            let bytes = bytes - block_count * LINE;
            if bytes > 0 {
                let end = (source, along(at, pitch, block_count * R), pitch);
                squares_to_lanes::<N, M>(shuffles, end, bytes, groups.as_flattened_mut());
            }
        },
    );
}

/// Transposes `block_count` blocks of each group of lanes and writes the next lines of each lane: the first block of all
/// groups, then the second block of all groups, and so on.
#[inline(always)]
fn blocks_to_lanes<const N: usize, const M: usize, const R: usize>(
    shuffles: Shuffles,
    (source, mut at, pitch): (&[u8], usize, isize),
    block_count: usize,
    groups: &mut [[Slice<'_>; R]],
) {
    for _ in 0..block_count {
        let begin = at;
        for (number, lanes) in groups.iter_mut().enumerate() {
            at = begin + number * LINE;
            let rows: [&[u8; LINE]; R] = array::from_fn(|_| {
                let line = source[at..].first_chunk();
                // The next group needs the next line of the row.
                memory::prefetch(source, at.wrapping_add(LINE));
                at = at.wrapping_add_signed(pitch);
                line.expect("a plan's pieces are within its source")
            });
            for lane in lanes.iter() {
                lane.prefetch(LINE);
            }
            for (across, lanes) in lanes.as_chunks_mut::<M>().0.iter_mut().enumerate() {
                memory::write_vectors(
                    lanes,
                    LINE,
                    #[inline(always)]
                    |below| small_square::<N, M, R>(shuffles, &rows, across, below),
                );
            }
        }
        at = along(begin, pitch, R);
    }
}

/// Transposes squares of `M` rows and `M` lanes and writes the next `bytes` bytes of each lane. If squares are moved by
/// the loop over blocks, as blocks of one square, 256 × 256 bytes take 6 times as long.
#[inline(always)]
fn squares_to_lanes<const N: usize, const M: usize>(
    shuffles: Shuffles,
    (source, at, pitch): (&[u8], usize, isize),
    bytes: usize,
    lanes: &mut [Slice<'_>],
) {
    for (mut at, lanes) in (at..).step_by(VECTOR).zip(lanes.as_chunks_mut().0) {
        memory::write_vectors(
            lanes,
            bytes,
            #[inline(always)]
            |_| {
                let rows = iter::repeat_with(|| {
                    let row = vector_at(source, at);
                    at = at.wrapping_add_signed(pitch);
                    row
                });
                transposed::<N, M>(shuffles, rows)
            },
        );
    }
}

/// Transposes the first `M` of the vectors. Each has `M` pieces of `N` bytes.
#[inline(always)]
fn transposed<'a, const N: usize, const M: usize>(
    simd: Shuffles,
    rows: impl Iterator<Item = &'a [u8; VECTOR]>,
) -> [[u8; VECTOR]; M] {
    let mut square = [u8x16::splat(simd, 0); M];
    for (vector, row) in square.iter_mut().zip(rows) {
        *vector = u8x16::from_slice(simd, row);
    }
    for _ in 0..M.ilog2() {
        let old_square = square;
        for i in 0..M / 2 {
            [square[2 * i], square[2 * i + 1]] = zip::<N>(old_square[i], old_square[M / 2 + i]);
        }
    }
    let mut columns = [[0; VECTOR]; M];
    for (column, vector) in columns.iter_mut().zip(square) {
        *column = vector.into();
    }
    columns
}

/// Interleaves the pieces of two vectors. A piece has `N` bytes.
#[inline(always)]
fn zip<const N: usize>(a: u8x16<Shuffles>, b: u8x16<Shuffles>) -> [u8x16<Shuffles>; 2] {
    macro_rules! zip {
        ($vector:ident) => {{
            let (a, b): ($vector<_>, $vector<_>) = (a.bitcast(), b.bitcast());
            [a.zip_low(b).bitcast(), a.zip_high(b).bitcast()]
        }};
    }
    match N {
        1 => [a.zip_low(b), a.zip_high(b)],
        2 => zip!(u16x8),
        4 => zip!(u32x4),
        _ => zip!(u64x2),
    }
}

/// Copies each piece of `N` bytes if its byte of the mask is not 0, as long as `dest` has room for a vector. Returns
/// the number of bytes of the mask that were read and the number of pieces that were copied.
///
/// A few bits of the mask choose one of `CHOICES` shuffles, which moves the chosen pieces to the front of a vector.
/// The next vector overwrites the zeros after them.
pub(super) fn keep<const N: usize, const CHOICES: usize>(
    shuffles: Shuffles,
    source: &[u8],
    mask: &[u8],
    dest: &mut [u8],
) -> [usize; 2] {
    shuffles.vectorize(
        #[inline(always)]
        || keep_vectors::<N, CHOICES>(shuffles, source, mask, dest),
    )
}

#[inline(always)]
fn keep_vectors<const N: usize, const CHOICES: usize>(
    simd: Shuffles,
    source: &[u8],
    mask: &[u8],
    dest: &mut [u8],
) -> [usize; 2] {
    let choices = const { &choices::<N, CHOICES>() };
    let group_bits = CHOICES.ilog2() as usize;
    let (mut tested_count, mut kept_count) = (0, 0);
    let blocks = mask.as_chunks::<VECTOR>().0.iter();
    for (block, source) in blocks.zip(source.chunks_exact(VECTOR * N)) {
        let zeros = u8x16::from_slice(simd, block).simd_eq(u8x16::splat(simd, 0));
        let ones = !zeros.to_bitmask();
        for group in 0..VECTOR / group_bits {
            let dest_left = dest.get_mut(kept_count * N..);
            let Some(to) = dest_left.and_then(|dest_left| dest_left.first_chunk_mut::<VECTOR>())
            else {
                return [tested_count, kept_count];
            };
            let bits = (ones >> (group * group_bits)) % CHOICES as u64;
            let choice_number = usize::try_from(bits).expect("a few bits");
            // With pieces of 1 byte, a group is only half of a vector.
            let (first, skip) = (
                group * group_bits * N / VECTOR,
                group * group_bits * N % VECTOR,
            );
            let from = u8x16::from_slice(simd, &source[first * VECTOR..][..VECTOR]);
            let choice =
                u8x16::from_slice(simd, &choices[choice_number]) | u8x16::splat(simd, index(skip));
            simd.swizzle_dyn_precise_u8x16(from, choice).store_slice(to);
            tested_count += group_bits;
            kept_count += choice_number.count_ones() as usize;
        }
    }
    [tested_count, kept_count]
}

/// Returns the shuffle indices for each choice of pieces of `N` bytes.
const fn choices<const N: usize, const CHOICES: usize>() -> [ByteIndices; CHOICES] {
    let mut choices = [[NO_BYTE; VECTOR]; CHOICES];
    let mut choice = 0;
    while choice < CHOICES {
        let (mut byte, mut to) = (0, 0);
        while byte < CHOICES.ilog2() as usize * N {
            if choice >> (byte / N) & 1 == 1 {
                choices[choice][to] = index(byte);
                to += 1;
            }
            byte += 1;
        }
        choice += 1;
    }
    choices
}

/// Returns the index of a byte in a vector as a `u8`.
#[expect(clippy::cast_possible_truncation, reason = "vectors have 16 bytes")]
const fn index(byte: usize) -> u8 {
    byte as u8
}
