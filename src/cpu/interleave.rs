//! Transposing a few rows in registers.
//!
//! Interleaving splits a buffer into halves and takes elements from both in turn. Take 2ᵏ rows of any width, and write
//! the position of an element as the k bits of its row followed by its column. Interleaving moves the first bit to the
//! end. So interleaving k times moves all bits of the row behind the column, which transposes the rows:
//!
//! ```text
//! a0 a1 a2 b0 b1 b2       a0 c0 a1 c1 a2 c2       a0 b0 c0 d0 a1 b1
//! c0 c1 c2 d0 d1 d2   →   b0 d0 b1 d1 b2 d2   →   c1 d1 a2 b2 c2 d2
//! ```
//! The compiler turns the loop over the two halves into interleaves of 16-byte vectors. The number of rows that are
//! transposed at once is the number of elements in a vector, so each column becomes one vector.

use std::mem;

/// The size in bytes of a vector register. All x86-64 and ARM64 processors have registers of this size.
pub(super) const VECTOR: usize = 16;

/// Two buffers of the same length. The first interleaving reads the caller's rows. Each later interleaving reads the
/// halves of one buffer and writes to the other.
pub(super) struct Buffers([Vec<u8>; 2]);

impl Buffers {
    pub(super) fn new(bytes: usize) -> Self {
        Self([vec![0; bytes], vec![0; bytes]])
    }

    /// Transposes `rows`, `VECTOR / N` contiguous rows of `N`-byte elements. Returns one vector for each column.
    pub(super) fn rows<const N: usize>(&mut self, rows: &[u8]) -> &[[u8; VECTOR]] {
        self.interleave::<N>(rows, interleave::<N>)
    }

    /// Transposes each of `blocks`, contiguous blocks of `VECTOR / N` rows. Returns, block by block, one vector for
    /// each column. A block has `2 · HALF` elements of `N` bytes.
    pub(super) fn blocks<const N: usize, const HALF: usize>(
        &mut self,
        blocks: &[u8],
    ) -> &[[u8; VECTOR]] {
        self.interleave::<N>(blocks, interleave_blocks::<N, HALF>)
    }

    #[inline(always)]
    fn interleave<const N: usize>(
        &mut self,
        rows: &[u8],
        interleave: impl Fn(&[u8], &mut [u8]),
    ) -> &[[u8; VECTOR]] {
        let [from, to] = &mut self.0;
        let (mut from, mut to) = (&mut from[..rows.len()], &mut to[..rows.len()]);
        interleave(rows, from);
        for _ in 1..(VECTOR / N).ilog2() {
            interleave(from, to);
            mem::swap(&mut from, &mut to);
        }
        from.as_chunks().0
    }
}

/// Writes the elements of `from`, of `N` bytes each, to `to`: one of the first half, one of the second half, and so on.
fn interleave<const N: usize>(from: &[u8], to: &mut [u8]) {
    let (from, _) = from.as_chunks::<N>();
    let (first, second) = from.split_at(from.len() / 2);
    let (to, _) = to.as_chunks_mut::<N>();
    let (pairs, _) = to.as_chunks_mut::<2>();
    for ((pair, &a), &b) in pairs.iter_mut().zip(first).zip(second) {
        *pair = [a, b];
    }
}

/// Does for each block of `2 · HALF` elements what [`interleave()`] does for the whole of `from`.
fn interleave_blocks<const N: usize, const HALF: usize>(from: &[u8], to: &mut [u8]) {
    let (from, _) = from.as_chunks::<N>().0.as_chunks::<HALF>();
    let (blocks, _) = from.as_chunks::<2>();
    let (to, _) = to.as_chunks_mut::<N>().0.as_chunks_mut::<2>();
    for (to, [first, second]) in to.as_chunks_mut::<HALF>().0.iter_mut().zip(blocks) {
        for (pair, (&a, &b)) in to.iter_mut().zip(first.iter().zip(second)) {
            *pair = [a, b];
        }
    }
}

/// Transposes `M` vectors of `M` elements, which have `N` bytes each: 4, 8 or 16.
#[inline(always)]
pub(super) fn transposed<const N: usize, const M: usize>(
    mut rows: [[u8; VECTOR]; M],
) -> [[u8; VECTOR]; M] {
    const { assert!(N * M == VECTOR && N >= 4) };
    for _ in 0..M.ilog2() {
        let from = rows;
        let (first, second) = from.split_at(M / 2);
        for ((to, &a), &b) in rows.chunks_exact_mut(2).zip(first).zip(second) {
            to.copy_from_slice(&interleave_vectors::<N>(a, b));
        }
    }
    rows
}

/// Takes elements of `N` bytes, 4 or 8, from two vectors in turn, as [`interleave()`] does from slices. Compilers do
/// not find these instructions in a loop over so few elements.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn interleave_vectors<const N: usize>(a: [u8; VECTOR], b: [u8; VECTOR]) -> [[u8; VECTOR]; 2] {
    use safe_arch::{
        m128i, unpack_high_i32_m128i, unpack_high_i64_m128i, unpack_low_i32_m128i,
        unpack_low_i64_m128i,
    };
    let [a, b]: [m128i; 2] = bytemuck::cast([a, b]);
    bytemuck::cast(match N {
        4 => [unpack_low_i32_m128i(a, b), unpack_high_i32_m128i(a, b)],
        _ => [unpack_low_i64_m128i(a, b), unpack_high_i64_m128i(a, b)],
    })
}

#[cfg(not(target_arch = "x86_64"))]
use interleave_by_loop as interleave_vectors;

/// The same on processors without such instructions.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
fn interleave_by_loop<const N: usize>(a: [u8; VECTOR], b: [u8; VECTOR]) -> [[u8; VECTOR]; 2] {
    let mut both = [[0; VECTOR]; 2];
    interleave::<N>([a, b].as_flattened(), both.as_flattened_mut());
    both
}

#[cfg(test)]
mod tests {
    use super::{VECTOR, interleave_by_loop, interleave_vectors, transposed};
    use std::array;

    /// The loop of other processors gives the same as the instructions of this one.
    #[test]
    fn instructions_interleave_as_the_loop_does() {
        let a = array::from_fn(|at| u8::try_from(at).unwrap());
        let b = a.map(|byte| byte + 100);
        assert_eq!(interleave_vectors::<4>(a, b), interleave_by_loop::<4>(a, b));
        assert_eq!(interleave_vectors::<8>(a, b), interleave_by_loop::<8>(a, b));
        assert_eq!(interleave_by_loop::<8>(a, b)[0][6..10], [6, 7, 100, 101]);
    }

    #[test]
    fn squares_are_transposed() {
        check::<4, 4>();
        check::<8, 2>();
        check::<16, 1>();
    }

    fn check<const N: usize, const M: usize>() {
        // The number of a byte in all rows.
        let byte = |row: usize, at: usize| u8::try_from(row * VECTOR + at).unwrap();
        let rows = array::from_fn(|row| array::from_fn(|at| byte(row, at)));
        let want: [[u8; VECTOR]; M] =
            array::from_fn(|column| array::from_fn(|at| byte(at / N, column * N + at % N)));
        assert_eq!(transposed::<N, M>(rows), want, "{N} bytes");
    }
}
