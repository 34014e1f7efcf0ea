//! Errors in the text of a slice.

use std::fmt;

/// A slice text that does not parse.
///
/// Displayed with the text and a caret under the offending character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    pub(crate) text: String,
    pub(crate) position: usize,
    pub(crate) problem: String,
}

impl ParseError {
    /// The position in the text, in characters from 0.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The message, without position and text.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} at character {}:", self.problem, self.position + 1)?;
        // One line, so that the caret is under its character even if the text has line breaks.
        let line: String = self
            .text
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        writeln!(f, "  {line}")?;
        write!(f, "  {:>width$}", '^', width = self.position + 1)
    }
}

impl std::error::Error for ParseError {}
