//! The part of a gather's result that one dispatch writes, or several with different windows of params.

use super::interval::Interval;
use crate::{layout::middle, ops::indexed::Map, plan::Rows};

/// A contiguous part of a gather's result: an interval of each dimension that numbers rows, and of the run. Before the
/// first interval of several positions all intervals have one position; after it they are whole dimensions.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) walk: Vec<Interval>,
    pub(super) run: Interval,
}

/// Where a block begins, and which index tuples it reads.
pub(super) struct Origin {
    /// The block's first unit of the result.
    pub(super) unit: u64,
    /// The number of the first index tuple.
    pub(super) tuple: usize,
    /// The number of index tuples.
    pub(super) tuples: usize,
    /// The unit of params at which the first row begins if its tuple is all zeros.
    pub(super) place: i64,
    /// Whether this block's dispatch counts the tuples that are out of range: the block contains the beginning of the
    /// first row of each of its tuples.
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

    /// Two halves, cut along the outermost interval of more than one position. `None` if the block is a single unit.
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

    /// The outermost dimension of which the block has more than one position.
    fn outermost(&self) -> Option<usize> {
        self.walk.iter().position(|interval| interval.len > 1)
    }

    /// The block in two parts: the first has `middle` positions of dimension `d`.
    fn split(&self, d: usize, middle: usize) -> [Self; 2] {
        self.walk[d].split(middle).map(|interval| {
            let mut part = self.clone();
            part.walk[d] = interval;
            part
        })
    }

    /// The rows of the block.
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
            place: map.offset as i64 + self.run.first as i64 * rows.step as i64,
            counts: self.run.first == 0,
        };
        for (dimension, interval) in map.walk.iter().zip(&self.walk) {
            row = row * dimension.size + interval.first;
            at.place += interval.first as i64 * dimension.stride as i64;
            if dimension.repeats {
                at.counts &= interval.first == 0;
            } else {
                at.tuple = at.tuple * dimension.size + interval.first;
                at.tuples *= interval.len;
            }
        }
        at.unit = row as u64 * rows.run as u64 + self.run.first as u64;
        at
    }
}
