//! Errors of XLA's general gather and scatter.

use super::{Error, argument};

/// Dimension numbers that contradict each other or do not fit the arrays: a constraint of StableHLO is broken. `name` is
/// the argument's in StableHLO, and `rule` says what it must be.
pub(crate) fn dimension_numbers(name: &str, found: &[usize], rule: &str) -> Error {
    argument!(DimensionNumbers, "{name} is {found:?}, but {rule}")
}
