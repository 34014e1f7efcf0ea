//! Errors in the text of a slice.

use crate::prelude::*;

/// A slice text that does not parse.
///
/// The message shows the text, or the 100 characters around the error if the text is longer, with a caret under the
/// offending character.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message())]
pub struct ParseError {
    pub(crate) text: String,
    pub(crate) position: usize,
    pub(crate) problem: String,
}

impl ParseError {
    /// Returns the position of the error in the text, counted in characters from 0.
    pub fn position(&self) -> usize {
        self.position
    }
}

/// The maximum number of characters of the text in the message.
const MAX_SHOWN_CHARS: usize = 100;

impl ParseError {
    fn message(&self) -> String {
        let length = self.text.chars().count();
        // If the text is long, only the part around the caret is shown.
        let first_shown = self
            .position
            .saturating_sub(MAX_SHOWN_CHARS / 2)
            .min(length.saturating_sub(MAX_SHOWN_CHARS));
        let is_left_out = |at: usize| {
            (at == first_shown && first_shown > 0)
                || (at + 1 == first_shown + MAX_SHOWN_CHARS
                    && first_shown + MAX_SHOWN_CHARS < length)
        };
        // Control characters such as line breaks become spaces, so that the text is one line and the caret is under the
        // right character.
        let shown_chars = self
            .text
            .chars()
            .enumerate()
            .skip(first_shown)
            .take(MAX_SHOWN_CHARS);
        let line: String = shown_chars
            .map(|(at, c)| match c {
                _ if is_left_out(at) => '…',
                c if c.is_control() => ' ',
                c => c,
            })
            .collect();
        format!(
            "{} at character {}:\n  {line}\n  {:>width$}",
            self.problem,
            self.position + 1,
            '^',
            width = self.position - first_shown + 1
        )
    }
}
