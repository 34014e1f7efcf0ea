//! Errors of XLA's general gather and scatter.

use super::{Error, argument};

/// Dimension numbers that contradict each other or do not fit the arrays: a constraint of StableHLO is broken. `name` is
/// the argument's name in StableHLO, and `rule` is the rest of the sentence.
pub(crate) fn dimension_numbers(name: &str, found: &[usize], rule: &str) -> Error {
    argument!(DimensionNumbers, "{name} is {found:?}, but {rule}")
}
