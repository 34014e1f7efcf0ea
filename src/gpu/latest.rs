//! What was used last, up to a number of things.
//!
//! Exact: a thing is found by its whole key. Where there is no room for another, the one goes that was
//! not used for the longest. To find that one all are looked at, so this is for things that take
//! much longer to make.

use std::{collections::HashMap, hash::Hash};

/// Things by what they are for.
#[derive(Debug)]
pub(super) struct Latest<K, V> {
    things: HashMap<K, Thing<V>>,
    most: usize,
    uses: u64,
}

#[derive(Debug)]
struct Thing<V> {
    value: V,
    /// The last of the uses that was of it.
    used: u64,
}

impl<K: Copy + Eq + Hash, V: Clone> Latest<K, V> {
    /// Room for so many things.
    pub(super) fn new(most: usize) -> Self {
        Self {
            things: HashMap::new(),
            most,
            uses: 0,
        }
    }

    /// The thing for `key`, which counts as a use of it.
    pub(super) fn find(&mut self, key: &K) -> Option<V> {
        let thing = self.things.get_mut(key)?;
        self.uses += 1;
        thing.used = self.uses;
        Some(thing.value.clone())
    }

    /// Keeps a thing that was not found.
    pub(super) fn keep(&mut self, key: K, value: V) {
        if self.things.len() >= self.most {
            let unused = self.things.iter().min_by_key(|(_, thing)| thing.used);
            if let Some(key) = unused.map(|(key, _)| *key) {
                self.things.remove(&key);
            }
        }
        self.uses += 1;
        let used = self.uses;
        self.things.insert(key, Thing { value, used });
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.things.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_for_the_longest_makes_room() {
        let mut latest = Latest::new(3);
        for key in ["a", "b", "c"] {
            latest.keep(key, key);
        }
        assert_eq!(latest.find(&"a"), Some("a"));
        latest.keep("d", "d");
        assert_eq!(latest.find(&"b"), None);
        for key in ["c", "a", "d"] {
            assert_eq!(latest.find(&key), Some(key));
        }
        latest.keep("e", "e");
        assert_eq!(latest.find(&"c"), None);
        assert_eq!(latest.len(), 3);
    }

    #[test]
    fn as_many_as_have_room_all_stay() {
        let mut latest = Latest::new(100);
        (0..100).for_each(|key| latest.keep(key, -key));
        for key in (0..100).cycle().take(1000) {
            assert_eq!(latest.find(&key), Some(-key));
        }
    }

    #[test]
    fn it_never_holds_more() {
        let mut latest = Latest::new(10);
        for key in 0..1000 {
            assert_eq!(latest.find(&key), None);
            latest.keep(key, ());
            assert_eq!(latest.find(&key), Some(()));
            assert!(latest.len() <= 10);
        }
    }
}
