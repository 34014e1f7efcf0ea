//! Loops over units that lie a small, fixed step apart.
//!
//! Unit size, step and direction are constants here, and every loop runs over arrays: the compiler
//! turns them into vector loads and shuffles. Other steps are moved unit by unit.

/// Whether there is a loop for units of this size and distance, in bytes.
pub(super) fn has(unit: usize, stride: isize) -> bool {
    let distance = stride.unsigned_abs();
    unit.is_power_of_two()
        && unit <= 8
        && distance.is_multiple_of(unit)
        && (distance == 2 * unit
            || distance == 3 * unit
            || distance == 4 * unit
            || stride == -unit.cast_signed())
}

/// Rows of units: `count` units in a row, the rows `pitch` bytes apart in the source.
pub(super) struct Rows<'a> {
    pub(super) source: &'a [u8],
    /// Where the first unit of the first row lies.
    pub(super) at: usize,
    pub(super) count: usize,
    pub(super) pitch: isize,
    /// As many whole rows as there are to be moved.
    pub(super) dest: &'a mut [u8],
}

impl Rows<'_> {
    /// Moves units for which there is a loop.
    pub(super) fn run(self, unit: usize, stride: isize) {
        match unit {
            1 => self.of_unit::<1>(stride),
            2 => self.of_unit::<2>(stride),
            4 => self.of_unit::<4>(stride),
            _ => self.of_unit::<8>(stride),
        }
    }

    fn of_unit<const N: usize>(self, stride: isize) {
        match (stride.unsigned_abs() / N, stride < 0) {
            (1, _) => self.of_step::<N, 1, true>(),
            (2, false) => self.of_step::<N, 2, false>(),
            (2, true) => self.of_step::<N, 2, true>(),
            (3, false) => self.of_step::<N, 3, false>(),
            (3, true) => self.of_step::<N, 3, true>(),
            (_, false) => self.of_step::<N, 4, false>(),
            (_, true) => self.of_step::<N, 4, true>(),
        }
    }

    /// `dest[i] = source[at ± i · S]` in units of `N` bytes, for each row.
    fn of_step<const N: usize, const S: usize, const DOWN: bool>(self) {
        let reach = (self.count - 1) * S * N;
        let mut low = if DOWN { self.at - reach } else { self.at };
        for dest in self.dest.chunks_exact_mut(self.count * N) {
            row::<N, S, DOWN>(&self.source[low..][..reach + N], dest);
            low = low.wrapping_add_signed(self.pitch);
        }
    }
}

/// One row: `source` begins and ends with units that are taken.
#[inline(always)]
fn row<const N: usize, const S: usize, const DOWN: bool>(source: &[u8], dest: &mut [u8]) {
    let (units, _) = source.as_chunks::<N>();
    let (dest, _) = dest.as_chunks_mut::<N>();
    // The last unit has no whole group of S behind it.
    let Some((last, units)) = units.split_last() else {
        return;
    };
    let (groups, _) = units.as_chunks::<S>();
    if DOWN {
        let Some((first, rest)) = dest.split_first_mut() else {
            return;
        };
        *first = *last;
        for (to, from) in rest.iter_mut().rev().zip(groups) {
            *to = from[0];
        }
    } else {
        let Some((end, rest)) = dest.split_last_mut() else {
            return;
        };
        for (to, from) in rest.iter_mut().zip(groups) {
            *to = from[0];
        }
        *end = *last;
    }
}
