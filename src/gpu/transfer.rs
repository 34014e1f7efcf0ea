//! Bytes to the device and back, and what can go wrong on the way.
//!
//! Buffers are padded to 16 bytes, so that the widest unit has a place in the smallest, and the
//! padding is never handed out.

use super::{Gpu, encode::PendingReport};
use crate::{Error, Report};
use std::sync::mpsc;
use wgpu::{BufferUsages, ErrorFilter};

/// What buffers are padded to.
const PADDING: usize = 16;

impl Gpu {
    /// A buffer on the device with room for `bytes`, for tensors.
    pub(crate) fn buffer(&self, bytes: usize) -> Result<wgpu::Buffer, Error> {
        self.guarded("allocating a buffer", || self.create(bytes, false))?
    }

    /// A buffer on the device that holds `bytes`.
    pub(crate) fn upload(&self, bytes: &[u8]) -> Result<wgpu::Buffer, Error> {
        self.guarded("uploading", || {
            let buffer = self.create(bytes.len(), true)?;
            // Where the buffer could not be made the mapping fails too; the scope says why.
            if let Ok(mut mapped) = buffer.get_mapped_range_mut(..) {
                mapped.slice(..bytes.len()).copy_from_slice(bytes);
            }
            buffer.unmap();
            Ok(buffer)
        })?
    }

    fn create(&self, bytes: usize, mapped_at_creation: bool) -> Result<wgpu::Buffer, Error> {
        let size = bytes.max(1).next_multiple_of(PADDING) as u64;
        let allowed = self.inner.limits.max_buffer_size;
        if size > allowed {
            return Err(Error::DeviceLimit {
                what: "a tensor",
                limit: "max_buffer_size",
                needed: size,
                allowed,
            });
        }
        Ok(self.inner.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("wgslice tensor"),
            size,
            usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
            mapped_at_creation,
        }))
    }

    /// Records with `record`, submits, and returns what `record` did.
    pub(crate) fn submit<R>(
        &self,
        doing: &'static str,
        record: impl FnOnce(&mut wgpu::CommandEncoder) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.guarded(doing, || {
            let mut encoder = self
                .inner
                .device
                .create_command_encoder(&Default::default());
            let recorded = record(&mut encoder)?;
            self.inner.queue.submit([encoder.finish()]);
            Ok(recorded)
        })?
    }

    /// Waits until everything that was submitted is done.
    pub(crate) fn wait(&self) -> Result<(), Error> {
        self.inner
            .device
            .poll(wgpu::PollType::wait_indefinitely())
            .map(drop)
            .map_err(|error| device_error("waiting for the device", &error))
    }

    /// Copies bytes `from..` of a buffer into `bytes`, waiting for everything submitted before.
    pub(crate) fn read(
        &self,
        buffer: &wgpu::Buffer,
        from: u64,
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        const DOING: &str = "reading back";
        if bytes.is_empty() {
            return Ok(());
        }
        let size = bytes.len().next_multiple_of(4) as u64;
        let staging = self.guarded(DOING, || {
            self.inner.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("wgslice readback"),
                size,
                usage: BufferUsages::MAP_READ | BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        })?;
        let mapped = self.submit(DOING, |encoder| {
            encoder.copy_buffer_to_buffer(buffer, from, &staging, 0, size);
            let (send, mapped) = mpsc::channel();
            encoder.map_buffer_on_submit(&staging, wgpu::MapMode::Read, .., move |result| {
                // The receiver is gone only where reading was given up.
                let _ = send.send(result);
            });
            Ok(mapped)
        })?;
        self.wait()?;
        mapped
            .recv()
            .map_err(|error| device_error(DOING, &error))?
            .map_err(|error| device_error(DOING, &error))?;
        let view = staging
            .get_mapped_range(..)
            .map_err(|error| device_error(DOING, &error))?;
        bytes.copy_from_slice(&view[..bytes.len()]);
        Ok(())
    }

    /// Runs `work` and turns what the device reports of it into an error.
    fn guarded<R>(&self, doing: &'static str, work: impl FnOnce() -> R) -> Result<R, Error> {
        let filters = [
            ErrorFilter::Internal,
            ErrorFilter::Validation,
            ErrorFilter::OutOfMemory,
        ];
        let scopes = filters.map(|filter| self.inner.device.push_error_scope(filter));
        let outcome = work();
        // Natively a scope has its answer as soon as it is popped; innermost first.
        let mut failure = None;
        for scope in scopes.into_iter().rev() {
            failure = pollster::block_on(scope.pop()).or(failure);
        }
        match failure {
            None => Ok(outcome),
            Some(error) => Err(device_error(doing, &error)),
        }
    }
}

impl PendingReport {
    /// Reads the report, waiting until the gather is done. Only after its commands have been
    /// submitted: before that the report says that no tuple was out of range.
    ///
    /// # Errors
    ///
    /// [`Error::Device`] where reading back fails.
    pub fn read(&self) -> Result<Report, Error> {
        let Some(counts) = &self.counts else {
            return Ok(self.spell(Default::default(), &[]));
        };
        let mut words = [0u32; 2];
        self.gpu
            .read(counts, 0, bytemuck::bytes_of_mut(&mut words))?;
        let missing = Self::missing(words);
        let Some(row) = missing.first else {
            return Ok(self.spell(missing, &[]));
        };
        let (from, length) = self.tuple(row);
        let mut words = vec![0i32; length / 4];
        self.gpu
            .read(&self.indices, from, bytemuck::cast_slice_mut(&mut words))?;
        let tuple: Vec<i64> = match self.index_words {
            1 => words.iter().map(|&index| index.into()).collect(),
            _ => words
                .chunks_exact(2)
                .map(|word| i64::from(word[1]) << 32 | i64::from(word[0].cast_unsigned()))
                .collect(),
        };
        Ok(self.spell(missing, &tuple))
    }
}

fn device_error(doing: &'static str, error: &dyn std::error::Error) -> Error {
    Error::Device {
        doing,
        message: error.to_string(),
    }
}
