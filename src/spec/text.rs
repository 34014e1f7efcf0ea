//! Slices as text: the content of the brackets of Python's `x[…]`.
//!
//! ```text
//! slice = [ "[" ] [ item { "," item } [ "," ] ] [ "]" ]
//! item  = integer | [integer|"None"] ":" [integer|"None"] [ ":" [integer|"None"] ]
//!       | "..." | "Ellipsis" | "None" | "np.newaxis" | "tf.newaxis"
//! ```
//!
//! Both brackets are present, or neither is. `numpy.newaxis` is accepted too. White space is allowed between tokens.
//! Integers are signed 64-bit, with Python's underscores. `None` in a range leaves out the bound or the stride, as in
//! `slice(None, None, -1)`.

use super::{SliceItem, SliceSpec};
use crate::{Error, error::ParseError};
use std::{fmt, str::FromStr};

impl FromStr for SliceSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut parser = Parser { text, rest: text };
        parser.spec().map_err(|(at, problem)| {
            ParseError {
                text: text.to_owned(),
                position: text[..at].chars().count(),
                problem,
            }
            .into()
        })
    }
}

/// The byte of the text where an error lies, and the message.
type Problem = (usize, String);

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
}

impl Parser<'_> {
    fn spec(&mut self) -> Result<SliceSpec, Problem> {
        let bracket = self.take("[").then(|| self.at() - 1);
        let closed = |parser: &mut Self| match bracket {
            Some(_) => parser.take("]"),
            None => parser.peek().is_none(),
        };
        let mut items = Vec::new();
        while !closed(self) {
            items.push(self.item()?);
            if closed(self) {
                break;
            }
            if !self.take(",") {
                return Err(match (self.peek(), bracket) {
                    (None, Some(open)) => (open, "this bracket is not closed".into()),
                    (Some(']'), None) => self.problem("a bracket that was not opened"),
                    _ => {
                        let found = self.found();
                        self.problem(&format!("expected a comma, found {found}"))
                    }
                });
            }
        }
        match self.peek() {
            None => Ok(SliceSpec::new(items)),
            Some(_) => Err(self.problem("nothing may follow the closing bracket")),
        }
    }

    fn item(&mut self) -> Result<SliceItem, Problem> {
        if self.take("...") || self.word("Ellipsis") {
            return Ok(SliceItem::Ellipsis);
        }
        for name in ["np.newaxis", "numpy.newaxis", "tf.newaxis"] {
            if self.word(name) {
                return Ok(SliceItem::NewAxis);
            }
        }
        let first = self.bound()?;
        if !self.take(":") {
            return match first {
                Bound::Integer(index) => Ok(SliceItem::Index { index, stride: 1 }),
                Bound::None => Ok(SliceItem::NewAxis),
                Bound::Absent => {
                    let found = self.found();
                    Err(self.problem(&format!(
                        "expected an index, a range, `...` or `None`, found {found}"
                    )))
                }
            };
        }
        let end = self.bound()?.integer();
        let stride = match self.take(":") {
            true => self.bound()?.integer().unwrap_or(1),
            false => 1,
        };
        let begin = first.integer();
        Ok(SliceItem::Range { begin, end, stride })
    }

    fn bound(&mut self) -> Result<Bound, Problem> {
        if self.word("None") {
            return Ok(Bound::None);
        }
        self.peek();
        let start = self.at();
        let sign = usize::from(self.rest.starts_with(['-', '+']));
        let digits = self.rest[sign..].find(|c: char| !(c.is_ascii_digit() || c == '_'));
        let length = digits.map_or(self.rest.len(), |digits| sign + digits);
        let (number, rest) = self.rest.split_at(length);
        // Python's rule: an underscore is between two digits.
        let is_digit = |at: usize| number.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        let between = |at: usize| at > 0 && is_digit(at - 1) && is_digit(at + 1);
        if let Some((at, _)) = number.match_indices('_').find(|&(at, _)| !between(at)) {
            let what = "an underscore must stand between two digits";
            return Err((start + at, what.into()));
        }
        self.rest = rest;
        if number.is_empty() {
            return Ok(Bound::Absent);
        }
        if number.len() == sign {
            return Err((start, "a sign without a number".into()));
        }
        if rest.starts_with(['.', 'e', 'E']) {
            return Err((start, "an index must be an integer".into()));
        }
        match number.replace('_', "").parse() {
            Ok(integer) => Ok(Bound::Integer(integer)),
            Err(_) => Err((start, "this number does not fit 64 bits".into())),
        }
    }

    /// The byte of the text that is read next.
    fn at(&self) -> usize {
        self.text.len() - self.rest.len()
    }

    /// Skips white space and returns the next character, which stays unread. `None` at the end of the text.
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, token: &str) -> bool {
        self.peek();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Skips the next word and returns true if this word is `name`. Otherwise skips nothing and returns false, even if
    /// the word begins with `name`.
    fn word(&mut self, name: &str) -> bool {
        let before = self.rest;
        let is_longer = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let taken = self.take(name) && !is_longer(self.rest);
        if !taken {
            self.rest = before;
        }
        taken
    }

    fn found(&mut self) -> String {
        match self.peek() {
            Some(c) => format!("{c:?}"),
            None => "the end".into(),
        }
    }

    fn problem(&self, what: &str) -> Problem {
        (self.at(), what.to_owned())
    }
}

enum Bound {
    Absent,
    None,
    Integer(i64),
}

impl Bound {
    fn integer(self) -> Option<i64> {
        match self {
            Self::Integer(integer) => Some(integer),
            Self::Absent | Self::None => None,
        }
    }
}

impl fmt::Display for SliceItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Index { index, .. } => write!(f, "{index}"),
            Self::Ellipsis => f.write_str("..."),
            Self::NewAxis => f.write_str("None"),
            Self::Range { begin, end, stride } => {
                if let Some(begin) = begin {
                    write!(f, "{begin}")?;
                }
                f.write_str(":")?;
                if let Some(end) = end {
                    write!(f, "{end}")?;
                }
                if stride != 1 {
                    write!(f, ":{stride}")?;
                }
                Ok(())
            }
        }
    }
}

/// Prints Python's spelling. Parsing the text returns the same slice, except that all single indices have stride 1.
///
/// For a single index, all positive strides mean the same. Any other stride of a single index is lost in the text,
/// although it makes the slice an error on every shape.
impl fmt::Display for SliceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, item) in self.items().iter().enumerate() {
            if position > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{item}")?;
        }
        Ok(())
    }
}
