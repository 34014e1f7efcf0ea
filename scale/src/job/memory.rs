//! The memory that the tasks of a process hold together.

use std::sync::{Condvar, Mutex, PoisonError};

static HELD: Mutex<usize> = Mutex::new(0);
static FREED: Condvar = Condvar::new();

/// Memory for a task. Given back when it is dropped.
#[derive(Debug)]
pub(super) struct Share(usize);

/// Waits until this process holds no more than `limit` bytes with `bytes` more. A task that needs more than all of it
/// is alone.
pub(super) fn take(bytes: usize, limit: Option<usize>) -> Share {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let limit = limit.unwrap_or(usize::MAX);
    let full = |held: &mut usize| *held > 0 && held.saturating_add(bytes) > limit;
    let held = FREED.wait_while(held, full);
    *held.unwrap_or_else(PoisonError::into_inner) += bytes;
    Share(bytes)
}

impl Drop for Share {
    fn drop(&mut self) {
        *HELD.lock().unwrap_or_else(PoisonError::into_inner) -= self.0;
        FREED.notify_all();
    }
}
