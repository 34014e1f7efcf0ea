//! The report of a gather or a scatter: which index tuples were out of range.

use crate::{
    BadRow, Error, GatherError, OutOfRange, Plan, ScatterError, plan::Map, shape::coordinates,
};

/// How many tuples the CPU or a device found out of range, and which was the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Missing {
    /// The number of out-of-range tuples.
    pub(crate) count: usize,
    /// The number of the first out-of-range tuple, in row-major order. `None` if there is none.
    pub(crate) first: Option<usize>,
}

impl Missing {
    /// Counts an out-of-range tuple, given its number. Calls must be in ascending order of these numbers.
    pub(crate) fn add(&mut self, tuple: usize) {
        self.count += 1;
        self.first.get_or_insert(tuple);
    }

    /// Adds what a check of other tuples found. Either check may have had the tuples of lower numbers.
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
    /// The number of tuples that were out of range. A gather wrote zeros for these tuples, and a scatter dropped their
    /// updates.
    pub bad: usize,
    /// The first tuple that was out of range, in row-major order. `None` if none was.
    pub first: Option<BadRow>,
    /// The shape that the tuples index: the shape of `params`, or of the array that is scattered into.
    pub params: Vec<usize>,
}

impl Report {
    /// Returns the report if no tuple was out of range, else an error.
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
    /// Makes the report from what the CPU or a device found. Under [`OutOfRange::Error`] an out-of-range tuple is an
    /// error. `tuple` returns the indices of a tuple, given its number.
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
