//! Prints lines for people and programs. Unlike `println!`, this does not panic if nobody reads them: a line that
//! cannot be written is remembered, and is an error at the end of the command, whose work has then been done.

use crate::failure::Failure;
use std::{
    fmt,
    io::{self, ErrorKind, Write},
    sync::OnceLock,
};

/// The first error of standard output.
static UNWRITTEN: OnceLock<io::Error> = OnceLock::new();

/// Prints a line on standard output.
pub(crate) fn line(text: impl fmt::Display) {
    if let Err(error) = writeln!(io::stdout(), "{text}") {
        // Only the first error is kept.
        let _ = UNWRITTEN.set(error);
    }
}

/// Fails if a line could not be written to standard output.
pub(crate) fn all_written() -> Result<(), Failure> {
    if let Err(error) = io::stdout().flush() {
        let _ = UNWRITTEN.set(error);
    }
    UNWRITTEN.get().map_or(Ok(()), unwritten)
}

/// The failure to write to standard output. It is no failure if the reader has stopped reading, as `head` does.
pub(crate) fn unwritten(error: &io::Error) -> Result<(), Failure> {
    match error.kind() {
        ErrorKind::BrokenPipe => Ok(()),
        _ => Err(Failure::usage(format_args!(
            "cannot write to standard output: {error}"
        ))),
    }
}

/// Prints a line on standard error.
pub(crate) fn line_to_stderr(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// A message whose long lines, which quote long input, show only their beginning and end.
pub(crate) fn clipped(message: &str) -> String {
    const END: usize = 200;
    let line = |line: &str| {
        let long = line.char_indices().nth(2 * END).is_some();
        let begin = line.char_indices().nth(END);
        let end = line.char_indices().nth_back(END - 1);
        match (begin, end) {
            (Some((begin, _)), Some((end, _))) if long => {
                format!("{} … {}", &line[..begin], &line[end..])
            }
            _ => line.to_owned(),
        }
    };
    message.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Prints a value as one line of JSON on standard output.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<(), Failure> {
    line(serde_json::to_string(value).map_err(Failure::usage)?);
    Ok(())
}
