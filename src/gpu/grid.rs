//! How the rows of a result are dealt out to invocations.
//!
//! A tile is what 2^`lanes_log2` neighbouring invocations move together. A software adapter pays for
//! every invocation and walks a tile fastest alone. The shaders take lanes and lengths as numbers:
//!
//! | adapter | units | lanes of a tile | units of a tile |
//! |---|---|---|---|
//! | software | from 4 bytes | 1 | 16 to 512, equal parts of a run |
//! | GPU | from 4 bytes | as below | 4 for each lane, of one row or several |
//! | software | smaller | 1 | 64 words, which may span rows |
//! | GPU | smaller | 64 | 4 words for each lane, which may span rows |
//!
//! Where four short rows or parts of several make a unit, that unit is a tile.
//!
//! # What a GPU wants
//!
//! No measurement is behind these numbers, but reckoning: bandwidth times latency is 15 to 30 KiB on their
//! way to each multiprocessor at any time (4.8 TB/s and 0.7 µs on a device with 132 of them), and what an
//! invocation computes before its load, or between two, is time without any. So `rows_coalesced.wgsl` has each fetch
//! four units before it stores the first, and the grid decides of how many rows:
//!
//! - Neighbouring lanes share a row: as many as fetch at least [`COALESCED`] bytes of it at once, or all of a shorter
//!   row. Memory is moved in sectors of 32 bytes, caches have lines of 128.
//! - The four units are of one row, which is looked up once; where that is shorter than four times [`COALESCED`]
//!   bytes, of four rows, so that lanes have as much in flight in rows of any length.
//! - Workgroups of 256, where the device has them: a multiprocessor holds 2048 invocations but only 16 to 32
//!   workgroups, and starting one costs about as much whatever its size.
//!
//! # What a software adapter pays for
//!
//! Seen in the machine code that Mesa 22.3's lavapipe makes of the shaders, and behind the numbers
//! here and in `width`:
//!
//! - Eight invocations run in step, as the lanes of a vector. Each load and store is a loop over them
//!   of about 20 instructions a lane and a few more for each word, whether neighbours lie together
//!   or not. So accesses should be few and wide: a copy by 4-byte words ran at 3.8 GB/s, by four of
//!   them at 8.2, by four 8-byte words at 13.4.
//! - Neither side of an `if` is jumped over, not even where all lanes agree: only constants of the
//!   pipeline take code away. A loop costs its first round, also where no lane enters it.
//! - A division is eight scalar ones.
//! - Every eight invocations are a call, every workgroup a task.
//! - Lanes that walk a row each keep eight cache misses in flight; lanes that share a row wait for one
//!   after the other. On gathers of 512-byte rows that made 8.5 GB/s against 4.6.
//! - A segment of another length than its neighbour's leaves lanes idle.

use super::caps::{Kind, Reach};
use crate::plan::Rows;

/// Units that an invocation of many lanes fetches before it stores any.
const IN_FLIGHT: usize = 4;

/// Bytes of a row that neighbouring lanes fetch at once.
const COALESCED: usize = 64;

/// Lanes of a tile, at most.
pub(super) const MOST_LANES: usize = 64;

