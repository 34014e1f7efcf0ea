//! Values that threads share behind a lock. `core` has no locks that wait, so without the feature `std` no value is
//! kept.

use core::fmt;
#[cfg(feature = "std")]
use {
    alloc::sync::Arc,
    std::sync::{Mutex, MutexGuard, PoisonError},
};

/// Locks a mutex, even if a thread panicked while it held the lock. The mutexes of this crate protect caches, counts
/// and values to be delivered, which other threads can still use after a panic.
#[cfg(feature = "std")]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A cell that keeps the value of the last call of `put`. Clones share the cell. Without the feature `std` it is always
/// empty.
#[derive(Clone)]
pub(crate) struct KeptValue<T> {
    #[cfg(feature = "std")]
    value: Arc<Mutex<Option<T>>>,
    #[cfg(not(feature = "std"))]
    value: core::marker::PhantomData<T>,
}

#[cfg(feature = "std")]
impl<T> KeptValue<T> {
    /// Keeps `value` and drops the previous one.
    pub(crate) fn put(&self, value: T) {
        *lock(&self.value) = Some(value);
    }

    /// Takes the value out if `fits` accepts it. Returns `None` if there is no such value.
    pub(crate) fn take_if(&self, fits: impl FnOnce(&T) -> bool) -> Option<T> {
        lock(&self.value).take_if(|value| fits(value))
    }

    pub(crate) fn get(&self) -> Option<T>
    where
        T: Clone,
    {
        lock(&self.value).clone()
    }
}

#[cfg(not(feature = "std"))]
impl<T> KeptValue<T> {
    pub(crate) fn put(&self, _: T) {}

    pub(crate) fn take_if(&self, _: impl FnOnce(&T) -> bool) -> Option<T> {
        None
    }

    pub(crate) fn get(&self) -> Option<T> {
        None
    }
}

impl<T> Default for KeptValue<T> {
    fn default() -> Self {
        Self {
            value: Default::default(),
        }
    }
}

impl<T> fmt::Debug for KeptValue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}
