//! Errors of the command, and its exit codes.

use std::{fmt::Display, process::ExitCode};

/// The error of a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The work began and failed, which gives exit code 1.
    #[error("{0}")]
    Work(String),
    /// The command line is wrong, or names an unusable input, which gives exit code 2.
    #[error("{0}")]
    Usage(String),
}

impl Failure {
    pub(crate) fn work(problem: impl Display) -> Self {
        Self::Work(problem.to_string())
    }

    pub(crate) fn usage(problem: impl Display) -> Self {
        Self::Usage(problem.to_string())
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Work(_) => ExitCode::from(1),
            Self::Usage(_) => ExitCode::from(2),
        }
    }
}
