//! Keeps the works and bind groups of plans that were recorded recently. A work consists of the dispatches of a move,
//! with their pipelines and uniforms.
//!
//! A [`Work`] is kept from its first use. Bind groups are different: a bind group keeps its buffers alive, and wgpu
//! neither reports when the caller drops a buffer nor has weak references. So bind groups are kept only for buffers
//! that recur: the first recording of a work with certain buffers stores only a hash, and the second stores the bind
//! groups. Bind groups of tensors and of the scratch memory of scatters are not kept, because a kept bind group
//! prevents its memory from being freed. Operations on tensors do not need kept bind groups: each has its own
//! submission, which takes longer than creating a bind group.

use super::{Engine, argument::Argument, dispatch::ArgumentPlaces, work::Work};
use crate::{Error, lock::lock, moves::Move, plan::Works};
use std::{
    collections::{HashMap, hash_map},
    hash::{BuildHasher, BuildHasherDefault, Hash, Hasher},
    mem,
    sync::{Arc, Mutex, Weak},
};

/// An entry is kept for at least this many look-ups after its last use. A recording looks up a work and its bind
/// groups. So this number suffices for a program that repeats the same thousand operations.
const GENERATION_LOOKUPS: usize = 4096;

/// The works and bind groups of recent recordings.
#[derive(Debug, Default)]
pub(in crate::gpu) struct Cache(Mutex<RecentEntries>);

#[derive(Debug)]
enum Entry {
    Work(Arc<Work>),
    /// A work was recorded once with certain buffers. No bind groups are kept for them yet.
    Seen,
    Groups {
        work: Arc<Work>,
        buffers: Box<[(wgpu::Buffer, u64)]>,
        groups: Arc<[wgpu::BindGroup]>,
    },
}

/// The works that were prepared for the steps of a plan. The plan owns them.
#[derive(Debug)]
struct StepWorks {
    /// The cache of the engine that made the works. An engine with another device, other limits or other pipelines has
    /// another cache.
    cache: Weak<Cache>,
    steps: Vec<Vec<Arc<Work>>>,
}

impl Engine {
    /// Wraps the works of each step in a value that a plan can own.
    pub(in crate::gpu) fn works(&self, steps: Vec<Vec<Arc<Work>>>) -> Works {
        let cache = Arc::downgrade(&self.cache);
        Works {
            made: Some(Arc::new(StepWorks { cache, steps })),
        }
    }

    /// Returns the works of a step that were prepared on this engine.
    pub(in crate::gpu) fn ready_works<'w>(&self, works: &'w Works, step: usize) -> &'w [Arc<Work>] {
        let prepared_works = works.made.as_ref();
        let prepared_works =
            prepared_works.and_then(|prepared_works| prepared_works.downcast_ref::<StepWorks>());
        let own_works =
            prepared_works.filter(|works| works.cache.as_ptr() == Arc::as_ptr(&self.cache));
        let step_works = own_works.and_then(|works| works.steps.get(step));
        step_works.map_or(&[], |works| works)
    }
}

impl Cache {
    /// Returns the kept work of a move with arguments at `places`, or calls `make` for a new one. A work with many
    /// dispatches is kept only if `keeps` is true.
    pub(super) fn cached_work(
        &self,
        step_move: &Move,
        places: ArgumentPlaces,
        keeps: bool,
        make: impl FnOnce() -> Result<Work, Error>,
    ) -> Result<Arc<Work>, Error> {
        let hash = BuildHasherDefault::<WordHasher>::default().hash_one((step_move, places));
        if let Some(Entry::Work(work)) = lock(&self.0).find_entry(hash)
            && work.places == places
            && *work.step_move == *step_move
        {
            return Ok(Arc::clone(work));
        }
        let work = Arc::new(make()?);
        if work.has_uniforms() && (keeps || work.is_small()) {
            let entry = Entry::Work(Arc::clone(&work));
            lock(&self.0).young.insert(hash, entry);
        }
        Ok(work)
    }

