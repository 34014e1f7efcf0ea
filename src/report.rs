//! What a gather or a scatter says of the index tuples that were out of range.

use crate::{
    BadRow, Error, GatherError, OutOfRange, Plan, ScatterError, plan::Map, shape::coordinates,
};

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

/// Which index tuples of a gather or a scatter were out of range.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// How many tuples there were, bad ones included.
    pub rows: usize,
    /// How many were out of range: what a gather made zeros of, if there is a result, and a scatter
    /// dropped.
    pub bad: usize,
    /// The first of those, in row-major order.
    pub first: Option<BadRow>,
    /// The shape that they point into: of `params`, or of what is scattered into.
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

    /// The same of a scatter.
    fn require_none_scattered(self) -> Result<Self, Error> {
        match self.first {
            None => Ok(self),
            Some(first) => Err(ScatterError::OutOfRange {
                first: first.into(),
                bad: self.bad,
                rows: self.rows,
                shape: self.params,
            }
            .into()),
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
        let (tuples, params, policy) = match &self.map {
            Map::Indexed(map) => (map.tuples(), &map.params, map.policy),
            Map::ScatterNd(map) => (map.tuples(), &self.shape, map.policy()),
            Map::StridedSlice(_) | Map::StridedSliceUpdate(_) | Map::StridedSliceGrad(_) => {
                return Ok(Report {
                    rows: self.rows.count,
                    bad: 0,
                    first: None,
                    params: self.source.clone(),
                });
            }
        };
        let first = missing.first.map(|row| BadRow {
            row,
            position: coordinates(row, tuples),
            index: tuple(row),
        });
        let rows = match self.rows.count {
            0 => 0,
            _ => tuples.iter().product(),
        };
        let report = Report {
            rows,
            bad: missing.count,
            first,
            params: params.clone(),
        };
        match (&self.map, policy.out_of_range) {
            (_, OutOfRange::Zero | OutOfRange::Clamp) => Ok(report),
            (Map::ScatterNd(_), OutOfRange::Error) => report.require_none_scattered(),
            (_, OutOfRange::Error) => report.require_none(),
        }
    }
}
