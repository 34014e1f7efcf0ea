//! How the rows of a result are dealt out to invocations.
//!
//! A tile is what 2^`lanes_log2` neighbouring invocations move together. A GPU wants many
//! invocations whose neighbours touch neighbouring units; a software adapter pays for every
//! invocation and walks a tile fastest alone. The shaders take both as numbers:
//!
//! | adapter | lanes of a tile | units of a tile |
//! |---|---|---|
//! | GPU | the run rounded up to a power of two, at most 64 | 4 for each lane |
//! | software | 1 | 16 to 512, equal parts of a run |
//!
//! For units below 4 bytes a tile is a stretch of result words instead of a part of a row: 64
//! lanes with 4 words each, or one lane with 64. Where four short rows or parts of several make a
//! unit, that unit is a tile.
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

use crate::plan::Rows;

/// Invocations of a workgroup; `WORKGROUP` in the shaders.
pub(crate) const WORKGROUP: usize = 64;

/// What kind of machine runs the shaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Many slow lanes.
    Hardware,
    /// A CPU in disguise.
    Software,
}

/// A dispatch: its tiles and its workgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) lanes_log2: u32,
    pub(crate) segment: u32,
    pub(crate) tiles: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl Grid {
    /// The grid for `rows`, which are not empty, if the device takes as many workgroups in two
    /// dimensions of at most `max_groups` each. The result begins `head` units into its first word.
    pub(crate) fn of(rows: &Rows, head: usize, kind: Kind, max_groups: u32) -> Option<Self> {
        let (lanes, segment, tiles);
        if rows.unit >= 4 {
            (lanes, segment) = match kind {
                Kind::Hardware => {
                    let lanes = rows.run.next_power_of_two().min(WORKGROUP);
                    (lanes, lanes * 4)
                }
                Kind::Software => (1, equal(rows)),
            };
            tiles = rows.count * rows.run.div_ceil(segment);
        } else {
            (lanes, segment) = match kind {
                Kind::Hardware => (WORKGROUP, WORKGROUP * 4),
                Kind::Software => (1, 64),
            };
            let words = (head + rows.units()).div_ceil(4 / rows.unit);
            tiles = words.div_ceil(segment);
        }
        let (width, height) = fold((tiles * lanes).div_ceil(WORKGROUP), max_groups)?;
        Some(Self {
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
fn equal(rows: &Rows) -> usize {
    let longest = (rows.units() / (WORKGROUP * 32)).clamp(16, 512);
    rows.run.div_ceil(rows.run.div_ceil(longest))
}

/// Lays `groups` workgroups out in two dimensions of at most `limit` each.
fn fold(groups: usize, limit: u32) -> Option<(u32, u32)> {
    let groups = u32::try_from(groups).ok()?;
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

    #[test]
    fn tiles_cover_every_unit() {
        for kind in [Kind::Hardware, Kind::Software] {
            for unit in [1, 2, 4, 8, 16] {
                for (count, run) in [(1, 1), (1, 5000), (7, 3), (300, 64), (5, 257)] {
                    let rows = Rows {
                        unit,
                        count,
                        run,
                        step: 1,
                    };
                    let head = 3 % 4usize.div_ceil(unit);
                    let grid = Grid::of(&rows, head, kind, 65_535).unwrap();
                    let invocations = grid.width as usize * grid.height as usize * WORKGROUP;
                    let (tiles, segment) = (grid.tiles as usize, grid.segment as usize);
                    assert!(invocations >= tiles << grid.lanes_log2);
                    if unit >= 4 {
                        assert_eq!(tiles, count * run.div_ceil(segment));
                    } else {
                        assert!(tiles * segment * 4 >= (head + count * run) * unit);
                    }
                }
            }
        }
    }
}
