//! Uploads host bytes to the device.
//!
//! The host writes bytes to staging memory, which wgpu does not clear first, and the device copies them from this
//! memory. Large tensors are uploaded in pieces: the device copies one piece while the host writes the next. The host
//! waits for earlier pieces, which limits the staging memory.

use super::{DeviceBytes, OpenDevice, failure::device_error, fill::write_slice};
use crate::{Error, moves::Move};
use std::{collections::VecDeque, io};
use wgpu::QueueWriteBufferView;

const DOING_UPLOAD: &str = "uploading";

/// The size of a piece in bytes: large enough to keep the bus busy, and small enough to stay in the CPU's cache until
/// the device has copied it.
const PIECE_BYTES: usize = 2 << 20;

/// When this many pieces are submitted, the host waits until the device has copied the oldest piece.
const MAX_SUBMITTED: usize = 2;

impl OpenDevice {
    /// Uploads the slice of `source` that `step_move` describes. The host packs the slice while copying it to memory
    /// that the device reads.
    pub(crate) fn upload_slice_of(
        &self,
        step_move: &Move,
        source: &[u8],
    ) -> Result<DeviceBytes, Error> {
        let dest = self.allocate_array(step_move.shape(), step_move.dtype.size())?;
        let bytes = step_move.result_bytes();
        let mut submissions = VecDeque::new();
        let mut at = 0;
        while at < bytes {
            let mut view = self.staging_memory(&dest, at, PIECE_BYTES.min(bytes - at))?;
            // The view has whole words, so it can be longer than the remaining bytes.
            let piece_bytes = view.len().min(bytes - at);
            write_slice(step_move, source, at, view.slice(..piece_bytes))?;
            self.run_guarded(DOING_UPLOAD, || drop(view))?;
            at += piece_bytes;
            // A tensor of a single piece is not submitted: the next submission by any caller copies it.
            if bytes > PIECE_BYTES {
                submissions.push_back(self.run_guarded(DOING_UPLOAD, || self.queue.submit([]))?);
            }
            if submissions.len() == MAX_SUBMITTED
                && let Some(oldest) = submissions.pop_front()
            {
                self.wait_for(oldest)?;
            }
        }
        Ok(dest)
    }

    /// Returns staging memory for bytes `at..at + bytes` of a tensor. If these bytes are in several buffers, the memory
    /// is only for the bytes in the first of these buffers.
    fn staging_memory(
        &self,
        dest: &DeviceBytes,
        at: usize,
        bytes: usize,
    ) -> Result<QueueWriteBufferView, Error> {
        let staging_view = self.run_guarded(DOING_UPLOAD, || {
            let dest_slice = dest.buffer_slices(at, bytes).next()?;
            let size = wgpu::BufferSize::new(dest_slice.size())?;
            let queue = &self.queue;
            queue.write_buffer_with(dest_slice.buffer(), dest_slice.offset(), size)
        })?;
        let no_memory = || device_error(self, DOING_UPLOAD, io::Error::other("no staging memory"));
        staging_view.ok_or_else(no_memory)
    }
}
