//! An index tuple that is out of range.

use crate::text::Shape;
use std::fmt;

/// An index tuple that points outside `params`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRow {
    /// Its number among all tuples in row-major order. For `gather` each index is a tuple.
    pub row: usize,
    /// Its coordinates in the index tensor; for `gather_nd` and scatters without the last dimension, which
    /// holds the tuple.
    pub position: Vec<usize>,
    /// The tuple itself.
    pub index: Vec<i64>,
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("indices")?;
        if !self.position.is_empty() {
            write!(f, "{}", Shape(&self.position))?;
        }
        write!(f, " = {:?}", self.index)
    }
}
