//! The report of a gather or a scatter: which index tuples were out of range.

use crate::{
    BadRow, Error, GatherError, OutOfRange, Plan, ScatterError, plan::Map, shape::coordinates,
};

/// The out-of-range tuples that an executor counted: how many, and the number of the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) count: usize,
    pub(crate) first: Option<usize>,
}

impl Missing {
    /// Counts `tuple`. Calls must come in ascending order of tuples.
    pub(crate) fn add(&mut self, tuple: usize) {
        self.count += 1;
        self.first.get_or_insert(tuple);
    }

    /// The sum of two counts, in either order.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            first: self.first.into_iter().chain(other.first).min(),
        }
    }
}

/// Which index tuples of a gather or a scatter were out of range.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The number of tuples, including those out of range.
    pub rows: usize,
    /// How many were out of range. A gather wrote zeros for them, and a scatter dropped them.
    pub bad: usize,
    /// The first of those, in row-major order.
    pub first: Option<BadRow>,
    /// The shape that they point into: that of `params`, or of the array that is scattered into.
    pub params: Vec<usize>,
}

impl Report {
    /// The report itself if no tuple was out of range.
    ///
    /// # Errors
    ///
    /// [`GatherError::OutOfRange`] with the values of the report.
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
}

impl Plan {
    /// Makes the report from the count of an executor and applies the plan's policy. `tuple` reads the
    /// indices of a tuple.
    pub(crate) fn report(
        &self,
        missing: Missing,
        tuple: impl FnOnce(usize) -> Vec<i64>,
    ) -> Result<Report, Error> {
        let Some(tuples) = self.tuples() else {
            return Ok(Report {
                rows: self.rows.count,
                bad: 0,
                first: None,
                params: self.source.clone(),
            });
        };
        let first = missing.first.map(|row| BadRow {
            row,
            position: coordinates(row, tuples.shape),
            index: tuple(row),
        });
        let rows = match self.rows.count {
            0 => 0,
            _ => tuples.shape.iter().product(),
        };
        let report = Report {
            rows,
            bad: missing.count,
            first,
            params: tuples.target.to_vec(),
        };
        if tuples.policy.out_of_range != OutOfRange::Error {
            return Ok(report);
        }
        match (&self.map, report.first) {
            (Map::ScatterNd(_), Some(first)) => Err(ScatterError::OutOfRange {
                first: first.into(),
                bad: report.bad,
                rows: report.rows,
                shape: report.params,
            }
            .into()),
            (_, first) => Report { first, ..report }.require_none(),
        }
    }
}
