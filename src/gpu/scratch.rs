//! The memory that the steps of a scatter leave something in for the next: a device's own, which serves every recording.

use crate::Error;
use std::sync::{Mutex, PoisonError};
use wgpu::{BufferDescriptor, BufferUsages};

/// What a scatter needs of the device while it runs, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scratch {
    /// A word for each slice of a block, behind one more.
    pub(crate) head: u64,
    /// What is kept of each row of a block.
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

/// Memory between steps, as large as the largest scatter so far has needed.
#[derive(Debug, Default)]
pub(super) struct ScatterMemory(Mutex<Option<Buffers>>);

#[derive(Clone, Debug)]
pub(super) struct Buffers {
    pub(super) head: wgpu::Buffer,
    pub(super) rows: wgpu::Buffer,
}

impl ScatterMemory {
    /// Buffers of at least this size, and of at most `most` bytes if that is enough.
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
            // Somewhat more, so that the next may be a little larger.
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

    /// What is kept.
    #[cfg(test)]
    pub(super) fn kept(&self) -> Option<[wgpu::Buffer; 2]> {
        let kept = self.0.lock().unwrap().clone();
        kept.map(|kept| [kept.head, kept.rows])
    }

    /// Drops it.
    pub(super) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
