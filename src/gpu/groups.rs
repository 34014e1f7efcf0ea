//! A cache of the bind groups of buffers that are recorded again.
//!
//! A bind group keeps its buffers alive, and wgpu neither reports when the caller drops a buffer nor has weak
//! references. So a group is kept only for buffers that recur: the first use of the buffers stores only a hash, and the
//! second use the group. A group is dropped after [`IDLE`] to 2 · `IDLE` uses of the cache for other groups, or by
//! [`Gpu::trim`](crate::Gpu::trim). Groups of tensors and of scratch memory are not kept, since they would keep memory
//! alive that the pool frees. Operations on tensors are submitted one by one anyway, which takes longer than creating a
//! group.

use super::{caps::Span, maps::Op};
use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash, Hasher, RandomState},
    mem,
    sync::{Mutex, PoisonError},
};

/// The number of uses of the cache for which an unused group is kept at least: enough for a program that records the
/// same thousand operations again and again.
const IDLE: usize = 2048;

/// The key of a cached bind group: the operation, which determines the layout, and the range of a buffer that each
/// binding holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// The operation whose layout the group has.
    pub(super) op: Op,
    pub(super) buffers: [Option<wgpu::Buffer>; 4],
    pub(super) spans: [Span; 4],
}

/// Hashes the operation and the spans as one word to save time: every dispatch looks its group up.
impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for buffer in self.buffers.iter().flatten() {
            buffer.hash(state);
        }
        let words = self.spans.iter().flat_map(|span| [span.offset, span.bytes]);
        let mix = |all: u64, word: u64| all.wrapping_mul(31).wrapping_add(word);
        state.write_u64(words.fold(self.op as u64, mix));
    }
}

/// The bind groups of a device that are kept for reuse.
#[derive(Debug, Default)]
pub(super) struct Groups {
    state: Mutex<State>,
    hasher: RandomState,
}

/// Entries by the hashes of their keys, in two generations: an entry that is used moves to the young generation. After
/// `IDLE` uses of the cache the old generation is dropped, and the young one becomes the old one.
#[derive(Debug, Default)]
struct State {
    young: HashMap<u64, Entry>,
    old: HashMap<u64, Entry>,
    uses: usize,
}

#[derive(Debug)]
enum Entry {
    /// The buffers were used once; no group is kept yet.
    Seen,
    Kept(Box<Key>, wgpu::BindGroup),
}

impl Groups {
    /// The group for `key`, created by `make` if it is not in the cache.
    pub(super) fn get(&self, key: Key, make: impl FnOnce() -> wgpu::BindGroup) -> wgpu::BindGroup {
        let hash = self.hasher.hash_one(&key);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.uses += 1;
        if state.uses == IDLE {
            state.uses = 0;
            state.old = mem::take(&mut state.young);
        }
        if let Some(Entry::Kept(of, group)) = state.young.get(&hash)
            && **of == key
        {
            return group.clone();
        }
        let known = state.young.remove(&hash);
        let known = known.or_else(|| state.old.remove(&hash));
        let (group, entry) = match known {
            Some(Entry::Kept(of, group)) if *of == key => (group.clone(), Entry::Kept(of, group)),
            Some(_) => {
                let group = make();
                (group.clone(), Entry::Kept(key.into(), group))
            }
            None => (make(), Entry::Seen),
        };
        state.young.insert(hash, entry);
        group
    }

    /// Empties the cache.
    pub(super) fn clear(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::default();
    }

    /// The number of groups that are kept.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        let state = self.state.lock().unwrap();
        let all = state.young.values().chain(state.old.values());
        all.filter(|entry| matches!(entry, Entry::Kept(..))).count()
    }
}
