//! Parses and prints slices as text: the content of the brackets of Python's `x[…]`.
//!
//! ```text
//! slice = items | name "[" items "]" | "[" items "]" | "(" items ")"
//! items = [ item { "," item } [ "," ] ]
//! item  = integer | [integer|"None"] ":" [integer|"None"] [ ":" [integer|"None"] ]
//!       | "slice(" bound [ "," bound [ "," bound ] ] ")"          bound = integer | "None"
//!       | "..." | "Ellipsis" | "None" | "np.newaxis" | "tf.newaxis"
//! ```
//!
//! An index expression with arrays has more kinds of items:
//!
//! ```text
//! item  = list | array | "True" | "False"
//! array = "array(" list { "," "dtype=" name | "," "shape=(" sizes ")" } ")"
//! list  = "[" [ entry { "," entry } [ "," ] ] "]"      entry = list | integer | "True" | "False"
//! ```
//!
//! Brackets without a name are dropped only if an item in them is a range, an ellipsis or a new axis, which a list
//! cannot contain: `[1:, 2]` means `1:, 2`. All other brackets begin a list of positions, as in Python: `[0, 2]`
//! selects two rows in an [`IndexSpec`], and a [`SliceSpec`] rejects it. Only one pair of brackets is dropped. Python
//! prints the content of `x[…]` as a tuple in parentheses, with `slice(0, 1, None)` and `array([0, 2])`. The parser
//! accepts this form, and `np.` before `array`. NumPy prints the shape of an array without elements: `array([],
//! shape=(0, 3), dtype=bool)`. `numpy.newaxis` and `newaxis` are accepted too. White space is allowed between tokens.
//!
//! Integers are signed 64-bit, with Python's underscores. `None` in a range leaves out the bound or the stride, as in
//! `slice(None, None, -1)`.

use super::{IndexItem, IndexSpec, SliceItem, SliceSpec};
use crate::prelude::*;
use crate::{Error, error::ParseError};
use core::{fmt, str::FromStr};

impl FromStr for SliceSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parse_all(text, |parser| {
            parser
                .parse_expression(Parser::parse_slice_item)
                .map(Self::new)
        })
    }
}

impl FromStr for IndexSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parse_all(text, |parser| {
            parser
                .parse_expression(Parser::parse_index_item)
                .map(Self::new)
        })
    }
}

/// Parses all of `text` with `parse`.
fn parse_all<T>(
    text: &str,
    parse: impl FnOnce(&mut Parser<'_>) -> Result<T, ParseProblem>,
) -> Result<T, Error> {
    let mut parser = Parser { text, rest: text };
    let outcome = parse(&mut parser).and_then(|value| match parser.skip_spaces_and_peek() {
        None => Ok(value),
        Some(_) => Err(parser.problem("nothing may follow the closing bracket")),
    });
    outcome.map_err(|(offset, problem)| {
        ParseError {
            text: text.to_owned(),
            position: text[..offset].chars().count(),
            problem,
        }
        .into()
    })
}

/// Names of a new axis other than `None`.
const NEW_AXES: [&str; 4] = ["np.newaxis", "numpy.newaxis", "tf.newaxis", "newaxis"];

/// The maximum depth of nested lists, far more than the number of dimensions of real arrays.
const MAX_NESTED_LISTS: usize = 64;

/// A list: its shape, and its numbers or truth values.
#[derive(Default)]
struct ParsedList {
    shape: Vec<usize>,
    numbers: Vec<i64>,
    truths: Vec<bool>,
}

impl ParsedList {
    fn is_empty(&self) -> bool {
        self.numbers.is_empty() && self.truths.is_empty()
    }

    /// Converts the list, which begins at byte `start` of the text, to an entry of an expression. Fails if the list has
    /// both numbers and truth values.
    fn into_item(self, start: usize) -> Result<IndexItem, ParseProblem> {
        let Self {
            shape,
            numbers,
            truths,
        } = self;
        match (numbers.is_empty(), truths.is_empty()) {
            (_, true) => Ok(IndexItem::Positions {
                values: numbers,
                shape,
            }),
            (true, false) => Ok(IndexItem::Mask {
                values: truths,
                shape,
            }),
            (false, false) => Err((start, "a list of positions and truth values".into())),
        }
    }
}

/// The offset in bytes of an error in the text, and the message.
type ParseProblem = (usize, String);

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
}

