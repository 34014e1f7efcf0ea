//! Scratch memory of several kinds: between the steps of a scatter, a search in a mask or a plan; for arguments that
//! are in the buffer of the destination; and for rows between a texture and a tensor. An [`Engine`] has one memory of
//! each kind and uses it for every recording. Each recording writes the scratch memory before reading it, so the order
//! of recordings does not matter.

use super::{
    Engine,
    argument::Argument,
    caps::{BufferParts, check_limit},
};
use crate::{
    Error, Plan,
    gpu::device::transfer::{padded_size, part_bytes},
    lock::lock,
    plan::{Operand, Temp},
};
use std::sync::Mutex;
use wgpu::{
    BufferUsages,
    util::{BufferInitDescriptor, DeviceExt},
};

/// The kept buffers of each kind.
#[derive(Debug, Default)]
pub(in crate::gpu) struct ScratchBuffers {
    pub(in crate::gpu) steps: IdleBuffers,
    pub(super) aside: IdleBuffers,
    /// Memory between the steps of plans: buffer n is temp n of any plan.
    pub(super) temps: IdleBuffers,
    /// Memory for rows of texels, in several buffers only if a copy needed more than the device's `max_buffer_size`.
    pub(in crate::gpu) texels: IdleBuffers,
}

/// Buffers that are at least as large as any recording has needed since [`Gpu::trim`](crate::Gpu::trim).
type IdleBuffers = Mutex<Vec<wgpu::Buffer>>;

impl ScratchBuffers {
    pub(super) fn free_unused(&self) {
        for buffers in [&self.steps, &self.aside, &self.temps, &self.texels] {
            lock(buffers).clear();
        }
    }
}

/// Memory for rows of a box of texels, for data between the steps of a plan, or for values that a plan holds.
#[derive(Debug)]
pub(in crate::gpu) struct ScratchMemory {
    /// One buffer, or several if the memory exceeds the device's `max_buffer_size`.
    buffers: Vec<wgpu::Buffer>,
    /// Each part except the last consists of whole rows or, for the values of a plan, of whole index tuples.
    parts: BufferParts,
    bytes: u64,
}

impl ScratchMemory {
    pub(in crate::gpu) fn argument(&self) -> Argument<'_> {
        Argument {
            name: "scratch",
            buffers: &self.buffers,
            parts: self.parts,
            passed_bytes: self.bytes,
            needed_bytes: self.bytes,
            keeps_groups: true,
            tensor: None,
        }
    }
}

impl Engine {
    /// Returns the memory of the plan's temps. Each temp has its own buffers, because a dispatch cannot read and write
    /// the same buffer. Memory that a report reads is new: later recordings can overwrite scratch memory before the
    /// report is read.
    pub(super) fn allocate_temps(&self, plan: &Plan) -> Result<Vec<ScratchMemory>, Error> {
        let buffer_limit = self.device.shared.limits.max_buffer_size;
        let doing = "allocating memory between the steps of a plan";
        let mut kept_buffers = lock(&self.scratch.temps);
        let (mut memory, mut next_kept) = (Vec::new(), 0);
        for (temp, Temp { shape, dtype }) in plan.temps().iter().enumerate() {
            let bytes = shape.iter().product::<usize>() * dtype.size();
            let row_bytes = shape.last().map_or(1, |&size| size.max(1)) * dtype.size();
            let padded_bytes = padded_size(bytes);
            let parts = match padded_bytes <= buffer_limit {
                true => BufferParts::ONE_PART,
                false => BufferParts {
                    offset: 0,
                    bytes: part_bytes(buffer_limit, row_bytes as u64),
                },
            };
            let operand = Some(Operand::Temp(temp));
            let mut steps = plan.steps();
            let is_read = steps.any(|(_, step)| step.reports && step.by == operand);
            let (mut buffers, mut bytes_left) = (Vec::new(), padded_bytes);
            while bytes_left > 0 {
                let part_size = parts.bytes.min(bytes_left);
                buffers.push(match is_read {
                    true => {
                        self.kept_or_new_buffer(&mut Vec::new(), 0, part_size, part_size, doing)?
                    }
                    false => self.kept_or_new_buffer(
                        &mut kept_buffers,
                        next_kept,
                        part_size,
                        part_size,
                        doing,
                    )?,
                });
                next_kept += usize::from(!is_read);
                bytes_left -= part_size;
            }
            memory.push(ScratchMemory {
                buffers,
                parts,
                bytes: bytes as u64,
            });
        }
        Ok(memory)
    }

