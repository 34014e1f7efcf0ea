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
#[derive(Default)]
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
        match (VECTOR / N).ilog2() {
            0 => from.copy_from_slice(rows),
            times => {
                interleave(rows, from);
                for _ in 1..times {
                    interleave(from, to);
                    mem::swap(&mut from, &mut to);
                }
            }
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
