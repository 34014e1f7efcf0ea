//! Prints lines for people and programs. Unlike `println!`, this does not panic if a line cannot be written. The first
//! error of standard output is kept until the command has finished its work. Then the command fails, unless the reader
//! has stopped reading.

use crate::failure::{Failure, without_os_error_numbers};
use anstyle::{AnsiColor, Style};
use std::{
    fmt,
    io::{self, ErrorKind, Write},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// True if only errors and the requested output are printed.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// True if the device, the reason for choosing it and the times of stages are also printed.
static IS_VERBOSE: AtomicBool = AtomicBool::new(false);

/// Sets the user's choice: `--quiet` and `--verbose`.
pub(crate) fn set_verbosity(quiet: bool, verbose: bool) {
    IS_QUIET.store(quiet, Relaxed);
    IS_VERBOSE.store(verbose, Relaxed);
}

pub(crate) fn is_quiet() -> bool {
    IS_QUIET.load(Relaxed)
}

pub(crate) fn is_verbose() -> bool {
    IS_VERBOSE.load(Relaxed)
}

/// The first error of standard output.
static STDOUT_ERROR: OnceLock<io::Error> = OnceLock::new();

/// Prints a line on standard output.
pub(crate) fn print_line(text: impl fmt::Display) {
    if let Err(error) = writeln!(io::stdout(), "{text}") {
        // Only the first error is kept.
        let _ = STDOUT_ERROR.set(error);
    }
}

/// Prints a text, with colours if standard output is a terminal.
pub(crate) fn print_styled(text: impl fmt::Display) {
    if let Err(error) = writeln!(anstream::stdout(), "{}", text.to_string().trim_end()) {
        let _ = STDOUT_ERROR.set(error);
    }
}

/// Does the same as [`print_styled`], on standard error.
pub(crate) fn print_styled_to_stderr(text: impl fmt::Display) {
    let _ = writeln!(anstream::stderr(), "{}", text.to_string().trim_end());
}

/// Fails if a line could not be written to standard output, unless its reader has stopped reading.
pub(crate) fn check_stdout() -> Result<(), Failure> {
    if let Err(error) = io::stdout().flush() {
        let _ = STDOUT_ERROR.set(error);
    }
    STDOUT_ERROR.get().map_or(Ok(()), stdout_failure)
}

/// Turns an error of standard output into a failure. A reader that has stopped reading, as `head` does, causes no
/// failure.
pub(crate) fn stdout_failure(error: &io::Error) -> Result<(), Failure> {
    match error.kind() {
        ErrorKind::BrokenPipe => Ok(()),
        _ => Err(Failure::usage(format_args!(
            "cannot write to standard output: {error}"
        ))),
    }
}

/// Prints a warning or a note on standard error, or nothing with `--quiet`.
pub(crate) fn print_note(text: impl fmt::Display) {
    if !is_quiet() {
        print_line_to_stderr(text);
    }
}

/// Prints an error on standard error.
pub(crate) fn print_error(failure: &Failure) {
    let text = without_os_error_numbers(format_args!("error: {failure}"));
    print_line_to_stderr(shorten_lines(&text));
}

/// Returns the style for the first word of a line, as in clap's messages.
fn style_of_label(label: &str) -> Style {
    match label {
        "error" => AnsiColor::Red.on_default().bold(),
        "warning" => AnsiColor::Yellow.on_default().bold(),
        _ => Style::new(),
    }
}

/// Prints a line on standard error.
pub(crate) fn print_line_to_stderr(text: impl fmt::Display) {
    let text = text.to_string();
    let (label, rest) = text.split_once(':').unwrap_or(("", &text));
    let style = style_of_label(label);
    let _ = match style.is_plain() {
        true => writeln!(io::stderr(), "{text}"),
        false => writeln!(anstream::stderr(), "{style}{label}:{style:#}{rest}"),
    };
}

/// Shortens each line of more than 400 characters to its first and last 200 characters. Such lines quote long input.
pub(crate) fn shorten_lines(message: &str) -> String {
    const CHARS_PER_END: usize = 200;
    let shorten_line = |line: &str| {
        let is_long = line.char_indices().nth(2 * CHARS_PER_END).is_some();
        let begin = line.char_indices().nth(CHARS_PER_END);
        let end = line.char_indices().nth_back(CHARS_PER_END - 1);
        match (begin, end) {
            (Some((begin, _)), Some((end, _))) if is_long => {
                format!("{} … {}", &line[..begin], &line[end..])
            }
            _ => line.to_owned(),
        }
    };
    message
        .lines()
        .map(shorten_line)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Prints a value as one line of JSON on standard output.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    print_line(serde_json::to_string(value).map_err(Failure::usage)?);
    Ok(())
}
