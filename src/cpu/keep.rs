//! The pieces of an array at which a mask is true, one after the other: what a search and a gather by its positions do, in
//! one pass and without positions.

use super::{
    Dest,
    fixed_copy::{CopyKernel, CopyTask, with_copy_kernel},
    mask::count,
    threads::{self, Threads},
};
use crate::prelude::*;

/// The longest pieces in bytes. Each is copied whether the mask is true or not, and then written over: processors do not
/// foresee what a mask says. A search and a gather do not read what they drop.
pub(crate) const LONGEST: usize = 32;

/// The elements of a mask that are looked at together.
const BLOCK: usize = 8;

pub(crate) fn explain(bytes: usize, piece: usize, threads: Threads) -> String {
    let threads = workers(bytes, piece, threads);
    threads::explain(
        threads,
        format_args!("pieces of {piece} bytes where the mask is true"),
    )
}

fn workers(bytes: usize, piece: usize, threads: Threads) -> usize {
    threads.worth(bytes, bytes / piece.max(1))
}

/// Writes the pieces of `source`, of `piece` bytes, whose byte of the mask is not 0 to `dest`, as many as it has room for,
/// and zeros after them. Returns how many bytes of the mask are not 0.
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
    let threads = workers(mask.len() * piece, piece, threads);
    if threads == 1 {
        let (kept, all) = (part(piece, source, mask, dest), dest.len());
        dest[kept..].fill(0);
        // A full result says nothing of the rest of the mask.
        return match kept < all {
            true => kept / piece,
            false => count(mask),
        };
    }
    let size = mask.len().div_ceil(threads::parts(threads));
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
        part(piece, source, mask, dest);
    });
    found
}

/// Writes the pieces that a mask selects until `dest` is full. Returns the number of bytes written.
fn part(piece: usize, source: &[u8], mask: &[u8], dest: &mut [u8]) -> usize {
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
        let (blocks, last) = self.mask.as_chunks::<BLOCK>();
        let mut to = 0;
        for (block, source) in blocks.iter().zip(self.source.chunks_exact(BLOCK * bytes)) {
            // Most blocks of a sparse mask are empty, and most of a dense one full.
            if *block == [0; BLOCK] {
                continue;
            }
            match self.dest.get_mut(to..to + BLOCK * bytes) {
                Some(room) if *block == [1; BLOCK] => {
                    room.copy_from_slice(source);
                    to += BLOCK * bytes;
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
                None => to = self.one_by_one(kernel, block, source, to),
            }
        }
        let source = &self.source[blocks.len() * BLOCK * bytes..];
        *self.written = self.one_by_one(kernel, last, source, to);
    }
}

impl MaskedPieces<'_> {
    /// Copies the pieces of a block until there is no room. Returns where the next one goes.
    #[inline(always)]
    fn one_by_one(
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
