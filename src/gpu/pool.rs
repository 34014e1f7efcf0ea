//! A pool of the buffers of dropped tensors, for new tensors of the same size.
//!
//! New memory is expensive at its first use: wgpu clears it, and on a software adapter the system maps it page by page.
//! On lavapipe a slice of 113 MB into a new buffer took four times as long as into a buffer that was written before.
//! With the pool, a loop that creates and drops the same tensors reuses the same buffers.
//!
//! The pool is bounded: tensors and pooled buffers together never exceed the most bytes that tensors alone have held,
//! and a buffer that the next requests do not reuse is freed. A buffer that was exposed to the caller is not pooled,
//! since the caller may hold a clone of it. If the device runs out of memory, the pool is emptied.

use crate::Error;
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// Requests for buffers after which an unused buffer is freed.
const PATIENCE: u64 = 32;

/// The most buffers in a pool.
const MOST: usize = 64;

/// The pool of a device.
#[derive(Debug, Default)]
pub(super) struct Pool(Mutex<Shelf<wgpu::Buffer>>);

impl Pool {
    /// A pooled buffer of this size, if there is one. Its contents are unspecified.
    pub(super) fn take(&self, size: u64) -> Option<wgpu::Buffer> {
        self.with(|shelf| shelf.take(size))
    }

    /// Calls `create`. If that runs out of memory, empties the pool, lets `free` make the device free the buffers, and
    /// calls `create` once more.
    pub(super) fn make_room<B>(
        &self,
        mut create: impl FnMut() -> Result<B, Error>,
        free: impl FnOnce() -> Result<(), Error>,
    ) -> Result<B, Error> {
        match create() {
            Err(Error::OutOfDeviceMemory { .. }) if self.clear() => {
                free()?;
                create()
            }
            outcome => outcome,
        }
    }

    /// Lends buffers to a tensor; they return when it is dropped.
    pub(super) fn lend(self: &Arc<Self>, buffers: Vec<wgpu::Buffer>) -> Lent {
        self.with(|shelf| shelf.lend(buffers.iter().map(wgpu::Buffer::size).sum()));
        Lent {
            buffers,
            shown: AtomicBool::new(false),
            pool: Arc::clone(self),
        }
    }

    /// Empties the pool. Returns whether there was a buffer.
    pub(super) fn clear(&self) -> bool {
        self.with(Shelf::clear)
    }

    fn with<R>(&self, work: impl FnOnce(&mut Shelf<wgpu::Buffer>) -> R) -> R {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Bytes of pooled buffers.
    #[cfg(test)]
    pub(super) fn kept(&self) -> u64 {
        self.with(|shelf| shelf.kept)
    }
}

/// The buffers of a tensor.
#[derive(Debug)]
pub(super) struct Lent {
    buffers: Vec<wgpu::Buffer>,
    shown: AtomicBool,
    pool: Arc<Pool>,
}

impl Lent {
    /// The buffers, for use within the crate: it keeps no clones for longer than the tensor lives.
    pub(super) fn buffers(&self) -> &[wgpu::Buffer] {
        &self.buffers
    }

    /// The buffers, for the caller, who may keep clones.
    pub(super) fn show(&self) -> &[wgpu::Buffer] {
        self.shown.store(true, Ordering::Relaxed);
        &self.buffers
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let shown = *self.shown.get_mut();
        let buffers = self.buffers.drain(..).map(|buffer| (buffer.size(), buffer));
        self.pool.with(|shelf| shelf.give_back(buffers, !shown));
    }
}

/// Pooled buffers, oldest first, and statistics.
#[derive(Debug)]
struct Shelf<B> {
    idle: VecDeque<Idle<B>>,
    /// Bytes of pooled buffers, bytes that tensors hold, and the most bytes that these have held at once.
    kept: u64,
    lent: u64,
    most_lent: u64,
    /// Requests for buffers so far.
    asked: u64,
}

#[derive(Debug)]
struct Idle<B> {
    buffer: B,
    size: u64,
    /// The value of `asked` when it returned.
    since: u64,
}

impl<B> Default for Shelf<B> {
    fn default() -> Self {
        Self {
            idle: VecDeque::new(),
            kept: 0,
            lent: 0,
            most_lent: 0,
            asked: 0,
        }
    }
}

impl<B> Shelf<B> {
    fn take(&mut self, size: u64) -> Option<B> {
        self.asked += 1;
        // The most recent, whose bytes may still be in a cache.
        let found = self.idle.iter().rposition(|idle| idle.size == size);
        let taken = found.and_then(|place| self.idle.remove(place));
        if let Some(idle) = &taken {
            self.kept -= idle.size;
        }
        while let Some(oldest) = self.idle.front()
            && self.asked - oldest.since > PATIENCE
        {
            self.drop_oldest();
        }
        taken.map(|idle| idle.buffer)
    }

