//! Uploads host bytes to the device.
//!
//! Below 4 MiB, bytes are written into the tensor's buffers, which are created mapped. From there on, two staging
//! buffers alternate: the device copies from one while the host writes the other. wgpu fills all memory that is created
//! mapped with zeros, and if the host cannot access device memory it allocates as much again.

use super::{DeviceBytes, Gpu, failure::device_error, fill::fill, transfer::row_bytes};
use crate::{Error, Plan};

const DOING: &str = "uploading";

/// The least bytes that are uploaded through staging buffers.
#[cfg(not(target_arch = "wasm32"))]
const STAGED_BYTES: usize = 4 << 20;

impl Gpu {
    /// Uploads an array.
    pub(crate) fn upload(
        &self,
        shape: &[usize],
        element: usize,
        bytes: &[u8],
    ) -> Result<DeviceBytes, Error> {
        let copy = Plan::copy(bytes.len());
        self.upload_result(&copy, bytes, row_bytes(shape, element))
    }

    /// Uploads a slice of host memory, packed straight into memory that the device reads.
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
        if bytes >= STAGED_BYTES {
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
        let length = |bytes| usize::try_from(bytes).unwrap_or(usize::MAX);
        fill(plan, source, |at, mut bytes| {
            for span in dest.parts.spans(at as u64, bytes.len() as u64) {
                let (now, rest) = bytes.split_at(length(span.bytes));
                let within = length(span.offset);
                mapped[span.part]
                    .slice(within..within + now.len())
                    .copy_from_slice(now);
                bytes = rest;
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

/// Uploads through staging buffers, which browsers do not allow to wait for.
#[cfg(not(target_arch = "wasm32"))]
mod staged {
    use super::*;
    use std::collections::VecDeque;
    use wgpu::{BufferUsages, BufferViewMut, MapMode, SubmissionIndex};

    /// Bytes of a staging buffer: enough to keep the bus busy, and few enough to stay in the CPU's cache until the
    /// device has copied them.
    const STAGING_BYTES: usize = 2 << 20;

    /// The number of staging buffers.
    const BUFFERS: usize = 2;

    pub(super) struct Upload<'a> {
        gpu: &'a Gpu,
        dest: &'a DeviceBytes,
        /// The staging buffer that contains bytes `begin..end` of the tensor.
        current: Option<(wgpu::Buffer, BufferViewMut)>,
        begin: usize,
        end: usize,
        /// The buffers that the device copies from, oldest first.
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

        /// Uploads bytes to byte `at` of the tensor, the end of the bytes before.
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

        /// Submits the last copy.
        pub(super) fn finish(mut self) -> Result<(), Error> {
            self.send()
        }

        /// A mapped staging buffer.
        fn staging(&mut self) -> Result<(wgpu::Buffer, BufferViewMut), Error> {
            let staging = match self.busy.pop_front() {
                Some((staging, submission)) if self.busy.len() + 1 == BUFFERS => {
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
            let ((), submission) = self.gpu.submit(DOING, |encoder| {
                let mut from = 0;
                for piece in self.dest.slices(self.begin, self.end - self.begin) {
                    let (dest, to, length) = (piece.buffer(), piece.offset(), piece.size());
                    encoder.copy_buffer_to_buffer(&staging, from, dest, to, length);
                    from += length;
                }
                // `get_mapped_range_mut` reports errors.
                encoder.map_buffer_on_submit(&staging, MapMode::Write, .., |_| {});
                Ok(())
            })?;
            self.busy.push_back((staging, submission));
            self.begin = self.end;
            Ok(())
        }
    }
}
