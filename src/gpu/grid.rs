//! How the rows of a result are dealt out to invocations.
//!
//! A tile is what 2^`lanes_log2` neighbouring invocations move together. A GPU wants many
//! invocations whose neighbours touch neighbouring units; a software adapter pays for every
//! invocation and walks a tile fastest alone. The shaders take both as numbers, so this rule is
//! all that differs between them:
//!
//! | adapter | lanes of a tile | units of a tile |
//! |---|---|---|
//! | GPU | the run rounded up to a power of two, at most 64 | 4 for each lane |
//! | software | 1 | up to 256 |
//!
//! For units below 4 bytes a tile is a stretch of result words instead of a part of a row: 64
//! lanes with 4 words each, or one lane with 64.

use crate::{Error, plan::Rows};

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
    pub(crate) segment: usize,
    pub(crate) segments: usize,
    pub(crate) tiles: usize,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl Grid {
    /// The grid for `rows`, which are not empty. `max_groups` is the device's limit of workgroups
    /// in one dimension.
    pub(crate) fn of(rows: &Rows, kind: Kind, max_groups: u32) -> Result<Self, Error> {
        let (lanes, segment, segments, tiles);
        if rows.unit >= 4 {
            (lanes, segment) = match kind {
                Kind::Hardware => {
                    let lanes = rows.run.next_power_of_two().min(WORKGROUP);
                    (lanes, lanes * 4)
                }
                Kind::Software => (1, rows.run.min(256)),
            };
            segments = rows.run.div_ceil(segment);
            tiles = rows.count * segments;
        } else {
            (lanes, segment) = match kind {
                Kind::Hardware => (WORKGROUP, WORKGROUP * 4),
                Kind::Software => (1, 64),
            };
            segments = 1;
            let words = (rows.units() * rows.unit).div_ceil(4);
            tiles = words.div_ceil(segment);
        }
        let (width, height) = fold((tiles * lanes).div_ceil(WORKGROUP), max_groups)?;
        Ok(Self {
            lanes_log2: lanes.trailing_zeros(),
            segment,
            segments,
            tiles,
            width,
            height,
        })
    }
}

/// Lays `groups` workgroups out in two dimensions of at most `limit` each.
fn fold(groups: usize, limit: u32) -> Result<(u32, u32), Error> {
    let too_many = || Error::DeviceLimit {
        what: "the dispatch",
        limit: "max_compute_workgroups_per_dimension, squared,",
        needed: groups as u64,
        allowed: u64::from(limit).pow(2),
    };
    let groups = u32::try_from(groups).map_err(|_| too_many())?;
    let height = groups.div_ceil(limit.max(1));
    if height > limit {
        return Err(too_many());
    }
    Ok((groups.div_ceil(height.max(1)), height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_cover_every_group_within_the_limit() {
        for limit in [1, 2, 3, 7, 65_535] {
            for groups in (1..200).chain([65_535, 65_536, 1 << 20, 3_000_000_001]) {
                match fold(groups, limit) {
                    Ok((width, height)) => {
                        assert!(width <= limit && height <= limit, "{groups} {limit}");
                        let area = u64::from(width) * u64::from(height);
                        assert!(area >= groups as u64 && area < groups as u64 + u64::from(height));
                    }
                    Err(_) => assert!(groups as u64 > u64::from(limit).pow(2)),
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
                    let grid = Grid::of(&rows, kind, 65_535).unwrap();
                    let invocations = grid.width as usize * grid.height as usize * WORKGROUP;
                    assert!(invocations >= grid.tiles << grid.lanes_log2);
                    if unit >= 4 {
                        assert!(grid.segments * grid.segment >= run);
                        assert_eq!(grid.tiles, count * grid.segments);
                    } else {
                        assert!(grid.tiles * grid.segment * 4 >= count * run * unit);
                    }
                }
            }
        }
    }
}
