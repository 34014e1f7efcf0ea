//! Distributes the rows of a result to invocations.
//!
//! A row is cut into segments of equal length, of which the last may be shorter. A tile is one segment, except where
//! the table says that a tile may span rows. 2^`lanes_log2` neighbouring invocations, the lanes, move a tile together.
//! A software adapter pays for every invocation, and is fastest if one invocation moves a whole tile. The shaders read
//! the number of lanes and the length of tiles from the uniforms. Most kernels have these tiles:
//!
//! | adapter | units | lanes of a tile | units of a tile |
//! |---|---|---|---|
//! | software | from 4 bytes | 1 | 16 to 512, equal parts of a row |
//! | GPU | from 4 bytes | as below | 4 for each lane, or 1 if rows are short; a lane then moves units of four tiles |
//! | software | smaller | 1 | 64 words, which may span rows |
//! | GPU | smaller | 64 | 4 words for each lane, which may span rows |
//!
//! Kernels that pack several short rows into a vector have a tile for each invocation. `transpose`, `gather_units`,
//! `row_words` and the kernels of scatters have tiles of their own.
//!
//! # Hardware GPUs
//!
//! The numbers for GPUs are estimates, not measurements. By bandwidth times latency, 15 to 30 KiB must be in flight to
//! each multiprocessor at all times (4.8 TB/s and 0.7 µs on a GPU with 132 of them), and an invocation loads nothing
//! while it computes. So each invocation of `rows_coalesced.wgsl` loads four units before it stores the first, and the
//! grid decides to how many rows these units belong:
//!
//! - Enough neighbouring lanes share a row to load at least [`COALESCED`] bytes of it at once, or all of a shorter row.
//!   Memory transfers sectors of 32 bytes, and a cache line has 128 bytes.
//! - The four units belong to one row, which is looked up once. If rows are shorter than four times [`COALESCED`]
//!   bytes, the units belong to four rows, so that a lane has four units in flight for all row lengths.
//! - Workgroups have 256 invocations if the device allows: a multiprocessor holds 2,048 invocations but only 16 to 32
//!   workgroups, and starting a workgroup takes about the same time for any size.
//!
//! # Software adapters
//!
//! The machine code that lavapipe of Mesa 22.3 generates for the shaders shows the costs behind the numbers here:
//!
//! - Eight invocations run in lockstep, as the eight lanes of a SIMD register. In this list, lanes are these
//!   invocations. Each load and store is a loop over the lanes, with about 20 instructions for each lane and a few
//!   more for each word, even if the accesses are contiguous. So accesses should be few and wide: a copy ran at 3.8
//!   GB/s by 4-byte words, at 8.2 GB/s by vectors of four such words, and at 13.4 GB/s by vectors of four 8-byte
//!   words.
//! - Both sides of an `if` execute, even if all lanes agree: only pipeline constants remove code. A loop costs its
//!   first iteration even if no lane enters it.
//! - A division is eight scalar divisions.
//! - Every eight invocations cost a function call, and every workgroup is a task of a thread.
//! - Eight lanes that each walk their own row keep eight cache misses in flight, whereas lanes that share a row wait
//!   for one miss after the other. Gathers of 512-byte rows ran at 8.5 GB/s with a row for each lane, and at 4.6 GB/s
//!   with shared rows.
//! - A segment that is shorter than its neighbours leaves lanes idle.

use super::caps::{Kind, Reach};
use crate::plan::Rows;

/// The number of units that an invocation on hardware loads before it stores any: with units of 4 bytes, the 2,048
/// invocations of a multiprocessor then have 32 KiB in flight.
const IN_FLIGHT: usize = 4;

/// The smallest number of bytes of a row that neighbouring lanes load at once, unless the row is shorter: two of the
/// 32-byte sectors that memory transfers.
const COALESCED: usize = 64;

/// The most lanes of a tile that is not moved by a whole workgroup: as many as the smallest workgroup has invocations.
pub(super) const MOST_LANES: usize = 64;

/// The tiles and workgroups of a dispatch. Constructors return `None` if a device does not allow that many workgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// The number of invocations in a workgroup.
    pub(crate) workgroup: u32,
    /// The base-2 logarithm of the number of lanes of a tile.
    pub(crate) lanes_log2: u32,
    /// The length of a tile in units. Exceptions: see `segment` in `uniforms.wgsl`.
    pub(crate) segment: u32,
    pub(crate) tiles: u32,
    /// The number of workgroups along x.
    pub(crate) width: u32,
    /// The number of workgroups along y.
    pub(crate) height: u32,
}

