//! Rows of small pieces that the processor's byte shuffles move 16 bytes at a time.
//!
//! A byte shuffle moves any bytes of a vector of 16 to any places of another, and makes zeros elsewhere. So where 16 bytes
//! of the result come from up to four vectors of the source, they are the union of as many shuffles:
//!
//! ```text
//! source   r0 g0 b0 r1 g1 b1 r2 …        every third byte
//! result   r0 r1 r2 r3 r4 r5 …           shuffle(bytes 0 to 15) | shuffle(bytes 16 to 31) | shuffle(bytes 32 to 47)
//! ```
//!
//! Compilers do not find these instructions in a loop, and x86-64 processors need not have them. So [`fearless_simd`] finds
//! out when the program runs. Without them, and without the standard library, pieces are copied one by one.
//!
//! All code that names vector instructions is in this file: `no_shuffle` takes its place without the standard library.

use super::{
    fixed_copy::with_copy_kernel,
    memory::{self, LINE},
    rows::{Axis, PieceRows, along},
};
use fearless_simd::{Level, prelude::*, u8x16, u16x8, u32x4, u64x2};
pub(super) use instructions::Shuffles;
use std::{array, sync::LazyLock};

pub(super) const VECTOR: usize = 16;

/// The size in bytes of the longest row that is fetched before it is written downwards. Processors follow the writes of
/// longer rows by themselves.
const FETCHED_ROW: usize = 4 << 10;

/// The most vectors of the source that a vector of the result comes from.
const MAX_VECTORS: usize = 4;

/// SSSE3's instructions, which all processors with SSE 4.2 have.
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

/// None: copies of single pieces are faster than shuffles without instructions.
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
    // Tests also run as on processors without them.
    #[cfg(any(test, feature = "test-seams"))]
    if std::env::var("WGSLICE_TEST_SHUFFLES").is_ok_and(|value| value == "none") {
        return None;
    }
    (instructions::FIND)(Level::new())
});

/// For each byte of a vector of the result, the number of the byte of a vector of the source that goes there, or
/// [`NO_BYTE`] if none does.
type ByteNumbers = [u8; VECTOR];

/// A shuffle makes a zero for this number.
const NO_BYTE: u8 = 0xff;

/// Pieces that shuffles move: those that are a few bytes apart, upwards or downwards, along long rows or in short rows along
/// a block; and blocks of rows whose 2 to 4 pieces are in as many planes, where neighbouring rows are neighbours in each
/// plane: planes that become the channels of pixels.
#[derive(Clone, Copy)]
pub(super) struct Shuffle {
    shuffles: Shuffles,
    pub(super) piece: usize,
    pub(super) stride: isize,
    /// The number of planes. 1 for pieces that are a few bytes apart.
    pub(super) planes: usize,
    /// Whether vectors go along blocks, with several rows each, rather than along rows.
    along_block: bool,
    /// The number of rows, or of pieces of a long row, that a vector of the result, or one for each plane, has room for.
    many: usize,
    /// The number of vectors of the source that these come from.
    loads: usize,
    /// From the lowest row's first piece, or the lowest piece of a long row, to the lowest byte.
    below: usize,
    /// For each vector of the source, which of its bytes goes to each byte of a vector of the result. Planes have a table for
    /// each vector of the result, which is made when rows are moved.
    indices: [ByteNumbers; MAX_VECTORS],
}

impl Shuffle {
    /// For any number of rows of pieces of `piece` bytes that are along `row`. `None` if shuffles cannot move them.
    #[inline]
    pub(super) fn for_row(piece: usize, row: Axis) -> Option<Self> {
        // Copies of 8 bytes are faster for a few pieces.
        let is_few = piece == 8 && row.size < 8;
        (piece <= VECTOR / 2 && !is_few).then(|| Self::for_near_rows(piece, Axis::ONE, row))?
    }