impl Parser<'_> {
    /// Reads all items. The text is `name[…]`, brackets or parentheses around all items, or the items alone.
    fn parse_expression<T>(
        &mut self,
        parse_item: impl Fn(&mut Self) -> Result<T, ParseProblem>,
    ) -> Result<Vec<T>, ParseProblem> {
        let bracket = match self.skip_name() || self.is_enclosed() {
            true => self.skip_bracket('[', "]"),
            false => self.skip_bracket('(', ")"),
        };
        self.parse_items_until(bracket, parse_item)
    }

    /// Skips the name of an array before `[` and returns true. If the text begins differently, reads nothing and
    /// returns false.
    fn skip_name(&mut self) -> bool {
        self.skip_spaces_and_peek();
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let is_name = !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && !["None", "Ellipsis", "newaxis", "True", "False"].contains(&name)
            && rest.trim_start().starts_with('[');
        if is_name {
            self.rest = rest;
        }
        is_name
    }

    /// Returns whether the text begins with a bracket that contains a range, an ellipsis or a new axis outside of inner
    /// brackets.
    fn is_enclosed(&mut self) -> bool {
        if self.skip_spaces_and_peek() != Some('[') {
            return false;
        }
        let mut depth = 0;
        let mut outer_text = String::new();
        for c in self.rest.chars() {
            match c {
                '[' => depth += 1,
                ']' if depth == 1 => break,
                ']' => depth -= 1,
                _ if depth == 1 => outer_text.push(c),
                _ => {}
            }
        }
        let is_name = |word: &str| NEW_AXES.contains(&word) || ["None", "Ellipsis"].contains(&word);
        [":", "...", "slice("]
            .iter()
            .any(|item| outer_text.contains(item))
            || outer_text.split(',').map(str::trim).any(is_name)
    }

    /// Skips the bracket `open` and returns it, or returns `None` if another character comes next.
    fn skip_bracket(&mut self, open: char, close: &'static str) -> Option<Bracket> {
        let is_open = self.skip_spaces_and_peek() == Some(open);
        is_open.then(|| {
            let offset = self.offset();
            self.rest = &self.rest[1..];
            Bracket { offset, close }
        })
    }

    /// Reads items separated by commas, up to the bracket that closes `bracket` or, if it is `None`, to the end of the
    /// text.
    fn parse_items_until<T>(
        &mut self,
        bracket: Option<Bracket>,
        parse_item: impl Fn(&mut Self) -> Result<T, ParseProblem>,
    ) -> Result<Vec<T>, ParseProblem> {
        let is_closed = |parser: &mut Self| match bracket {
            Some(bracket) => parser.skip_token(bracket.close),
            None => parser.skip_spaces_and_peek().is_none(),
        };
        let mut items = Vec::new();
        while !is_closed(self) {
            items.push(parse_item(self)?);
            if is_closed(self) {
                break;
            }
            if !self.skip_token(",") {
                return Err(match (self.skip_spaces_and_peek(), bracket) {
                    (None, Some(open)) => (open.offset, "this bracket is not closed".into()),
                    (Some(']' | ')'), None) => self.problem("a bracket that was not opened"),
                    _ => {
                        let next_token = self.describe_next();
                        self.problem(&format!("expected a comma, found {next_token}"))
                    }
                });
            }
        }
        Ok(items)
    }

    /// Reads an item of a slice. Rejects lists, but parses them first, so that a syntax error in a list is reported
    /// instead.
    fn parse_slice_item(&mut self) -> Result<SliceItem, ParseProblem> {
        if self.skip_spaces_and_peek() != Some('[') {
            return self.parse_plain_item();
        }
        let start = self.offset();
        self.parse_list(MAX_NESTED_LISTS)?;
        let reason = "a slice has no lists of positions (`index` takes them: Backend::index)";
        Err((start, reason.into()))
    }

    fn parse_index_item(&mut self) -> Result<IndexItem, ParseProblem> {
        if let Some(bracket) = self.skip_array_name() {
            return self.parse_array_arguments(bracket);
        }
        if self.skip_spaces_and_peek() != Some('[')
            && !self.rest.starts_with("True")
            && !self.rest.starts_with("False")
        {
            return self.parse_plain_item().map(IndexItem::Slice);
        }
        let start = self.offset();
        self.parse_list(MAX_NESTED_LISTS)?.into_item(start)
    }

    /// Skips `array(`, with or without `np.` or `numpy.`, and returns the bracket. If the text begins differently,
    /// skips nothing and returns `None`.
    fn skip_array_name(&mut self) -> Option<Bracket> {
        let unread_before = self.rest;
        let is_named = ["array", "np.array", "numpy.array"]
            .into_iter()
            .any(|name| self.skip_word(name));
        let bracket = match is_named {
            true => self.skip_bracket('(', ")"),
            false => None,
        };
        if bracket.is_none() {
            self.rest = unread_before;
        }
        bracket
    }

    /// Reads the arguments of NumPy's `array`.
    fn parse_array_arguments(&mut self, bracket: Bracket) -> Result<IndexItem, ParseProblem> {
        self.skip_spaces_and_peek();
        let start = self.offset();
        let mut parsed_list = self.parse_list(MAX_NESTED_LISTS)?;
        let mut is_mask = false;
        while self.skip_token(",") {
            self.skip_spaces_and_peek();
            let argument_start = self.offset();
            if self.skip_word("dtype") && self.skip_token("=") {
                let end = self.rest.find([',', ')']).unwrap_or(self.rest.len());
                let (name, rest) = self.rest.split_at(end);
                self.rest = rest;
                let name = name.trim().trim_matches(['\'', '"']);
                let name = name.strip_prefix("np.").unwrap_or(name);
                is_mask = name.starts_with("bool");
                if !is_mask && !name.starts_with("int") && !name.starts_with("uint") {
                    return Err((
                        argument_start,
                        "an index is an array of integers or of bool".into(),
                    ));
                }
            } else if self.skip_word("shape") && self.skip_token("=") {
                let shape_bracket = self.skip_bracket('(', ")");
                let Some(shape_bracket) = shape_bracket else {
                    return Err(self.problem("expected a shape, as in (0, 3)"));
                };
                let sizes = self.parse_items_until(Some(shape_bracket), |parser| {
                    let size_start = parser.offset();
                    let size = parser.parse_bound()?.into_integer();
                    let size = size.and_then(|size| usize::try_from(size).ok());
                    size.ok_or((size_start, "expected a size".into()))
                })?;
                if !parsed_list.is_empty() || !sizes.contains(&0) {
                    return Err((
                        argument_start,
                        "only an array without elements has a shape".into(),
                    ));
                }
                parsed_list.shape = sizes;
            } else {
                return Err((argument_start, "expected `dtype=` or `shape=`".into()));
            }
        }
        if !self.skip_token(bracket.close) {
            return Err((bracket.offset, "this bracket is not closed".into()));
        }
        match parsed_list.into_item(start)? {
            IndexItem::Positions { values, shape } if is_mask && values.is_empty() => {
                let values = Vec::new();
                Ok(IndexItem::Mask { values, shape })
            }
            IndexItem::Positions { .. } if is_mask => {
                Err((start, "an array of bool holds True and False".into()))
            }
            item => Ok(item),
        }
    }

    /// Reads a list, a number or a truth value. `max_levels` is the maximum number of levels of nested lists in it.
    fn parse_list(&mut self, max_levels: usize) -> Result<ParsedList, ParseProblem> {
        let start = self.offset();
        let Some(bracket) = self.skip_bracket('[', "]") else {
            let mut parsed_list = ParsedList::default();
            for (name, truth) in [("True", true), ("False", false)] {
                if self.skip_word(name) {
                    parsed_list.truths.push(truth);
                    return Ok(parsed_list);
                }
            }
            return match self.parse_bound()? {
                RangeBound::Integer(number) => {
                    parsed_list.numbers.push(number);
                    Ok(parsed_list)
                }
                RangeBound::Absent | RangeBound::None => {
                    let next_token = self.describe_next();
                    Err(self.problem(&format!(
                        "expected a position, True or False, found {next_token}"
                    )))
                }
            };
        };
        let Some(inner_levels) = max_levels.checked_sub(1) else {
            return Err((
                start,
                format!("more than {MAX_NESTED_LISTS} lists within lists"),
            ));
        };
        let lists =
            self.parse_items_until(Some(bracket), |parser| parser.parse_list(inner_levels))?;
        let mut joined_list = ParsedList {
            shape: vec![lists.len()],
            ..ParsedList::default()
        };
        if let Some(first) = lists.first() {
            if lists.iter().any(|list| list.shape != first.shape) {
                return Err((start, "the entries of this list differ in shape".into()));
            }
            joined_list.shape.extend(&first.shape);
        }
        for list in lists {
            joined_list.numbers.extend(list.numbers);
            joined_list.truths.extend(list.truths);
        }
        Ok(joined_list)
    }

    fn parse_plain_item(&mut self) -> Result<SliceItem, ParseProblem> {
        if self.skip_token("...") || self.skip_word("Ellipsis") {
            return Ok(SliceItem::Ellipsis);
        }
        for name in NEW_AXES {
            if self.skip_word(name) {
                return Ok(SliceItem::NewAxis);
            }
        }
        let unread_before = self.rest;
        if self.skip_word("slice") {
            if let Some(bracket) = self.skip_bracket('(', ")") {
                return self.parse_slice_arguments(bracket);
            }
            self.rest = unread_before;
        }
        let first_bound = self.parse_bound()?;
        if !self.skip_token(":") {
            return match first_bound {
                RangeBound::Integer(index) => Ok(SliceItem::Index { index, stride: 1 }),
                RangeBound::None => Ok(SliceItem::NewAxis),
                RangeBound::Absent => {
                    let next_token = self.describe_next();
                    Err(self.problem(&format!(
                        "expected an index, a range, `...` or `None`, found {next_token}"
                    )))
                }
            };
        }
        let end = self.parse_bound()?.into_integer();
        let stride = match self.skip_token(":") {
            true => self.parse_bound()?.into_integer().unwrap_or(1),
            false => 1,
        };
        let begin = first_bound.into_integer();
        Ok(SliceItem::Range { begin, end, stride })
    }

    /// Reads the arguments of Python's `slice`: the end alone, or the start, the end and optionally the stride.
    fn parse_slice_arguments(&mut self, bracket: Bracket) -> Result<SliceItem, ParseProblem> {
        let start = bracket.offset;
        let bounds =
            self.parse_items_until(Some(bracket), |parser| match parser.parse_bound()? {
                RangeBound::Absent => {
                    let next_token = parser.describe_next();
                    Err(parser.problem(&format!("expected an integer or None, found {next_token}")))
                }
                bound => Ok(bound.into_integer()),
            })?;
        let (begin, end, stride) = match bounds[..] {
            [end] => (None, end, None),
            [begin, end] => (begin, end, None),
            [begin, end, stride] => (begin, end, stride),
            _ => return Err((start, "slice takes one, two or three bounds".into())),
        };
        let stride = stride.unwrap_or(1);
        Ok(SliceItem::Range { begin, end, stride })
    }

    fn parse_bound(&mut self) -> Result<RangeBound, ParseProblem> {
        if self.skip_word("None") {
            return Ok(RangeBound::None);
        }
        self.skip_spaces_and_peek();
        let start = self.offset();
        let sign_length = usize::from(self.rest.starts_with(['-', '+']));
        let digit_count =
            self.rest[sign_length..].find(|c: char| !(c.is_ascii_digit() || c == '_'));
        let length = digit_count.map_or(self.rest.len(), |count| sign_length + count);
        let (number_text, rest) = self.rest.split_at(length);
        // Python's rule: an underscore must be between two digits.
        let is_digit = |at: usize| {
            number_text
                .as_bytes()
                .get(at)
                .is_some_and(u8::is_ascii_digit)
        };
        let is_between_digits = |at: usize| at > 0 && is_digit(at - 1) && is_digit(at + 1);
        if let Some((at, _)) = number_text
            .match_indices('_')
            .find(|&(at, _)| !is_between_digits(at))
        {
            let reason = "an underscore must stand between two digits";
            return Err((start + at, reason.into()));
        }
        self.rest = rest;
        if number_text.is_empty() {
            return Ok(RangeBound::Absent);
        }
        if number_text.len() == sign_length {
            return Err((start, "a sign without a number".into()));
        }
        if rest.starts_with(['.', 'e', 'E']) {
            return Err((start, "an index must be an integer".into()));
        }
        match number_text.replace('_', "").parse() {
            Ok(integer) => Ok(RangeBound::Integer(integer)),
            Err(_) => Err((start, "this number does not fit 64 bits".into())),
        }
    }

    /// Returns the offset in bytes of the next character.
    fn offset(&self) -> usize {
        self.text.len() - self.rest.len()
    }

    /// Skips white space. Returns the next character, which stays unread, or `None` at the end of the text.
    fn skip_spaces_and_peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    /// Skips `token` and returns true if it comes next. Otherwise skips only white space and returns false.
    fn skip_token(&mut self, token: &str) -> bool {
        self.skip_spaces_and_peek();
        let after_token = self.rest.strip_prefix(token);
        self.rest = after_token.unwrap_or(self.rest);
        after_token.is_some()
    }

    /// Skips the next word and returns true if this word is `name`. Otherwise skips nothing and returns false, even if
    /// the word begins with `name`.
    fn skip_word(&mut self, name: &str) -> bool {
        let unread_before = self.rest;
        let is_longer = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let is_taken = self.skip_token(name) && !is_longer(self.rest);
        if !is_taken {
            self.rest = unread_before;
        }
        is_taken
    }

    fn describe_next(&mut self) -> String {
        match self.skip_spaces_and_peek() {
            Some(c) => format!("{c:?}"),
            None => "the end".into(),
        }
    }

    /// Makes an error at the next character.
    fn problem(&self, message: &str) -> ParseProblem {
        (self.offset(), message.to_owned())
    }
}

