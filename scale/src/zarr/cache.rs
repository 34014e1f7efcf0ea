//! Caches decoded chunks that several shards of a result need.

use super::Excerpt;
use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

/// The decoded bytes of a chunk. Its clones share them.
#[derive(Clone, Debug)]
pub struct Chunk(Arc<Vec<u8>>);

impl Chunk {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self(Arc::new(bytes))
    }
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Keeps a chunk, or the part of it that later shards need, until all shards that need it have used it, or until newer
/// chunks need the memory. While one thread reads a chunk, the other threads that need it wait, because reading and
/// decoding it again would take longer.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    /// The maximum number of bytes of all kept chunks together.
    max_bytes: usize,
    kept_chunks: Mutex<KeptChunks>,
    reading_ended: Condvar,
}

#[derive(Debug, Default)]
struct KeptChunks {
    bytes: usize,
    /// The kept chunks by source number and coordinates, each with the number of shards that may still use it.
    chunks: HashMap<Vec<usize>, (Excerpt, usize)>,
    /// The keys of chunks in the order in which they were kept. Some of these chunks are no longer kept.
    order: VecDeque<Vec<usize>>,
    /// The keys of chunks that are being read.
    reading: HashSet<Vec<usize>>,
}

/// A chunk that is being read. Threads that need it wait until this value is dropped.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    cache: &'a Cache,
    key: Vec<usize>,
}

impl Cache {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            ..Self::default()
        }
    }

    fn lock_kept(&self) -> MutexGuard<'_, KeptChunks> {
        self.kept_chunks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a chunk is in the cache.
    pub(super) fn has(&self, key: &[usize]) -> bool {
        self.lock_kept().chunks.contains_key(key)
    }

    /// Returns whether a thread is reading a chunk.
    pub(super) fn is_reading(&self, key: &[usize]) -> bool {
        self.lock_kept().reading.contains(key)
    }

    /// Returns whether a chunk of this size can be kept.
    pub(super) fn fits(&self, bytes: usize) -> bool {
        bytes <= self.max_bytes
    }

    /// Returns the kept part of a chunk. If another thread is reading the chunk, waits for that thread first. If no
    /// part is kept, returns `Err`, and the caller must read the chunk.
    pub(super) fn take(&self, key: &[usize]) -> Result<Excerpt, Reading<'_>> {
        let mut kept = self.lock_kept();
        loop {
            if let Some((chunk, users)) = kept.chunks.get_mut(key) {
                let chunk = chunk.clone();
                *users -= 1;
                if *users == 0 {
                    kept.remove(key);
                }
                return Ok(chunk);
            }
            let key = key.to_vec();
            if kept.reading.insert(key.clone()) {
                return Err(Reading { cache: self, key });
            }
            kept = self
                .reading_ended
                .wait(kept)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Reading<'_> {
    /// Keeps this part of the chunk for `users` more shards, at least one. The part must have passed [`Cache::fits`].
    pub(super) fn keep(self, part: Excerpt, users: usize) {
        let (key, bytes) = (&self.key, part.elements.as_ref().len());
        let mut kept = self.cache.lock_kept();
        while kept.bytes + bytes > self.cache.max_bytes {
            let Some(oldest) = kept.order.pop_front() else {
                break;
            };
            kept.remove(&oldest);
        }
        kept.bytes += bytes;
        kept.chunks.insert(key.clone(), (part, users));
        kept.order.push_back(key.clone());
        // Keys of removed chunks must not accumulate.
        if kept.order.len() > 2 * kept.chunks.len() + 64 {
            let KeptChunks { chunks, order, .. } = &mut *kept;
            order.retain(|key| chunks.contains_key(key));
        }
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.cache.lock_kept().reading.remove(&self.key);
        self.cache.reading_ended.notify_all();
    }
}

impl KeptChunks {
    fn remove(&mut self, key: &[usize]) {
        if let Some((chunk, _)) = self.chunks.remove(key) {
            self.bytes -= chunk.elements.as_ref().len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::mpsc, thread, time::Duration};

    fn chunk(byte: u8) -> Excerpt {
        Excerpt::whole(Chunk::new(vec![byte; 4]))
    }

    fn keep(cache: &Cache, at: usize, byte: u8, users: usize) {
        let reading = cache.take(&[at]).expect_err("the chunk is not kept");
        reading.keep(chunk(byte), users);
    }

    #[test]
    fn chunks_are_kept_for_their_users_and_within_the_limit() {
        let cache = Cache::new(10);
        let has = |at| cache.take(&[at]).is_ok();
        keep(&cache, 1, 1, 2);
        keep(&cache, 2, 2, 1);
        assert_eq!(cache.take(&[1]).unwrap().elements.as_ref(), [1; 4]);
        keep(&cache, 3, 3, 1);
        assert!(!has(1), "the oldest goes first");
        assert!(has(2) && !has(2) && has(3));
        assert!(cache.fits(10) && !cache.fits(11));
        for number in 0..1000 {
            keep(&cache, number, 0, 1);
            assert!(has(number));
        }
        let kept = cache.lock_kept();
        assert!(kept.bytes == 0 && kept.chunks.is_empty() && kept.order.len() < 100);
        assert!(kept.reading.is_empty());
    }

    #[test]
    fn a_chunk_that_is_being_read_is_waited_for() {
        let cache = &Cache::new(10);
        for is_read in [true, false] {
            let reading = cache.take(&[1]).unwrap_err();
            let (sender, receiver) = mpsc::channel();
            thread::scope(|scope| {
                scope.spawn(move || sender.send(cache.take(&[1]).is_ok()));
                let early = receiver.recv_timeout(Duration::from_millis(50));
                assert!(early.is_err(), "it was not waited for");
                if is_read {
                    reading.keep(chunk(1), 1);
                } else {
                    drop(reading);
                }
                assert_eq!(receiver.recv(), Ok(is_read));
            });
        }
    }
}
