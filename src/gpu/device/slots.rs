//! Slots of device memory for reports and uniforms, which dispatches bind by dynamic offsets.
//!
//! Up to 64 slots share a strip: a buffer, and a bind group for any of its slots. The commands that bind a slot hold it
//! until they finish or are dropped. A report also holds its slot until it is read, and kept dispatches hold the slots
//! of their uniforms. When no slot of a strip is held, one write clears the strip, and its slots can be lent again. So
//! recording creates at most one strip for every 64 slots, and none if an old strip can be reused.

use super::{failure::run_in_error_scope, group::bind_group};
use crate::lock::lock;
use std::sync::{Arc, Mutex};
use wgpu::{BufferSlice, BufferUsages, ComputePass};

/// Slots begin at multiples of this many bytes: the largest alignment of dynamic offsets that a device can require.
const SLOT_ALIGNMENT: u32 = 256;

/// The number of slots of a strip. If the device allows only smaller buffers, a strip has fewer slots.
const STRIP_SLOTS: u32 = 64;

#[derive(Debug)]
struct SlotStrip {
    buffer: wgpu::Buffer,
    group: wgpu::BindGroup,
    /// True if the buffer was created. If the device was lost or out of memory, commands that bind the buffer fail, and
    /// the strip is not kept.
    exists: bool,
}

/// A slot of a strip. Clones refer to the same slot.
#[derive(Clone, Debug)]
pub(in crate::gpu) struct Slot {
    strip: Arc<SlotStrip>,
    offset: u32,
}

impl Slot {
    /// Returns the first `bytes` bytes of the slot.
    pub(in crate::gpu) fn first_bytes(&self, bytes: u64) -> BufferSlice<'_> {
        let begin = u64::from(self.offset);
        self.strip.buffer.slice(begin..begin + bytes)
    }

    /// Writes the slot's first bytes. The write runs before the next submission.
    pub(in crate::gpu) fn write_bytes(&self, queue: &wgpu::Queue, bytes: &[u8]) {
        if self.has_buffer() {
            queue.write_buffer(&self.strip.buffer, self.offset.into(), bytes);
        }
    }

    /// Returns whether the slot's buffer exists: see [`SlotStrip::exists`].
    pub(in crate::gpu) fn has_buffer(&self) -> bool {
        self.strip.exists
    }

    /// Binds the slot, which must be [held](hold_slots) until the commands finish.
    pub(in crate::gpu) fn bind_slot(&self, pass: &mut ComputePass<'_>, group: u32) {
        pass.set_bind_group(group, &self.strip.group, &[self.offset]);
    }
}

/// Holds the two slots of a dispatch until its commands finish or are dropped. One call holds both slots, because each
/// call costs wgpu an allocation.
pub(in crate::gpu) fn hold_slots(pass: &mut ComputePass<'_>, slots: [Slot; 2]) {
    pass.on_submitted_work_done(move || drop(slots));
}

impl SlotStrip {
    /// Creates a strip of zeros with a bind group of this layout. A slot has `bytes` bytes.
    fn new(device: &wgpu::Device, layout: &wgpu::BindGroupLayout, bytes: u32) -> Self {
        let slot_bytes = u64::from(bytes);
        let slot_count =
            (device.limits().max_buffer_size / slot_bytes).clamp(1, STRIP_SLOTS.into());
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("wgslice slots"),
            size: slot_bytes * slot_count,
            usage: BufferUsages::STORAGE
                | BufferUsages::UNIFORM
                | BufferUsages::COPY_SRC
                | BufferUsages::COPY_DST,
            // Mapping makes wgpu count the buffer as initialized. Otherwise wgpu would clear the buffer at the first
            // submission that binds it, and an earlier write by another thread would be lost.
            mapped_at_creation: true,
        });
        let is_mapped = buffer.get_mapped_range(..).is_ok();
        if is_mapped {
            buffer.unmap();
        }
        let group = bind_group(
            device,
            Some("wgslice slots"),
            layout,
            [(&buffer, 0, slot_bytes)],
        );
        Self {
            buffer,
            group,
            exists: is_mapped,
        }
    }
}

/// A collection of slots whose bind groups have the same layout.
#[derive(Debug)]
pub(in crate::gpu) struct Slots {
    device: wgpu::Device,
    queue: wgpu::Queue,
    /// The size of a slot in bytes.
    slot_bytes: u32,
    strips: Mutex<StripList>,
}

#[derive(Debug, Default)]
struct StripList {
    all_strips: Vec<Arc<SlotStrip>>,
    /// The slot to lend next. `None` if a strip must be found or created first.
    next_slot: Option<Slot>,
}

impl Slots {
    /// Makes a collection of slots of at least `bytes` bytes.
    pub(in crate::gpu) fn new(device: &wgpu::Device, queue: &wgpu::Queue, bytes: u32) -> Self {
        Self {
            device: device.clone(),
            queue: queue.clone(),
            slot_bytes: bytes.next_multiple_of(SLOT_ALIGNMENT),
            strips: Mutex::default(),
        }
    }

    /// Lends a slot. Its bytes will be zero when the next submission runs. `layout` returns the layout of the slot's
    /// bind group.
    pub(in crate::gpu) fn lend_slot(&self, layout: impl FnOnce() -> wgpu::BindGroupLayout) -> Slot {
        let mut strips = lock(&self.strips);
        let StripList {
            all_strips,
            next_slot,
        } = &mut *strips;
        let slot = next_slot.take().unwrap_or_else(|| Slot {
            strip: self.unused_strip(all_strips, layout),
            offset: 0,
        });
        let offset = slot.offset + self.slot_bytes;
        let is_within_strip = u64::from(offset + self.slot_bytes) <= slot.strip.buffer.size();
        *next_slot = (slot.has_buffer() && is_within_strip).then(|| Slot {
            offset,
            ..slot.clone()
        });
        slot
    }

    /// Frees the strips without a slot in use.
    pub(in crate::gpu) fn free_unused(&self) {
        let mut strips = lock(&self.strips);
        strips.next_slot = None;
        strips
            .all_strips
            .retain(|strip| Arc::strong_count(strip) > 1);
    }

    /// Returns a strip of zeros without a slot in use: either a strip of `all_strips`, which this call clears, or a new
    /// strip, which it adds to `all_strips`.
    fn unused_strip(
        &self,
        all_strips: &mut Vec<Arc<SlotStrip>>,
        layout: impl FnOnce() -> wgpu::BindGroupLayout,
    ) -> Arc<SlotStrip> {
        if let Some(strip) = all_strips
            .iter()
            .find(|strip| Arc::strong_count(strip) == 1)
        {
            let zeros = vec![0; (STRIP_SLOTS * self.slot_bytes) as usize];
            let bytes = usize::try_from(strip.buffer.size()).unwrap_or(zeros.len());
            self.queue
                .write_buffer(&strip.buffer, 0, &zeros[..bytes.min(zeros.len())]);
            return Arc::clone(strip);
        }
        let make = || SlotStrip::new(&self.device, &layout(), self.slot_bytes);
        // The error is not needed: `exists` is false if the strip could not be made.
        let strip = Arc::new(run_in_error_scope(&self.device, make).0);
        if strip.exists {
            all_strips.push(Arc::clone(&strip));
        }
        strip
    }

    #[cfg(test)]
    pub(in crate::gpu) fn strip_count(&self) -> usize {
        self.strips.lock().unwrap().all_strips.len()
    }
}
