//! Keeps values that were used recently, by hashes of their keys.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{BuildHasherDefault, Hasher},
    mem,
};

/// A value is kept for at least this many look-ups after its last use. That suffices for a program that records the
/// same thousand operations again and again.
const IDLE: usize = 2048;

/// Values by the hashes of their keys, in two generations. A value that is used moves to the young generation. After
/// every [`IDLE`] look-ups, the old generation is dropped and the young one becomes the old one. So a value is dropped
/// `IDLE` to 2 · `IDLE` look-ups after its last use. If two keys have the same hash, only the value that was stored
/// last is kept, so the caller compares the key of a value that it finds.
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
    /// Returns the value with this hash, if there is one. This counts as a use of the value.
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

    /// Stores a value under this hash, in place of any other.
    pub(super) fn keep(&mut self, hash: u64, value: V) {
        self.young.insert(hash, value);
    }

    #[cfg(test)]
    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.young.values().chain(self.old.values())
    }
}

/// Hashes the keys of [`Recent`]. It must be fast, because it hashes a few words for each recorded operation. A
/// collision only costs time.
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

    /// Mixes the high bits into the low bits, from which hash tables take places. The low bits of a product depend only
    /// on the low bits of its factors.
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// The hasher of keys that are hashes already: it returns them unchanged.
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