/// A dispatch: its tiles and its workgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// Invocations of a workgroup.
    pub(crate) workgroup: u32,
    pub(crate) lanes_log2: u32,
    pub(crate) segment: u32,
    pub(crate) tiles: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl Grid {
    /// `grid` of the uniforms, without the bytes of an element.
    pub(crate) fn word(&self) -> u32 {
        self.width | self.lanes_log2 << 16
    }

    /// The grid for units below 4 bytes where an invocation builds one word after the other.
    pub(crate) fn word_by_word(rows: &Rows, head: usize, reach: &Reach) -> Option<Self> {
        let (lanes, segment) = match reach.kind {
            Kind::Software => (1, 64),
            Kind::Hardware => (MOST_LANES, MOST_LANES * IN_FLIGHT),
        };
        let words = (head + rows.units()).div_ceil(4 / rows.unit);
        Self::new(reach, 1, lanes, segment, words.div_ceil(segment))
    }

    /// The grid for an invocation that walks each unit, or each few, by itself: with other loops or other
    /// loads in between.
    pub(crate) fn one_by_one(rows: &Rows, reach: &Reach) -> Option<Self> {
        let (lanes, segment) = match reach.kind {
            Kind::Software => (1, equal(rows, reach.workgroup as usize)),
            Kind::Hardware => {
                let lanes = rows.run.next_power_of_two().min(MOST_LANES);
                (lanes, lanes * 4)
            }
        };
        let tiles = rows.count * rows.run.div_ceil(segment);
        Self::new(reach, 1, lanes, segment, tiles)
    }

    /// The same, but of many lanes each has one unit of its tile: it may have to walk a long list for each.
    pub(crate) fn unit_by_unit(rows: &Rows, reach: &Reach) -> Option<Self> {
        if reach.kind == Kind::Software {
            return Self::one_by_one(rows, reach);
        }
        let lanes = rows.run.next_power_of_two().min(MOST_LANES);
        let tiles = rows.count * rows.run.div_ceil(lanes);
        Self::new(reach, 1, lanes, lanes, tiles)
    }

    /// The grid for this many tiles, an invocation each.
    pub(crate) fn invocations(tiles: usize, reach: &Reach) -> Option<Self> {
        Self::new(reach, 1, 1, 1, tiles)
    }

    /// The grid for this many tiles, a workgroup each.
    pub(crate) fn workgroups(tiles: usize, reach: &Reach) -> Option<Self> {
        Self::new(reach, 1, reach.workgroup as usize, 1, tiles)
    }

    /// The grid where an invocation fetches four units before it stores any, and the rows that they are of: one, or
    /// four where rows are too short for that.
    pub(crate) fn in_flight(rows: &Rows, reach: &Reach) -> Option<(Self, usize)> {
        let each = match rows.run * rows.unit / COALESCED {
            IN_FLIGHT.. => IN_FLIGHT,
            _ => 1,
        };
        let lanes = rows.run.div_ceil(each).next_power_of_two();
        let lanes = lanes.min(MOST_LANES);
        let segment = lanes * each;
        let tiles = rows.count * rows.run.div_ceil(segment);
        let grid = Self::new(reach, IN_FLIGHT / each, lanes, segment, tiles)?;
        Some((grid, IN_FLIGHT / each))
    }

    /// The grid for this many tiles, of which an invocation has units of `each`.
    pub(super) fn new(
        reach: &Reach,
        each: usize,
        lanes: usize,
        segment: usize,
        tiles: usize,
    ) -> Option<Self> {
        let workgroup = reach.workgroup as usize;
        let groups = tiles.div_ceil(workgroup / lanes * each);
        let (width, height) = fold(groups, reach.groups)?;
        Some(Self {
            workgroup: reach.workgroup,
            lanes_log2: lanes.trailing_zeros(),
            segment: u32::try_from(segment).ok()?,
            tiles: u32::try_from(tiles).ok()?,
            width,
            height,
        })
    }
}

/// The length of a CPU adapter's segments: lanes run in step, so that all are about as long, and no
/// longer than leaves each processor several workgroups.
fn equal(rows: &Rows, workgroup: usize) -> usize {
    let longest = (rows.units() / (workgroup * 32)).clamp(16, 512);
    rows.run.div_ceil(rows.run.div_ceil(longest))
}