/// The offset in bytes of an opening bracket in the text, and its closing bracket.
#[derive(Clone, Copy)]
struct Bracket {
    offset: usize,
    close: &'static str,
}

/// The text where a range can have a bound or a stride: nothing, the word `None`, or an integer.
enum RangeBound {
    Absent,
    None,
    Integer(i64),
}

impl RangeBound {
    fn into_integer(self) -> Option<i64> {
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

impl fmt::Display for IndexItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slice(item) => item.fmt(f),
            // The text of a list without elements shows neither its inner sizes nor its type.
            Self::Positions { shape, .. } if shape.contains(&0) && shape[..] != [0] => {
                write_empty(f, shape, "int64")
            }
            Self::Mask { shape, .. } if shape.contains(&0) => write_empty(f, shape, "bool"),
            Self::Positions { values, shape } => {
                write_list(f, shape, &mut values.iter().map(ToString::to_string))
            }
            Self::Mask { values, shape } => {
                let truth_name = |&truth: &bool| if truth { "True" } else { "False" };
                write_list(f, shape, &mut values.iter().map(truth_name))
            }
        }
    }
}

/// Writes an array without elements, as NumPy does.
fn write_empty(f: &mut fmt::Formatter<'_>, shape: &[usize], dtype: &str) -> fmt::Result {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if sizes.len() == 1 { "," } else { "" };
    write!(
        f,
        "array([], shape=({}{comma}), dtype={dtype})",
        sizes.join(", ")
    )
}

fn write_list<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    shape: &[usize],
    values: &mut impl Iterator<Item = T>,
) -> fmt::Result {
    if shape.contains(&0) {
        return f.write_str("[]");
    }
    let Some((&size, inner)) = shape.split_first() else {
        return values.next().map_or(Ok(()), |value| value.fmt(f));
    };
    f.write_str("[")?;
    for position in 0..size {
        if position > 0 {
            f.write_str(", ")?;
        }
        write_list(f, inner, values)?;
    }
    f.write_str("]")
}

/// Prints Python's spelling, without brackets around the whole expression. The text does not show whether the
/// expression is outer.
impl fmt::Display for IndexSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_items(f, self.items())
    }
}

fn write_items(f: &mut fmt::Formatter<'_>, items: &[impl fmt::Display]) -> fmt::Result {
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{item}")?;
    }
    Ok(())
}

/// Prints Python's spelling. Parsing the text returns the same slice, except that all single indices have stride 1.
///
/// For a single index, all positive strides have the same meaning. The text does not show other strides of a single
/// index either, although they make the slice an error on every shape.
impl fmt::Display for SliceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_items(f, self.items())
    }
}
