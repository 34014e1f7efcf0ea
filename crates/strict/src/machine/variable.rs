//! Variables with a separate copy for each invocation: local variables of functions, and private variables.

use super::value::Data;
use std::iter::repeat_n;

/// A variable with a separate copy for each invocation.
#[derive(Debug)]
pub(super) struct PrivateVariable {
    /// A word for each component and lane, in the order of [`Data`]: all lanes of a component are neighbours.
    pub(super) words: Vec<i64>,
    /// For each word, a mask of the bits that depend on unwritten memory. Empty if no word has ever had such bits.
    pub(super) unknown: Vec<u64>,
}

impl PrivateVariable {
    pub(super) fn new(data: &Data, lanes: usize) -> Self {
        let mut words = Vec::with_capacity(data.components(lanes) * lanes);
        match data.uniform {
            true => words.extend(data.words.iter().flat_map(|&word| repeat_n(word, lanes))),
            false => words.extend_from_slice(&data.words),
        }
        let unknown_words = match &data.unknown {
            None => Vec::new(),
            Some(_) => (0..words.len())
                .map(|n| data.unknown_at(n / lanes, n % lanes, lanes))
                .collect(),
        };
        Self {
            words,
            unknown: unknown_words,
        }
    }

    pub(super) fn set(&mut self, at: usize, word: i64, unknown: u64) {
        self.words[at] = word;
        if self.unknown.is_empty() && unknown != 0 {
            self.unknown = vec![0; self.words.len()];
        }
        if let Some(bits) = self.unknown.get_mut(at) {
            *bits = unknown;
        }
    }

    /// Stores `value` in the components from number `first` on, in all lanes.
    pub(super) fn set_all(&mut self, first: usize, value: &Data, lanes: usize) {
        let begin = first * lanes;
        let places = begin..begin + value.components(lanes) * lanes;
        let words = &mut self.words[places.clone()];
        match value.uniform {
            true => {
                for (words, &word) in words.chunks_exact_mut(lanes).zip(value.words.iter()) {
                    words.fill(word);
                }
            }
            false => words.copy_from_slice(&value.words),
        }
        if self.unknown.is_empty() && value.unknown.is_some() {
            self.unknown = vec![0; self.words.len()];
        }
        for (n, bits) in self
            .unknown
            .get_mut(places)
            .into_iter()
            .flatten()
            .enumerate()
        {
            *bits = value.unknown_at(n / lanes, n % lanes, lanes);
        }
    }

    pub(super) fn part(&self, first: usize, count: usize, lanes: usize) -> Data {
        let places = first * lanes..(first + count) * lanes;
        let data = Data::varying(&self.words[places.clone()]);
        match self.unknown.get(places) {
            Some(unknown) => data.with_unknown(unknown.to_vec()),
            None => data,
        }
    }
}