    /// For any number of blocks of short rows: the pieces of a row are along `row`, the rows of a block along `block`. `None`
    /// if shuffles cannot move them.
    #[inline]
    pub(super) fn for_block(piece: usize, row: Axis, block: Axis) -> Option<Self> {
        let is_woven = (2..=MAX_VECTORS).contains(&row.size)
            && [1, 2, 4].contains(&piece)
            && block.stride.unsigned_abs() == piece
            && block.size * piece >= 2 * VECTOR;
        if is_woven {
            return Some(Self {
                shuffles: (*SHUFFLES)?,
                piece,
                stride: row.stride,
                planes: row.size,
                along_block: true,
                many: VECTOR / piece,
                loads: row.size,
                below: 0,
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
        if outer.size * row_bytes < 2 * VECTOR || span > MAX_VECTORS * VECTOR {
            return None;
        }
        let bytes_below = match inner.stride < 0 {
            true => reach(inner, inner.size),
            false => 0,
        };
        let [indices] = indices(piece, inner, outer, row_count, bytes_below);
        let along_block = inner.size > 1;
        Some(Self {
            shuffles: (*SHUFFLES)?,
            piece,
            stride: if along_block { inner } else { outer }.stride,
            planes: 1,
            along_block,
            many: row_count,
            loads: span.div_ceil(VECTOR),
            below: bytes_below,
            indices,
        })
    }

    /// Moves rows whose pieces have the size and the distances that the kernel was made for.
    pub(super) fn run(&self, rows: PieceRows<'_>) {
        let is_descending = if self.along_block {
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
                (1, 1) => self.rows::<1, 1, DOWN>(rows),
                (1, 2) => self.rows::<2, 1, DOWN>(rows),
                (1, 3) => self.rows::<3, 1, DOWN>(rows),
                (1, _) => self.rows::<MAX_VECTORS, 1, DOWN>(rows),
                (2, _) => self.rows::<2, 2, DOWN>(rows),
                (3, _) => self.rows::<3, 3, DOWN>(rows),
                _ => self.rows::<MAX_VECTORS, MAX_VECTORS, DOWN>(rows),
            },
        );
    }

    /// Makes `STORES` vectors of the result at once, 1 or as many as there are planes, from `LOADS` of the source.
    #[inline(always)]
    fn rows<const LOADS: usize, const STORES: usize, const DOWN: bool>(&self, rows: PieceRows<'_>) {
        let Self {
            shuffles: simd,
            piece,
            many,
            below,
            ..
        } = *self;
        let source = rows.source;
        let row_bytes = rows.row.size * piece;
        let (inner, pitch, unit, bytes) = match self.along_block {
            true => (rows.row, rows.pitch, row_bytes, rows.block_bytes),
            false => (Axis::ONE, rows.row.stride, piece, row_bytes),
        };
        let indices: [[ByteNumbers; LOADS]; STORES] = match STORES {
            1 => [array::from_fn(|load| self.indices[load]); STORES],
            _ => {
                let planes = Axis {
                    size: STORES,
                    stride: VECTOR.cast_signed(),
                };
                let block = Axis {
                    size: many,
                    stride: pitch,
                };
                indices(piece, planes, block, many, 0)
            }
        };
        let indices = indices.map(|of| of.map(|indices| u8x16::from_slice(simd, &indices)));
        let filled = match STORES {
            1 => many * unit,
            _ => STORES * VECTOR,
        };
        let step = many * pitch.unsigned_abs();
        // Whether every vector of the source, or of the planes, is used once.
        let tiles = STORES > 1 || filled == VECTOR && step == LOADS * VECTOR;
        // Vectors are read in ascending order, because processors prefetch memory in this order. Those that would reach beyond the
        // source are left.
        rows.each(
            bytes,
            #[inline(always)]
            |at, mut dest| {
                let mut from = at - below;
                if DOWN {
                    // A short row is written downwards, but fetched upwards, as the rows follow each other.
                    if dest.len() <= FETCHED_ROW {
                        for line in (0..dest.len()).step_by(LINE) {
                            memory::prefetch(dest, line);
                        }
                    }
                    from = along(at, pitch, bytes / unit - 1) - below;
                }
                if tiles {
                    let room = dest.len() / (STORES * VECTOR);
                    let (near, _) = source[from..].as_chunks().0.as_chunks::<LOADS>();
                    let done = match STORES {
                        1 => room.min(near.len()),
                        _ => room,
                    };
                    let planes: [&[[u8; VECTOR]]; LOADS] = array::from_fn(|plane| match STORES {
                        1 => &[],
                        _ => &source[along(from, inner.stride, plane)..].as_chunks().0[..done],
                    });
                    let bytes = done * STORES * VECTOR;
                    if DOWN {
                        let (rest, to) = dest.split_at_mut(dest.len() - bytes);
                        let (to, _) = to.as_chunks_mut().0.as_chunks_mut();
                        fill(simd, to.iter_mut().rev(), near, &planes, &indices);
                        dest = rest;
                    } else {
                        let (to, rest) = dest.split_at_mut(bytes);
                        let (to, _) = to.as_chunks_mut().0.as_chunks_mut();
                        fill(simd, to.iter_mut(), near, &planes, &indices);
                        dest = rest;
                    }
                    from += done * step;
                }
                while STORES == 1
                    && DOWN
                    && let Some((rest, to)) = dest.split_last_chunk_mut::<VECTOR>()
                    && let Some(vectors) = source.get(from..from + LOADS * VECTOR)
                    && let Some(vectors) = vectors.as_chunks().0.first_chunk()
                {
                    join_lookups(simd, vectors, &indices[0]).store_slice(to);
                    // The vector has zeros before its whole rows, which the next one overwrites.
                    let end = rest.len() + VECTOR - filled;
                    dest = &mut dest[..end];
                    from += step;
                }
                while STORES == 1
                    && !DOWN
                    && let Some(to) = dest.first_chunk_mut::<VECTOR>()
                    && let Some(vectors) = source.get(from..from + LOADS * VECTOR)
                    && let Some(vectors) = vectors.as_chunks().0.first_chunk()
                {
                    join_lookups(simd, vectors, &indices[0]).store_slice(to);
                    dest = &mut dest[filled..];
                    from += step;
                }
                if !dest.is_empty() {
                    let at = if DOWN { at } else { from + below };
                    with_copy_kernel(piece, PieceRows::new(source, at, inner, pitch, dest));
                }
            },
        );
    }
}

/// Where the bytes of `STORES` vectors of the result are in `LOADS` vectors of the source, which has `many` rows along
/// `outer` of pieces along `inner`. Its lowest row begins `below` bytes after the first byte of these vectors.
fn indices<const LOADS: usize, const STORES: usize>(
    piece: usize,
    inner: Axis,
    outer: Axis,
    many: usize,
    below: usize,
) -> [[ByteNumbers; LOADS]; STORES] {
    let mut indices = [[[NO_BYTE; VECTOR]; LOADS]; STORES];
    let row_bytes = inner.size * piece;
    for row in 0..many {
        // Rows that run downwards fill vectors from their end.
        let to = match outer.stride < 0 {
            true => STORES * VECTOR - (row + 1) * row_bytes,
            false => row * row_bytes,
        };
        let from = below + row * outer.stride.unsigned_abs();
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

/// Makes `STORES` vectors at a time from the vectors in `near` or, if there are several, from one of each plane.
#[inline(always)]
fn fill<'d, const LOADS: usize, const STORES: usize>(
    simd: Shuffles,
    to: impl Iterator<Item = &'d mut [[u8; VECTOR]; STORES]>,
    near: &[[[u8; VECTOR]; LOADS]],
    planes: &[&[[u8; VECTOR]]; LOADS],
    indices: &[[u8x16<Shuffles>; LOADS]; STORES],
) {
    let store = |to: &mut [[u8; VECTOR]; STORES], from: &[[u8; VECTOR]; LOADS]| {
        for (to, indices) in to.iter_mut().zip(indices) {
            join_lookups(simd, from, indices).store_slice(to);
        }
    };
    match STORES {
        1 => to.zip(near).for_each(|(to, from)| store(to, from)),
        _ => to
            .zip(0..)
            .for_each(|(to, number)| store(to, &planes.map(|plane| plane[number]))),
    }
}

/// The bytes that `indices` take from each of the vectors.
#[inline(always)]
fn join_lookups<const N: usize>(
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

/// Transposes rows of pieces of `N` bytes into columns, as `square` says. There are multiples of `M` of both.
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
            let mut square = [u8x16::splat(simd, 0); M];
            for (vector, row) in square.iter_mut().zip(rows) {
                *vector = u8x16::from_slice(simd, &row[left..][..VECTOR]);
            }
            let square = transposed::<N, M>(square);
            for (vector, column) in square.into_iter().zip(&mut *columns) {
                vector.store_slice(&mut column[top..][..VECTOR]);
            }
        }
    }
}

/// Transposes rows of the source without buffers, and writes the next `bytes` bytes of each lane. The first row begins at byte
/// `at` of the source, and rows are `pitch` bytes apart. `bytes` is a multiple of a vector's size, and the number of lanes
/// one of `M`.
#[inline(always)]
pub(super) fn transpose_in_registers<const N: usize, const M: usize>(
    shuffles: Shuffles,
    (source, at, pitch): (&[u8], usize, isize),
    bytes: usize,
    lanes: &mut [&mut [u8]],
) {
    shuffles.vectorize(
        #[inline(always)]
        || {
            let lanes = lanes.as_chunks_mut::<M>().0.iter_mut();
            for (mut at, lanes) in (at..).step_by(VECTOR).zip(lanes) {
                let mut columns = lanes.each_mut().map(|lane| {
                    let column = lane.split_off_mut(..bytes);
                    let column = column.expect("a lane has room").as_chunks_mut().0;
                    &mut column[..bytes / VECTOR]
                });
                for row in 0..bytes / VECTOR {
                    let mut square = [u8x16::splat(shuffles, 0); M];
                    for vector in &mut square {
                        *vector = u8x16::from_slice(shuffles, &source[at..][..VECTOR]);
                        at = at.wrapping_add_signed(pitch);
                    }
                    let square = transposed::<N, M>(square);
                    for (vector, column) in square.into_iter().zip(&mut columns) {
                        let to: &mut [u8; VECTOR] = &mut column[row];
                        vector.store_slice(to);
                    }
                }
            }
        },
    );
}

/// Transposes `M` vectors of `M` pieces of `N` bytes.
#[inline(always)]
fn transposed<const N: usize, const M: usize>(
    mut square: [u8x16<Shuffles>; M],
) -> [u8x16<Shuffles>; M] {
    for _ in 0..M.ilog2() {
        let old_square = square;
        for i in 0..M / 2 {
            [square[2 * i], square[2 * i + 1]] = zip::<N>(old_square[i], old_square[M / 2 + i]);
        }
    }
    square
}

/// Takes pieces of `N` bytes from two vectors in turn.
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

/// Copies the pieces of `N` bytes whose byte of the mask is not 0, while `dest` has room for a vector. Returns how many
/// bytes of the mask were looked at, and how many pieces were kept. A vector has the pieces that a few bits of the mask
/// choose, by one of `CHOICES` shuffles, and zeros after them, which the next vector overwrites.
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
    let (mut looked, mut kept) = (0, 0);
    let blocks = mask.as_chunks::<VECTOR>().0.iter();
    for (block, source) in blocks.zip(source.chunks_exact(VECTOR * N)) {
        let zeros = u8x16::from_slice(simd, block).simd_eq(u8x16::splat(simd, 0));
        let ones = !zeros.to_bitmask();
        for group in 0..VECTOR / group_bits {
            let room = dest.get_mut(kept * N..);
            let Some(to) = room.and_then(|room| room.first_chunk_mut::<VECTOR>()) else {
                return [looked, kept];
            };
            let bits = (ones >> (group * group_bits)) % CHOICES as u64;
            let chosen = usize::try_from(bits).expect("a few bits");
            // Several groups of single bytes are in one vector.
            let (first, skip) = (
                group * group_bits * N / VECTOR,
                group * group_bits * N % VECTOR,
            );
            let from = u8x16::from_slice(simd, &source[first * VECTOR..][..VECTOR]);
            let choice =
                u8x16::from_slice(simd, &choices[chosen]) | u8x16::splat(simd, index(skip));
            simd.swizzle_dyn_precise_u8x16(from, choice).store_slice(to);
            looked += group_bits;
            kept += chosen.count_ones() as usize;
        }
    }
    [looked, kept]
}

/// For each choice of pieces of `N` bytes, where the bytes of a vector come from.
const fn choices<const N: usize, const CHOICES: usize>() -> [ByteNumbers; CHOICES] {
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

/// The number of a byte in a vector.
#[expect(clippy::cast_possible_truncation, reason = "vectors have 16 bytes")]
const fn index(byte: usize) -> u8 {
    byte as u8
}
