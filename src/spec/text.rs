//! Slices as text: the content of the brackets of Python's `x[…]`.
//!
//! ```text
//! slice = [ "[" ] [ item { "," item } [ "," ] ] [ "]" ]
//! item  = integer | [integer|"None"] ":" [integer|"None"] [ ":" [integer|"None"] ]
//!       | "..." | "Ellipsis" | "None" | "np.newaxis" | "tf.newaxis"
//! ```
//!
//! Spaces are allowed between tokens. Integers are signed 64-bit, with Python's underscores. `None` in a range leaves
//! out the bound, as in `slice(None, None, -1)`.

use super::{SliceItem, SliceSpec};
use crate::{Error, error::ParseError};
use std::{fmt, str::FromStr};

impl FromStr for SliceSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let chars: Vec<char> = text.chars().collect();
        let mut parser = Parser {
            chars: &chars,
            at: 0,
        };
        parser.spec().map_err(|(position, problem)| {
            ParseError {
                text: text.to_owned(),
                position,
                problem,
            }
            .into()
        })
    }
}

/// A position and what is wrong there.
type Problem = (usize, String);

struct Parser<'a> {
    chars: &'a [char],
    at: usize,
}

impl Parser<'_> {
    fn spec(&mut self) -> Result<SliceSpec, Problem> {
        let bracket = self.take("[").then(|| self.at - 1);
        let closed = |parser: &mut Self| match bracket {
            Some(_) => parser.take("]"),
            None => parser.peek().is_none(),
        };
        let mut items = Vec::new();
        if !closed(self) {
            loop {
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
                if closed(self) {
                    break;
                }
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
        let start = self.at;
        let first = self.bound()?;
        if !self.take(":") {
            return match first {
                Bound::Integer(index) => Ok(SliceItem::Index { index, stride: 1 }),
                Bound::None => Ok(SliceItem::NewAxis),
                Bound::Absent => {
                    self.skip_spaces();
                    let what = format!(
                        "expected an index, a range, `...` or `None`, found {}",
                        self.found()
                    );
                    Err((self.at.max(start), what))
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
        self.skip_spaces();
        let start = self.at;
        let mut digits = String::new();
        if let Some(sign @ ('-' | '+')) = self.peek() {
            digits.push(sign);
            self.at += 1;
        }
        while let Some(c) = self
            .chars
            .get(self.at)
            .filter(|c| c.is_ascii_digit() || **c == '_')
        {
            // Python's rule: an underscore stands between two digits.
            let between = |at: usize| self.chars.get(at).is_some_and(char::is_ascii_digit);
            if *c != '_' {
                digits.push(*c);
            } else if self.at == 0 || !between(self.at - 1) || !between(self.at + 1) {
                return Err(self.problem("an underscore must stand between two digits"));
            }
            self.at += 1;
        }
        if self.at == start {
            return Ok(Bound::Absent);
        }
        if digits.len() == 1 && !digits.starts_with(|c: char| c.is_ascii_digit()) {
            return Err((start, "a sign without a number".into()));
        }
        if let Some('.' | 'e' | 'E') = self.chars.get(self.at) {
            return Err((start, "an index must be an integer".into()));
        }
        match digits.parse() {
            Ok(integer) => Ok(Bound::Integer(integer)),
            Err(_) => Err((start, "this number does not fit 64 bits".into())),
        }
    }

    fn skip_spaces(&mut self) {
        while self.chars.get(self.at).is_some_and(|c| c.is_whitespace()) {
            self.at += 1;
        }
    }

    fn peek(&mut self) -> Option<char> {
        self.skip_spaces();
        self.chars.get(self.at).copied()
    }

    fn take(&mut self, token: &str) -> bool {
        self.skip_spaces();
        let end = self.at + token.chars().count();
        let matches = self
            .chars
            .get(self.at..end)
            .is_some_and(|found| found.iter().copied().eq(token.chars()));
        if matches {
            self.at = end;
        }
        matches
    }

    /// Takes `name` if it is not the beginning of a longer word.
    fn word(&mut self, name: &str) -> bool {
        let start = self.at;
        if self.take(name)
            && !self
                .chars
                .get(self.at)
                .is_some_and(|c| c.is_alphanumeric() || *c == '_')
        {
            return true;
        }
        self.at = start;
        false
    }

    fn found(&mut self) -> String {
        match self.peek() {
            Some(c) => format!("{c:?}"),
            None => "the end".into(),
        }
    }

    fn problem(&self, what: &str) -> Problem {
        (self.at, what.to_owned())
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

/// Python's spelling, which parses back to the same slice.
///
/// It cannot express a single index whose stride is not positive. Only TensorFlow's encoding can, and every shape
/// refuses it.
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