    fn lend(&mut self, size: u64) {
        self.lent += size;
        self.most_lent = self.most_lent.max(self.lent);
        self.keep_bounds();
    }

    fn give_back(&mut self, buffers: impl Iterator<Item = (u64, B)>, keep: bool) {
        for (size, buffer) in buffers {
            self.lent -= size;
            if keep {
                self.kept += size;
                self.idle.push_back(Idle {
                    buffer,
                    size,
                    since: self.asked,
                });
            }
        }
        self.keep_bounds();
    }

    fn keep_bounds(&mut self) {
        while self.idle.len() > MOST || self.lent + self.kept > self.most_lent {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.idle.pop_front() {
            self.kept -= oldest.size;
        }
    }

    fn clear(&mut self) -> bool {
        let any = !self.idle.is_empty();
        self.idle.clear();
        self.kept = 0;
        self.most_lent = self.lent;
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(shelf: &mut Shelf<&'static str>, size: u64, buffer: &'static str) {
        shelf.give_back([(size, buffer)].into_iter(), true);
    }

    #[test]
    fn a_returned_buffer_serves_the_next_tensor_of_its_size() {
        let mut shelf = Shelf::default();
        assert_eq!(shelf.take(8), None);
        shelf.lend(8);
        back(&mut shelf, 8, "a");
        assert_eq!(shelf.take(4), None);
        assert_eq!(shelf.take(8), Some("a"));
        assert_eq!(shelf.take(8), None);
    }

    #[test]
    fn pool_and_tensors_never_exceed_the_peak_of_tensors() {
        let mut shelf = Shelf::default();
        for buffer in ["a", "b"] {
            shelf.lend(8);
            back(&mut shelf, 8, buffer);
        }
        // Tensors never held more than 8 at once.
        assert_eq!((shelf.kept, shelf.idle.len()), (8, 1));
        assert_eq!(shelf.idle[0].buffer, "b");
        // Pooled buffers make room for a tensor of another size.
        shelf.lend(6);
        assert_eq!((shelf.lent, shelf.kept), (6, 0));
        shelf.lend(10);
        back(&mut shelf, 6, "c");
        back(&mut shelf, 10, "d");
        assert_eq!((shelf.lent, shelf.kept, shelf.most_lent), (0, 16, 16));
    }

    #[test]
    fn unused_buffers_are_freed() {
        let mut shelf = Shelf::default();
        shelf.lend(24);
        back(&mut shelf, 8, "needed");
        back(&mut shelf, 16, "not needed");
        for _ in 0..=PATIENCE {
            assert_eq!(shelf.take(8), Some("needed"));
            shelf.lend(8);
            back(&mut shelf, 8, "needed");
        }
        assert_eq!((shelf.kept, shelf.idle.len()), (8, 1));
    }

    #[test]
    fn exposed_buffers_are_not_pooled_and_the_number_of_others_is_bounded() {
        let mut shelf = Shelf::default();
        shelf.lend(1000);
        shelf.give_back([(8, "shown")].into_iter(), false);
        assert_eq!((shelf.lent, shelf.kept), (992, 0));
        for _ in 0..=MOST {
            back(&mut shelf, 8, "kept");
        }
        assert_eq!(shelf.idle.len(), MOST);
        assert!(shelf.clear());
        assert!(!shelf.clear());
        assert_eq!((shelf.kept, shelf.most_lent), (0, shelf.lent));
    }
}
