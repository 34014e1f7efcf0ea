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
//! out when the program runs. Without them, pieces are copied one by one.

use super::{
    memory::{self, LINE},
    rows::{Axis, PieceRows, along},
};
use fearless_simd::{Level, prelude::*, u8x16};
pub(super) use instructions::Shuffles;
use std::{array, sync::LazyLock};

pub(super) const VECTOR: usize = 16;

/// The size in bytes of the longest row that is fetched before it is written downwards. Processors follow the writes of
/// longer rows by themselves.
const SHORT: usize = 4 << 10;

/// The most vectors of the source that a vector of the result comes from.
const MOST: usize = 4;

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
/// [`NOWHERE`] if none does.
type Indices = [u8; VECTOR];

/// A shuffle makes a zero for this number.
const NOWHERE: u8 = 0xff;

/// Pieces that lie a few bytes apart, upwards or downwards: along long rows, or in short rows along a block.
#[derive(Clone, Copy)]
pub(super) struct Near {
    shuffles: Shuffles,
    pub(super) piece: usize,
    pub(super) stride: isize,
    /// Whether vectors go along blocks, with several rows each, rather than along rows.
    along_block: bool,
    /// The number of rows, or of pieces of a long row, that a vector of the result has room for.
    many: usize,
    /// The number of vectors of the source that these come from.
    loads: usize,
    /// From the lowest row's first piece, or the lowest piece of a long row, to the lowest byte.
    below: usize,
    indices: [Indices; MOST],
}

impl Near {
    /// For rows of pieces of `piece` bytes that lie along `row`, of any number. `None` if shuffles cannot move them.
    #[inline]
    pub(super) fn of_row(piece: usize, row: Axis) -> Option<Self> {
        // Copies of 8 bytes are faster for a few pieces.
        let few = piece == 8 && row.size < 8;
        (piece <= VECTOR / 2 && !few).then(|| Self::of(piece, Axis::ONE, row))?
    }

    /// For blocks of short rows: the pieces of a row lie along `row`, the rows of a block along `block`. `None` if shuffles
    /// cannot move them.
    #[inline]
    pub(super) fn of_block(piece: usize, row: Axis, block: Axis) -> Option<Self> {
        (row.size > 1 && row.size * piece <= VECTOR).then(|| Self::of(piece, row, block))?
    }

    fn of(piece: usize, inner: Axis, outer: Axis) -> Option<Self> {
        let row_bytes = inner.size * piece;
        let many = VECTOR / row_bytes;
        let reach = |axis: Axis, size: usize| axis.stride.unsigned_abs().saturating_mul(size - 1);
        let span = reach(inner, inner.size)
            .saturating_add(reach(outer, many))
            .saturating_add(piece);
        if outer.size * row_bytes < 2 * VECTOR || span > MOST * VECTOR {
            return None;
        }
        let below = if inner.stride < 0 {
            reach(inner, inner.size)
        } else {
            0
        };
        let mut indices = [[NOWHERE; VECTOR]; MOST];
        for row in 0..many {
            // Rows that run downwards fill a vector from its end.
            let to = match outer.stride < 0 {
                true => VECTOR - (row + 1) * row_bytes,
                false => row * row_bytes,
            };
            let from = below + reach(outer, row + 1);
            for number in 0..inner.size {
                let from = along(from, inner.stride, number);
                for byte in 0..piece {
                    let from = from + byte;
                    indices[from / VECTOR][to + number * piece + byte] = index(from % VECTOR);
                }
            }
        }
        Some(Self {
            shuffles: (*SHUFFLES)?,
            piece,
            stride: if inner.size > 1 {
                inner.stride
            } else {
                outer.stride
            },
            along_block: inner.size > 1,
            many,
            loads: span.div_ceil(VECTOR),
            below,
            indices,
        })
    }

