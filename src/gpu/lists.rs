//! The lists of rows that a scatter builds to combine rows with slices: how long lists may be, how they are sorted, and
//! where they are stored.
//!
//! A slice is the part of the destination that an index tuple points at. A block consists of consecutive rows of
//! updates that the scatter processes together. In each block, the rows that go to a slice form its list. Each row has
//! a link to the next row of its list. A link is the number of a row in the block plus one, or 0 for no row.
//!
//! Invocations link rows in any order. If rows must be combined in order, a short list is sorted by one invocation,
//! and a longer list that fits in workgroup memory by several. Even longer lists are linked anew, in order, by a
//! workgroup that links many of them at once. So no invocation sorts for long, whatever the indices are. Then, for
//! each unit of a slice, one invocation walks the list.

use super::caps::Kind;

/// The number of rows whose slices an invocation looks up at once, in the four components of a WGSL vector.
pub(crate) const FOUR: usize = 4;

/// The most rows of a list that is sorted in workgroup memory: `MOST` in `scatter_long_lists.wgsl`. A workgroup of 256
/// sorts eight lists at once. Their links, of 4 bytes each, take 8 KiB.
pub(super) const MIDDLE: usize = 256;
/// The number of invocations that sort a list together: `LANES` in `scatter_long_lists.wgsl`.
pub(super) const MIDDLE_LANES: usize = 32;

/// The most workgroups of the step that sorts longer lists. There are usually no such lists, so the number is small. It
/// is still enough to keep a GPU busy: a GPU with 132 multiprocessors runs at most 1,056 workgroups of 256 invocations
/// at once.
const WORKGROUPS: usize = 512;

/// The number of rows that an invocation examines for lists to sort. On a software adapter, where invocations run in
/// lockstep and all wait while one sorts, the number is larger: see `scatter_sort.wgsl`.
pub(crate) fn looked_at(kind: Kind) -> usize {
    match kind {
        Kind::Hardware => 1,
        Kind::Software => 16,
    }
}

/// The most rows of a list that one invocation sorts. Sorting n rows takes up to n²/2 iterations, each of which waits
/// half a microsecond for a link on a GPU: 64 microseconds for 16 rows.
///
/// On a software adapter an invocation may have to sort a list for each of the 16 rows that it examines, in 16 · 64²/2
/// = 32,768 iterations. Lavapipe allows 65,535: see [`most_rows`].
fn longest_sorted(kind: Kind) -> usize {
    match kind {
        Kind::Hardware => 16,
        Kind::Software => 64,
    }
}

/// The most rows of a block whose rows are combined with slices. `units` is the number of units that one invocation
/// combines. For each unit, the invocation may have to walk a list of all rows.
///
/// On a GPU an invocation combines one unit and waits half a microsecond for each link, so half a second for a list of
/// a million rows. A driver might mistake a longer wait for a hang. Lavapipe seems to leave every loop of an
/// invocation after 65,535 iterations in total, so rows times `units` are at most about half of that, unless a single
/// row has more units.
pub(crate) fn most_rows(kind: Kind, units: usize) -> usize {
    match kind {
        Kind::Hardware => 1 << 20,
        Kind::Software => ((1 << 15) / units).max(1),
    }
}

/// The layout of the array `rows`, in which the shaders store the lists of a block as 32-bit words. All positions are
/// in words from the beginning of the array. The array holds, in this order:
///
/// - the slice of each row
/// - the link of each row
/// - four words, of which the first two count the slices of the next two parts
/// - the slices whose lists are too long for one invocation to sort, but not for workgroup memory
/// - the slices whose lists are too long for workgroup memory
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lists {
    kind: Kind,
    /// The number of rows of the block.
    rows: usize,
}

impl Lists {
    pub(crate) fn of(kind: Kind, rows: usize) -> Self {
        Self { kind, rows }
    }

