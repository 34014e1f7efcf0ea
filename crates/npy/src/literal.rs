//! Parses Python literals, the language of headers.
//!
//! No crate for Python literals is used: the known crates take exponential time in the depth of brackets, and panic on
//! some numbers. This parser takes one pass and limits the depth of brackets.

/// A literal other than a dict. Only [`LiteralParser::parse_dict`] reads a dict.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PythonLiteral {
    Text(String),
    Number(usize),
    Truth(bool),
    /// A tuple or a list.
    Sequence(Vec<Self>),
}

/// The maximum nesting of brackets. Each level of a structured type takes two levels of brackets.
const MAX_DEPTH: usize = 32;

/// Describes where a text is malformed: quotes the text at that position, or says that the text ends too early.
#[derive(Debug)]
pub(crate) struct Malformed(pub(crate) String);

/// Parses a text from beginning to end. `rest` is the part that is not parsed yet.
pub(crate) struct LiteralParser<'a> {
    rest: &'a str,
}

impl<'a> LiteralParser<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    /// Parses a dict with strings as keys, which must be the whole text.
    pub(crate) fn parse_dict(&mut self) -> Result<Vec<(String, PythonLiteral)>, Malformed> {
        let mut entries = Vec::new();
        self.skip_or_fail('{')?;
        while !self.take('}') {
            let PythonLiteral::Text(key) = self.parse_value(1)? else {
                return Err(self.malformed_here());
            };
            self.skip_or_fail(':')?;
            entries.push((key, self.parse_value(1)?));
            if !self.take(',') {
                self.skip_or_fail('}')?;
                break;
            }
        }
        self.skip_space();
        match self.rest {
            "" => Ok(entries),
            _ => Err(self.malformed_here()),
        }
    }

    pub(crate) fn malformed_here(&self) -> Malformed {
        const SHOWN_CHARS: usize = 20;
        Malformed(match self.rest {
            "" => "it ends too early".into(),
            rest => format!("at '{}'", to_printable(rest.chars().take(SHOWN_CHARS))),
        })
    }

    /// Skips white space and comments.
    fn skip_space(&mut self) {
        loop {
            self.rest = self.rest.trim_ascii_start();
            let Some(comment) = self.rest.strip_prefix('#') else {
                return;
            };
            self.rest = comment.find('\n').map_or("", |end| &comment[end..]);
        }
    }

    fn take(&mut self, c: char) -> bool {
        self.skip_space();
        let after_char = self.rest.strip_prefix(c);
        self.rest = after_char.unwrap_or(self.rest);
        after_char.is_some()
    }

    fn skip_or_fail(&mut self, c: char) -> Result<(), Malformed> {
        match self.take(c) {
            true => Ok(()),
            false => Err(self.malformed_here()),
        }
    }

    fn parse_value(&mut self, depth: usize) -> Result<PythonLiteral, Malformed> {
        if depth > MAX_DEPTH {
            return Err(self.malformed_here());
        }
        self.skip_space();
        for (word, truth) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(PythonLiteral::Truth(truth));
            }
        }
        match self.rest.chars().next() {
            Some('(') => self.parse_sequence(')', depth),
            Some('[') => self.parse_sequence(']', depth),
            Some('0'..='9') => self.parse_number().map(PythonLiteral::Number),
            _ => self.parse_string().map(PythonLiteral::Text),
        }
    }

    fn parse_sequence(&mut self, close: char, depth: usize) -> Result<PythonLiteral, Malformed> {
        self.rest = &self.rest[1..];
        let mut values = Vec::new();
        while !self.take(close) {
            values.push(self.parse_value(depth + 1)?);
            if !self.take(',') {
                self.skip_or_fail(close)?;
                break;
            }
        }
        Ok(PythonLiteral::Sequence(values))
    }

    /// Parses a string in single or double quotes. Python 2 wrote Unicode strings as `u'…'`.
    fn parse_string(&mut self) -> Result<String, Malformed> {
        let unread = self.rest;
        let quoted = unread.strip_prefix(['u', 'U']).unwrap_or(unread);
        let Some(quote) = quoted.chars().next().filter(|c| "'\"".contains(*c)) else {
            return Err(self.malformed_here());
        };
        let mut text = String::new();
        let mut chars = quoted[1..].chars();
        loop {
            match chars.next() {
                Some(c) if c == quote => break,
                Some('\\') => match parse_escape(&mut chars) {
                    Some(c) => text.push(c),
                    None => return Err(self.malformed_here()),
                },
                Some(c) if c != '\n' => text.push(c),
                _ => return Err(self.malformed_here()),
            }
        }
        self.rest = chars.as_str();
        Ok(text)
    }

    fn parse_number(&mut self) -> Result<usize, Malformed> {
        let end = self
            .rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let (digits, radix) = match word.get(..2).map(str::to_ascii_lowercase).as_deref() {
            Some("0x") => (&word[2..], 16),
            Some("0o") => (&word[2..], 8),
            Some("0b") => (&word[2..], 2),
            _ => (word, 10),
        };
        // Python 2 wrote its long integers as `3L`.
        let digits = digits.strip_suffix(['L', 'l']).unwrap_or(digits);
        let number = usize::from_str_radix(&digits.replace('_', ""), radix);
        let number = number.map_err(|_| self.malformed_here())?;
        self.rest = rest;
        Ok(number)
    }
}

/// Parses the characters after a backslash. Returns `None` if they are not a known escape sequence.
fn parse_escape(chars: &mut std::str::Chars<'_>) -> Option<char> {
    let digit_count = match chars.next()? {
        c @ ('\\' | '\'' | '"') => return Some(c),
        'n' => return Some('\n'),
        't' => return Some('\t'),
        'r' => return Some('\r'),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return None,
    };
    let hex_digits = chars.as_str().get(..digit_count)?;
    chars.nth(digit_count - 1)?;
    char::from_u32(u32::from_str_radix(hex_digits, 16).ok()?)
}

/// Replaces control characters, which could move a terminal's cursor, by question marks.
pub(crate) fn to_printable(text: impl Iterator<Item = char>) -> String {
    text.map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Quotes a string as a Python literal.
pub(crate) fn quote_string(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut quoted = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => quoted.push_str("\\\\"),
            c if c == quote => quoted.extend(['\\', c]),
            c if c.is_control() && u32::from(c) < 0x100 => {
                quoted.push_str(&format!("\\x{:02x}", u32::from(c)));
            }
            c => quoted.push(c),
        }
    }
    quoted.push(quote);
    quoted
}
