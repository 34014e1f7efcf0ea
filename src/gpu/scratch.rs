//! The scratch memory between the steps of a scatter. A device has one, which serves every recording.

use super::{Gpu, Inner};
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

/// The buffers of `head` and `rows`, each as large as the largest scatter so far has needed.
pub(super) type ScatterMemory = Mutex<[Option<wgpu::Buffer>; 2]>;

impl Gpu {
    /// Buffers for `head` and `rows` of at least these sizes.
    pub(super) fn scratch(&self, needed: Scratch) -> Result<[wgpu::Buffer; 2], Error> {
        let mut kept = self
            .inner
            .scatter
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let [head, rows] = &mut *kept;
        Ok([
            self.grown(head, needed.head)?,
            self.grown(rows, needed.rows)?,
        ])
    }

    fn grown(&self, kept: &mut Option<wgpu::Buffer>, needed: u64) -> Result<wgpu::Buffer, Error> {
        if let Some(kept) = kept
            && kept.size() >= needed
        {
            return Ok(kept.clone());
        }
        let Inner { device, limits, .. } = &*self.inner;
        // Rounded up to a power of two, to serve a slightly larger scatter too.
        let size = needed.max(256);
        let size = size.checked_next_power_of_two().unwrap_or(size);
        let made = self.guarded("allocating memory for a scatter", || {
            device.create_buffer(&BufferDescriptor {
                label: Some("wgslice scatter"),
                size: size.min(limits.max_buffer_size).max(needed) / 4 * 4,
                usage: BufferUsages::STORAGE | BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        })?;
        Ok(kept.insert(made).clone())
    }
}