    /// The position of the first link: the number of rows, rounded up to a multiple of four because invocations write
    /// the slices of four rows at once.
    pub(crate) fn links(self) -> usize {
        self.rows.next_multiple_of(FOUR)
    }

    /// The most lists of the block that can be too long for one invocation, including those too long for workgroup
    /// memory, and the most that can be too long for workgroup memory.
    fn longer(self) -> [usize; 2] {
        [longest_sorted(self.kind), MIDDLE].map(|most| self.rows / (most + 1))
    }

    /// The position of the first slice whose list is too long for workgroup memory.
    fn long(self) -> usize {
        2 * self.links() + FOUR + self.longer()[0]
    }

    /// The size of the array in bytes. If rows are not `chained` into lists, the array holds only the slice of each
    /// row.
    pub(crate) fn bytes(self, chained: bool) -> u64 {
        let words = match chained {
            false => self.links(),
            true => self.long() + self.longer()[1],
        };
        words as u64 * 4
    }

    /// The first three words of each sorting step's row map: the most rows of a list that one invocation sorts, the
    /// position of the first link, and the position of the first slice whose list is too long for workgroup memory.
    pub(crate) fn map(self) -> [usize; 3] {
        [longest_sorted(self.kind), self.links(), self.long()]
    }

    /// The number of workgroups of the step that sorts the lists that are too long for one invocation. Each workgroup
    /// may sort several lists in turn. 0 if one invocation can sort even a list of all rows.
    pub(crate) fn long_groups(self, workgroup: u32) -> usize {
        let together = workgroup as usize / MIDDLE_LANES;
        self.longer()[0].div_ceil(together).min(WORKGROUPS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_lists_have_room_however_rows_are_distributed() {
        for kind in [Kind::Hardware, Kind::Software] {
            let short = longest_sorted(kind);
            for rows in [
                1,
                short,
                short + 1,
                2 * short + 1,
                MIDDLE,
                MIDDLE + 1,
                70_001,
            ] {
                let lists = Lists::of(kind, rows);
                let [middle, long] = [short, MIDDLE].map(|most| rows / (most + 1));
                let [_, links, at] = lists.map();
                assert!(links >= rows && links.is_multiple_of(FOUR), "{rows}");
                assert!(at >= 2 * links + 4 + middle, "{rows}");
                assert_eq!(lists.bytes(true), (at + long) as u64 * 4, "{rows}");
                assert_eq!(lists.bytes(false), links as u64 * 4, "{rows}");
            }
        }
    }

    #[test]
    fn loops_on_software_adapters_have_fewer_iterations_than_lavapipe_allows() {
        let most = 65_535;
        let (lists, longest) = (looked_at(Kind::Software), longest_sorted(Kind::Software));
        // An invocation examines rows, takes each row off its list, finds its position, and counts a list that is too
        // long.
        let counting = MIDDLE + 1 - longest;
        let sorting = lists + lists * (1 + longest + longest * (longest - 1) / 2 + counting);
        assert!(sorting < most, "{sorting}");
        let rows = most_rows(Kind::Software, 1);
        let at_once = 64 / MIDDLE_LANES * WORKGROUPS;
        let turns = rows.div_ceil(longest + 1).div_ceil(at_once);
        let middle = turns * (1 + MIDDLE + MIDDLE / MIDDLE_LANES * (1 + MIDDLE));
        // Even if one workgroup links all lists, 64 at a time: for each stretch, which has four rows for each of 64
        // invocations, an invocation searches 64 slices and clears eight words.
        let turns = rows.div_ceil(MIDDLE + 1).div_ceil(64);
        let long = turns * (65 + rows.div_ceil(4 * 64) * (1 + 6 + 8));
        assert!(middle + long < most, "{middle} + {long}");
        for units in [1, 16, 512, 1 << 20] {
            let rows = most_rows(Kind::Software, units);
            assert!(rows == 1 || rows * units < most - units, "{units}");
        }
    }
}
