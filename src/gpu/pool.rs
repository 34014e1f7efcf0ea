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
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// Requests for buffers after which an unused buffer is freed.
const PATIENCE: u64 = 32;

/// The most buffers in a pool.
const MOST: usize = 64;

/// The pool of a device.
#[derive(Debug, Default)]
pub(super) struct Pool(Mutex<Shelf>);

#[derive(Debug, Default)]
struct Shelf {
    /// Pooled buffers, oldest first, and the value of `asked` when each returned.
    idle: VecDeque<(wgpu::Buffer, u64)>,
    /// Requests for buffers so far.
    asked: u64,
    /// Bytes that tensors hold, and the most bytes that they have held at once.
    lent: u64,
    most_lent: u64,
}

impl Shelf {
    /// Bytes of pooled buffers.
    fn kept(&self) -> u64 {
        self.idle.iter().map(|(buffer, _)| buffer.size()).sum()
    }

    fn keep_bounds(&mut self) {
        while self.idle.len() > MOST || self.lent + self.kept() > self.most_lent {
            self.idle.pop_front();
        }
    }
}

impl Pool {
    /// A pooled buffer of this size, if there is one. Its contents are unspecified.
    pub(super) fn take(&self, size: u64) -> Option<wgpu::Buffer> {
        let mut shelf = self.shelf();
        shelf.asked += 1;
        let asked = shelf.asked;
        // The most recent, whose bytes may still be in a cache.
        let found = shelf.idle.iter().rposition(|idle| idle.0.size() == size);
        let taken = found.and_then(|place| shelf.idle.remove(place));
        shelf.idle.retain(|(_, since)| asked - since <= PATIENCE);
        taken.map(|(buffer, _)| buffer)
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
        let mut shelf = self.shelf();
        shelf.lent += buffers.iter().map(wgpu::Buffer::size).sum::<u64>();
        shelf.most_lent = shelf.most_lent.max(shelf.lent);
        shelf.keep_bounds();
        Lent {
            buffers,
            shown: AtomicBool::new(false),
            pool: Arc::clone(self),
        }
    }

    /// Empties the pool. Returns whether there was a buffer.
    pub(super) fn clear(&self) -> bool {
        let mut shelf = self.shelf();
        let any = !shelf.idle.is_empty();
        shelf.idle.clear();
        shelf.most_lent = shelf.lent;
        any
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of pooled buffers.
    #[cfg(test)]
    pub(super) fn kept(&self) -> u64 {
        self.shelf().kept()
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
        let mut shelf = self.pool.shelf();
        let since = shelf.asked;
        for buffer in self.buffers.drain(..) {
            shelf.lent -= buffer.size();
            if !shown {
                shelf.idle.push_back((buffer, since));
            }
        }
        shelf.keep_bounds();
    }
}
