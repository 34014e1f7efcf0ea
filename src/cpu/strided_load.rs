//! Loops over units that lie a small, fixed step apart in the source.
//!
//! Unit size, step and direction are compile-time constants, and every loop runs over arrays. The compiler turns the
//! loops into vector loads and shuffles, or at least into code without a bounds check per unit. Units at other steps
//! are copied one by one.

use super::rows::PieceRows;

/// Whether there is a loop for rows of `count` units of `unit` bytes, which begin `stride` bytes apart in the source.
pub(super) fn supports(unit: usize, count: usize, stride: isize) -> bool {
    let distance = stride.unsigned_abs();
    if count < LONG_ROW {
        return count >= 2 && stride == -unit.cast_signed() && [1, 2, 4, 8].contains(&unit);
    }
    match unit {
        // Except at step 2, a loop over bytes in ascending order needs a shuffle for each byte, which gains nothing.
        1 => stride == 2 || (-4..0).contains(&stride),
        2 => stride == -2 || distance == 4,
        4 | 8 => stride == -unit.cast_signed() || [2, 3, 4].map(|s| s * unit).contains(&distance),
        // Units of 3, 6, 12 or 16 bytes, such as pixels of several channels: there are loops only for reversed rows.
        3 | 6 | 12 | 16 => stride == -unit.cast_signed(),
        _ => false,
    }
}

/// The smallest number of units in a row for which a vector loop gains more than its setup and its remainder cost.
/// Shorter rows have loops only if they are reversed.
const LONG_ROW: usize = 16;

/// The loops for rows that [`supports`] accepts.
impl PieceRows<'_> {
    pub(super) fn run_strided(self, unit: usize, stride: isize) {
        let (step, down) = (stride.unsigned_abs() / unit, stride < 0);
        match (unit, step, down) {
            (1, 1, _) if self.row.size < LONG_ROW => self.short::<1>(),
            (2, 1, _) if self.row.size < LONG_ROW => self.short::<2>(),
            (4, 1, _) if self.row.size < LONG_ROW => self.short::<4>(),
            (8, 1, _) if self.row.size < LONG_ROW => self.short::<8>(),
            (1, 2, false) => {
                let length = (self.row.size - 1) * 2 + 1;
                self.each_unit(1, 0, length, every_other_byte);
            }
            (1, ..) => self.of_unit::<1>(step, down),
            (2, ..) => self.of_unit::<2>(step, down),
            (3, ..) => self.down::<3, 1>(),
            (4, ..) => self.of_unit::<4>(step, down),
            (6, ..) => self.down::<6, 1>(),
            (12, ..) => self.down::<12, 1>(),
            (16, ..) => self.down::<16, 1>(),
            _ => self.of_unit::<8>(step, down),
        }
    }

    fn of_unit<const N: usize>(self, step: usize, down: bool) {
        match (step, down) {
            (1, _) => self.down::<N, 1>(),
            (2, false) => self.up::<N, 2>(),
            (2, true) => self.down::<N, 2>(),
            (3, false) => self.up::<N, 3>(),
            (3, true) => self.down::<N, 3>(),
            (_, false) => self.up::<N, 4>(),
            (_, true) => self.down::<N, 4>(),
        }
    }

    fn up<const N: usize, const S: usize>(self) {
        let length = ((self.row.size - 1) * S + 1) * N;
        self.each_unit(N, 0, length, up::<N, S>);
    }

    fn down<const N: usize, const S: usize>(self) {
        let length = ((self.row.size - 1) * S + 1) * N;
        self.each_unit(N, length - N, length, down::<N, S>);
    }

    /// Reverses rows of fewer than [`LONG_ROW`] contiguous units of `N` bytes.
    fn short<const N: usize>(self) {
        let length = self.row.size * N;
        match self.row.size {
            2 => self.each_unit(N, length - N, length, flip::<N, 2>),
            3 => self.each_unit(N, length - N, length, flip::<N, 3>),
            4 => self.each_unit(N, length - N, length, flip::<N, 4>),
            5..8 => self.each_unit(N, length - N, length, flip_ends::<N, 4>),
            _ => self.each_unit(N, length - N, length, flip_ends::<N, 8>),
        }
    }

    /// Calls `row` for each row of units of `unit` bytes, with the bytes of the source that the row reads and the bytes
    /// of the destination that it fills. A row reads `length` bytes, from its lowest unit to its highest, and its first
    /// unit is `below` bytes above the lowest.
    #[inline(always)]
    fn each_unit(self, unit: usize, below: usize, length: usize, row: impl Fn(&[u8], &mut [u8])) {
        let (source, count) = (self.source, self.row.size);
        self.each(count * unit, |at, dest| {
            row(&source[at - below..][..length], dest);
        });
    }
}

