//! Errors of stores and jobs.

use std::{fmt::Display, io};

/// Why an array could not be read, made or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The arguments cannot be used: they do not fit each other, or the arrays that they name do not exist or do not
    /// fit. No task can succeed.
    #[error("{0}")]
    Usage(String),
    /// The work failed for a reason other than a failed read or write: for example, a chunk is corrupt, or an index is
    /// out of range. Tasks are not tried again.
    #[error("{0}")]
    Data(String),
    /// The system could not read or write. Another attempt may succeed.
    #[error("{0}")]
    Io(io::Error),
}

impl Error {
    pub(crate) fn usage(problem: impl Display) -> Self {
        Self::Usage(problem.to_string())
    }

    pub(crate) fn data(problem: impl Display) -> Self {
        Self::Data(problem.to_string())
    }

    /// Prefixes the system's error with a text that tells what failed.
    pub(crate) fn io(action: impl Display, error: &io::Error) -> Self {
        Self::Io(io::Error::new(error.kind(), format!("{action}: {error}")))
    }
}

impl From<wgslice::Error> for Error {
    fn from(error: wgslice::Error) -> Self {
        Self::data(error)
    }
}
