//! Copies the pieces of an array at which a mask is true to consecutive bytes of the result. A search for the true
//! elements and a gather by their positions have the same result, but need two passes and memory for the positions.

use super::{
    Dest,
    fixed_copy::{CopyKernel, CopyTask, with_copy_kernel},
    mask::count,
    threads::{self, Threads},
};
use crate::prelude::*;

/// The size in bytes of the longest pieces that are copied in this way. A piece is copied even if its mask element is
/// false, and the next piece then overwrites it, because a branch for each element would often be mispredicted. Longer
/// pieces are found by a search and moved by a gather, which read no piece in vain.
pub(crate) const LONGEST: usize = 32;

/// The number of mask elements that are tested at a time.
const MASK_BLOCK: usize = 8;

pub(crate) fn explain(bytes: usize, piece: usize, threads: Threads) -> String {
    let threads = thread_count(bytes, piece, threads);
    threads::explain(
        threads,
        format_args!("pieces of {piece} bytes where the mask is true"),
    )
}

fn thread_count(bytes: usize, piece: usize, threads: Threads) -> usize {
    threads.worth(bytes, bytes / piece.max(1))
}

/// Copies each piece of `source` whose byte of the mask is not 0 to `dest`, until `dest` is full, and sets the rest of
/// `dest` to zero. A piece has `piece` bytes. Returns how many bytes of the mask are not 0.
pub(crate) fn run(
    piece: usize,
    source: &[u8],
    mask: &[u8],
    dest: Dest<'_>,
    threads: Threads,
) -> usize {
    let dest = dest.all();
    if dest.is_empty() {
        return count(mask);
    }
    let threads = thread_count(mask.len() * piece, piece, threads);
    if threads == 1 {
        let (kept, all) = (copy_kept_pieces(piece, source, mask, dest), dest.len());
        dest[kept..].fill(0);
        // If the result is full, the rest of the mask may have more true elements.
        return match kept < all {
            true => kept / piece,
            false => count(mask),
        };
    }
    let size = mask.len().div_ceil(threads::min_parts(threads));
    let (mut rest, mut parts, mut found) = (dest, Vec::new(), 0);
    for (mask, source) in mask.chunks(size).zip(source.chunks(size * piece)) {
        let kept = count(mask);
        found += kept;
        let dest;
        (dest, rest) = rest.split_at_mut((kept * piece).min(rest.len()));
        parts.push((mask, source, dest));
    }
    rest.fill(0);
    threads::share(parts.into_iter(), threads, |(mask, source, dest)| {
        copy_kept_pieces(piece, source, mask, dest);
    });
    found
}

/// Writes the pieces that a mask selects until `dest` is full. Returns the number of bytes written.
fn copy_kept_pieces(piece: usize, source: &[u8], mask: &[u8], dest: &mut [u8]) -> usize {
    let mut written = 0;
    let kept = MaskedPieces {
        source,
        mask,
        dest,
        written: &mut written,
    };
    with_copy_kernel(piece, kept);
    written
}

struct MaskedPieces<'a> {
    source: &'a [u8],
    mask: &'a [u8],
    dest: &'a mut [u8],
    written: &'a mut usize,
}

impl CopyTask for MaskedPieces<'_> {
    fn run(mut self, kernel: impl CopyKernel) {
        let bytes = kernel.bytes();
        let (blocks, last) = self.mask.as_chunks::<MASK_BLOCK>();
        let mut to = 0;
        for (block, source) in blocks
            .iter()
            .zip(self.source.chunks_exact(MASK_BLOCK * bytes))
        {
            // Most blocks of a sparse mask are empty, and most of a dense one full.
            if *block == [0; MASK_BLOCK] {
                continue;
            }
            match self.dest.get_mut(to..to + MASK_BLOCK * bytes) {
                Some(room) if *block == [1; MASK_BLOCK] => {
                    room.copy_from_slice(source);
                    to += MASK_BLOCK * bytes;
                }
                Some(room) => {
                    let mut next = 0;
                    for (number, &byte) in block.iter().enumerate() {
                        let room = &mut room[next..next + bytes];
                        let copied = kernel.copy(source, number * bytes, room);
                        copied.expect("a piece for each byte of the mask");
                        next += if byte == 0 { 0 } else { bytes };
                    }
                    to += next;
                }
                None => to = self.copy_one_by_one(kernel, block, source, to),
            }
        }
        let source = &self.source[blocks.len() * MASK_BLOCK * bytes..];
        *self.written = self.copy_one_by_one(kernel, last, source, to);
    }
}

impl MaskedPieces<'_> {
    /// Copies the pieces of a block until `dest` is full. Returns the byte of `dest` after the last copied piece.
    #[inline(always)]
    fn copy_one_by_one(
        &mut self,
        kernel: impl CopyKernel,
        block: &[u8],
        source: &[u8],
        mut to: usize,
    ) -> usize {
        let bytes = kernel.bytes();
        for (number, _) in block.iter().enumerate().filter(|(_, byte)| **byte != 0) {
            let Some(room) = self.dest.get_mut(to..to + bytes) else {
                break;
            };
            let copied = kernel.copy(source, number * bytes, room);
            copied.expect("a piece for each byte of the mask");
            to += bytes;
        }
        to
    }
}
