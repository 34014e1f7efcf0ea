//! Errors of XLA's general gather and scatter.

/// Dimension numbers that contradict each other or do not fit the arrays: a constraint of StableHLO is broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{argument} is {found:?}, but {rule}")]
pub(crate) struct XlaError {
    /// The name of the argument, as StableHLO has it.
    pub(crate) argument: &'static str,
    pub(crate) found: Vec<usize>,
    /// What the argument must be.
    pub(crate) rule: String,
}
