//! What was used lately, and so is likely to be used again.
//!
//! Two generations: what is used moves to the young one, and when the time has come the old one is
//! dropped and the young one becomes old. Time is counted in uses.

use std::collections::{HashMap, hash_map::Entry};

/// Uses without it after which a thing is dropped, at the latest after twice as many. It spans a
/// thousand operations recorded over and over.
const IDLE: usize = 2048;

/// Things by the number that was made of what they are for.
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
    /// The thing with this number. What is different may have the same number.
    pub(super) fn find(&mut self, number: u64) -> Option<&T> {
        self.uses += 1;
        if self.uses == IDLE {
            self.uses = 0;
            self.old.clear();
            std::mem::swap(&mut self.young, &mut self.old);
        }
        match self.young.entry(number) {
            Entry::Occupied(entry) => Some(entry.into_mut()),
            Entry::Vacant(entry) => Some(entry.insert(self.old.remove(&number)?)),
        }
    }

    pub(super) fn keep(&mut self, number: u64, thing: T) {
        self.young.insert(number, thing);
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
    fn what_is_used_stays_and_what_is_not_goes() {
        let mut recent = Recent::default();
        recent.keep(0, "used");
        recent.keep(1, "not used");
        for _ in 0..2 * IDLE {
            assert_eq!(recent.find(0), Some(&"used"));
        }
        assert_eq!(recent.find(1), None);
    }

    #[test]
    fn a_round_of_as_many_stays_whole() {
        let mut recent = Recent::default();
        let round = 0..IDLE as u64;
        round.clone().for_each(|number| recent.keep(number, number));
        for number in round.cycle().take(5 * IDLE) {
            assert_eq!(recent.find(number), Some(&number));
        }
    }

    #[test]
    fn it_holds_what_two_spans_can_have_brought() {
        let mut recent = Recent::default();
        for number in 0..10 * IDLE as u64 {
            assert_eq!(recent.find(number), None);
            recent.keep(number, number);
        }
        assert!(recent.len() <= 2 * IDLE);
    }
}
