//! Lines for people and programs. A reader that has gone away is no reason to panic, as `println!`
//! would: what was asked for has been done, and the exit code says how it went.

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
