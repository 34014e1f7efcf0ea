//! Uploads host bytes to the device.
//!
//! The host writes bytes to staging memory, which wgpu does not clear first, and the device copies them from there.
//! Large tensors are uploaded in pieces. The device copies one piece while the host writes the next. The host waits for
//! earlier pieces, which bounds the staging memory.

use super::{DeviceBytes, OpenDevice, failure::device_error, fill::fill};
use crate::{Error, Plan};
use std::{collections::VecDeque, io};
use wgpu::{QueueWriteBufferView, SubmissionIndex};

const DOING: &str = "uploading";

/// The size of a piece in bytes: large enough to keep the bus busy, and small enough to stay in the CPU's cache until
/// the device has copied it.
const PIECE: usize = 2 << 20;

/// When this many pieces are submitted, the host waits until the oldest is copied.
const UNDER_WAY: usize = 2;

impl OpenDevice {
    /// Uploads the bytes of an array. `element` is the size of an element in bytes.
    pub(crate) fn upload(
        &self,
        shape: &[usize],
        element: usize,
        bytes: &[u8],
    ) -> Result<DeviceBytes, Error> {
        self.upload_result(&Plan::copy(bytes.len()), bytes, shape, element)
    }

    /// Uploads the slice of `source` that `plan` describes, packed on the way into memory that the device reads.
    pub(crate) fn upload_slice(&self, plan: &Plan, source: &[u8]) -> Result<DeviceBytes, Error> {
        self.upload_result(plan, source, plan.shape(), plan.dtype.size())
    }

    fn upload_result(
        &self,
        plan: &Plan,
        source: &[u8],
        shape: &[usize],
        element: usize,
    ) -> Result<DeviceBytes, Error> {
        let dest = self.allocate(shape, element)?;
        let mut upload = Upload {
            device: self,
            dest: &dest,
            bytes: plan.result_bytes(),
            done: 0,
            piece: None,
            under_way: VecDeque::new(),
        };
        fill(plan, source, |_, bytes| upload.put(bytes))?;
        Ok(dest)
    }
}

/// An upload under way, which writes the bytes of a tensor in ascending order.
struct Upload<'a> {
    device: &'a OpenDevice,
    dest: &'a DeviceBytes,
    /// The size of the tensor in bytes.
    bytes: usize,
    /// The number of bytes written so far.
    done: usize,
    /// The staging memory of the piece that is being written, and the number of bytes written there.
    piece: Option<(QueueWriteBufferView, usize)>,
    /// The submissions of pieces that the host has not waited for, oldest first.
    under_way: VecDeque<SubmissionIndex>,
}

impl Upload<'_> {
    fn put(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            let (mut view, written) = match self.piece.take() {
                Some(piece) => piece,
                None => (self.view()?, 0),
            };
            let (now, rest) = bytes.split_at(bytes.len().min(view.len() - written));
            let written = written + now.len();
            view.slice(written - now.len()..written)
                .copy_from_slice(now);
            self.done += now.len();
            bytes = rest;
            if written == view.len() || self.done == self.bytes {
                self.send(view)?;
            } else {
                self.piece = Some((view, written));
            }
        }
        Ok(())
    }

    /// Returns staging memory for the next piece of the tensor.
    fn view(&self) -> Result<QueueWriteBufferView, Error> {
        let piece = PIECE.min(self.bytes - self.done);
        let staged = self.device.guarded(DOING, || {
            let into = self.dest.slices(self.done, piece).next()?;
            let size = wgpu::BufferSize::new(into.size())?;
            let queue = &self.device.queue;
            queue.write_buffer_with(into.buffer(), into.offset(), size)
        })?;
        let lost = || device_error(self.device, DOING, io::Error::other("no staging memory"));
        staged.ok_or_else(lost)
    }

    /// Submits the copy of a piece. If the tensor fits in a single piece, submits nothing: the next submission includes
    /// the copy.
    fn send(&mut self, view: QueueWriteBufferView) -> Result<(), Error> {
        self.device.guarded(DOING, || drop(view))?;
        if self.bytes > PIECE {
            let submission = self
                .device
                .guarded(DOING, || self.device.queue.submit([]))?;
            self.under_way.push_back(submission);
        }
        if self.under_way.len() == UNDER_WAY
            && let Some(oldest) = self.under_way.pop_front()
        {
            self.device.wait_for(oldest)?;
        }
        Ok(())
    }
}
