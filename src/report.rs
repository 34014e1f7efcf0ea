//! The report of a gather, a crop, a paste or a scatter: which index tuples were out of range.

use crate::prelude::*;
use crate::{
    Error, error, error::InvalidIndex, moves::Move, moves::Operation, ops::mask::Found,
    options::OutOfRange, shape::coordinates_of, text::Shape,
};

/// The number of tuples that the CPU or a device found out of range, and the first of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Missing {
    /// The number of out-of-range tuples.
    pub(crate) count: usize,
    /// The number of the first out-of-range tuple, in row-major order. `None` if there is none.
    pub(crate) first: Option<usize>,
}

impl Missing {
    /// Counts the out-of-range tuple with the number `tuple`. Calls must be in ascending order of these numbers.
    pub(crate) fn add(&mut self, tuple: usize) {
        self.count += 1;
        self.first.get_or_insert(tuple);
    }

    /// Combines these counts with the counts for other tuples, whose numbers can be lower or higher.
    pub(crate) fn combine_with(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            first: self.first.into_iter().chain(other.first).min(),
        }
    }
}

/// The number of out-of-range index tuples of a gather, a crop, a paste or a scatter, and the first of them. The tuples
/// of a crop and a paste are boxes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The number of tuples, including those out of range. 0 if there is nothing to move. For an operation without
    /// tuples, such as a slice, the number of rows of its plan.
    pub tuples: usize,
    /// The number of tuples that were out of range. A gather wrote zeros for these tuples, and a scatter dropped their
    /// updates. A crop wrote zeros for elements outside the array, and a paste left such elements out.
    pub out_of_range: usize,
    /// The first tuple that was out of range, in row-major order. `None` if all tuples were in range.
    pub first: Option<Box<InvalidIndex>>,
    /// The number of true elements, for a plan that searches a mask, even if the number is above the capacity. `None`
    /// for other plans.
    pub found: Option<usize>,
    /// The number of bytes that were copied first because an array that was changed in place shared its memory with
    /// another tensor.
    pub copied: usize,
    /// The operation, on which the message of [`Error::InvalidIndices`] depends.
    operation: Operation,
    /// The capacity: the largest number of true elements that the result can hold.
    capacity: usize,
}

impl Report {
    /// Returns the report of an operation without tuples.
    pub(crate) fn for_rows(rows: usize, operation: Operation) -> Self {
        Self {
            tuples: rows,
            out_of_range: 0,
            first: None,
            found: None,
            copied: 0,
            operation,
            capacity: usize::MAX,
        }
    }

    /// Adds the result of a search: the number of true elements, and the capacity.
    pub(crate) fn count(&mut self, search_result: Found) {
        self.found = Some(search_result.count);
        self.capacity = search_result.capacity;
    }

    /// Returns the report if no tuple was out of range, and if the number of true elements was within the capacity.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidIndices`] with the report; [`Error::Argument`] (`MaskCapacity`).
    pub fn into_result(self) -> Result<Self, Error> {
        match (&self.first, self.found) {
            (Some(_), _) => Err(Error::InvalidIndices(Box::new(self))),
            (None, Some(count)) if count > self.capacity => {
                Err(error::mask::capacity_exceeded(count, self.capacity))
            }
            (None, _) => Ok(self),
        }
    }

    /// Returns the message of the error for out-of-range tuples.
    pub(crate) fn problem(&self) -> String {
        let Self {
            tuples,
            out_of_range,
            first,
            operation,
            ..
        } = self;
        let remedy = "correct them, or choose OutOfRange::Ignore or OutOfRange::Clamp";
        let Some(first) = first else {
            return format!("{out_of_range} of {tuples} index tuples are out of range: {remedy}");
        };
        let shape = Shape(&first.shape);
        let array = match operation {
            Operation::Crop | Operation::Paste => {
                return format!(
                    "{out_of_range} of {tuples} boxes extend beyond x {shape}, the first at {first}: {remedy}"
                );
            }
            Operation::XlaGather | Operation::XlaScatter => {
                return format!(
                    "{out_of_range} of {tuples} windows extend beyond operand {shape}, the first at {first}: {remedy}"
                );
            }
            Operation::ScatterNd | Operation::TensorScatterNd | Operation::ScatterElements => {
                "shape"
            }
            _ => "params",
        };
        format!(
            "{out_of_range} of {tuples} index tuples are out of range, the first at {first} of {array} {shape}: \
             {remedy}"
        )
    }
}

impl Move {
    /// Makes the report from the counts of the CPU or a device. Under [`OutOfRange::Error`], fails if a tuple is out of
    /// range. `read_tuple` takes the number of a tuple and returns its integers.
    pub(crate) fn report(
        &self,
        missing: Missing,
        read_tuple: impl FnOnce(usize) -> Vec<i64>,
    ) -> Result<Report, Error> {
        let operation = self.operation;
        let Some(tuples) = self.tuples() else {
            return Ok(Report::for_rows(self.rows(), operation));
        };
        // The tuple of a box can end with flips, which do not change the positions that the box covers. The report
        // leaves the flips out.
        let reported_length = match (operation, &self.walk) {
            (Operation::Crop | Operation::Paste, Some(walk)) => walk.coordinates.len(),
            _ => tuples.depth,
        };
        let first_invalid = missing.first.map(|number| InvalidIndex {
            tuple: number,
            position: coordinates_of(number, tuples.shape),
            index: read_tuple(number)
                .into_iter()
                .take(reported_length)
                .collect(),
            shape: tuples.target.to_vec(),
        });
        let count = match self.walk {
            None => 0,
            Some(_) => tuples.shape.iter().product(),
        };
        let report = Report {
            tuples: count,
            out_of_range: missing.count,
            first: first_invalid.map(Box::new),
            found: None,
            copied: 0,
            operation,
            capacity: usize::MAX,
        };
        match tuples.policy.out_of_range {
            OutOfRange::Error => report.into_result(),
            _ => Ok(report),
        }
    }
}
