//! Errors of XLA's general gather and scatter.

use super::{Error, argument};

/// Returns the error for dimension numbers that break a constraint of StableHLO: they contradict each other or do not
/// fit the arrays. `name` is the argument's name in StableHLO, and `rule` ends the sentence of the message.
pub(crate) fn dimension_numbers(name: &str, found_list: &[usize], rule: &str) -> Error {
    argument!(DimensionNumbers, "{name} is {found_list:?}, but {rule}")
}
