//! A ring of buffers for a [`Stream`](crate::stream::Stream), which cuts the result of a slice into pieces. The host
//! packs one piece while the device processes another.
//!
//! A piece passes through four buffers: upload memory that the host writes, the packed source, the result, and readback
//! memory that the host reads. When the submission of a piece is done, upload and readback memory are mapped again for
//! the host.

use super::{
    Gpu,
    device::{failure::device_error, fill::write_slice, transfer::padded_size},
};
use crate::{Error, Plan, moves::Move};
use std::collections::VecDeque;
use wgpu::{BufferUsages, MapMode, SubmissionIndex};

const DOING_STREAMING: &str = "streaming";

/// The maximum number of pieces that are submitted and not yet taken. With two, the device processes one while the host
/// packs or delivers the other.
const MAX_SUBMITTED: usize = 2;

/// A ring of slots. Each slot has the buffers for one piece.
#[derive(Debug)]
pub(crate) struct PieceRing {
    gpu: Gpu,
    idle_slots: Vec<PieceBuffers>,
    /// The submitted slots, oldest first, each with its submission and the size of its result in bytes.
    submitted_slots: VecDeque<(PieceBuffers, SubmissionIndex, usize)>,
}

/// A slot of the ring: the buffers that one piece passes through.
#[derive(Debug)]
pub(crate) struct PieceBuffers {
    /// Mapped for writing while the slot is idle.
    upload: wgpu::Buffer,
    source: wgpu::Buffer,
    result: wgpu::Buffer,
    readback: wgpu::Buffer,
}

impl PieceRing {
    pub(crate) fn new(gpu: &Gpu) -> Self {
        Self {
            gpu: gpu.clone(),
            idle_slots: Vec::new(),
            submitted_slots: VecDeque::new(),
        }
    }

    /// Returns the size in bytes of all buffers of a ring, without padding. A piece has a packed source of
    /// `packed_bytes` bytes and a result of `result_bytes` bytes.
    pub(crate) fn bytes_held(packed_bytes: usize, result_bytes: usize) -> usize {
        packed_bytes
            .saturating_add(result_bytes)
            .saturating_mul(2 * MAX_SUBMITTED)
    }

    /// Returns whether a result must be taken before the next piece is packed.
    pub(crate) fn is_full(&self) -> bool {
        self.submitted_slots.len() == MAX_SUBMITTED
    }

    /// Packs a piece into the upload memory of a slot and returns the slot. Packing runs the move `host_move` on
    /// `source`, the bytes of the piece's [`span`](crate::stream::Piece::span). [`PieceRing::submit_piece`] later runs
    /// `device_move` on the packed bytes; in this call `device_move` only determines the size of the result.
    pub(crate) fn pack_piece(
        &mut self,
        host_move: &Move,
        device_move: &Move,
        source: &[u8],
    ) -> Result<PieceBuffers, Error> {
        let [packed_size, result_size] =
            [host_move, device_move].map(|step_move| padded_size(step_move.result_bytes()));
        let is_large_enough = |slot: &PieceBuffers| {
            slot.upload.size() >= packed_size && slot.result.size() >= result_size
        };
        let slot = match self.idle_slots.pop().filter(is_large_enough) {
            Some(slot) => slot,
            None => self.make_slot(packed_size, result_size)?,
        };
        let mut mapped = slot
            .upload
            .get_mapped_range_mut(..)
            .map_err(|error| device_error(self.gpu.open_device(), DOING_STREAMING, error))?;
        write_slice(
            host_move,
            source,
            0,
            mapped.slice(..host_move.result_bytes()),
        )?;
        drop(mapped);
        slot.upload.unmap();
        Ok(slot)
    }

    fn make_slot(&self, packed_size: u64, result_size: u64) -> Result<PieceBuffers, Error> {
        let (from, to) = (BufferUsages::COPY_SRC, BufferUsages::COPY_DST);
        let storage = BufferUsages::STORAGE | from | to;
        let buffer = |label, size, usage| {
            let doing = "allocating buffers for a stream";
            self.gpu
                .open_device()
                .create_buffer(doing, label, size, usage)
        };
        Ok(PieceBuffers {
            upload: buffer(
                "wgslice upload",
                packed_size,
                BufferUsages::MAP_WRITE | from,
            )?,
            source: buffer("wgslice packed", packed_size, storage)?,
            result: buffer("wgslice result", result_size, storage)?,
            readback: buffer("wgslice readback", result_size, BufferUsages::MAP_READ | to)?,
        })
    }

    /// Submits a piece that [`PieceRing::pack_piece`] packed into `slot`. `host_move` and `device_move` must be the
    /// same as in that call.
    pub(crate) fn submit_piece(
        &mut self,
        slot: PieceBuffers,
        host_move: &Move,
        device_move: &Move,
    ) -> Result<(), Error> {
        let PieceBuffers {
            upload,
            source,
            result,
            readback,
        } = &slot;
        let (packed_bytes, result_bytes) = (host_move.result_bytes(), device_move.result_bytes());
        let ((), submission) =
            self.gpu
                .open_device()
                .record_and_submit(DOING_STREAMING, |encoder| {
                    encoder.copy_buffer_to_buffer(upload, 0, source, 0, padded_size(packed_bytes));
                    let plan = Plan::from_move(device_move.clone());
                    let (from, to) = (source.slice(..), result.slice(..));
                    self.gpu.encode(encoder, &plan, &[from], &[to])?;
                    encoder.copy_buffer_to_buffer(
                        result,
                        0,
                        readback,
                        0,
                        padded_size(result_bytes),
                    );
                    // The callbacks ignore errors, because `get_mapped_range` reports them later.
                    encoder.map_buffer_on_submit(upload, MapMode::Write, .., |_| {});
                    encoder.map_buffer_on_submit(readback, MapMode::Read, .., |_| {});
                    Ok(())
                })?;
        self.submitted_slots
            .push_back((slot, submission, result_bytes));
        Ok(())
    }

    /// Waits until the device is done with the oldest submitted piece. Returns its slot and the size of its result in
    /// bytes, or `None` if no piece is submitted.
    pub(crate) fn wait_for_oldest(&mut self) -> Result<Option<(PieceBuffers, usize)>, Error> {
        let Some((slot, submission, bytes)) = self.submitted_slots.pop_front() else {
            return Ok(None);
        };
        self.gpu.open_device().wait_for(submission)?;
        Ok(Some((slot, bytes)))
    }

    /// Passes to `sink` the result of a piece that [`PieceRing::wait_for_oldest`] returned, and keeps the slot for
    /// reuse. The outer error is from the device, and the inner error from `sink`.
    pub(crate) fn take_result<R>(
        &mut self,
        (slot, bytes): (PieceBuffers, usize),
        mut sink: impl FnMut(&[u8]) -> Result<(), R>,
    ) -> Result<Result<(), R>, Error> {
        let view = slot
            .readback
            .get_mapped_range(..)
            .map_err(|error| device_error(self.gpu.open_device(), DOING_STREAMING, error))?;
        let outcome = sink(&view[..bytes]);
        drop(view);
        slot.readback.unmap();
        self.idle_slots.push(slot);
        Ok(outcome)
    }
}
