//! Finds where a mask is true and writes elements there. A byte of a mask is true unless it is 0.

use super::{
    odometer::Odometer,
    rows::along,
    threads::{self, Threads},
};
use crate::prelude::*;
use crate::walk::{Dim, Walk};

/// Returns the number of true elements. The sum of each block is a byte, because compilers would widen every element
/// of a single sum to 64 bits.
pub(crate) fn count(mask: &[u8]) -> usize {
    /// The size of a block: several vectors, but few enough for the sum of a block to fit a byte.
    const BLOCK: usize = 192;
    let count_ones = |block: &[u8]| {
        let ones = block.iter().map(|&byte| u8::from(byte != 0));
        usize::from(ones.sum::<u8>())
    };
    mask.chunks(BLOCK).map(count_ones).sum()
}

/// Writes the positions of the true elements of a mask of shape `sizes` to `rows`, in row-major order. A row has one
/// number of `number_bytes` bytes, 4 or 8, for each dimension. Positions that do not fit `rows` are dropped, and unused
/// rows are filled with -1. Returns the number of true elements.
pub(crate) fn find(mask: &[u8], sizes: &[usize], rows: &mut [u8], number_bytes: usize) -> usize {
    match number_bytes {
        8 => find_as::<8>(mask, sizes, rows, |n| (n as u64).to_ne_bytes()),
        // The plan has checked that positions fit 4 bytes.
        _ => find_as::<4>(mask, sizes, rows, |n| {
            u32::try_from(n).unwrap_or(u32::MAX).to_ne_bytes()
        }),
    }
}

fn find_as<const N: usize>(
    mask: &[u8],
    sizes: &[usize],
    rows: &mut [u8],
    encode: impl Fn(usize) -> [u8; N],
) -> usize {
    let (rows, _) = rows.as_chunks_mut::<N>();
    // With a constant number of columns, the loop is twice as fast as with a variable number.
    match sizes.len() {
        1 => find_in(1, mask, sizes, rows, encode),
        2 => find_in(2, mask, sizes, rows, encode),
        3 => find_in(3, mask, sizes, rows, encode),
        4 => find_in(4, mask, sizes, rows, encode),
        columns => find_in(columns, mask, sizes, rows, encode),
    }
}

#[inline(always)]
fn find_in<const N: usize>(
    columns: usize,
    mask: &[u8],
    sizes: &[usize],
    rows: &mut [[u8; N]],
    encode: impl Fn(usize) -> [u8; N],
) -> usize {
    let Some((&inner, outer)) = sizes.split_last().filter(|(inner, _)| **inner > 0) else {
        rows.fill([0xff; N]);
        return count(mask);
    };
    let (mut digits, mut next_row) = (vec![0; outer.len()], 0);
    let mut encoded_digits = vec![encode(0); outer.len()];
    for (line_number, line) in mask.chunks_exact(inner).enumerate() {
        for (first, block) in (0..).step_by(8).zip(line.chunks(8)) {
            // Most blocks of a sparse mask are all false.
            if *block == [0; 8] {
                continue;
            }
            for (position, &byte) in (first..).zip(block) {
                // A row is written even if its element is false. The next row then overwrites it. If there is no next
                // row, the fill of unused rows does.
                let Some(row) = rows.get_mut(next_row * columns..(next_row + 1) * columns) else {
                    return next_row + count(&mask[line_number * inner + position..]);
                };
                row[..columns - 1].copy_from_slice(&encoded_digits[..columns - 1]);
                row[columns - 1] = encode(position);
                next_row += usize::from(byte != 0);
            }
        }
        for ((digit, encoded_digit), &size) in
            digits.iter_mut().zip(&mut encoded_digits).zip(outer).rev()
        {
            *digit = if *digit + 1 < size { *digit + 1 } else { 0 };
            *encoded_digit = encode(*digit);
            if *digit > 0 {
                break;
            }
        }
    }
    rows[next_row * columns..].fill([0xff; N]);
    next_row
}

