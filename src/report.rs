//! What a gather says of the index tuples that were out of range.

use crate::{BadRow, Error, GatherError, OutOfRange, Plan, plan::Map, shape::coordinates};

/// Rows without a source, as an executor counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) count: usize,
    pub(crate) first: Option<usize>,
}

impl Missing {
    /// Counts `row`. Rows come in ascending order.
    pub(crate) fn add(&mut self, row: usize) {
        self.count += 1;
        self.first.get_or_insert(row);
    }

    /// Both, whatever their order.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            first: self.first.into_iter().chain(other.first).min(),
        }
    }
}

/// Which index tuples of a gather were out of range.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// How many tuples were gathered, bad ones included.
    pub rows: usize,
    /// How many were out of range and became zeros.
    pub bad: usize,
    /// The first of those, in row-major order.
    pub first: Option<BadRow>,
    /// The shape of `params`.
    pub params: Vec<usize>,
}

impl Report {
    /// The report itself if no tuple was out of range.
    ///
    /// # Errors
    ///
    /// [`GatherError::OutOfRange`] with what the report says.
    pub fn require_none(self) -> Result<Self, Error> {
        match self.first {
            None => Ok(self),
            Some(first) => Err(GatherError::OutOfRange {
                first,
                bad: self.bad,
                rows: self.rows,
                params: self.params,
            }
            .into()),
        }
    }

    /// Applies the policy of a gather.
    pub(crate) fn under(self, policy: OutOfRange) -> Result<Self, Error> {
        match policy {
            OutOfRange::Zero => Ok(self),
            OutOfRange::Error => self.require_none(),
        }
    }
}

impl Plan {
    /// Spells out what an executor counted.
    pub(crate) fn report(&self, missing: Missing, tuple: impl FnOnce(usize) -> Vec<i64>) -> Report {
        let first = match &self.map {
            Map::GatherNd(map) => missing.first.map(|row| BadRow {
                row,
                position: coordinates(row, map.tuples()),
                index: tuple(row),
            }),
            Map::StridedSlice(_) | Map::StridedSliceUpdate(_) | Map::StridedSliceGrad(_) => None,
        };
        Report {
            rows: self.rows.count,
            bad: missing.count,
            first,
            params: self.source.clone(),
        }
    }
}
