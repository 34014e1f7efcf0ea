//! A ring of buffers for a [`Stream`](crate::stream::Stream), which cuts the result of a slice into pieces. The host
//! packs one piece while the device processes another.
//!
//! A piece passes through four buffers: upload memory that the host writes, the packed source, the result, and readback
//! memory that the host reads. When the submission of a piece is done, upload and readback memory are mapped again, so
//! that the host can access them.

use super::{
    Buffers, Gpu,
    device::{PADDING, device_error, fill},
};
use crate::{Error, Plan};
use std::collections::VecDeque;
use wgpu::{BufferUsages, MapMode, SubmissionIndex};

const DOING: &str = "streaming";

/// The most pieces that are submitted and not yet taken: the device processes one while the host packs or hands out
/// another.
const SLOTS: usize = 2;

/// The buffers that pieces pass through.
#[derive(Debug)]
pub(crate) struct Ring {
    gpu: Gpu,
    idle: Vec<Slot>,
    /// The slot of a packed piece that is not yet submitted.
    packed: Option<Slot>,
    /// The submitted slots, oldest first, each with its submission and the size of its result in bytes.
    busy: VecDeque<(Slot, SubmissionIndex, usize)>,
}

#[derive(Debug)]
struct Slot {
    /// Mapped for writing while the slot is idle.
    upload: wgpu::Buffer,
    source: wgpu::Buffer,
    result: wgpu::Buffer,
    readback: wgpu::Buffer,
}

impl Ring {
    pub(crate) fn new(gpu: &Gpu) -> Self {
        Self {
            gpu: gpu.clone(),
            idle: Vec::new(),
            packed: None,
            busy: VecDeque::new(),
        }
    }

    /// The size in bytes of all buffers of a ring, without padding, for pieces with a packed source of `packed` bytes
    /// and a result of `result` bytes.
    pub(crate) fn bytes_held(packed: usize, result: usize) -> usize {
        packed.saturating_add(result).saturating_mul(2 * SLOTS)
    }

    /// The size in bytes of a buffer for `bytes` bytes, with padding.
    pub(crate) fn buffer_bytes(bytes: usize) -> u64 {
        (bytes as u64).next_multiple_of(PADDING)
    }

    /// Whether a result must be taken before the next piece is packed.
    pub(crate) fn is_full(&self) -> bool {
        self.busy.len() == SLOTS
    }

    /// Whether no piece is on the device.
    pub(crate) fn is_idle(&self) -> bool {
        self.busy.is_empty()
    }

    /// Packs a piece into upload memory: runs the plan `host` on `source`, the bytes of the piece's
    /// [`span`](crate::stream::Piece::span). [`Ring::submit`] then makes the result from the packed bytes by the plan
    /// `device`, which here only says how large the result is.
    pub(crate) fn pack(&mut self, host: &Plan, device: &Plan, source: &[u8]) -> Result<(), Error> {
        let packed = Self::buffer_bytes(host.result_bytes());
        let result = Self::buffer_bytes(device.result_bytes());
        let fits = |slot: &Slot| slot.upload.size() >= packed && slot.result.size() >= result;
        let slot = match self.idle.pop().filter(fits) {
            Some(slot) => slot,
            None => self.slot(packed, result)?,
        };
        let mut mapped = slot
            .upload
            .get_mapped_range_mut(..)
            .map_err(|error| device_error(self.gpu.opened(), DOING, error))?;
        fill(host, source, |at, bytes| {
            mapped.slice(at..at + bytes.len()).copy_from_slice(bytes);
            Ok(())
        })?;
        drop(mapped);
        slot.upload.unmap();
        self.packed = Some(slot);
        Ok(())
    }

    fn slot(&self, packed: u64, result: u64) -> Result<Slot, Error> {
        let (from, to) = (BufferUsages::COPY_SRC, BufferUsages::COPY_DST);
        let storage = BufferUsages::STORAGE | from | to;
        let buffer = |label, size, usage| {
            let doing = "allocating room to stream";
            self.gpu.opened().buffer(doing, label, size, usage)
        };
        Ok(Slot {
            upload: buffer("wgslice upload", packed, BufferUsages::MAP_WRITE | from)?,
            source: buffer("wgslice packed", packed, storage)?,
            result: buffer("wgslice result", result, storage)?,
            readback: buffer("wgslice readback", result, BufferUsages::MAP_READ | to)?,
        })
    }

    /// Submits the piece that was packed last, with the plans that were passed to [`Ring::pack`].
    pub(crate) fn submit(&mut self, host: &Plan, device: &Plan) -> Result<(), Error> {
        let Some(slot) = self.packed.take() else {
            return Ok(());
        };
        let Slot {
            upload,
            source,
            result,
            readback,
        } = &slot;
        let (packed, bytes) = (host.result_bytes(), device.result_bytes());
        let ((), submission) = self.gpu.opened().submit(DOING, |encoder| {
            encoder.copy_buffer_to_buffer(upload, 0, source, 0, Self::buffer_bytes(packed));
            let buffers = Buffers {
                source: source.slice(..),
                indices: None,
                dest: result.slice(..),
            };
            self.gpu.encode(encoder, device, buffers)?;
            encoder.copy_buffer_to_buffer(result, 0, readback, 0, Self::buffer_bytes(bytes));
            // The callbacks ignore errors, because `get_mapped_range` reports them later.
            encoder.map_buffer_on_submit(upload, MapMode::Write, .., |_| {});
            encoder.map_buffer_on_submit(readback, MapMode::Read, .., |_| {});
            Ok(())
        })?;
        self.busy.push_back((slot, submission, bytes));
        Ok(())
    }

    /// Waits until the device is done with the oldest submitted piece.
    pub(crate) fn wait(&self) -> Result<(), Error> {
        match self.busy.front() {
            Some((_, submission, _)) => self.gpu.opened().wait_for(submission.clone()),
            None => Ok(()),
        }
    }

    /// Passes the result of the oldest submitted piece to `sink`, and keeps the piece's buffers for reuse. Call
    /// [`Ring::wait`] first. The outer error is the device's. The inner error is that of `sink`.
    pub(crate) fn take<R>(
        &mut self,
        mut sink: impl FnMut(&[u8]) -> Result<(), R>,
    ) -> Result<Result<(), R>, Error> {
        let Some((slot, _, bytes)) = self.busy.pop_front() else {
            return Ok(Ok(()));
        };
        let view = slot
            .readback
            .get_mapped_range(..)
            .map_err(|error| device_error(self.gpu.opened(), DOING, error))?;
        let outcome = sink(&view[..bytes]);
        drop(view);
        slot.readback.unmap();
        self.idle.push(slot);
        Ok(outcome)
    }
}
