//! Keeps values that were used recently, by hashes of their keys.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{BuildHasherDefault, Hasher},
    mem,
};

/// An unused value is kept for at least this many uses of other values: enough for a program that records the same
/// thousand operations again and again.
const IDLE: usize = 2048;

/// Values by the hashes of their keys, in two generations: a value that is used moves to the young generation. After
/// [`IDLE`] uses the old generation is dropped, and the young one becomes the old one. So a value is dropped after
/// `IDLE` to 2 · `IDLE` uses of other values. The caller compares the key of a value that it looks up: if two keys have
/// the same hash, only the value that was used last is kept.
#[derive(Debug)]
pub(super) struct Recent<V> {
    young: Generation<V>,
    old: Generation<V>,
    uses: usize,
}

type Generation<V> = HashMap<u64, V, BuildHasherDefault<Same>>;

impl<V> Default for Recent<V> {
    fn default() -> Self {
        Self {
            young: HashMap::default(),
            old: HashMap::default(),
            uses: 0,
        }
    }
}

impl<V> Recent<V> {
    /// The value with this hash, if there is one.
    pub(super) fn find(&mut self, hash: u64) -> Option<&mut V> {
        self.uses += 1;
        if self.uses == IDLE {
            self.uses = 0;
            self.old = mem::take(&mut self.young);
        }
        match self.young.entry(hash) {
            Entry::Occupied(found) => Some(found.into_mut()),
            Entry::Vacant(place) => Some(place.insert(self.old.remove(&hash)?)),
        }
    }

    /// Keeps a value in place of the one with this hash.
    pub(super) fn keep(&mut self, hash: u64, value: V) {
        self.young.insert(hash, value);
    }

    #[cfg(test)]
    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.young.values().chain(self.old.values())
    }
}

/// Hashes the keys of [`Recent`]: a few words, for each recorded operation, so it must be fast. A collision costs time
/// and nothing else.
#[derive(Debug, Default)]
pub(super) struct WordHasher(u64);

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for &word in words {
            self.write_u64(u64::from_ne_bytes(word));
        }
        for &byte in rest {
            self.write_u64(byte.into());
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(byte.into());
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_u64(&mut self, word: u64) {
        // The multiplier of Knuth's generator MMIX.
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(6_364_136_223_846_793_005);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    /// The low bits of a product depend only on low bits of its factors, and tables take their places from the low
    /// bits.
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// The hasher of keys that are hashes.
#[derive(Debug, Default)]
struct Same(u64);

impl Hasher for Same {
    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|&byte| self.0 = self.0 << 8 | u64::from(byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