/// `dest[i] = source[i · S]` in units of `N` bytes.
#[inline(always)]
fn up<const N: usize, const S: usize>(source: &[u8], dest: &mut [u8]) {
    let (units, _) = source.as_chunks::<N>();
    let (dest, _) = dest.as_chunks_mut::<N>();
    // The last unit is copied by itself, because no whole group of `S` units begins at it.
    if let (Some((last, units)), Some((end, dest))) = (units.split_last(), dest.split_last_mut()) {
        let (groups, _) = units.as_chunks::<S>();
        for (to, from) in dest.iter_mut().zip(groups) {
            *to = from[0];
        }
        *end = *last;
    }
}

/// `dest[last - i] = source[i · S]` in units of `N` bytes, where `last` is the number of the last unit of `dest`.
#[inline(always)]
fn down<const N: usize, const S: usize>(source: &[u8], dest: &mut [u8]) {
    let (units, _) = source.as_chunks::<N>();
    let (dest, _) = dest.as_chunks_mut::<N>();
    if let (Some((last, units)), Some((end, dest))) = (units.split_last(), dest.split_first_mut()) {
        let (groups, _) = units.as_chunks::<S>();
        for (to, from) in dest.iter_mut().rev().zip(groups) {
            *to = from[0];
        }
        *end = *last;
    }
}

/// Writes the `C` units of `source`, of `N` bytes each, to `dest` in reverse order.
#[inline(always)]
fn flip<const N: usize, const C: usize>(source: &[u8], dest: &mut [u8]) {
    let (units, _) = source.as_chunks::<N>();
    let (dest, _) = dest.as_chunks_mut::<N>();
    if let (Some(units), Some(dest)) = (units.first_chunk::<C>(), dest.first_chunk_mut::<C>()) {
        for (i, to) in dest.iter_mut().enumerate() {
            *to = units[C - 1 - i];
        }
    }
}

/// Writes the units of `source`, of `N` bytes each, to `dest` in reverse order. There are `C` to `2 · C` units. The
/// first `C` and the last `C`, which may overlap, are reversed separately.
#[inline(always)]
fn flip_ends<const N: usize, const C: usize>(source: &[u8], dest: &mut [u8]) {
    let (units, _) = source.as_chunks::<N>();
    let (dest, _) = dest.as_chunks_mut::<N>();
    let ends = (units.first_chunk::<C>(), units.last_chunk::<C>());
    if let (Some(first), Some(last)) = ends {
        let (mut head, mut tail) = (*last, *first);
        head.reverse();
        tail.reverse();
        if let Some(dest) = dest.first_chunk_mut::<C>() {
            *dest = head;
        }
        if let Some(dest) = dest.last_chunk_mut::<C>() {
            *dest = tail;
        }
    }
}

/// `dest[i] = source[2 · i]` in bytes, four of `dest` at a time.
#[inline(always)]
fn every_other_byte(source: &[u8], dest: &mut [u8]) {
    let (eights, source) = source.as_chunks::<8>();
    let (whole, rest) = dest.split_at_mut(eights.len() * 4);
    let (fours, _) = whole.as_chunks_mut::<4>();
    for (to, from) in fours.iter_mut().zip(eights) {
        let bytes = u64::from_le_bytes(*from) & 0x00ff_00ff_00ff_00ff;
        let pairs = (bytes | bytes >> 8) & 0x0000_ffff_0000_ffff;
        let [a, b, c, d, ..] = (pairs | pairs >> 16).to_le_bytes();
        *to = [a, b, c, d];
    }
    for (to, from) in rest.iter_mut().zip(source.iter().step_by(2)) {
        *to = *from;
    }
}