    /// Returns new memory with the index tuples of a plan, of `tuple_bytes` bytes each. It has as many parts as the
    /// device's `max_buffer_size` requires, each with whole tuples.
    pub(super) fn values_memory(
        &self,
        bytes: &[u8],
        tuple_bytes: usize,
    ) -> Result<ScratchMemory, Error> {
        let buffer_limit = self.device.shared.limits.max_buffer_size;
        let parts = match padded_size(bytes.len()) <= buffer_limit {
            true => BufferParts::ONE_PART,
            false => BufferParts {
                offset: 0,
                bytes: part_bytes(buffer_limit, tuple_bytes.max(1) as u64),
            },
        };
        let max_part_bytes = usize::try_from(parts.bytes).unwrap_or(usize::MAX);
        let make_buffer = |part: &[u8]| {
            let mut padded_part = part.to_vec();
            padded_part.resize(part.len().max(1).next_multiple_of(16), 0);
            self.device.wgpu.create_buffer_init(&BufferInitDescriptor {
                label: Some("wgslice values"),
                contents: &padded_part,
                usage: BufferUsages::STORAGE,
            })
        };
        let doing = "allocating the index tuples of a plan";
        let buffers = match bytes.is_empty() {
            true => vec![self.device.run_guarded(doing, || make_buffer(bytes))?],
            false => {
                let parts = bytes.chunks(max_part_bytes);
                let part_buffers =
                    parts.map(|part| self.device.run_guarded(doing, || make_buffer(part)));
                part_buffers.collect::<Result<_, Error>>()?
            }
        };
        Ok(ScratchMemory {
            buffers,
            parts,
            bytes: bytes.len() as u64,
        })
    }

    /// Returns a buffer of at least `needed_bytes` bytes for a scatter, a search, or a tensor that is converted before
    /// it is written to texels: the kept buffer, or a new one if the kept buffer is too small.
    pub(in crate::gpu) fn scratch_buffer(&self, needed_bytes: u64) -> Result<wgpu::Buffer, Error> {
        let doing = "allocating memory between steps";
        self.grown_buffer(&self.scratch.steps, needed_bytes, doing)
    }

    /// Returns the kept buffer, or a new one if it has less than `needed_bytes` bytes. `doing` describes the allocation
    /// in error messages.
    pub(super) fn grown_buffer(
        &self,
        kept_buffers: &IdleBuffers,
        needed_bytes: u64,
        doing: &'static str,
    ) -> Result<wgpu::Buffer, Error> {
        // The size is rounded up to a power of two if the device allows it, so that the buffer also fits slightly
        // larger needs.
        let size = needed_bytes.max(256);
        let size = size.checked_next_power_of_two().unwrap_or(size);
        let size = size
            .min(self.device.shared.limits.max_buffer_size)
            .max(needed_bytes);
        self.kept_or_new_buffer(&mut lock(kept_buffers), 0, needed_bytes, size, doing)
    }

    /// Returns memory for `rows` rows of texels of `pitch` bytes each, including padding. wgpu requires that `pitch` is
    /// a multiple of 256 for rows that are copied from or to textures.
    pub(in crate::gpu) fn texel_memory(
        &self,
        pitch: usize,
        rows: usize,
    ) -> Result<ScratchMemory, Error> {
        let (pitch, bytes) = (pitch as u64, pitch as u64 * rows as u64);
        let buffer_limit = self.device.shared.limits.max_buffer_size;
        check_limit("a row of texels", "max_buffer_size", pitch, buffer_limit)?;
        let parts = match bytes <= buffer_limit {
            true => BufferParts::ONE_PART,
            false => BufferParts {
                offset: 0,
                bytes: buffer_limit / pitch * pitch,
            },
        };
        let buffer_count = usize::try_from(bytes.div_ceil(parts.bytes)).unwrap_or(usize::MAX);
        let (mut kept_buffers, size) = (lock(&self.scratch.texels), bytes.min(parts.bytes));
        let doing = "allocating memory for texels";
        let buffers = (0..buffer_count)
            .map(|number| self.kept_or_new_buffer(&mut kept_buffers, number, size, size, doing));
        Ok(ScratchMemory {
            buffers: buffers.collect::<Result<_, _>>()?,
            parts,
            bytes,
        })
    }

    /// Returns kept buffer `number` if it has at least `needed_bytes` bytes. Otherwise replaces it with a new buffer of
    /// `size` bytes and returns this buffer.
    fn kept_or_new_buffer(
        &self,
        kept_buffers: &mut Vec<wgpu::Buffer>,
        number: usize,
        needed_bytes: u64,
        size: u64,
        doing: &'static str,
    ) -> Result<wgpu::Buffer, Error> {
        if let Some(buffer) = kept_buffers
            .get(number)
            .filter(|buffer| buffer.size() >= needed_bytes)
        {
            return Ok(buffer.clone());
        }
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let (label, size) = ("wgslice scratch", size / 4 * 4);
        let buffer = self.device.create_buffer(doing, label, size, usage)?;
        match kept_buffers.get_mut(number) {
            Some(kept_buffer) => kept_buffer.clone_from(&buffer),
            None => kept_buffers.push(buffer.clone()),
        }
        Ok(buffer)
    }
}
