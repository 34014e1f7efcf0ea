//! Copies the pieces of an array where a mask is true to consecutive bytes of the result. A search for the true
//! elements and a gather by their positions have the same result, but need two passes and memory for the positions.

use super::{
    Dest,
    fixed_copy::{CopyKernel, CopyTask, with_copy_kernel},
    mask::count,
    shuffle::{SHUFFLES, keep},
    threads::{self, Threads},
};
use crate::prelude::*;

/// The size in bytes of the longest pieces that [`run`] copies. A piece is copied even if its mask element is false,
/// because a branch for each element would often be mispredicted. The next piece then overwrites it. Longer pieces are
/// found by a search and moved by a gather, which reads only the selected pieces.
pub(crate) const MAX_PIECE_BYTES: usize = 32;

/// The number of mask elements that are tested at a time, if byte shuffles do not move the pieces.
const MASK_BLOCK: usize = 8;

pub(crate) fn explain(bytes: usize, piece: usize, threads: Threads) -> String {
    let threads = thread_count(bytes, piece, threads);
    threads::explain(
        threads,
        format_args!("pieces of {piece} bytes where the mask is true"),
    )
}

fn thread_count(bytes: usize, piece: usize, threads: Threads) -> usize {
    threads.count_for(bytes, bytes / piece.max(1))
}

/// Copies the pieces of `source` that the mask selects to `dest`, until `dest` is full, and sets the rest of `dest` to
/// zero. A piece has `piece` bytes. Returns how many bytes of the mask are not 0.
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
        let found_count = copy_kept_pieces(piece, source, mask, dest);
        let kept_bytes = (found_count * piece).min(dest.len());
        dest[kept_bytes..].fill(0);
        return found_count;
    }
    let part_elements = mask.len().div_ceil(threads::min_parts(threads));
    let (mut unwritten, mut parts, mut found_count) = (dest, Vec::new(), 0);
    for (mask, source) in mask
        .chunks(part_elements)
        .zip(source.chunks(part_elements * piece))
    {
        let kept_count = count(mask);
        found_count += kept_count;
        let dest;
        (dest, unwritten) = unwritten.split_at_mut((kept_count * piece).min(unwritten.len()));
        parts.push((mask, source, dest));
    }
    unwritten.fill(0);
    threads::share(parts.into_iter(), threads, |(mask, source, dest)| {
        copy_kept_pieces(piece, source, mask, dest);
    });
    found_count
}

/// Writes the pieces that a mask selects until `dest` is full. Returns how many bytes of the mask are not 0.
fn copy_kept_pieces(piece: usize, source: &[u8], mask: &[u8], dest: &mut [u8]) -> usize {
    let [tested_count, mut found_count] = match (piece, *SHUFFLES) {
        (1, Some(shuffles)) => keep::<1, 256>(shuffles, source, mask, dest),
        (2, Some(shuffles)) => keep::<2, 256>(shuffles, source, mask, dest),
        (4, Some(shuffles)) => keep::<4, 16>(shuffles, source, mask, dest),
        (8, Some(shuffles)) => keep::<8, 4>(shuffles, source, mask, dest),
        _ => [0, 0],
    };
    let masked_pieces = MaskedPieces {
        source: &source[tested_count * piece..],
        mask: &mask[tested_count..],
        dest,
        found_count: &mut found_count,
    };
    with_copy_kernel(piece, masked_pieces);
    found_count
}

struct MaskedPieces<'a> {
    source: &'a [u8],
    mask: &'a [u8],
    dest: &'a mut [u8],
    /// The number of true mask elements so far. Their pieces are written to `dest` as far as they fit.
    found_count: &'a mut usize,
}

impl CopyTask for MaskedPieces<'_> {
    fn run(self, kernel: impl CopyKernel) {
        let Self {
            source,
            mask,
            dest,
            found_count,
        } = self;
        let bytes = kernel.bytes();
        let blocks = mask
            .chunks(MASK_BLOCK)
            .zip(source.chunks(MASK_BLOCK * bytes));
        for (block, source) in blocks {
            // Most blocks of a sparse mask are all false, and most blocks of a dense mask are all true.
            if *block == [0; MASK_BLOCK] {
                continue;
            }
            let to = *found_count * bytes;
            match dest.get_mut(to..to + MASK_BLOCK * bytes) {
                Some(room) if *block == [1; MASK_BLOCK] => {
                    room.copy_from_slice(source);
                    *found_count += MASK_BLOCK;
                }
                Some(room) => {
                    let mut next_byte = 0;
                    for (number, &byte) in block.iter().enumerate() {
                        let room = &mut room[next_byte..next_byte + bytes];
                        let outcome = kernel.copy(source, number * bytes, room);
                        outcome.expect("a piece for each byte of the mask");
                        next_byte += if byte == 0 { 0 } else { bytes };
                    }
                    *found_count += count(block);
                }
                None => {
                    for (number, _) in block.iter().enumerate().filter(|(_, byte)| **byte != 0) {
                        let to = *found_count * bytes;
                        if let Some(room) = dest.get_mut(to..to + bytes) {
                            let outcome = kernel.copy(source, number * bytes, room);
                            outcome.expect("a piece for each byte of the mask");
                        }
                        *found_count += 1;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Copies pieces of several sizes, by masks of many lengths and densities, to results that are too short or too
    /// long.
    #[test]
    fn kept_pieces_are_those_where_the_mask_is_true() {
        let mut random = 1u32;
        let mut next_random = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            random >> 24
        };
        for piece in [1, 2, 3, 4, 8, 16, 32] {
            for length in (0..70).chain([1000]) {
                for true_of_256 in [0, 10, 128, 246, 256] {
                    let mask: Vec<u8> = (0..length)
                        .map(|_| {
                            if next_random() < true_of_256 {
                                [1, 128, 255][length % 3]
                            } else {
                                0
                            }
                        })
                        .collect();
                    let source: Vec<u8> = (0..251).cycle().take(length * piece).collect();
                    let pieces = source.chunks(piece).zip(&mask);
                    let kept_pieces = pieces
                        .filter(|(_, byte)| **byte != 0)
                        .map(|(piece, _)| piece);
                    let kept_pieces: Vec<u8> = kept_pieces.flatten().copied().collect();
                    let found_count = kept_pieces.len() / piece;
                    for capacity in [
                        0,
                        found_count / 2,
                        found_count.saturating_sub(1),
                        found_count,
                        found_count + 9,
                    ] {
                        for thread_count in [1, 3] {
                            let mut threads = Threads::at_most(thread_count);
                            threads.for_any_work = true;
                            let mut dest = vec![7; capacity * piece];
                            let returned_count =
                                run(piece, &source, &mask, Dest::Old(&mut dest), threads);
                            let mut expected = kept_pieces.clone();
                            expected.resize(capacity * piece, 0);
                            assert!(
                                returned_count == found_count && dest == expected,
                                "{piece} {length} {true_of_256} {capacity} {thread_count}"
                            );
                        }
                    }
                }
            }
        }
    }
}