    /// Returns the kept bind groups of a work's dispatches for these arguments, or calls `make` for new ones.
    pub(super) fn cached_groups(
        &self,
        work: &Arc<Work>,
        arguments: &[Argument<'_>],
        make: impl FnOnce() -> Result<Arc<[wgpu::BindGroup]>, Error>,
    ) -> Result<Arc<[wgpu::BindGroup]>, Error> {
        if !work.has_uniforms()
            || !work.is_small()
            || !arguments.iter().all(|argument| argument.keeps_groups)
        {
            return make();
        }
        let buffers = || {
            arguments.iter().flat_map(|argument| {
                let offset = argument.parts.offset;
                argument.buffers.iter().map(move |buffer| (buffer, offset))
            })
        };
        let mut hasher = WordHasher::default();
        hasher.write_usize(Arc::as_ptr(work).addr());
        buffers().for_each(|key| key.hash(&mut hasher));
        let hash = hasher.finish();
        let mut recent = lock(&self.0);
        let found_entry = recent.find_entry(hash);
        if let Some(Entry::Groups {
            work: kept_work,
            buffers: kept_buffers,
            groups,
        }) = &found_entry
        {
            let kept_buffers = kept_buffers
                .iter()
                .map(|(buffer, offset)| (buffer, *offset));
            if Arc::ptr_eq(kept_work, work) && kept_buffers.eq(buffers()) {
                return Ok(Arc::clone(groups));
            }
        }
        let groups = make()?;
        let to_owned_pair = |(buffer, offset): (&wgpu::Buffer, u64)| (buffer.clone(), offset);
        let entry = match found_entry {
            None => Entry::Seen,
            Some(_) => Entry::Groups {
                work: Arc::clone(work),
                buffers: buffers().map(to_owned_pair).collect(),
                groups: Arc::clone(&groups),
            },
        };
        recent.young.insert(hash, entry);
        Ok(groups)
    }

    /// Drops everything except the works of prepared plans.
    pub(super) fn clear(&self) {
        let mut recent = lock(&self.0);
        let RecentEntries { young, old, .. } = mem::take(&mut *recent);
        let mut works: Vec<_> = young.into_iter().chain(old).collect();
        // Bind groups hold references to works, so they are dropped before this code checks which works are held.
        works.retain(|(_, entry)| matches!(entry, Entry::Work(_)));
        recent.young = works
            .into_iter()
            .filter(|(_, entry)| entry.is_held())
            .collect();
    }

    /// Returns the number of recordings with kept bind groups.
    #[cfg(test)]
    pub(in crate::gpu) fn kept_groups(&self) -> usize {
        self.count_entries(|entry| matches!(entry, Entry::Groups { .. }))
    }

    #[cfg(test)]
    pub(in crate::gpu) fn kept_works(&self) -> usize {
        self.count_entries(|entry| matches!(entry, Entry::Work(_)))
    }

    #[cfg(test)]
    fn count_entries(&self, is_counted: impl Fn(&Entry) -> bool) -> usize {
        let recent = lock(&self.0);
        let entries = recent.young.values().chain(recent.old.values());
        entries.filter(|entry| is_counted(entry)).count()
    }
}

impl Entry {
    /// Returns whether the entry is a work that a prepared plan or bind groups also hold.
    fn is_held(&self) -> bool {
        matches!(self, Self::Work(work) if Arc::strong_count(work) > 1)
    }
}

/// Entries in two generations, by the hashes of their keys. An entry that is used moves to the young generation. After
/// every [`GENERATION_LOOKUPS`] look-ups, the old generation is dropped, except works that are also held elsewhere, and
/// the young generation becomes the old one. So an entry is dropped after [`GENERATION_LOOKUPS`] to twice as many
/// look-ups without use. If two keys have the same hash, only the entry that was stored last is kept. So callers
/// compare the key of an entry that they find.
#[derive(Debug, Default)]
struct RecentEntries {
    young: EntryGeneration,
    old: EntryGeneration,
    lookups: usize,
}

type EntryGeneration = HashMap<u64, Entry, BuildHasherDefault<WordHasher>>;

impl RecentEntries {
    /// Returns the entry with this hash, if there is one. This counts as a use of the entry.
    fn find_entry(&mut self, hash: u64) -> Option<&mut Entry> {
        self.lookups += 1;
        if self.lookups == GENERATION_LOOKUPS {
            self.lookups = 0;
            let old = mem::replace(&mut self.old, mem::take(&mut self.young));
            let held_entries = old.into_iter().filter(|(_, entry)| entry.is_held());
            self.young = held_entries.collect();
        }
        match self.young.entry(hash) {
            hash_map::Entry::Occupied(found) => Some(found.into_mut()),
            hash_map::Entry::Vacant(place) => Some(place.insert(self.old.remove(&hash)?)),
        }
    }
}

/// A hasher for the keys of [`Cache`]. The hash table uses it again for the resulting hashes. It must be fast, because
/// every recorded operation hashes a few words. A collision only costs time.
#[derive(Debug, Default)]
struct WordHasher(u64);

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, last_bytes) = bytes.as_chunks();
        for &word in words {
            self.write_u64(u64::from_ne_bytes(word));
        }
        for &byte in last_bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_u64(&mut self, word: u64) {
        // The multiplier of Knuth's random number generator MMIX.
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(6_364_136_223_846_793_005);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    /// Mixes the high bits into the low bits, because hash tables choose a bucket by the low bits. The low bits of a
    /// product depend only on the low bits of its factors.
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}