/// Lays `groups` workgroups out in two dimensions of at most `limit` each, of which the first fits in 16 bits.
fn fold(groups: usize, limit: u32) -> Option<(u32, u32)> {
    let groups = u32::try_from(groups).ok()?;
    let limit = limit.min(0xffff);
    let height = groups.div_ceil(limit.max(1)).max(1);
    (height <= limit).then_some((groups.div_ceil(height), height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_cover_every_group_within_the_limit() {
        for limit in [1, 2, 3, 7, 65_535] {
            for groups in (1..200).chain([65_535, 65_536, 1 << 20, 3_000_000_001]) {
                match fold(groups, limit) {
                    Some((width, height)) => {
                        assert!(width <= limit && height <= limit, "{groups} {limit}");
                        let area = u64::from(width) * u64::from(height);
                        assert!(area >= groups as u64 && area < groups as u64 + u64::from(height));
                    }
                    None => assert!(groups as u64 > u64::from(limit).pow(2)),
                }
            }
        }
    }

    /// The units of rows that the invocations of a grid move, `rows` rows each, as the shaders number them.
    fn moved(grid: &Grid, rows: usize, run: usize) -> Vec<(usize, usize)> {
        let (tiles, segment) = (grid.tiles as usize, grid.segment as usize);
        let lanes = 1 << grid.lanes_log2;
        let workgroup = grid.workgroup as usize;
        let side = workgroup / lanes;
        let segments = run.div_ceil(segment);
        let invocations = grid.width as usize * grid.height as usize * workgroup;
        let mut moved = Vec::new();
        for id in 0..invocations {
            let (group, local) = (id / workgroup, id % workgroup);
            let (tile, lane) = (local / lanes, local % lanes);
            let within = (0..rows).map(|row| (group * rows + row) * side + tile);
            for tile in within.filter(|&tile| tile < tiles) {
                let places = (lane..segment).step_by(lanes);
                let units =
                    places.map(|place| (tile / segments, tile % segments * segment + place));
                moved.extend(units.filter(|&(_, j)| j < run));
            }
        }
        moved
    }

    #[test]
    fn every_unit_is_moved_once() {
        let mut seen = std::collections::HashSet::new();
        for (kind, workgroup) in [
            (Kind::Hardware, 256),
            (Kind::Hardware, 64),
            (Kind::Software, 64),
        ] {
            let reach = Reach::of_tests(kind, workgroup);
            for unit in [4, 8, 16] {
                for (count, run) in [
                    (1, 1),
                    (1, 5000),
                    (700, 3),
                    (40, 4),
                    (33, 8),
                    (30, 17),
                    (300, 64),
                    (5, 257),
                ] {
                    let rows = Rows {
                        unit,
                        count,
                        run,
                        step: 1,
                    };
                    let all: Vec<_> = (0..count * run).map(|n| (n / run, n % run)).collect();
                    let in_flight = Grid::in_flight(&rows, &reach).unwrap();
                    let one_by_one = (Grid::one_by_one(&rows, &reach).unwrap(), 1);
                    let unit_by_unit = (Grid::unit_by_unit(&rows, &reach).unwrap(), 1);
                    for (grid, rows) in [in_flight, one_by_one, unit_by_unit] {
                        seen.insert(rows);
                        let mut moved = moved(&grid, rows, run);
                        moved.sort_unstable();
                        assert_eq!(moved, all, "{grid:?}");
                    }
                }
            }
        }
        assert_eq!(seen.len(), 2, "1 and 4 rows");
    }

    #[test]
    fn every_word_is_built() {
        for kind in [Kind::Hardware, Kind::Software] {
            for unit in [1, 2] {
                for (count, run) in [(1, 1), (1, 5000), (7, 3), (300, 64), (5, 257)] {
                    let rows = Rows {
                        unit,
                        count,
                        run,
                        step: 1,
                    };
                    let head = 3 % (4 / unit);
                    let grid = Grid::word_by_word(&rows, head, &Reach::of_tests(kind, 64)).unwrap();
                    let invocations = grid.width as usize * grid.height as usize * 64;
                    let (tiles, segment) = (grid.tiles as usize, grid.segment as usize);
                    assert!(invocations >= tiles << grid.lanes_log2);
                    assert!(tiles * segment * 4 >= (head + count * run) * unit);
                }
            }
        }
    }
}
