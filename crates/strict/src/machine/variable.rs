//! Variables with a separate copy for each invocation: local variables of functions, and private variables.

use super::value::Data;
use std::iter::repeat_n;

/// A variable with a separate copy for each invocation.
#[derive(Debug)]
pub(super) struct PrivateVariable {
    /// A word for each component and lane, in the order of [`Data`]: all lanes of a component are neighbours.
    pub(super) words: Vec<i64>,
    /// For each word, a mask of the bits that depend on unwritten memory. Empty if no word has ever had such bits.
    pub(super) unknown_masks: Vec<u64>,
}

impl PrivateVariable {
    pub(super) fn new(data: &Data, lane_count: usize) -> Self {
        let mut words = Vec::with_capacity(data.component_count(lane_count) * lane_count);
        match data.is_uniform {
            true => words.extend(
                data.words
                    .iter()
                    .flat_map(|&word| repeat_n(word, lane_count)),
            ),
            false => words.extend_from_slice(&data.words),
        }
        let unknown_masks = match &data.unknown_masks {
            None => Vec::new(),
            Some(_) => (0..words.len())
                .map(|n| data.unknown_at(n / lane_count, n % lane_count, lane_count))
                .collect(),
        };
        Self {
            words,
            unknown_masks,
        }
    }

    pub(super) fn set(&mut self, word_index: usize, word: i64, unknown_bits: u64) {
        self.words[word_index] = word;
        if self.unknown_masks.is_empty() && unknown_bits != 0 {
            self.unknown_masks = vec![0; self.words.len()];
        }
        if let Some(mask) = self.unknown_masks.get_mut(word_index) {
            *mask = unknown_bits;
        }
    }

    /// Stores `value` in the components from number `first` on, in all lanes.
    pub(super) fn set_all(&mut self, first: usize, value: &Data, lane_count: usize) {
        let first_word = first * lane_count;
        let word_range = first_word..first_word + value.component_count(lane_count) * lane_count;
        let words = &mut self.words[word_range.clone()];
        match value.is_uniform {
            true => {
                for (words, &word) in words.chunks_exact_mut(lane_count).zip(value.words.iter()) {
                    words.fill(word);
                }
            }
            false => words.copy_from_slice(&value.words),
        }
        if self.unknown_masks.is_empty() && value.unknown_masks.is_some() {
            self.unknown_masks = vec![0; self.words.len()];
        }
        for (n, mask) in self
            .unknown_masks
            .get_mut(word_range)
            .into_iter()
            .flatten()
            .enumerate()
        {
            *mask = value.unknown_at(n / lane_count, n % lane_count, lane_count);
        }
    }

    pub(super) fn part(&self, first: usize, count: usize, lane_count: usize) -> Data {
        let word_range = first * lane_count..(first + count) * lane_count;
        let data = Data::varying(&self.words[word_range.clone()]);
        match self.unknown_masks.get(word_range) {
            Some(masks) => data.with_unknown(masks.to_vec()),
            None => data,
        }
    }
}
