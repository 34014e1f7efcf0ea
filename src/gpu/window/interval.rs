//! Intervals of positions of a dimension. Blocks consist of such intervals.

use crate::layout::middle;

/// Positions `first..first + len` of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) first: usize,
    pub(super) len: usize,
}

impl Interval {
    pub(super) fn all(len: usize) -> Self {
        Self { first: 0, len }
    }

    /// Cuts the interval after its first `middle` positions.
    pub(super) fn split(self, middle: usize) -> [Self; 2] {
        let head = Self {
            len: middle,
            ..self
        };
        let tail = Self {
            first: self.first + middle,
            len: self.len - middle,
        };
        [head, tail]
    }

    /// Cuts the interval in half. `None` if it has only one position.
    pub(super) fn halves(self) -> Option<[Self; 2]> {
        Some(self.split(middle(self.len)?))
    }
}
