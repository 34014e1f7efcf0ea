//! Buffers in which shards are made, and which hold long answers of object stores.

use super::{
    Error,
    allocate::{Purpose, too_large},
};
use memmap2::MmapMut;
use std::{
    fmt::Display,
    ops::{Deref, DerefMut},
};

/// Describes a shard's buffers in errors about memory.
pub(crate) const SHARD_PURPOSE: Purpose<&str> = Purpose {
    content: "a shard",
    way_out: "make smaller shards with --shard",
};

/// Bytes in memory that comes directly from the system, if possible in huge pages. A shard has tens of megabytes, and
/// clearing and mapping pages of 4 KiB would take as long as filling them. The system clears a page when it is first
/// touched.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    map: Option<MmapMut>,
    length: usize,
}

impl Buffer {
    /// Returns the number of bytes that fit into the memory.
    pub(crate) fn capacity(&self) -> usize {
        self.map.as_ref().map_or(0, |map| map.len())
    }

    /// Sets the length to `length` arbitrary bytes, and the capacity to at least `capacity`.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] if there is not enough memory.
    pub(crate) fn reset(
        &mut self,
        length: usize,
        capacity: usize,
        purpose: Purpose<impl Display>,
    ) -> Result<(), Error> {
        self.length = 0;
        let capacity = capacity.max(length);
        if self.capacity() < capacity {
            // The old memory is freed first.
            self.map = None;
            self.map = Some(map_anonymous(capacity, purpose)?);
        }
        self.length = length;
        Ok(())
    }

    /// Appends bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] if there is not enough memory.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let end = self.length + bytes.len();
        if end > self.capacity() {
            let mut larger = map_anonymous(end.saturating_mul(2), SHARD_PURPOSE)?;
            larger[..self.length].copy_from_slice(self);
            self.map = Some(larger);
        }
        let begin = self.length;
        self.length = end;
        self[begin..].copy_from_slice(bytes);
        Ok(())
    }

    /// Drops all bytes after the first `length`.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }
}

fn map_anonymous(bytes: usize, purpose: Purpose<impl Display>) -> Result<MmapMut, Error> {
    let map = MmapMut::map_anon(bytes.max(1)).map_err(|_| too_large(bytes, &purpose))?;
    // If the system has no free huge pages, it rejects this advice or uses ordinary pages.
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    Ok(map)
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.map.as_ref().map_or(&[], |map| &map[..self.length])
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        let length = self.length;
        self.map.as_mut().map_or(&mut [], |map| &mut map[..length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_grows_and_keeps_its_bytes() {
        let mut buffer = Buffer::default();
        assert!(buffer.is_empty() && buffer.capacity() == 0);
        buffer.append(&[1, 2, 3]).unwrap();
        buffer.append(&[4; 100]).unwrap();
        assert_eq!((&buffer[..4], buffer.len()), (&[1, 2, 3, 4][..], 103));
        buffer.truncate(2);
        buffer.truncate(50);
        buffer.append(&[]).unwrap();
        assert_eq!(buffer[..], [1, 2]);
        let capacity = buffer.capacity();
        buffer.reset(capacity, 0, SHARD_PURPOSE).unwrap();
        assert_eq!((buffer.len(), buffer.capacity()), (capacity, capacity));
        buffer.reset(0, 0, SHARD_PURPOSE).unwrap();
        assert!(buffer.is_empty());
        buffer.reset(7, 5000, SHARD_PURPOSE).unwrap();
        assert_eq!((buffer.len(), buffer.capacity()), (7, 5000));
    }

    #[test]
    fn sizes_that_do_not_fit_are_errors() {
        for bytes in [1 << 60, usize::MAX] {
            let error = Buffer::default()
                .reset(0, bytes, SHARD_PURPOSE)
                .unwrap_err()
                .to_string();
            let expected = format!(
                "a shard, of {bytes} bytes, does not fit into the memory of this machine: make smaller shards with \
                 --shard"
            );
            assert_eq!(error, expected);
        }
    }
}
