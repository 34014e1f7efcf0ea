//! What can go wrong, and what the command exits with.

use crate::files::FileError;
use std::{fmt::Display, process::ExitCode};
use wgslice::Error;

/// The exit code of a verification that found a difference, and of a benchmark that did.
pub(crate) const WRONG_RESULT: u8 = 1;

/// Why the command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The command line, or a file that was given.
    #[error("{0}")]
    Usage(String),
    /// The library refused.
    #[error("{context}: {error}")]
    Refused {
        /// What was being worked on, as the user knows it.
        context: String,
        error: Box<Error>,
    },
    /// No device, or one that does not work.
    #[error("{0}")]
    Device(String),
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::usage(error)
    }
}

/// Why work that is the library's and the command's ended early.
#[derive(Debug)]
pub(crate) enum Stopped {
    Library(Error),
    Command(Failure),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self::Command(failure)
    }
}

impl Stopped {
    /// Wraps an error of the library with what was being worked on.
    pub(crate) fn explained(self, context: impl Display) -> Failure {
        match self {
            Self::Library(error) => Failure::refused(context)(error),
            Self::Command(failure) => failure,
        }
    }
}

impl Failure {
    pub(crate) fn usage(problem: impl Display) -> Self {
        Self::Usage(problem.to_string())
    }

    pub(crate) fn device(problem: impl Display) -> Self {
        Self::Device(problem.to_string())
    }

    /// Wraps an error of the library with what was being worked on.
    pub(crate) fn refused(context: impl Display) -> impl FnOnce(Error) -> Self {
        let context = context.to_string();
        move |error| Self::Refused {
            context,
            error: Box::new(error),
        }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        const BAD_INPUT: u8 = 2;
        const DEVICE: u8 = 3;
        let code = match self {
            Self::Usage(_) => BAD_INPUT,
            Self::Device(_) => DEVICE,
            Self::Refused { error, .. } => match &**error {
                error if error.is_of_device() => DEVICE,
                Error::OutOfHostMemory { .. } => DEVICE,
                _ => BAD_INPUT,
            },
        };
        code.into()
    }
}
