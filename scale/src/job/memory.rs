//! Limits the memory that all tasks of a process hold in total.

use crate::zarr::Buffer;
use std::{
    collections::VecDeque,
    mem,
    sync::{Condvar, Mutex, PoisonError},
};

/// The maximum number of bytes in buffers that are kept for later tasks. They are kept because the system clears every
/// page of new memory, which takes longer than filling it.
const MAX_IDLE_BYTES: usize = 512 << 20;

static MEMORY: Mutex<Memory> = Mutex::new(Memory {
    held_bytes: 0,
    idle_buffers: VecDeque::new(),
});
static MEMORY_FREED: Condvar = Condvar::new();

struct Memory {
    /// The bytes that are reserved for running tasks. It is a `u128` because tasks that fail, with shards larger than
    /// any memory, can together reserve more than a `usize` holds.
    held_bytes: u128,
    /// The buffers that finished tasks have left for later ones, oldest first.
    idle_buffers: VecDeque<Buffer>,
}

impl Memory {
    fn free_oldest_buffers(&mut self, max_idle_bytes: usize) {
        let mut idle_bytes: usize = self.idle_buffers.iter().map(Buffer::capacity).sum();
        while idle_bytes > max_idle_bytes {
            let Some(oldest) = self.idle_buffers.pop_front() else {
                return;
            };
            idle_bytes -= oldest.capacity();
        }
    }
}

/// The memory that is reserved for a task until this value is dropped.
#[derive(Debug)]
pub(super) struct Share {
    bytes: usize,
    /// The maximum capacity, in bytes, of a buffer that is kept for later tasks.
    max_capacity: usize,
    pub(super) buffers: [Buffer; 2],
}

/// Waits until `bytes` and the memory of all running tasks of this process are together at most `limit` bytes, and then
/// reserves `bytes`. A task that needs more than `limit` runs alone. The first `count` of the share's two buffers can
/// come from earlier tasks; these have a capacity of `capacity` / 2 to `capacity` bytes and arbitrary content. Other
/// buffers are empty.
pub(super) fn take(bytes: usize, limit: Option<usize>, (count, capacity): (usize, usize)) -> Share {
    let memory = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    let limit = limit.unwrap_or(usize::MAX);
    let is_full = |memory: &mut Memory| {
        memory.held_bytes > 0 && memory.held_bytes + bytes as u128 > limit as u128
    };
    let memory = MEMORY_FREED.wait_while(memory, is_full);
    let mut memory = memory.unwrap_or_else(PoisonError::into_inner);
    memory.held_bytes += bytes as u128;
    let buffers = [0, 1].map(|number| {
        if number >= count {
            return Buffer::default();
        }
        let fits = |idle: &Buffer| (capacity / 2..=capacity).contains(&idle.capacity());
        let index = memory.idle_buffers.iter().rposition(fits);
        let buffer = index.and_then(|index| memory.idle_buffers.remove(index));
        buffer.unwrap_or_default()
    });
    let free_bytes = (limit as u128).saturating_sub(memory.held_bytes);
    memory.free_oldest_buffers(usize::try_from(free_bytes).unwrap_or(usize::MAX));
    Share {
        bytes,
        max_capacity: capacity,
        buffers,
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut memory = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
        memory.held_bytes -= self.bytes as u128;
        // The first buffer is put back last, because `take` searches from the end. So the next task gets it as its
        // first buffer again.
        let buffers = self.buffers.iter_mut().rev().map(mem::take);
        let reusable_buffers =
            buffers.filter(|buffer| (1..=self.max_capacity).contains(&buffer.capacity()));
        memory.idle_buffers.extend(reusable_buffers);
        memory.free_oldest_buffers(MAX_IDLE_BYTES);
        MEMORY_FREED.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zarr::SHARD_PURPOSE;

    #[test]
    fn idle_buffers_are_reused_within_the_limit() {
        let idle = || {
            let memory = MEMORY.lock().unwrap();
            let idle = memory.idle_buffers.iter().map(Buffer::capacity);
            idle.collect::<Vec<_>>()
        };
        let mut share = take(100, None, (2, 40));
        share.buffers = [40, 41].map(|bytes| {
            let mut buffer = Buffer::default();
            buffer.reset(0, bytes, SHARD_PURPOSE).unwrap();
            buffer
        });
        drop(share);
        assert_eq!(
            idle(),
            [40],
            "the other buffer is larger than the requested capacity"
        );
        assert!(take(100, None, (0, 80)).buffers[0].capacity() == 0);
        let share = take(100, None, (2, 80));
        assert_eq!(share.buffers.each_ref().map(Buffer::capacity), [40, 0]);
        assert!(idle().is_empty());
        drop(share);
        // A buffer that is too small or too large is not reused.
        for capacity in [82, 39] {
            let share = take(100, Some(140), (2, capacity));
            assert_eq!(share.buffers.each_ref().map(Buffer::capacity), [0, 0]);
            assert_eq!(idle(), [40]);
        }
        // A kept buffer is freed if it does not fit the limit.
        let share = take(101, Some(140), (2, 39));
        assert!(idle().is_empty());
        drop(share);
        assert_eq!(MEMORY.lock().unwrap().held_bytes, 0);
    }
}
