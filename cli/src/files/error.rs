//! Errors about files. A message names the file and the problem. Except for errors of the operating system, most
//! messages also say what to do.

use std::io;
use std::path::{Path, PathBuf};

/// A file that could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {problem}", .path.display())]
pub(crate) struct FileError {
    action: &'static str,
    path: PathBuf,
    problem: Problem,
}

impl FileError {
    /// Returns whether the program that read standard output has stopped reading.
    pub(crate) fn is_reader_gone(&self) -> bool {
        matches!(&self.problem, Problem::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(super) fn when_reading(path: &Path, problem: Problem) -> Self {
        Self {
            action: "read",
            path: path.to_owned(),
            problem,
        }
    }

    pub(super) fn when_writing(path: &Path, problem: Problem) -> Self {
        Self {
            action: "write",
            path: path.to_owned(),
            problem,
        }
    }
}

/// The problem with a file, without the file's name.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    /// An error of the operating system.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Any other problem, as a message.
    #[error("{0}")]
    Invalid(String),
}

impl From<wgslice_npy::Error> for Problem {
    fn from(error: wgslice_npy::Error) -> Self {
        match error {
            wgslice_npy::Error::Io(error) => Self::Io(error),
            wgslice_npy::Error::Invalid(message) => Self::Invalid(message),
        }
    }
}

impl Problem {
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }
}
