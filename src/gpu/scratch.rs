//! The scratch memory between the steps of a scatter. A device has one, which serves every recording.

use crate::Error;
use std::sync::{Mutex, PoisonError};
use wgpu::{BufferDescriptor, BufferUsages};

/// The scratch memory that a scatter needs, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scratch {
    /// One word, and then a word for each slice of a block.
    pub(crate) head: u64,
    /// The lists of a block's rows.
    pub(crate) rows: u64,
}

impl Scratch {
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            head: self.head.max(other.head),
            rows: self.rows.max(other.rows),
        }
    }
}

/// Scratch memory, as large as the largest scatter so far has needed.
#[derive(Debug, Default)]
pub(super) struct ScatterMemory(Mutex<Option<Buffers>>);

#[derive(Clone, Debug)]
pub(super) struct Buffers {
    pub(super) head: wgpu::Buffer,
    pub(super) rows: wgpu::Buffer,
}

impl ScatterMemory {
    /// Buffers of at least the size `needed`, and of at most `most` bytes if that is enough.
    pub(super) fn get(
        &self,
        needed: Scratch,
        most: u64,
        create: impl Fn(&BufferDescriptor<'_>) -> Result<wgpu::Buffer, Error>,
    ) -> Result<Buffers, Error> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let size = kept.as_ref().map_or(Scratch::default(), |kept| Scratch {
            head: kept.head.size(),
            rows: kept.rows.size(),
        });
        if let Some(kept) = &*kept
            && size.head >= needed.head
            && size.rows >= needed.rows
        {
            return Ok(kept.clone());
        }
        let make = |label, needed: u64, had: u64| {
            // Rounded up to a power of two, to serve a slightly larger scatter too.
            let size = needed.max(had).max(256);
            let size = size.checked_next_power_of_two().unwrap_or(size).min(most);
            create(&BufferDescriptor {
                label: Some(label),
                size: size.max(needed) / 4 * 4,
                usage: BufferUsages::STORAGE | BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        };
        let made = Buffers {
            head: make("wgslice scatter slices", needed.head, size.head)?,
            rows: make("wgslice scatter rows", needed.rows, size.rows)?,
        };
        Ok(kept.insert(made).clone())
    }

    /// The buffers, if there are any.
    #[cfg(test)]
    pub(super) fn kept(&self) -> Option<[wgpu::Buffer; 2]> {
        let kept = self.0.lock().unwrap().clone();
        kept.map(|kept| [kept.head, kept.rows])
    }

    /// Frees the buffers.
    pub(super) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