impl Grid {
    /// The word `grid` of the uniforms, without the size of an element, which `kernels::dispatch` adds.
    pub(crate) fn word(&self) -> u32 {
        self.width | self.lanes_log2 << 16
    }

    /// The grid for units smaller than 4 bytes: an invocation assembles them into words, one after the other. `head` is
    /// the number of units that precede the first written unit in its word.
    pub(crate) fn word_by_word(rows: &Rows, head: usize, reach: &Reach) -> Option<Self> {
        let (lanes, segment) = match reach.kind {
            Kind::Software => (1, 64),
            Kind::Hardware => (MOST_LANES, MOST_LANES * IN_FLIGHT),
        };
        let words = (head + rows.units()).div_ceil(4 / rows.unit);
        Self::new(reach, 1, lanes, segment, words.div_ceil(segment))
    }

    /// The grid for invocations that process their units one by one.
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

    /// The grid for kernels of a scatter that combine each slice with a list of rows. For each of its units, a lane
    /// walks the whole list, which may be long. So on hardware a lane has only one unit, and more lanes walk in
    /// parallel.
    pub(crate) fn unit_by_unit(rows: &Rows, reach: &Reach) -> Option<Self> {
        if reach.kind == Kind::Software {
            return Self::one_by_one(rows, reach);
        }
        let lanes = rows.run.next_power_of_two().min(MOST_LANES);
        let tiles = rows.count * rows.run.div_ceil(lanes);
        Self::new(reach, 1, lanes, lanes, tiles)
    }

    /// The grid for `tiles` tiles, each of which one invocation processes.
    pub(crate) fn invocations(tiles: usize, reach: &Reach) -> Option<Self> {
        Self::new(reach, 1, 1, 1, tiles)
    }

    /// The grid for `tiles` tiles, each of which one workgroup processes.
    pub(crate) fn workgroups(tiles: usize, reach: &Reach) -> Option<Self> {
        Self::new(reach, 1, reach.workgroup as usize, 1, tiles)
    }

    /// The grid for invocations that load four units before they store any, and the number of rows to which these four
    /// units belong: one, or four if rows are short.
    pub(crate) fn in_flight(rows: &Rows, reach: &Reach) -> (Option<Self>, usize) {
        let each = match rows.run * rows.unit / COALESCED {
            IN_FLIGHT.. => IN_FLIGHT,
            _ => 1,
        };
        let lanes = rows.run.div_ceil(each).next_power_of_two();
        let lanes = lanes.min(MOST_LANES);
        let segment = lanes * each;
        let tiles = rows.count * rows.run.div_ceil(segment);
        let grid = Self::new(reach, IN_FLIGHT / each, lanes, segment, tiles);
        (grid, IN_FLIGHT / each)
    }

    /// The grid for `tiles` tiles of `segment` units and `lanes` lanes. Each invocation moves units of `each` tiles.
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

/// The number of units in a segment on a software adapter: about equal for all segments of a row, because invocations
/// run in lockstep, and small enough that a large result has 32 workgroups or more, several for each processor.
/// `workgroup` is the number of invocations in a workgroup.
fn equal(rows: &Rows, workgroup: usize) -> usize {
    let longest = (rows.units() / (workgroup * 32)).clamp(16, 512);
    rows.run.div_ceil(rows.run.div_ceil(longest))
}

/// Width and height of a grid of at least `groups` workgroups. Both are at most `limit` and fit in 16 bits, which is
/// what the uniforms have for the width. `None` if no such grid is large enough.
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

    /// The row and position of every unit that a grid moves, computed as in the shaders. Each invocation moves units of
    /// `rows` rows.
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
                    let in_flight = Grid::in_flight(&rows, &reach);
                    let one_by_one = (Grid::one_by_one(&rows, &reach), 1);
                    let unit_by_unit = (Grid::unit_by_unit(&rows, &reach), 1);
                    for (grid, rows) in [in_flight, one_by_one, unit_by_unit] {
                        seen.insert(rows);
                        let grid = grid.unwrap();
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
