//! Cuts the result of a gather or a crop into blocks. A block is written by one dispatch, or by several that each bind
//! another window of params.

use super::interval::Interval;
use crate::{layout::middle, ops::indexed::Map, plan::Rows};

/// A contiguous part of the result: an interval of each dimension, with `run` as the innermost. The part is contiguous
/// because all intervals before some dimension are single positions, and all after it are whole dimensions.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// The positions of the block's rows in each dimension that numbers rows, outermost first.
    pub(super) walk: Vec<Interval>,
    /// The units of each of these rows that lie in the block.
    pub(super) run: Interval,
}

/// Where a block begins, and which index tuples it reads.
pub(super) struct Origin {
    /// The position of the block's first unit in the result, in units.
    pub(super) unit: u64,
    /// The number of the first index tuple that the block reads.
    pub(super) tuple: usize,
    /// The number of index tuples that the block reads.
    pub(super) tuples: usize,
    /// The unit of params from which the block's first unit is copied if all coordinates of the index tuple are zero.
    /// The shader adds what the actual coordinates contribute.
    pub(super) place: i64,
    /// The number of the block's first row among the rows with the same tuple.
    pub(super) row: u64,
    /// The distance in params, in units, from the first of the rows with the same tuple to the block's first row.
    pub(super) distance: i64,
    /// Whether the block counts its tuples that are out of range. Several rows may have the same tuple, so several
    /// blocks may read it. Only the block with the first unit of the first of these rows counts the tuple.
    pub(super) counts: bool,
}

impl Block {
    pub(super) fn all(map: &Map, rows: &Rows) -> Self {
        let sizes = map.walk.iter().map(|dimension| dimension.size);
        Self {
            walk: sizes.map(Interval::all).collect(),
            run: Interval::all(rows.run),
        }
    }

    /// Cuts the block in half along its outermost interval of more than one position. `None` if the block is a single
    /// unit.
    pub(super) fn halves(&self) -> Option<[Self; 2]> {
        if let Some(d) = self.outermost() {
            return Some(self.split(d, middle(self.walk[d].len)?));
        }
        let halves = self.run.halves()?;
        Some(halves.map(|run| Self {
            run,
            ..self.clone()
        }))
    }

    /// The outermost dimension of `walk` in which the block has more than one position. `None` if the block lies in one
    /// row.
    fn outermost(&self) -> Option<usize> {
        self.walk.iter().position(|interval| interval.len > 1)
    }

    /// Cuts the block in two: the first part has the first `middle` of the block's positions of dimension `d`.
    fn split(&self, d: usize, middle: usize) -> [Self; 2] {
        self.walk[d].split(middle).map(|interval| {
            let mut part = self.clone();
            part.walk[d] = interval;
            part
        })
    }

    /// The rows of the block, cut to the units in the block. `rows` are those of the whole gather.
    pub(super) fn rows(&self, rows: &Rows) -> Rows {
        Rows {
            count: self.walk.iter().map(|interval| interval.len).product(),
            run: self.run.len,
            ..*rows
        }
    }

    pub(super) fn origin(&self, map: &Map, rows: &Rows) -> Origin {
        let mut row = 0;
        let mut at = Origin {
            unit: 0,
            tuple: 0,
            tuples: 1,
            row: 0,
            distance: 0,
            place: map.offset as i64 + self.run.first as i64 * rows.step as i64,
            counts: self.run.first == 0,
        };
        for (dimension, interval) in map.walk.iter().zip(&self.walk) {
            row = row * dimension.size + interval.first;
            at.place += interval.first as i64 * dimension.stride as i64;
            if dimension.repeats {
                at.counts &= interval.first == 0;
                at.row = at.row * dimension.size as u64 + interval.first as u64;
                at.distance += interval.first as i64 * dimension.stride as i64;
            } else {
                at.tuple = at.tuple * dimension.size + interval.first;
                at.tuples *= interval.len;
            }
        }
        at.unit = row as u64 * rows.run as u64 + self.run.first as u64;
        at
    }
}
