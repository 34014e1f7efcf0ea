//! Parses integers that people type: index tuples, and the order of dimensions.

use std::fmt;

/// Index tuples of the same length.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tuples {
    /// The number of tuples, and the number of indices in each.
    pub(crate) shape: [usize; 2],
    pub(crate) indices: Vec<i64>,
}

/// The reason why numbers cannot be parsed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadNumbers(pub(crate) String);

impl fmt::Display for BadNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadNumbers {}

/// Returns the lines that are not empty. A semicolon also ends a line.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.split(['\n', ';']).map(str::trim);
    lines.filter(|line| !line.is_empty())
}

/// Parses tuples, one from each line.
pub(crate) fn tuples(text: &str) -> Result<Tuples, BadNumbers> {
    let mut indices = Vec::new();
    let mut shape = [0, 0];
    for (line, number) in lines(text).zip(1..) {
        let tuple = integers(line)
            .map_err(|BadNumbers(why)| BadNumbers(format!("tuple {number}: {why}")))?;
        if number > 1 && tuple.len() != shape[1] {
            return Err(BadNumbers(format!(
                "tuple {number} has {}, but the first has {}: all tuples must have the same length",
                index_count_text(tuple.len()),
                shape[1]
            )));
        }
        shape = [number, tuple.len()];
        indices.extend(tuple);
    }
    match shape[0] {
        0 => Err(BadNumbers("type at least one tuple of indices".into())),
        _ => Ok(Tuples { shape, indices }),
    }
}

/// Parses integers that are separated by commas or spaces, with or without brackets around them.
pub(crate) fn integers(text: &str) -> Result<Vec<i64>, BadNumbers> {
    let text = text.trim();
    let bracketed_text = [('[', ']'), ('(', ')')]
        .into_iter()
        .find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close));
    let parts = bracketed_text
        .unwrap_or(text)
        .split(|c: char| c == ',' || c.is_whitespace());
    parts
        .filter(|part| !part.is_empty())
        .map(|part| {
            let bad = |_| BadNumbers(format!("{part:?} is not an integer of 64 bits"));
            part.parse().map_err(bad)
        })
        .collect()
}

fn index_count_text(index_count: usize) -> String {
    match index_count {
        1 => "1 index".into(),
        _ => format!("{index_count} indices"),
    }
}
