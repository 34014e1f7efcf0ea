//! The part of a gather's result that one dispatch writes, or several that see different windows of params.

use super::interval::Interval;
use crate::{layout::middle, ops::indexed::Map, plan::Rows};

/// A part of a gather's result that is contiguous: of each dimension that is walked a interval, and of
/// the run. In front of the first interval of several positions all are single, and behind it whole.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) walk: Vec<Interval>,
    pub(super) run: Interval,
}

/// Where a block begins.
pub(super) struct Origin {
    /// The unit of the result.
    pub(super) unit: u64,
    pub(super) tuple: usize,
    pub(super) tuples: usize,
    /// Where in params its first row begins, for a tuple of zeros.
    pub(super) place: i64,
    /// Whether it has the first rows of its tuples, and those from their beginning.
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

    /// Halves of the outermost interval that has more than one element.
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

    /// The outermost dimension of several positions.
    pub(super) fn outermost(&self) -> Option<usize> {
        self.walk.iter().position(|interval| interval.len > 1)
    }

    /// The block in two, cut in front of this position of its outermost dimension.
    pub(super) fn split(&self, d: usize, middle: usize) -> [Self; 2] {
        self.walk[d].split(middle).map(|interval| {
            let mut part = self.clone();
            part.walk[d] = interval;
            part
        })
    }

    /// The rows that it is of.
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
