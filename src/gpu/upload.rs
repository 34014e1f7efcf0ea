//! Host bytes on their way to the device.
//!
//! Few bytes are written into the tensor's own memory, which is mapped as it is created. Many go
//! through two pieces of upload memory in turn, one of which the device copies from while the host
//! writes the other: wgpu writes zeros over all memory that is created mapped, and where the host
//! does not see the device's own it maps as much again.

use super::{DeviceBytes, Gpu, failure::device_error, fill::fill, transfer::row_bytes};
use crate::{Error, Plan};

const DOING: &str = "uploading";

/// Bytes from which on they go through upload memory.
#[cfg(not(target_arch = "wasm32"))]
const MANY: usize = 4 << 20;

impl Gpu {
    /// Uploads the bytes of an array.
    pub(crate) fn upload(
        &self,
        shape: &[usize],
        element: usize,
        bytes: &[u8],
    ) -> Result<DeviceBytes, Error> {
        let copy = Plan::copy(bytes.len());
        self.upload_result(&copy, bytes, row_bytes(shape, element))
    }

    /// Runs a slice of host memory straight into memory that the device reads.
    pub(crate) fn upload_slice(&self, plan: &Plan, source: &[u8]) -> Result<DeviceBytes, Error> {
        self.upload_result(plan, source, row_bytes(plan.shape(), plan.element))
    }

    fn upload_result(
        &self,
        plan: &Plan,
        source: &[u8],
        row_bytes: u64,
    ) -> Result<DeviceBytes, Error> {
        let bytes = plan.result_bytes();
        #[cfg(not(target_arch = "wasm32"))]
        if bytes >= MANY {
            let dest = self.create(bytes, row_bytes, false)?;
            let mut upload = staged::Upload::new(self, &dest);
            fill(plan, source, |at, bytes| upload.put(at, bytes))?;
            upload.finish()?;
            return Ok(dest);
        }
        let dest = self.create(bytes, row_bytes, true)?;
        let mut mapped = dest
            .buffers()
            .iter()
            .map(|buffer| buffer.get_mapped_range_mut(..))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| device_error(self, DOING, &error))?;
        fill(plan, source, |at, bytes| {
            for (part, within, range) in dest.places(at, bytes.len()) {
                let length = range.len();
                mapped[part]
                    .slice(within..within + length)
                    .copy_from_slice(&bytes[range]);
            }
            Ok(())
        })?;
        drop(mapped);
        self.guarded(DOING, || {
            dest.buffers().iter().for_each(wgpu::Buffer::unmap);
        })?;
        Ok(dest)
    }
}

/// Through upload memory. A browser lets nobody wait for it.
#[cfg(not(target_arch = "wasm32"))]
mod staged {
    use super::*;
    use std::collections::VecDeque;
    use wgpu::{BufferUsages, BufferViewMut, MapMode, SubmissionIndex};

    /// Bytes of a piece of upload memory: enough to keep the bus busy, and few enough to stay in the
    /// cache until the device has them.
    const STAGING_BYTES: usize = 2 << 20;

    /// Pieces of upload memory.
    const PIECES: usize = 2;

    pub(super) struct Upload<'a> {
        gpu: &'a Gpu,
        dest: &'a DeviceBytes,
        /// What is being written, if anything is: the bytes before `end` are there.
        current: Option<(wgpu::Buffer, BufferViewMut)>,
        begin: usize,
        end: usize,
        /// What the device copies from, the oldest first.
        busy: VecDeque<(wgpu::Buffer, SubmissionIndex)>,
    }

    impl<'a> Upload<'a> {
        pub(super) fn new(gpu: &'a Gpu, dest: &'a DeviceBytes) -> Self {
            Self {
                gpu,
                dest,
                current: None,
                begin: 0,
                end: 0,
                busy: VecDeque::new(),
            }
        }

        /// Takes the bytes that belong at `at`, behind those that it was given before.
        pub(super) fn put(&mut self, at: usize, mut bytes: &[u8]) -> Result<(), Error> {
            debug_assert_eq!(at, self.end);
            while !bytes.is_empty() {
                let (staging, mut view) = match self.current.take() {
                    Some(current) => current,
                    None => self.staging()?,
                };
                let written = self.end - self.begin;
                let room = view.len() - written;
                let (now, rest) = bytes.split_at(bytes.len().min(room));
                view.slice(written..written + now.len())
                    .copy_from_slice(now);
                self.current = Some((staging, view));
                self.end += now.len();
                bytes = rest;
                if now.len() == room {
                    self.send()?;
                }
            }
            Ok(())
        }

        /// Sends what has not been sent.
        pub(super) fn finish(mut self) -> Result<(), Error> {
            self.send()
        }

        /// Upload memory that can be written.
        fn staging(&mut self) -> Result<(wgpu::Buffer, BufferViewMut), Error> {
            let staging = match self.busy.pop_front() {
                Some((staging, submission)) if self.busy.len() + 1 == PIECES => {
                    self.gpu.wait_for(submission)?;
                    staging
                }
                other => {
                    self.busy.extend(other);
                    let size = self.gpu.inner.limits.max_buffer_size / 4 * 4;
                    self.gpu.guarded("allocating upload memory", || {
                        let device = &self.gpu.inner.device;
                        device.create_buffer(&wgpu::BufferDescriptor {
                            label: Some("wgslice upload"),
                            size: size.min(STAGING_BYTES as u64),
                            usage: BufferUsages::MAP_WRITE | BufferUsages::COPY_SRC,
                            mapped_at_creation: true,
                        })
                    })?
                }
            };
            let view = staging.get_mapped_range_mut(..);
            let view = view.map_err(|error| device_error(self.gpu, DOING, &error))?;
            Ok((staging, view))
        }

        fn send(&mut self) -> Result<(), Error> {
            let Some((staging, view)) = self.current.take() else {
                return Ok(());
            };
            drop(view);
            staging.unmap();
            let places = self.dest.places(self.begin, self.end - self.begin);
            let ((), submission) = self.gpu.submit(DOING, |encoder| {
                for (part, within, range) in places {
                    let dest = &self.dest.buffers()[part];
                    // Tensors are padded, so that the last word is whole.
                    let length = range.len().next_multiple_of(4) as u64;
                    let (from, to) = (range.start as u64, within as u64);
                    encoder.copy_buffer_to_buffer(&staging, from, dest, to, length);
                }
                // An error shows when the range is asked for.
                encoder.map_buffer_on_submit(&staging, MapMode::Write, .., |_| {});
                Ok(())
            })?;
            self.busy.push_back((staging, submission));
            self.begin = self.end;
            Ok(())
        }
    }
}
