//! A cache of recently used entries.
//!
//! It has two generations: an entry that is used moves to the young one. After a number of uses of the cache, the old
//! generation is dropped, and the young one becomes old.

use std::collections::{HashMap, hash_map::Entry};

/// An entry is dropped after this many uses of the cache without it, or up to twice this many. That is enough for a
/// thousand operations that are recorded repeatedly.
const IDLE: usize = 2048;

/// Entries by the hashes of their keys.
#[derive(Debug)]
pub(super) struct Recent<T> {
    young: HashMap<u64, T>,
    old: HashMap<u64, T>,
    uses: usize,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            uses: 0,
        }
    }
}

impl<T> Recent<T> {
    /// The entry with this hash. The caller compares keys, since different keys may have the same hash.
    pub(super) fn find(&mut self, hash: u64) -> Option<&T> {
        self.uses += 1;
        if self.uses == IDLE {
            self.uses = 0;
            self.old.clear();
            std::mem::swap(&mut self.young, &mut self.old);
        }
        match self.young.entry(hash) {
            Entry::Occupied(entry) => Some(entry.into_mut()),
            Entry::Vacant(entry) => Some(entry.insert(self.old.remove(&hash)?)),
        }
    }

    pub(super) fn keep(&mut self, hash: u64, entry: T) {
        self.young.insert(hash, entry);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Uses since the generations last changed.
    #[cfg(test)]
    pub(super) fn uses(&self) -> usize {
        self.uses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_entries_stay_and_others_are_dropped() {
        let mut recent = Recent::default();
        recent.keep(0, "used");
        recent.keep(1, "not used");
        for _ in 0..2 * IDLE {
            assert_eq!(recent.find(0), Some(&"used"));
        }
        assert_eq!(recent.find(1), None);
    }

    #[test]
    fn entries_used_in_turn_all_stay() {
        let mut recent = Recent::default();
        let round = 0..IDLE as u64;
        round.clone().for_each(|number| recent.keep(number, number));
        for number in round.cycle().take(5 * IDLE) {
            assert_eq!(recent.find(number), Some(&number));
        }
    }

    #[test]
    fn the_number_of_entries_is_bounded() {
        let mut recent = Recent::default();
        for number in 0..10 * IDLE as u64 {
            assert_eq!(recent.find(number), None);
            recent.keep(number, number);
        }
        assert!(recent.len() <= 2 * IDLE);
    }
}
