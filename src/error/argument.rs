//! [`ArgumentError`], one type for all errors of arguments. Most other files of this folder contain the functions
//! that make these errors: one function for each error, one file for each group of operations.

use super::{ArgumentKind, Error};
use crate::prelude::*;

/// Arguments that contradict each other, or that do not fit the shape. The message names the argument, its value, the
/// rule and a remedy. Programs can use [`ArgumentError::kind`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ArgumentError {
    kind: ArgumentKind,
    message: String,
}

impl ArgumentError {
    /// Returns the rule that the arguments break.
    pub fn kind(&self) -> ArgumentKind {
        self.kind
    }
}

/// Makes an error of this kind with this message.
pub(super) fn of_kind(kind: ArgumentKind, message: String) -> Error {
    Error::Argument(ArgumentError { kind, message })
}

/// Makes an error of this kind. The other arguments are the message, as for `format!`.
macro_rules! argument {
    ($kind:ident, $($message:tt)*) => {
        $crate::error::argument::of_kind($crate::error::ArgumentKind::$kind, alloc::format!($($message)*))
    };
}
pub(super) use argument;
