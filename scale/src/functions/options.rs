//! Parses options from a text, as in `axis=1, out_of_range=clamp`, and numbers from a text.

use datafusion::{common::plan_err, error::Result};
use std::str::FromStr;
use wgslice::options::{Combine, NegativeIndex, OutOfRange};

/// The options of one call.
pub(super) struct Options<'a> {
    name_value_pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> Options<'a> {
    /// Parses options. `option_names` lists the options of the function. Fails if an option is unknown, has no value,
    /// or is given twice.
    pub(super) fn parse(text: &'a str, option_names: &[&str]) -> Result<Self> {
        let mut name_value_pairs: Vec<(&str, &str)> = Vec::new();
        for entry in split(text) {
            let Some((name, value)) = entry.split_once('=') else {
                return plan_err!(
                    "option {entry:?} has no value: write options as in 'name=value, name=value'"
                );
            };
            let (name, value) = (name.trim(), value.trim());
            if !option_names.contains(&name) {
                return plan_err!(
                    "there is no option {name:?}: the options are {}",
                    option_names.join(", ")
                );
            }
            if name_value_pairs.iter().any(|&(other, _)| other == name) {
                return plan_err!("option {name} is given twice");
            }
            name_value_pairs.push((name, value));
        }
        Ok(Self { name_value_pairs })
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        let mut name_value_pairs = self.name_value_pairs.iter();
        name_value_pairs
            .find(|(other, _)| *other == name)
            .map(|&(_, value)| value)
    }

    /// Returns the integer value of option `name`. Returns `None` if the option is left out.
    pub(super) fn integer<I: FromStr>(&self, name: &str) -> Result<Option<I>> {
        match self.get(name).map(|value| (value, value.parse())) {
            None => Ok(None),
            Some((_, Ok(integer))) => Ok(Some(integer)),
            Some((value, Err(_))) => {
                plan_err!("option {name} is {value:?}, but must be an integer in range")
            }
        }
    }

    /// Returns the integers of option `name`. Empty if the option is left out.
    pub(super) fn integers<I: FromStr>(&self, name: &str) -> Result<Vec<I>> {
        self.get(name)
            .map_or(Ok(Vec::new()), |value| integers(name, value))
    }

    /// Returns the number, or the numbers in brackets, of option `name`. Returns `None` if the option is left out.
    pub(super) fn floats(&self, name: &str) -> Result<Option<Vec<f32>>> {
        match self.get(name).map(|value| (value, parse_numbers(value))) {
            None => Ok(None),
            Some((_, Some(floats))) => Ok(Some(floats)),
            Some((value, None)) => {
                plan_err!(
                    "option {name} is {value:?}, but must be a number or numbers, as in 0.5 or [0.5, 2]"
                )
            }
        }
    }

    pub(super) fn negative(&self) -> Result<NegativeIndex> {
        self.one_of(
            "negative",
            NegativeIndex::Invalid,
            &[
                ("out_of_range", NegativeIndex::Invalid),
                ("wrap", NegativeIndex::Wrap),
            ],
        )
    }

    pub(super) fn out_of_range(&self) -> Result<OutOfRange> {
        self.one_of(
            "out_of_range",
            OutOfRange::Error,
            &[
                ("error", OutOfRange::Error),
                ("ignore", OutOfRange::Ignore),
                ("zero", OutOfRange::Ignore),
                ("clamp", OutOfRange::Clamp),
            ],
        )
    }

    /// Returns whether true elements of a mask beyond the capacity are dropped.
    pub(super) fn drops_surplus(&self) -> Result<bool> {
        self.one_of("surplus", false, &[("error", false), ("drop", true)])
    }

    pub(super) fn combine(&self) -> Result<Combine> {
        self.one_of(
            "combine",
            Combine::Add,
            &Combine::ALL.map(|combine| (combine.to_string(), combine)),
        )
    }

    fn one_of<T: Copy>(
        &self,
        name: &str,
        default: T,
        values: &[(impl AsRef<str>, T)],
    ) -> Result<T> {
        let Some(value) = self.get(name) else {
            return Ok(default);
        };
        match values.iter().find(|(word, _)| word.as_ref() == value) {
            Some(&(_, chosen)) => Ok(chosen),
            None => {
                let words: Vec<_> = values.iter().map(|(word, _)| word.as_ref()).collect();
                plan_err!(
                    "option {name} is {value:?}, but must be one of {}",
                    words.join(", ")
                )
            }
        }
    }
}

/// Parses integers, as in `2, 3` or `[2, 3]`. An empty text or `[]` has none. `name` names the text in errors.
pub(super) fn integers<I: FromStr>(name: &str, text: &str) -> Result<Vec<I>> {
    match parse_numbers(text) {
        Some(integers) => Ok(integers),
        None => plan_err!("{name} is {text:?}, but must be integers in range, as in '2, 3'"),
    }
}

/// Parses numbers in the form of [`integers`]. `None` if any part of the list is not a number.
fn parse_numbers<I: FromStr>(text: &str) -> Option<Vec<I>> {
    let inner = text.trim();
    let inner = inner
        .strip_prefix('[')
        .and_then(|inner| inner.strip_suffix(']'))
        .unwrap_or(inner);
    if inner.trim().is_empty() {
        return Some(Vec::new());
    }
    let numbers = inner.split(',').map(|number| number.trim().parse().ok());
    numbers.collect()
}

/// Splits a text at the commas that are not within brackets, and drops empty entries.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start) = (0i32, 0);
    let mut entries = Vec::new();
    for (at, character) in text.char_indices() {
        match character {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                entries.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    entries.push(&text[start..]);
    entries
        .into_iter()
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .collect()
}
