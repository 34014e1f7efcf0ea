//! Buffers and their mapping.

use super::{SharedState, lock};
use crate::memory::Memory;
use std::{
    ops::Range,
    sync::{Arc, Mutex},
};
use wgpu::{
    BufferAddress, MapMode, MapRangeError, WriteOnly,
    custom::{
        BufferInterface, BufferMapCallback, BufferMappedRangeInterface, DispatchBuffer,
        DispatchBufferMappedRange, QueueWriteBufferInterface,
    },
};

/// A buffer. Clones share its memory.
#[derive(Clone, Debug)]
pub(super) struct StrictBuffer {
    pub(super) memory: Arc<Mutex<Memory>>,
    pub(super) usage: wgpu::BufferUsages,
    shared: Arc<SharedState>,
    /// True if the buffer was last mapped for writing, which includes mapping at creation.
    is_mapped_for_writing: Arc<Mutex<bool>>,
}

impl StrictBuffer {
    pub(super) fn new(shared: &Arc<SharedState>, descriptor: &wgpu::BufferDescriptor<'_>) -> Self {
        Self {
            memory: Arc::new(Mutex::new(Memory::new(descriptor.size))),
            usage: descriptor.usage,
            shared: Arc::clone(shared),
            is_mapped_for_writing: Arc::new(Mutex::new(descriptor.mapped_at_creation)),
        }
    }

    /// Returns this crate's buffer inside a buffer of wgpu.
    pub(super) fn from_dispatch(buffer: &DispatchBuffer) -> &Self {
        buffer.as_custom().expect("a buffer of this device")
    }
}

impl BufferInterface for StrictBuffer {
    fn map_async(&self, mode: MapMode, _range: Range<BufferAddress>, callback: BufferMapCallback) {
        *lock(&self.is_mapped_for_writing) = mode == MapMode::Write;
        // Submitted work has already run, so the buffer is ready, and the next poll calls the callback.
        lock(&self.shared.due_callbacks).push(Box::new(move || callback(Ok(()))));
    }

    fn get_mapped_range(
        &self,
        range: Range<BufferAddress>,
    ) -> Result<DispatchBufferMappedRange, MapRangeError> {
        let length = usize::try_from(range.end - range.start).expect("a range in memory");
        Ok(DispatchBufferMappedRange::custom(MappedRange {
            bytes: lock(&self.memory).read(range.start, length),
            buffer_offset: range.start,
            memory: lock(&self.is_mapped_for_writing).then(|| Arc::clone(&self.memory)),
        }))
    }

    fn unmap(&self) {}

    fn destroy(&self) {}
}

/// A mapped range of a buffer, as a copy of its bytes.
#[derive(Debug)]
struct MappedRange {
    bytes: Vec<u8>,
    /// The offset of the range in the buffer.
    buffer_offset: BufferAddress,
    /// The memory of the buffer, to which the bytes are copied back on drop. `None` if the buffer is mapped for
    /// reading.
    memory: Option<Arc<Mutex<Memory>>>,
}

impl BufferMappedRangeInterface for MappedRange {
    fn len(&self) -> usize {
        self.bytes.len()
    }

    unsafe fn read_slice(&self) -> &[u8] {
        &self.bytes
    }

    unsafe fn write_slice(&mut self) -> WriteOnly<'_, [u8]> {
        WriteOnly::from_mut(&mut self.bytes)
    }
}

impl Drop for MappedRange {
    fn drop(&mut self) {
        if let Some(memory) = &self.memory {
            lock(memory).write(self.buffer_offset, &self.bytes);
        }
    }
}

/// Bytes that a program fills before the queue writes them to a buffer.
#[derive(Debug)]
pub(super) struct StagedBytes(pub(super) Vec<u8>);

impl QueueWriteBufferInterface for StagedBytes {
    fn len(&self) -> usize {
        self.0.len()
    }

    unsafe fn write_slice(&mut self) -> WriteOnly<'_, [u8]> {
        WriteOnly::from_mut(&mut self.0)
    }
}
