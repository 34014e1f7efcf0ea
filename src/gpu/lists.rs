//! The lists that a scatter makes of the rows of each slice, where rows are combined: how many there may be of how
//! many rows, who puts them in order, and where they are kept.
//!
//! Lists are made in whatever order invocations come. Where the order counts, each is sorted by one invocation if it is
//! short, and by several in workgroup memory if it has room there; a workgroup links a longer one anew. So no invocation
//! takes long, whatever the indices. Then an invocation walks each list, for every unit of a slice.

use super::caps::Kind;

/// Rows that find their slices together.
pub(crate) const FOUR: usize = 4;

/// Rows of a list that `scatter_middle_lists.wgsl` sorts, at most, and the invocations that do.
const MIDDLE: usize = 256;
const MIDDLE_LANES: usize = 32;

/// Workgroups of a step that most often finds nothing to do, at most. They fill any GPU: one of 132 processors runs at
/// most 1056 workgroups of 256 at once.
const WORKGROUPS: usize = 512;

/// Rows that an invocation looks at to sort those of their slices. See `scatter_sort.wgsl`.
pub(crate) fn looked_at(kind: Kind) -> usize {
    match kind {
        Kind::Hardware => 1,
        Kind::Software => 16,
    }
}

/// Rows of a list that one invocation sorts, at most. That takes up to half their square in rounds: on a GPU each waits
/// half a microsecond for a link.
///
/// On a software adapter an invocation may have a list for each row that it looks at: 32 768 rounds.
fn longest_sorted(kind: Kind) -> usize {
    match kind {
        Kind::Hardware => 16,
        Kind::Software => 64,
    }
}

/// Rows of a block, at most, where they are combined: an invocation may have to walk them all, for `units` units each,
/// and a workgroup may have to look at them all for every long list.
///
/// A GPU waits half a microsecond for a link: for those of a million rows half a second, which must not be taken for a hang.
/// Lavapipe seems to leave every loop of an invocation after 65 535 rounds of them all, and has few invocations to share
/// long lists among: of 2^12 rows there are at most 15.
pub(crate) fn most_rows(kind: Kind, sorts: bool, units: usize) -> usize {
    match kind {
        Kind::Hardware => 1 << 20,
        Kind::Software if sorts => ((1 << 15) / units).clamp(1, 1 << 12),
        Kind::Software => ((1 << 15) / units).max(1),
    }
}

/// The lists of some rows, and words that are kept of them: of each row its slice; of each its link, the next row of
/// its slice; and the slices whose lists are too long for a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lists {
    kind: Kind,
    rows: usize,
}

impl Lists {
    pub(crate) fn of(kind: Kind, rows: usize) -> Self {
        Self { kind, rows }
    }

    /// The first link's place.
    pub(crate) fn links(self) -> usize {
        self.rows.next_multiple_of(FOUR)
    }

    /// Lists that are too long for one invocation, at most, and those that are also too long for workgroup memory.
    fn longer(self) -> [usize; 2] {
        [longest_sorted(self.kind), MIDDLE].map(|most| self.rows / (most + 1))
    }

    /// The place of the first slice whose list is too long for workgroup memory. Before those that are too long for one
    /// invocation, a vector says how many there are of both.
    fn long(self) -> usize {
        2 * self.links() + FOUR + self.longer()[0]
    }

    /// Bytes that are kept: where rows are not `chained`, only their slices.
    pub(crate) fn bytes(self, chained: bool) -> u64 {
        let words = match chained {
            false => self.links(),
            true => self.long() + self.longer()[1],
        };
        words as u64 * 4
    }

    /// The words of the map of each step that puts the rows of slices in order.
    pub(crate) fn map(self) -> [usize; 3] {
        [longest_sorted(self.kind), self.links(), self.long()]
    }

    /// Workgroups that take the lists for workgroup memory in turn: none where no list can be as long.
    pub(crate) fn middle_groups(self, workgroup: u32) -> usize {
        let together = workgroup as usize / MIDDLE_LANES;
        self.longer()[0].div_ceil(together).min(WORKGROUPS)
    }

    /// Workgroups that take longer lists in turn.
    pub(crate) fn long_groups(self) -> usize {
        self.longer()[1].min(WORKGROUPS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However rows are dealt out to lists, the longer ones have room.
    #[test]
    fn longer_lists_have_room() {
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

    /// An invocation of lavapipe leaves its loops after 65 535 rounds.
    #[test]
    fn software_adapters_end_their_loops() {
        let most = 65_535;
        let (lists, longest) = (looked_at(Kind::Software), longest_sorted(Kind::Software));
        // Looking at rows, taking each off its list, finding its place, and finding a list too long.
        let sorting = lists + lists * (1 + longest + longest * (longest - 1) / 2);
        assert!(sorting < most, "{sorting}");
        let rows = most_rows(Kind::Software, true, 1);
        let at_once = 64 / MIDDLE_LANES * WORKGROUPS;
        let turns = rows.div_ceil(longest + 1).div_ceil(at_once);
        let middle = turns * (1 + MIDDLE + MIDDLE / MIDDLE_LANES * (1 + MIDDLE));
        assert!(middle < most, "{middle}");
        // Of a stretch an invocation has eight rows, and looks through 16 words of bits for each.
        let long = rows.div_ceil(8 * 64) * (8 + 8 * 16);
        assert!(long < most, "{long}");
        for units in [1, 16, 512, 1 << 20] {
            for sorts in [false, true] {
                let rows = most_rows(Kind::Software, sorts, units);
                assert!(rows == 1 || rows * units < most - units, "{units}");
            }
        }
    }
}
