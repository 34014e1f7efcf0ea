//! Keeps the memory of the last dropped large result for the next large result.
//!
//! The operating system zeroes each new page and maps it at its first use. So writing a large result takes several
//! times as long in new memory as in memory that was written before. A CPU backend therefore keeps one buffer. The
//! buffer is not zeroed, because the next result overwrites all of its bytes. Without the standard library no buffer is
//! kept.

use crate::{
    Error,
    cpu::{Dest, Pieces, fill_values},
    lock::KeptValue,
    prelude::*,
};
use core::mem;

/// The smallest size in bytes of a buffer that is kept. The allocator itself reuses smaller buffers.
const MIN_KEPT_BYTES: usize = 1 << 20;

/// The kept buffer. Clones of the pool share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostPool(KeptValue<Vec<u8>>);

impl HostPool {
    /// Makes `len` bytes from the pieces that `fill` copies. Returns the bytes and the result of `fill`. Fails if the
    /// memory cannot be allocated.
    ///
    /// Reuses the kept buffer if `len` is at least [`MIN_KEPT_BYTES`] and between half of the buffer's capacity and all
    /// of it.
    pub(crate) fn collect<R>(
        &self,
        len: usize,
        pieces: Pieces,
        fill: impl FnOnce(Dest<'_>) -> Result<R, Error>,
    ) -> Result<(PooledBytes, R), Error> {
        let kept_memory = if len < MIN_KEPT_BYTES {
            None
        } else {
            self.take_kept(len)
        };
        let (bytes, outcome) = fill_values(kept_memory.unwrap_or_default(), len, pieces, fill)?;
        let pool = self.clone();
        Ok((PooledBytes { bytes, pool }, outcome))
    }

    fn take_kept(&self, len: usize) -> Option<Vec<u8>> {
        let sizes = len..=len.saturating_mul(2);
        let mut bytes = self.0.take_if(|kept| sizes.contains(&kept.capacity()))?;
        // Zeroes only the bytes beyond the previous result, if that result was shorter.
        bytes.resize(len, 0);
        Some(bytes)
    }
}

/// Memory taken from a pool. When memory of at least [`MIN_KEPT_BYTES`] bytes is dropped, it replaces the buffer that
/// the pool keeps.
#[derive(Debug)]
pub(crate) struct PooledBytes {
    bytes: Vec<u8>,
    pool: HostPool,
}

impl AsRef<[u8]> for PooledBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl AsMut<[u8]> for PooledBytes {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for PooledBytes {
    fn drop(&mut self) {
        if self.bytes.len() >= MIN_KEPT_BYTES {
            self.pool.0.put(mem::take(&mut self.bytes));
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::{Dest, HostPool, MIN_KEPT_BYTES, Pieces, PooledBytes};

    fn pooled_bytes(pool: &HostPool, len: usize) -> PooledBytes {
        let fill = |dest: Dest<'_>| Ok(dest.all().len());
        let (bytes, filled) = pool.collect(len, Pieces::WithZeros, fill).unwrap();
        assert_eq!((bytes.as_ref().len(), filled), (len, len));
        bytes
    }

    fn take_and_drop(pool: &HostPool, len: usize) -> *const u8 {
        pooled_bytes(pool, len).as_ref().as_ptr()
    }

    #[test]
    fn large_results_of_similar_sizes_reuse_memory() {
        let pool = HostPool::default();
        let first_address = take_and_drop(&pool, 2 * MIN_KEPT_BYTES);
        assert_eq!(first_address, take_and_drop(&pool, 2 * MIN_KEPT_BYTES));
        assert_eq!(first_address, take_and_drop(&pool, MIN_KEPT_BYTES));
        // The buffer still has its whole capacity, so it is reused for results of at least half of this size.
        assert_eq!(first_address, take_and_drop(&pool, 2 * MIN_KEPT_BYTES));
        take_and_drop(&pool, MIN_KEPT_BYTES);
        let reused_bytes = pooled_bytes(&pool, MIN_KEPT_BYTES);
        assert_eq!(first_address, reused_bytes.as_ref().as_ptr());
        assert!(pool.0.get().is_none());
    }

    #[test]
    fn small_results_and_larger_results_do_not_use_the_kept_buffer() {
        let pool = HostPool::default();
        take_and_drop(&pool, 4 * MIN_KEPT_BYTES);
        take_and_drop(&pool, MIN_KEPT_BYTES - 1);
        assert_eq!(pool.0.get().unwrap().len(), 4 * MIN_KEPT_BYTES);
        // A result of less than half the buffer's size gets new memory.
        let small_result = pooled_bytes(&pool, 2 * MIN_KEPT_BYTES - 1);
        assert_eq!(pool.0.get().unwrap().len(), 4 * MIN_KEPT_BYTES);
        take_and_drop(&pool, 5 * MIN_KEPT_BYTES);
        drop(small_result);
        assert_eq!(pool.0.get().unwrap().len(), 2 * MIN_KEPT_BYTES - 1);
    }
}
