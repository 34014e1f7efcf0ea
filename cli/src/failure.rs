//! Errors of the command, and its exit codes.

use crate::files::FileError;
use std::{fmt::Display, process::ExitCode};
use wgslice::Error;

/// The exit code of a verification or a benchmark that found a wrong result.
pub(crate) const WRONG_RESULT: u8 = 1;

/// The error of a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The command line or a file is wrong.
    #[error("{0}")]
    Usage(String),
    /// The library returned an error.
    #[error("{context}: {}", in_words_of_the_command(error))]
    Refused {
        /// What the error is about, in words that the user knows: an input or an adapter.
        context: String,
        error: Box<Error>,
    },
    /// Nobody reads standard output any more, to which the result goes.
    #[error("standard output is read no more")]
    ReaderGone,
    /// There is no device, or it does not work.
    #[error("{0}")]
    Device(String),
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        match error.is_reader_gone() {
            true => Self::ReaderGone,
            false => Self::usage(error),
        }
    }
}

/// The error of work that is partly the library's and partly the command's.
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
    /// Returns the failure. An error of the library gets `context` added.
    pub(crate) fn explained(self, context: impl Display) -> Failure {
        match self {
            Self::Library(error) => Failure::refused(context)(error),
            Self::Command(failure) => failure,
        }
    }
}

/// What the library names in its errors, and what a user of the command chooses instead.
const NAMES: [(&str, &str); 14] = [
    ("or box_indices that", "or --box-indices that"),
    ("OutOfRange::Zero", "--out-of-range zero"),
    ("OutOfRange::Clamp", "--out-of-range clamp"),
    ("Combine::Add", "--combine add"),
    ("Combine::Sub", "--combine sub"),
    ("Combine::Mul", "--combine mul"),
    ("Combine::Min", "--combine min"),
    ("Combine::Max", "--combine max"),
    ("Combine::Update", "--combine update"),
    (
        " (Backend::cpu), or on a backend with_fallback",
        " (--device cpu)",
    ),
    ("Backend::cpu", "--device cpu"),
    ("batch_dims", "--batch-dims"),
    (
        "choose OutOfRange::Zero (--out-of-range zero)",
        "choose --out-of-range zero",
    ),
    (", or stream the slice (Backend::stream)", ""),
];

/// The text of an error of the library, with the options of the command instead of items of the library.
fn in_words_of_the_command(error: &Error) -> String {
    let text = error.to_string();
    NAMES
        .iter()
        .fold(text, |text, (item, option)| text.replace(item, option))
}

impl Failure {
    pub(crate) fn usage(problem: impl Display) -> Self {
        Self::Usage(problem.to_string())
    }

    pub(crate) fn device(problem: impl Display) -> Self {
        Self::Device(problem.to_string())
    }

    /// Returns a function that adds `context` to an error of the library.
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
        /// As shells say that SIGPIPE ended a program.
        const SIGPIPE: u8 = 141;
        let code = match self {
            Self::Usage(_) => BAD_INPUT,
            Self::Device(_) => DEVICE,
            Self::ReaderGone => SIGPIPE,
            Self::Refused { error, .. } => match &**error {
                error if error.is_device_error() => DEVICE,
                Error::OutOfHostMemory { .. } => DEVICE,
                _ => BAD_INPUT,
            },
        };
        code.into()
    }
}
