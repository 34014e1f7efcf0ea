//! Decoded chunks that several shards of a result need.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
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

/// Keeps a chunk until all shards that need it have used it, or until newer chunks need the memory.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    /// The most bytes of all kept chunks together.
    limit: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    bytes: usize,
    /// The kept chunks by the number of their source and their coordinates, each with the number of shards that may still use it.
    chunks: HashMap<Vec<usize>, (Chunk, usize)>,
    /// The keys of chunks in the order in which they were kept. Some of these chunks are no longer kept.
    order: VecDeque<Vec<usize>>,
}

impl Cache {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            kept: Mutex::default(),
        }
    }

    /// Whether a chunk is kept.
    pub(super) fn has(&self, at: &[usize]) -> bool {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.chunks.contains_key(at)
    }

    pub(super) fn take(&self, at: &[usize]) -> Option<Chunk> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (chunk, users) = kept.chunks.get_mut(at)?;
        let chunk = chunk.clone();
        *users -= 1;
        if *users == 0 {
            kept.remove(at);
        }
        Some(chunk)
    }

    /// Keeps a chunk for `users` more shards, unless `users` is 0 or the chunk is larger than the limit.
    pub(super) fn keep(&self, at: &[usize], chunk: &Chunk, users: usize) {
        let bytes = chunk.as_ref().len();
        if users == 0 || bytes > self.limit {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.remove(at);
        while kept.bytes + bytes > self.limit {
            let Some(oldest) = kept.order.pop_front() else {
                break;
            };
            kept.remove(&oldest);
        }
        kept.bytes += bytes;
        kept.chunks.insert(at.to_vec(), (chunk.clone(), users));
        kept.order.push_back(at.to_vec());
        // The keys of removed chunks must not pile up.
        if kept.order.len() > 2 * kept.chunks.len() + 64 {
            let Kept { chunks, order, .. } = &mut *kept;
            order.retain(|at| chunks.contains_key(at));
        }
    }
}

impl Kept {
    fn remove(&mut self, at: &[usize]) {
        if let Some((chunk, _)) = self.chunks.remove(at) {
            self.bytes -= chunk.as_ref().len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_kept_for_their_users_and_within_the_limit() {
        let cache = Cache::new(10);
        let chunk = |byte| Chunk::new(vec![byte; 4]);
        cache.keep(&[1], &chunk(1), 2);
        cache.keep(&[2], &chunk(2), 1);
        assert_eq!(cache.take(&[1]).unwrap().as_ref(), [1; 4]);
        cache.keep(&[3], &chunk(3), 1);
        assert!(cache.take(&[1]).is_none(), "the oldest goes first");
        assert!(cache.take(&[2]).is_some() && cache.take(&[2]).is_none());
        cache.keep(&[4], &Chunk::new(vec![4; 11]), 1);
        assert!(cache.take(&[4]).is_none() && cache.take(&[3]).is_some());
        for number in 0..1000 {
            cache.keep(&[number], &chunk(0), 1);
            assert!(cache.take(&[number]).is_some());
        }
        let kept = cache.kept.lock().unwrap();
        assert!(kept.bytes == 0 && kept.chunks.is_empty() && kept.order.len() < 100);
    }
}
