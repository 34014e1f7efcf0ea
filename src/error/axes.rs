//! The part of an error message about axes that describes the array.

use crate::text::counted;
use core::fmt;

/// Prints the number of dimensions of an array and the valid axes, for a message that begins with the name of the
/// array.
pub(super) struct AxisList(pub(super) usize);

impl fmt::Display for AxisList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("is a scalar, which has no axis: it must have at least one dimension"),
            rank => {
                let dimensions = counted(rank, "dimension", "dimensions");
                write!(f, "has {dimensions}: it must be in [-{rank}, {rank})")
            }
        }
    }
}
