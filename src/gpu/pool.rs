//! Buffers of tensors that are gone, kept for the next tensors of their size.
//!
//! Memory that a driver hands out is dear at its first use: wgpu clears it, and on a software adapter the
//! system maps it page by page. On lavapipe a slice of 113 MB into a new buffer took four times as long
//! as into one that was written before. So a loop that makes and drops the same tensors gets the same
//! buffers over and over.
//!
//! What is kept is bounded: tensors and kept buffers together never hold more than tensors alone once
//! held, and a buffer that the next tensors do not need goes. A buffer that the caller was shown is not
//! kept, since the caller may have a clone of it. Where memory is short, all goes.

use crate::Error;
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// Buffers that are asked for while one is kept in vain, before it goes.
const PATIENCE: u64 = 32;

/// The most that are kept.
const MOST: usize = 64;

/// What is kept on a device.
#[derive(Debug, Default)]
pub(super) struct Pool(Mutex<Shelf<wgpu::Buffer>>);

impl Pool {
    /// A buffer of this size, if one is kept. Its bytes are whatever they were.
    pub(super) fn take(&self, size: u64) -> Option<wgpu::Buffer> {
        self.with(|shelf| shelf.take(size))
    }

    /// What `create` makes. Where it finds no memory, what is kept may be what is missing: that is dropped,
    /// `free` has the device free it, and `create` is called once more.
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

    /// The buffers of a tensor, which come back when it is gone.
    pub(super) fn lend(self: &Arc<Self>, buffers: Vec<wgpu::Buffer>) -> Lent {
        self.with(|shelf| shelf.lend(buffers.iter().map(wgpu::Buffer::size).sum()));
        Lent {
            buffers,
            shown: AtomicBool::new(false),
            pool: Arc::clone(self),
        }
    }

    /// Drops what is kept, and whether that was anything.
    pub(super) fn clear(&self) -> bool {
        self.with(Shelf::clear)
    }

    fn with<R>(&self, work: impl FnOnce(&mut Shelf<wgpu::Buffer>) -> R) -> R {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Bytes that are kept.
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
    /// For use within the crate, which keeps no clone for longer than the tensor is there.
    pub(super) fn buffers(&self) -> &[wgpu::Buffer] {
        &self.buffers
    }

    /// For the caller, who may keep a clone.
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

/// What is kept, the oldest first, and how much there is of everything.
#[derive(Debug)]
struct Shelf<B> {
    idle: VecDeque<Idle<B>>,
    /// Bytes that are kept, that tensors hold, and the most that they held at once.
    kept: u64,
    lent: u64,
    most_lent: u64,
    /// Buffers that were asked for.
    asked: u64,
}

#[derive(Debug)]
struct Idle<B> {
    buffer: B,
    size: u64,
    /// When it came back, in buffers that were asked for.
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
        // The youngest, whose bytes may still be in a cache.
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
    fn what_came_back_serves_the_next_of_its_size() {
        let mut shelf = Shelf::default();
        assert_eq!(shelf.take(8), None);
        shelf.lend(8);
        back(&mut shelf, 8, "a");
        assert_eq!(shelf.take(4), None);
        assert_eq!(shelf.take(8), Some("a"));
        assert_eq!(shelf.take(8), None);
    }

    #[test]
    fn no_more_is_held_than_tensors_once_held() {
        let mut shelf = Shelf::default();
        for buffer in ["a", "b"] {
            shelf.lend(8);
            back(&mut shelf, 8, buffer);
        }
        // Tensors never held more than 8 at once.
        assert_eq!((shelf.kept, shelf.idle.len()), (8, 1));
        assert_eq!(shelf.idle[0].buffer, "b");
        // What is kept makes room for a tensor of another size.
        shelf.lend(6);
        assert_eq!((shelf.lent, shelf.kept), (6, 0));
        shelf.lend(10);
        back(&mut shelf, 6, "c");
        back(&mut shelf, 10, "d");
        assert_eq!((shelf.lent, shelf.kept, shelf.most_lent), (0, 16, 16));
    }

    #[test]
    fn what_is_not_needed_goes() {
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
    fn what_the_caller_has_seen_is_not_kept_and_few_are() {
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
