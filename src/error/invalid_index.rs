//! [`InvalidIndex`], an index tuple that is out of range.

use crate::prelude::*;
use crate::text::Shape;
use core::fmt;

/// An index tuple that is out of range in the array that it indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidIndex {
    /// The number of the tuple among all tuples, from 0 in row-major order. For `gather`, `gather_elements` and
    /// `scatter_elements` each index is a tuple of one integer, and for `crop` each box is a tuple.
    pub tuple: usize,
    /// The coordinates of the tuple in the index tensor. If the last dimension of the tensor contains the integers of a
    /// tuple, as in `gather_nd` and `scatter_nd`, there is no coordinate for this dimension.
    pub position: Vec<usize>,
    /// The integers of the tuple. For `crop`, these are the box index, if there are box indices, and the start index in
    /// each dimension. Empty if the buffer of indices cannot be read back.
    pub index: Vec<i64>,
    /// The shape that the tuple indexes: the shape of `params`, of the array that is cropped, or of the array into which
    /// boxes or updates are written.
    pub shape: Vec<usize>,
}

impl fmt::Display for InvalidIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("indices")?;
        if !self.position.is_empty() {
            write!(f, "{}", Shape(&self.position))?;
        }
        write!(f, " = {:?}", self.index)
    }
}
