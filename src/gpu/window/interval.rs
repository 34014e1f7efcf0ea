//! What cutting leaves of a dimension.

use crate::layout::middle;

/// A interval of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) first: usize,
    pub(super) len: usize,
}

impl Interval {
    pub(super) fn all(len: usize) -> Self {
        Self { first: 0, len }
    }

    /// What is in front of this position, and the rest.
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

    /// Its halves, if it has more than one position.
    pub(super) fn halves(self) -> Option<[Self; 2]> {
        Some(self.split(middle(self.len)?))
    }
}