    /// Moves rows whose pieces have the size and the distances that the kernel was made for.
    pub(super) fn run(&self, rows: PieceRows<'_>) {
        self.shuffles.vectorize(
            #[inline(always)]
            || match self.loads {
                1 => self.rows::<1>(rows),
                2 => self.rows::<2>(rows),
                3 => self.rows::<3>(rows),
                _ => self.rows::<MOST>(rows),
            },
        );
    }

    #[inline(always)]
    fn rows<const LOADS: usize>(&self, rows: PieceRows<'_>) {
        let Self {
            shuffles: simd,
            piece,
            many,
            ..
        } = *self;
        let indices: [_; LOADS] =
            array::from_fn(|load| u8x16::from_slice(simd, &self.indices[load]));
        let source = rows.source;
        let row_bytes = rows.row.size * piece;
        let (inner, pitch, unit, bytes) = match self.along_block {
            true => (rows.row, rows.pitch, row_bytes, rows.block_bytes),
            false => (Axis::ONE, rows.row.stride, piece, row_bytes),
        };
        let below = self.below;
        let (filled, step) = (many * unit, many * pitch.unsigned_abs());
        // Whether every vector of the source is used once.
        let tiles = filled == VECTOR && step == LOADS * VECTOR;
        // Vectors are read in ascending order, in which processors fetch memory ahead. Those that would reach beyond the
        // source are left.
        rows.each(
            bytes,
            #[inline(always)]
            |mut at, mut dest| {
                if pitch < 0 {
                    // A short row is written downwards, but fetched upwards, as the rows follow each other.
                    if dest.len() <= SHORT {
                        for line in (0..dest.len()).step_by(LINE) {
                            memory::prefetch(dest, line);
                        }
                    }
                    let mut from = along(at, pitch, bytes / unit - 1) - below;
                    if tiles {
                        let (vectors, _) = source[from..].as_chunks().0.as_chunks();
                        let to = dest.as_rchunks_mut::<VECTOR>().1.iter_mut().rev();
                        let done = to.len().min(vectors.len());
                        to.zip(vectors)
                            .for_each(|(to, from)| union(simd, from, &indices).store_slice(to));
                        let end = dest.len() - done * VECTOR;
                        dest = &mut dest[..end];
                        from += done * step;
                    }
                    while let Some((rest, to)) = dest.split_last_chunk_mut::<VECTOR>()
                        && let Some(vector) = pick(simd, source, from, &indices)
                    {
                        vector.store_slice(to);
                        // The vector has zeros before its whole rows, which the next one overwrites.
                        let end = rest.len() + VECTOR - filled;
                        dest = &mut dest[..end];
                        from += step;
                    }
                } else {
                    let mut from = at - below;
                    if tiles {
                        let (vectors, _) = source[from..].as_chunks().0.as_chunks();
                        let to = dest.as_chunks_mut::<VECTOR>().0.iter_mut();
                        let done = to.len().min(vectors.len());
                        to.zip(vectors)
                            .for_each(|(to, from)| union(simd, from, &indices).store_slice(to));
                        dest = &mut dest[done * VECTOR..];
                        from += done * step;
                    }
                    while let Some(to) = dest.first_chunk_mut::<VECTOR>()
                        && let Some(vector) = pick(simd, source, from, &indices)
                    {
                        vector.store_slice(to);
                        dest = &mut dest[filled..];
                        from += step;
                    }
                    at = from + below;
                }
                if !dest.is_empty() {
                    one_by_one(source, at, piece, inner, pitch, dest);
                }
            },
        );
    }
}

/// The bytes that `indices` take from the vectors at byte `from` of the source. `None` if the source ends before them.
#[inline(always)]
fn pick<const N: usize>(
    simd: Shuffles,
    source: &[u8],
    from: usize,
    indices: &[u8x16<Shuffles>; N],
) -> Option<u8x16<Shuffles>> {
    let vectors = source.get(from..from + N * VECTOR)?.as_chunks();
    Some(union(simd, vectors.0.first_chunk()?, indices))
}

