//! Variables of the invocations, in functions or private to them.

use super::value::Data;

/// A variable of the invocations.
#[derive(Debug)]
pub(super) struct Variable {
    /// As those of [`Data`].
    pub(super) words: Vec<i64>,
    /// As those of [`Data`]; empty where all is known.
    pub(super) unknown: Vec<u64>,
}

impl Variable {
    pub(super) fn new(data: &Data, lanes: usize) -> Self {
        let words = data.spread(lanes).to_vec();
        let unknown = match &data.unknown {
            None => Vec::new(),
            Some(_) => (0..words.len())
                .map(|n| data.unknown_at(n / lanes, n % lanes, lanes))
                .collect(),
        };
        Self { words, unknown }
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

    pub(super) fn part(&self, first: usize, count: usize, lanes: usize) -> Data {
        let places = first * lanes..(first + count) * lanes;
        let data = Data::varying(self.words[places.clone()].to_vec());
        match self.unknown.get(places) {
            Some(unknown) => data.with_unknown(unknown.to_vec()),
            None => data,
        }
    }
}
