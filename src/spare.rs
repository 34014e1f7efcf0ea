//! The memory of a large result that is gone, kept for the next one.
//!
//! A page that the system hands out is zeroed first and mapped on the first touch: a large result
//! in fresh memory takes several times as long as in memory that was written before. A backend on
//! the CPU therefore keeps the last large result that was dropped. It is written over whole, and
//! zeroed by no one.

use crate::{Error, element::zeroed};
use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
};

/// Smaller results are left to the allocator, which keeps such memory itself.
const LARGE: usize = 1 << 20;

/// At most one buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spare(Arc<Mutex<Vec<u8>>>);

impl Spare {
    /// `len` bytes of any value, or an error where the memory cannot be had.
    ///
    /// What is kept is taken if no more than half of it would lie idle.
    pub(crate) fn take(&self, len: usize) -> Result<Bytes, Error> {
        let kept = if len < LARGE { None } else { self.kept(len) };
        let bytes = match kept {
            Some(bytes) => bytes,
            None => zeroed(len)?,
        };
        Ok(self.of(bytes))
    }

    fn kept(&self, len: usize) -> Option<Vec<u8>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = (len..=2 * len).contains(&kept.len());
        let mut bytes = fits.then(|| mem::take(&mut *kept))?;
        bytes.truncate(len);
        Some(bytes)
    }

    /// Bytes that are kept when they are dropped.
    pub(crate) fn of(&self, bytes: Vec<u8>) -> Bytes {
        let spare = self.clone();
        Bytes { bytes, spare }
    }

    fn keep(&self, bytes: Vec<u8>) {
        if bytes.len() >= LARGE {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = bytes;
        }
    }
}

/// Bytes that are kept when they are dropped.
#[derive(Debug)]
pub(crate) struct Bytes {
    bytes: Vec<u8>,
    spare: Spare,
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl AsMut<[u8]> for Bytes {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        self.spare.keep(mem::take(&mut self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::{LARGE, Spare};

    fn take(spare: &Spare, len: usize) -> *const u8 {
        let bytes = spare.take(len).unwrap();
        assert_eq!(bytes.as_ref().len(), len);
        bytes.as_ref().as_ptr()
    }

    #[test]
    fn large_results_of_about_a_size_share_memory() {
        let spare = Spare::default();
        let first = take(&spare, 2 * LARGE);
        assert_eq!(first, take(&spare, 2 * LARGE));
        assert_eq!(first, take(&spare, LARGE));
        assert_eq!(spare.0.lock().unwrap().len(), LARGE);
    }

    #[test]
    fn what_is_kept_serves_no_small_result_and_no_larger_one() {
        let spare = Spare::default();
        take(&spare, 4 * LARGE);
        take(&spare, LARGE - 1);
        assert_eq!(spare.0.lock().unwrap().len(), 4 * LARGE);
        // Too much of it would lie idle.
        let small = spare.take(2 * LARGE - 1).unwrap();
        assert_eq!(spare.0.lock().unwrap().len(), 4 * LARGE);
        take(&spare, 5 * LARGE);
        drop(small);
        assert_eq!(spare.0.lock().unwrap().len(), 2 * LARGE - 1);
    }
}
