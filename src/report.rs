//! What a gather says of the index tuples that were out of range.

use crate::{BadRow, Error, GatherError, OutOfRange, Plan, plan::Map, shape::coordinates};

/// Tuples without a source, as an executor counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) count: usize,
    pub(crate) first: Option<usize>,
}

impl Missing {
    /// Counts `tuple`. Tuples come in ascending order.
    pub(crate) fn add(&mut self, tuple: usize) {
        self.count += 1;
        self.first.get_or_insert(tuple);
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
    /// How many were out of range, and became zeros if there is a result.
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
    fn under(self, policy: OutOfRange) -> Result<Self, Error> {
        match policy {
            OutOfRange::Error => self.require_none(),
            OutOfRange::Zero | OutOfRange::Clamp => Ok(self),
        }
    }
}

impl Plan {
    /// Spells out what an executor counted, and applies the plan's policy.
    pub(crate) fn report(
        &self,
        missing: Missing,
        tuple: impl FnOnce(usize) -> Vec<i64>,
    ) -> Result<Report, Error> {
        let Map::Indexed(map) = &self.map else {
            return Ok(Report {
                rows: self.rows.count,
                bad: 0,
                first: None,
                params: self.source.clone(),
            });
        };
        let first = missing.first.map(|row| BadRow {
            row,
            position: coordinates(row, map.tuples()),
            index: tuple(row),
        });
        let rows = match self.rows.count {
            0 => 0,
            _ => map.tuples().iter().product(),
        };
        Report {
            rows,
            bad: missing.count,
            first,
            params: map.params.clone(),
        }
        .under(map.policy.out_of_range)
    }
}