/// Moves rows of pieces of `piece` bytes that fill `dest`. The first row begins at byte `at` of the source, and others begin
/// `pitch` bytes apart.
#[inline(never)]
fn one_by_one(
    source: &[u8],
    mut at: usize,
    piece: usize,
    row: Axis,
    pitch: isize,
    dest: &mut [u8],
) {
    for dest in dest.chunks_exact_mut(row.size * piece) {
        let mut from = at;
        for dest in dest.chunks_exact_mut(piece) {
            dest.copy_from_slice(&source[from..][..piece]);
            from = from.wrapping_add_signed(row.stride);
        }
        at = at.wrapping_add_signed(pitch);
    }
}

/// Blocks of rows of 2 to 4 pieces of 1, 2 or 4 bytes. The pieces of a row lie in as many planes, and neighbouring rows are
/// neighbours in each plane: planes that become the channels of pixels.
#[derive(Clone, Copy)]
pub(super) struct Woven {
    shuffles: Shuffles,
    pub(super) piece: usize,
    pub(super) planes: usize,
    down: bool,
}

impl Woven {
    /// For blocks of rows of pieces of `piece` bytes: the pieces of a row lie along `row`, the rows of a block along
    /// `block`. `None` if shuffles cannot move them.
    #[inline]
    pub(super) fn of(piece: usize, row: Axis, block: Axis) -> Option<Self> {
        let is_woven = (2..=MOST).contains(&row.size)
            && [1, 2, 4].contains(&piece)
            && block.stride.unsigned_abs() == piece
            && block.size * piece >= 2 * VECTOR;
        Some(Self {
            shuffles: (*SHUFFLES).filter(|_| is_woven)?,
            piece,
            planes: row.size,
            down: block.stride < 0,
        })
    }

    /// Moves blocks whose pieces have the sizes and distances that [`Woven::of`] was called with. Any number of rows is
    /// allowed.
    pub(super) fn run(self, rows: PieceRows<'_>) {
        self.shuffles.vectorize(
            #[inline(always)]
            || match self.planes {
                2 => self.blocks::<2>(rows),
                3 => self.blocks::<3>(rows),
                _ => self.blocks::<MOST>(rows),
            },
        );
    }

    /// Where the bytes of each vector of the result lie in the vectors of the planes.
    fn indices<const PLANES: usize>(self) -> [[Indices; PLANES]; PLANES] {
        let mut indices = [[[NOWHERE; VECTOR]; PLANES]; PLANES];
        let rows = VECTOR / self.piece;
        let places = (0..rows).flat_map(|row| (0..PLANES).map(move |plane| (row, plane)));
        for ((row, plane), to) in places.zip((0..).step_by(self.piece)) {
            let row = if self.down { rows - 1 - row } else { row };
            for byte in 0..self.piece {
                let to = to + byte;
                indices[to / VECTOR][plane][to % VECTOR] = index(row * self.piece + byte);
            }
        }
        indices
    }

    #[inline(always)]
    fn blocks<const PLANES: usize>(self, rows: PieceRows<'_>) {
        let simd = self.shuffles;
        let indices = self.indices::<PLANES>();
        let indices = indices.map(|of| of.map(|indices| u8x16::from_slice(simd, &indices)));
        let PieceRows {
            source, row, pitch, ..
        } = rows;
        let many = VECTOR / self.piece;
        let below = lowest(pitch, many);
        let block_bytes = rows.block_bytes;
        rows.each(
            block_bytes,
            #[inline(always)]
            |mut at, dest| {
                let whole = dest.len() / (VECTOR * PLANES) * (VECTOR * PLANES);
                let (whole, rest) = dest.split_at_mut(whole);
                for to in whole.as_chunks_mut().0.as_chunks_mut::<PLANES>().0 {
                    let planes: [[u8; VECTOR]; PLANES] = array::from_fn(|plane| {
                        let from = along(at.wrapping_add(below), row.stride, plane);
                        let vector = source[from..].first_chunk();
                        *vector.expect("a plan's pieces lie within its source")
                    });
                    for (to, indices) in to.iter_mut().zip(&indices) {
                        let to: &mut [u8; VECTOR] = to;
                        union(simd, &planes, indices).store_slice(to);
                    }
                    at = along(at, pitch, many);
                }
                one_by_one(source, at, self.piece, row, pitch, rest);
            },
        );
    }
}

