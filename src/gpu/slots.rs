//! Small pieces of device memory that dispatches find by an offset: params where there are no
//! immediates, and reports.
//!
//! Slots come in strips: one buffer, and one group that binds any of its slots. Recording makes a
//! strip for every 64 slots at most, and none once there are enough:
//!
//! | | a slot | a strip |
//! |---|---|---|
//! | [`SharedUniforms`] | is written once, and serves every dispatch with the same uniforms | is freed once none of its slots was reused for 2,048 dispatches |
//! | [`Reports`] | is zero when it is lent | is cleared by one write, and lent anew, when nobody holds a slot of it |
//!
//! What holds a report's slot is the report, until it was read, and the commands, until they are done
//! or dropped. Uniforms are never overwritten, so that nothing need hold them but wgpu.

use super::{recent::Recent, uniforms::Uniforms};
use std::{
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, PoisonError},
};

/// Bytes from one slot to the next: no device asks for a larger alignment of dynamic offsets.
const SLOT_BYTES: u32 = 256;

/// Slots of a strip, where buffers may be that long.
const SLOTS: u32 = 64;

/// How strips are made.
#[derive(Debug)]
pub(super) struct Strips {
    pub(super) label: &'static str,
    pub(super) usage: wgpu::BufferUsages,
    /// The layout of the group that binds a slot, by a dynamic offset.
    pub(super) layout: wgpu::BindGroupLayout,
}

#[derive(Debug)]
struct Strip {
    buffer: wgpu::Buffer,
    group: wgpu::BindGroup,
}

/// A place in a strip. Clones are the same place.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    strip: Arc<Strip>,
    offset: u32,
}

impl Slot {
    pub(super) fn buffer(&self) -> &wgpu::Buffer {
        &self.strip.buffer
    }

    pub(super) fn group(&self) -> &wgpu::BindGroup {
        &self.strip.group
    }

    /// Where it begins.
    pub(super) fn offset(&self) -> u32 {
        self.offset
    }

    /// The next one of the same strip.
    fn next(&self) -> Option<Self> {
        let offset = self.offset + SLOT_BYTES;
        (u64::from(offset + SLOT_BYTES) <= self.strip.buffer.size()).then(|| Self {
            strip: Arc::clone(&self.strip),
            offset,
        })
    }
}

impl Strips {
    /// A strip of zeros.
    fn make(&self, device: &wgpu::Device) -> Arc<Strip> {
        let slot = u64::from(SLOT_BYTES);
        let slots = (device.limits().max_buffer_size / slot).clamp(1, SLOTS.into());
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(self.label),
            size: slot * slots,
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
                    size: wgpu::BufferSize::new(slot),
                }),
            }],
        });
        Arc::new(Strip { buffer, group })
    }
}

/// The params of the last dispatches.
#[derive(Debug)]
pub(super) struct SharedUniforms {
    pub(super) strips: Strips,
    state: Mutex<RecentUniforms>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct RecentUniforms {
    recent: Recent<(Uniforms, Slot)>,
    last: Option<Slot>,
}

impl SharedUniforms {
    pub(super) fn new(strips: Strips) -> Self {
        Self {
            strips,
            state: Mutex::default(),
            hasher: RandomState::default(),
        }
    }

    /// A slot that holds `uniforms` when the next commands run.
    pub(super) fn get(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        uniforms: &Uniforms,
    ) -> Slot {
        let bytes = bytemuck::bytes_of(uniforms);
        let number = self.hasher.hash_one(bytes);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((uniforms, slot)) = state.recent.find(number)
            && bytemuck::bytes_of(uniforms) == bytes
        {
            return slot.clone();
        }
        let next = state.last.as_ref().and_then(Slot::next);
        let slot = next.unwrap_or_else(|| Slot {
            strip: self.strips.make(device),
            offset: 0,
        });
        queue.write_buffer(slot.buffer(), slot.offset.into(), bytes);
        state.last = Some(slot.clone());
        state.recent.keep(number, (*uniforms, slot.clone()));
        slot
    }

    /// Where uniforms were written last.
    #[cfg(test)]
    pub(super) fn last(&self) -> Option<(wgpu::Buffer, u32)> {
        let last = self.state.lock().unwrap().last.clone();
        last.map(|slot| (slot.buffer().clone(), slot.offset()))
    }
}

/// The slots that gathers count into.
#[derive(Debug)]
pub(super) struct Reports {
    pub(super) strips: Strips,
    state: Mutex<ReportsState>,
}

#[derive(Debug, Default)]
struct ReportsState {
    all: Vec<Arc<Strip>>,
    /// The one that is lent next.
    next: Option<Slot>,
}

impl Reports {
    pub(super) fn new(strips: Strips) -> Self {
        Self {
            strips,
            state: Mutex::default(),
        }
    }

    /// Lends a slot that is zero when the next commands run.
    pub(super) fn lend(&self, device: &wgpu::Device, queue: &wgpu::Queue) -> Slot {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = state.next.take().unwrap_or_else(|| Slot {
            strip: self.strip(&mut state.all, device, queue),
            offset: 0,
        });
        state.next = slot.next();
        slot
    }

    /// A strip of zeros of which no slot is lent.
    fn strip(
        &self,
        all: &mut Vec<Arc<Strip>>,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
    ) -> Arc<Strip> {
        if let Some(strip) = all.iter().find(|strip| Arc::strong_count(strip) == 1) {
            const ZEROS: [u8; (SLOTS * SLOT_BYTES) as usize] = [0; (SLOTS * SLOT_BYTES) as usize];
            let bytes = usize::try_from(strip.buffer.size()).unwrap_or(ZEROS.len());
            queue.write_buffer(&strip.buffer, 0, &ZEROS[..bytes]);
            return Arc::clone(strip);
        }
        let strip = self.strips.make(device);
        all.push(Arc::clone(&strip));
        strip
    }

    #[cfg(test)]
    pub(super) fn strips(&self) -> usize {
        self.state.lock().unwrap().all.len()
    }
}
