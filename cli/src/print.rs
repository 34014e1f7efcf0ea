//! Prints lines for people and programs. Unlike `println!`, this does not panic if the reader has gone away:
//! the work has been done, and the exit code tells the outcome.

use std::{
    fmt,
    io::{self, Write},
};

/// A line on standard output.
pub(crate) fn line(text: impl fmt::Display) {
    let _ = writeln!(io::stdout(), "{text}");
}

/// A line on standard error.
pub(crate) fn line_to_stderr(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// A value as one line of JSON on standard output.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<(), crate::failure::Failure> {
    line(serde_json::to_string(value).map_err(crate::failure::Failure::usage)?);
    Ok(())
}