/// Copies the units of a walk from `source` to `dest` where the mask is true. The walk's index tuples are bytes of the
/// mask.
pub(super) fn update(walk: &Walk, source: &[u8], mask: &[u8], dest: &mut [u8], threads: Threads) {
    match walk.unit {
        2 => update_units::<2>(walk, source, mask, dest, threads),
        4 => update_units::<4>(walk, source, mask, dest, threads),
        8 => update_units::<8>(walk, source, mask, dest, threads),
        16 => update_units::<16>(walk, source, mask, dest, threads),
        _ => update_units::<1>(&walk.in_units_of(1), source, mask, dest, threads),
    }
}

fn update_units<const N: usize>(
    walk: &Walk,
    source: &[u8],
    mask: &[u8],
    dest: &mut [u8],
    threads: Threads,
) {
    let (source, _) = source.as_chunks::<N>();
    let Some((&inner, outer)) = walk.dims.split_last() else {
        return;
    };
    let line_count = outer.iter().map(|dim| dim.size).product();
    // Writes `count` lines, starting with line `first`. Line 0 would begin at unit `to` of `dest`. `to` wraps if it is
    // negative.
    let write_lines = |first: usize, count: usize, dest: &mut [u8], to: usize| {
        let (dest, _) = dest.as_chunks_mut::<N>();
        let source_places = Odometer::at(outer, |dim| dim.from, first);
        let dest_places = Odometer::at(outer, |dim| dim.to, first);
        let tuples = Odometer::at(outer, |dim| dim.tuple.cast_signed(), first);
        for ((from, at), tuple) in source_places.zip(dest_places).zip(tuples).take(count) {
            let from = walk.from.cast_unsigned().wrapping_add(from);
            let mask = &mask[walk.tuple + tuple..];
            write_line(inner, source, from, mask, dest, to.wrapping_add(at));
        }
    };
    let threads = threads.count_for(walk.bytes(), walk.units());
    match walk.part_of(dest) {
        Some(part) if threads > 1 => {
            let bytes = inner.size * N;
            threads::spread(part, bytes, threads, |first, part| {
                let first = first / bytes;
                let first_unit = first * inner.size;
                write_lines(
                    first,
                    part.len() / bytes,
                    part,
                    0usize.wrapping_sub(first_unit),
                );
            });
        }
        _ => write_lines(0, line_count, dest, walk.to.cast_unsigned()),
    }
}

/// Writes a line: the units along `inner`, from unit `from` of the source to unit `to` of `dest`. The first byte of
/// `mask` belongs to the first unit.
#[inline(always)]
fn write_line<const N: usize>(
    inner: Dim,
    source: &[[u8; N]],
    from: usize,
    mask: &[u8],
    dest: &mut [[u8; N]],
    to: usize,
) {
    let size = inner.size;
    match (inner.from, inner.to, inner.tuple) {
        (_, _, 0) if mask[0] == 0 => {}
        (1, 1, 0) => dest[to..to + size].copy_from_slice(&source[from..from + size]),
        (1, 1, 1) => {
            let units = dest[to..to + size].iter_mut().zip(&source[from..]);
            for ((dest, source), &byte) in units.zip(mask) {
                // Each element is stored, without a branch, so that the compiler can use vector instructions.
                *dest = if byte == 0 { *dest } else { *source };
            }
        }
        (0, 1, 1) => {
            let repeated_unit = source[from];
            for (dest, &byte) in dest[to..to + size].iter_mut().zip(mask) {
                *dest = if byte == 0 { *dest } else { repeated_unit };
            }
        }
        _ => {
            for n in 0..size {
                if mask[n * inner.tuple] != 0 {
                    dest[along(to, inner.to, n)] = source[along(from, inner.from, n)];
                }
            }
        }
    }
}