/// The byte, counted from the first of `count` pieces, at which the lowest of them begins.
fn lowest(stride: isize, count: usize) -> usize {
    match stride < 0 {
        true => along(0, stride, count - 1),
        false => 0,
    }
}

/// The bytes that `indices` take from each of the vectors.
#[inline(always)]
fn union<const N: usize>(
    simd: Shuffles,
    from: &[[u8; VECTOR]; N],
    indices: &[u8x16<Shuffles>; N],
) -> u8x16<Shuffles> {
    let mut all = u8x16::splat(simd, 0);
    for (from, &indices) in from.iter().zip(indices) {
        all |= simd.swizzle_dyn_precise_u8x16(u8x16::from_slice(simd, from), indices);
    }
    all
}

/// The number of a byte in a vector.
#[expect(clippy::cast_possible_truncation, reason = "vectors have 16 bytes")]
fn index(byte: usize) -> u8 {
    byte as u8
}

#[cfg(test)]
mod tests {
    use super::{super::kernel::Kernel, *};

    /// Moves blocks by shuffles, if they can, to where copies of single pieces go. Returns whether they can.
    fn moves(source: &[u8], piece: usize, row: Axis, block: Axis, at: usize) -> bool {
        let kernel = Kernel::of_block(piece, row, block);
        if matches!(kernel, Kernel::Copy { .. }) {
            return false;
        }
        let mut dest = vec![0; block.size * row.size * piece];
        kernel.rows(source, at, row, block.stride, &mut dest);
        for (number, moved) in dest.chunks(piece).enumerate() {
            let from = along(at, block.stride, number / row.size);
            let from = along(from, row.stride, number % row.size);
            assert_eq!(
                moved,
                &source[from..][..piece],
                "{number} of {piece}, {row:?}, {block:?}"
            );
        }
        true
    }

    fn source() -> Vec<u8> {
        (0..=255).cycle().take(20_000).collect()
    }

    fn axis(size: usize, stride: isize) -> Axis {
        Axis { size, stride }
    }

    /// Long rows of every size, distance and direction, wherever they begin or end in the source.
    #[test]
    fn near_pieces_go_where_copies_go() {
        let (source, mut moved) = (source(), 0);
        for piece in 1..=8 {
            for stride in (-64_isize..=64).filter(|stride| *stride != 0) {
                for size in [4, 16, 17, 33, 61] {
                    let span = (size - 1) * stride.unsigned_abs();
                    for low in [0, 3, source.len() - span - piece] {
                        let at = if stride < 0 { low + span } else { low };
                        moved +=
                            usize::from(moves(&source, piece, axis(size, stride), Axis::ONE, at));
                    }
                }
            }
        }
        assert!(SHUFFLES.is_none() || moved > 1000, "{moved}");
    }

    /// Blocks of short rows, and planes that become the channels of pixels, in both directions.
    #[test]
    fn blocks_go_where_copies_go() {
        let (source, mut moved) = (source(), 0);
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
            let row = piece * size.cast_signed();
            let near = [(-1, 1), (-1, -1), (1, 2), (2, 2), (-2, 3), (3, -4), (-1, 9)];
            let near = near.map(|(apart, pitch)| (apart * piece, pitch * row));
            let planes = [(700, piece), (-701, piece), (333, -piece), (16, piece)];
            for (apart, pitch) in near.into_iter().chain(planes) {
                for rows in [16, 17, 32, 47] {
                    let (row, block) = (axis(size, apart), axis(rows, pitch));
                    moved += usize::from(moves(&source, piece.unsigned_abs(), row, block, 10_000));
                }
            }
        }
        assert!(SHUFFLES.is_none() || moved > 120, "{moved}");
    }
}
