//! [`ArgumentError`], which hides how many ways there are to be wrong. The other files of this folder have a function for
//! each, by the operations that it concerns.

use super::{ArgumentKind, Error};
use crate::prelude::*;

/// Arguments that contradict each other, or that do not fit the shape. The message names the argument, its value, the
/// rule and the way out, and [`ArgumentError::kind`] is for programs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ArgumentError {
    kind: ArgumentKind,
    message: String,
}

impl ArgumentError {
    /// The rule that is broken.
    pub fn kind(&self) -> ArgumentKind {
        self.kind
    }
}

/// The error of a kind, with a message.
pub(super) fn of_kind(kind: ArgumentKind, message: String) -> Error {
    Error::Argument(ArgumentError { kind, message })
}

/// The error of a kind, with a message that is given as to `format!`.
macro_rules! argument {
    ($kind:ident, $($message:tt)*) => {
        $crate::error::argument::of_kind($crate::error::ArgumentKind::$kind, alloc::format!($($message)*))
    };
}
pub(super) use argument;
