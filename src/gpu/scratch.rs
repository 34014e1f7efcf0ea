//! The scratch memory between the steps of a scatter. A device has one, which serves every recording.

use super::{Gpu, Inner};
use crate::Error;
use std::sync::{Mutex, PoisonError};
use wgpu::{BufferDescriptor, BufferUsages};

/// The scratch memory that a scatter needs, in bytes. A large scatter is cut into blocks of rows and slices, which use
/// the same scratch memory, one block after another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scratch {
    /// The size of `head`: a word that counts invalid rows, and a word for each slice of a block.
    pub(crate) head: u64,
    /// The size of `rows`, the lists of a block's rows: see [`Lists`](super::lists::Lists).
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

/// The buffers `head` and `rows`, each as large as the largest scatter so far has needed. `None` before the first
/// scatter.
pub(super) type ScatterMemory = Mutex<[Option<wgpu::Buffer>; 2]>;

impl Gpu {
    /// Returns buffers for `head` and `rows` of at least these sizes: the kept ones, or new ones if those are too
    /// small.
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
