//! A pool of the buffers of dropped tensors, for new tensors of the same size.
//!
//! New memory is expensive at its first use: wgpu clears it, and on a software adapter the operating system maps it
//! page by page. On lavapipe, a slice of 113 MB took four times as long into a new buffer as into a buffer that was
//! written before. With the pool, a loop that creates and drops the same tensors reuses the same buffers.
//!
//! The pool is bounded. It holds at most 64 buffers. Tensors and pooled buffers together hold at most as many bytes as
//! tensors alone have held since the pool was last emptied (briefly more while a tensor is allocated). A buffer is
//! freed if more than 32 consecutive requests do not reuse it. A buffer that was exposed to the caller is not pooled,
//! because the caller can hold a clone of it. If the device runs out of memory, the pool is emptied.

use crate::{Error, lock::lock};
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

/// A pooled buffer is freed if more than this many consecutive requests for buffers do not reuse it. So a loop that
/// creates and drops up to 32 tensors reuses all of their buffers.
const MAX_UNUSED_REQUESTS: u64 = 32;

/// The maximum number of buffers that a pool keeps. It is small because each request searches all of them.
const MAX_KEPT_BUFFERS: usize = 64;

/// The pool of a device. When a tensor that the crate allocated is dropped, its buffers return to the pool, except
/// buffers that were exposed to the caller.
#[derive(Debug, Default)]
pub(in crate::gpu) struct BufferPool(Mutex<PooledBuffers>);

#[derive(Debug, Default)]
struct PooledBuffers {
    /// Pooled buffers, oldest first, each with the value of `request_count` when it returned.
    idle_buffers: VecDeque<(wgpu::Buffer, u64)>,
    /// The number of requests for buffers so far.
    request_count: u64,
    /// The number of bytes that tensors hold.
    lent_bytes: u64,
    /// The peak number of bytes that tensors have held since the pool was last emptied.
    peak_lent_bytes: u64,
}

impl PooledBuffers {
    /// Returns the size of all pooled buffers in bytes.
    fn kept_bytes(&self) -> u64 {
        self.idle_buffers
            .iter()
            .map(|(buffer, _)| buffer.size())
            .sum()
    }

    fn keep_bounds(&mut self) {
        while self.idle_buffers.len() > MAX_KEPT_BUFFERS
            || self.lent_bytes + self.kept_bytes() > self.peak_lent_bytes
        {
            self.idle_buffers.pop_front();
        }
    }
}

impl BufferPool {
    /// Takes a buffer of `size` bytes with unspecified contents from the pool. Returns `None` if the pool has no buffer
    /// of this size.
    pub(in crate::gpu) fn take_buffer(&self, size: u64) -> Option<wgpu::Buffer> {
        let mut pool_state = lock(&self.0);
        pool_state.request_count += 1;
        let request_count = pool_state.request_count;
        // If several buffers fit, takes the most recently returned buffer, because its bytes might still be in a cache.
        let found_index = pool_state
            .idle_buffers
            .iter()
            .rposition(|(buffer, _)| buffer.size() == size);
        let taken_buffer = found_index.and_then(|index| pool_state.idle_buffers.remove(index));
        pool_state
            .idle_buffers
            .retain(|(_, returned_at)| request_count - returned_at <= MAX_UNUSED_REQUESTS);
        taken_buffer.map(|(buffer, _)| buffer)
    }

    /// Calls `create`. If it runs out of memory and the pool holds buffers, empties the pool and calls `free`, so that
    /// the device frees these buffers. Then calls `create` once more.
    pub(in crate::gpu) fn make_room<B>(
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

    /// Lends buffers to a tensor. When the [`LentBuffers`] are dropped, the buffers return to the pool, unless they
    /// were exposed to the caller.
    pub(in crate::gpu) fn lend_buffers(
        self: &Arc<Self>,
        buffers: Vec<wgpu::Buffer>,
    ) -> Arc<LentBuffers> {
        let mut pool_state = lock(&self.0);
        pool_state.lent_bytes += buffers.iter().map(wgpu::Buffer::size).sum::<u64>();
        pool_state.peak_lent_bytes = pool_state.peak_lent_bytes.max(pool_state.lent_bytes);
        pool_state.keep_bounds();
        Arc::new(LentBuffers {
            buffers,
            is_exposed: AtomicBool::new(false),
            pool: Arc::clone(self),
        })
    }

    /// Empties the pool. Returns whether it held a buffer.
    pub(in crate::gpu) fn clear(&self) -> bool {
        let mut pool_state = lock(&self.0);
        let had_buffers = !pool_state.idle_buffers.is_empty();
        pool_state.idle_buffers.clear();
        pool_state.peak_lent_bytes = pool_state.lent_bytes;
        had_buffers
    }

    /// Returns the number of bytes that tensors hold.
    pub(super) fn lent_bytes(&self) -> u64 {
        lock(&self.0).lent_bytes
    }

    /// Returns the size of all pooled buffers in bytes.
    #[cfg(test)]
    pub(in crate::gpu) fn kept_bytes(&self) -> u64 {
        lock(&self.0).kept_bytes()
    }
}

/// The buffers of a tensor, and the pool that they return to.
#[derive(Debug)]
pub(in crate::gpu) struct LentBuffers {
    /// Only for use within the crate: after the tensor is dropped, another tensor can overwrite these buffers.
    pub(super) buffers: Vec<wgpu::Buffer>,
    /// True if the buffers were exposed to the caller. Exposed buffers must not be reused.
    is_exposed: AtomicBool,
    pool: Arc<BufferPool>,
}

impl LentBuffers {
    /// Exposes the buffers to the caller, who can keep clones.
    pub(in crate::gpu) fn expose_buffers(&self) -> &[wgpu::Buffer] {
        self.is_exposed.store(true, Ordering::Relaxed);
        &self.buffers
    }
}

impl Drop for LentBuffers {
    fn drop(&mut self) {
        let is_exposed = *self.is_exposed.get_mut();
        let mut pool_state = lock(&self.pool.0);
        let returned_at = pool_state.request_count;
        for buffer in self.buffers.drain(..) {
            pool_state.lent_bytes -= buffer.size();
            if !is_exposed {
                pool_state.idle_buffers.push_back((buffer, returned_at));
            }
        }
        pool_state.keep_bounds();
    }
}
