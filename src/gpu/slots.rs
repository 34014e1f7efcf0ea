//! Small pieces of device memory that dispatches use and give back: params where there are no
//! immediates, and reports.
//!
//! A slot is lent until the last copy of its lease is gone. One copy travels with the commands, as a
//! callback for when they are done, so that a slot is not lent again while the device may still use
//! it, nor while somebody wants to read it; commands that are never submitted give it back too.

use std::sync::{Arc, Mutex, PoisonError};

/// Bytes from one slot to the next: no device asks for a larger alignment of dynamic offsets.
const SLOT_BYTES: u64 = 256;

/// Slots of a buffer, where buffers may be that long.
const SLOTS: u64 = 64;

/// All slots of one kind on a device.
#[derive(Debug)]
pub(crate) struct Slots {
    label: &'static str,
    usage: wgpu::BufferUsages,
    layout: wgpu::BindGroupLayout,
    free: Arc<Mutex<Vec<Slot>>>,
}

/// A place in a buffer that many slots share.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) buffer: wgpu::Buffer,
    pub(crate) group: wgpu::BindGroup,
    pub(crate) offset: u32,
}

/// A slot that is in use. Clones lend the same slot.
#[derive(Clone, Debug)]
pub(crate) struct Lease(Arc<Lent>);

#[derive(Debug)]
struct Lent {
    slot: Slot,
    free: Arc<Mutex<Vec<Slot>>>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.push(self.slot.clone());
    }
}

impl Lease {
    pub(crate) fn slot(&self) -> &Slot {
        &self.0.slot
    }
}

impl Slots {
    pub(crate) fn new(
        label: &'static str,
        usage: wgpu::BufferUsages,
        layout: wgpu::BindGroupLayout,
    ) -> Self {
        Self {
            label,
            usage,
            layout,
            free: Arc::default(),
        }
    }

    /// The layout of the group that binds a slot, by a dynamic offset.
    pub(crate) fn layout(&self) -> &wgpu::BindGroupLayout {
        &self.layout
    }

    /// Lends a slot that holds `bytes` when the next commands run.
    pub(crate) fn lend(&self, device: &wgpu::Device, queue: &wgpu::Queue, bytes: &[u8]) -> Lease {
        let slot = {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            match free.pop() {
                Some(slot) => slot,
                None => self.more(device, &mut free),
            }
        };
        queue.write_buffer(&slot.buffer, slot.offset.into(), bytes);
        let free = Arc::clone(&self.free);
        Lease(Arc::new(Lent { slot, free }))
    }

    fn more(&self, device: &wgpu::Device, free: &mut Vec<Slot>) -> Slot {
        let slots = (device.limits().max_buffer_size / SLOT_BYTES).clamp(1, SLOTS);
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(self.label),
            size: SLOT_BYTES * slots,
            usage: self.usage | wgpu::BufferUsages::COPY_DST,
            // So that wgpu counts all of it as initialized. It clears what is not at the first
            // submission that binds it, and where another thread's write came in between, that
            // write was lost.
            mapped_at_creation: true,
        });
        buffer.unmap();
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(self.label),
            layout: &self.layout,
            entries: &[wgpu::BindGroupEntry {
                binding: 0,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: &buffer,
                    offset: 0,
                    size: wgpu::BufferSize::new(SLOT_BYTES),
                }),
            }],
        });
        let slot = |number| Slot {
            buffer: buffer.clone(),
            group: group.clone(),
            // At most SLOTS · SLOT_BYTES.
            offset: u32::try_from(number * SLOT_BYTES).unwrap_or(0),
        };
        free.extend((1..slots).rev().map(slot));
        slot(0)
    }
}
