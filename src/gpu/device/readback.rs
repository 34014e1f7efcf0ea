//! Reads bytes back from the device.

use super::{OpenDevice, failure::device_error};
use crate::{Error, lock::lock, moves::Move, pending::POLLING_WAKER};
use std::{
    future::poll_fn,
    sync::{Arc, Mutex},
    task::{Poll, Waker},
};
use wgpu::{BufferSlice, BufferUsages};

const DOING_READBACK: &str = "reading back";

/// A submitted copy into a buffer that is mapped when the copy is done.
#[derive(Debug)]
pub(in crate::gpu) struct Readback {
    device: OpenDevice,
    staging: wgpu::Buffer,
    mapping: Arc<Mutex<Mapping>>,
}

#[derive(Debug, Default)]
struct Mapping {
    result: Option<Result<(), wgpu::BufferAsyncError>>,
    /// The wakers of all tasks that wait for the mapping, because several tasks can await one report.
    wakers: Vec<Waker>,
}

impl OpenDevice {
    /// Reads these ranges of buffers into `words`, in order and without gaps.
    pub(in crate::gpu) async fn read_words<'a>(
        &self,
        pieces: impl Iterator<Item = BufferSlice<'a>>,
        words: &mut [u32],
    ) -> Result<(), Error> {
        let staging = self.create_staging_buffer(size_of_val(words) as u64)?;
        let readback = self.read_back(staging, pieces)?;
        readback.copy_to(bytemuck::cast_slice_mut(words)).await
    }

    /// Creates a buffer of `size` bytes that the device copies to and the host reads.
    pub(in crate::gpu) fn create_staging_buffer(&self, size: u64) -> Result<wgpu::Buffer, Error> {
        let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
        self.create_buffer(DOING_READBACK, "wgslice readback", size, usage)
    }

    /// Submits a copy of these ranges of buffers to `staging`, in order and without gaps. `staging` must be unmapped
    /// and large enough. The offset and the length of each range must be multiples of 4 bytes.
    pub(in crate::gpu) fn read_back<'a>(
        &self,
        staging: wgpu::Buffer,
        pieces: impl Iterator<Item = BufferSlice<'a>>,
    ) -> Result<Readback, Error> {
        let mapping = Arc::<Mutex<Mapping>>::default();
        self.record_and_submit(DOING_READBACK, |encoder| {
            let mut at = 0;
            for piece in pieces {
                let (buffer, offset, size) = (piece.buffer(), piece.offset(), piece.size());
                encoder.copy_buffer_to_buffer(buffer, offset, &staging, at, size);
                at += size;
            }
            let mapping = Arc::clone(&mapping);
            encoder.map_buffer_on_submit(&staging, wgpu::MapMode::Read, .., move |result| {
                let mut mapping = lock(&mapping);
                mapping.result = Some(result);
                mapping.wakers.drain(..).for_each(Waker::wake);
            });
            Ok(())
        })?;
        Ok(Readback {
            device: self.clone(),
            staging,
            mapping,
        })
    }

    /// Waits for all submissions like [`OpenDevice::wait_for_submissions`], but without blocking.
    pub(crate) async fn wait_async(&self) -> Result<(), Error> {
        // This copy runs after all earlier submissions, and its buffer is mapped only after that.
        let word = self.allocate_array(&[4], 1)?;
        self.read_words(word.buffer_slices(0, 4), &mut [0]).await
    }

    /// Calls `poll` until it returns a result. Between the calls this function waits for all submissions, so the caller
    /// must first check that it [may block](Self::check_may_block).
    pub(crate) fn wait_until<T>(
        &self,
        mut poll: impl FnMut(&mut std::task::Context<'_>) -> Poll<Result<T, Error>>,
    ) -> Result<T, Error> {
        let mut context = std::task::Context::from_waker(POLLING_WAKER);
        loop {
            if let Poll::Ready(output) = poll(&mut context) {
                return output;
            }
            self.wait_for_submissions()?;
        }
    }
}

impl Readback {
    /// Waits until the copy is done and fills `bytes` from the beginning of the staging buffer.
    ///
    /// If the copy is not done and the caller's waker is not [`POLLING_WAKER`], the [`MappingWatcher`] waits for the
    /// device, because a future must not block. A browser needs no watcher, because it polls the device itself.
    pub(in crate::gpu) async fn copy_to(&self, bytes: &mut [u8]) -> Result<(), Error> {
        let device = &self.device;
        let mut is_watched = cfg!(target_arch = "wasm32");
        let mapping_result = poll_fn(|context| {
            let mut mapping = lock(&self.mapping);
            if let Some(result) = &mapping.result {
                return Poll::Ready(result.clone());
            }
            let waker = context.waker();
            if std::ptr::eq(waker, POLLING_WAKER) {
                return Poll::Pending;
            }
            if !mapping.wakers.iter().any(|other| other.will_wake(waker)) {
                mapping.wakers.push(waker.clone());
            }
            if !is_watched {
                is_watched = true;
                drop(mapping);
                device.shared.watcher.watch_mapping(device, &self.mapping);
            }
            Poll::Pending
        });
        mapping_result
            .await
            .map_err(|error| device_error(device, DOING_READBACK, error))?;
        let view = self
            .staging
            .get_mapped_range(..)
            .map_err(|error| device_error(device, DOING_READBACK, error))?;
        // `run_cpu` copies with several threads, because the operating system maps the pages of new memory at their
        // first write, and mapping takes longer than copying.
        Move::copy(bytes.len())
            .run_cpu(&view[..bytes.len()], None, bytes)
            .map(drop)
    }

    /// Unmaps the staging buffer and returns it for reuse.
    pub(in crate::gpu) fn into_staging(self) -> wgpu::Buffer {
        self.staging.unmap();
        self.staging
    }
}

/// A thread that waits for the device while tasks await mappings. The list has the mappings that were added after the
/// thread's current wait began. If none were added, the thread ends. While no thread runs, the list is `None`.
#[derive(Debug, Default)]
pub(in crate::gpu) struct MappingWatcher(Mutex<Option<Vec<Arc<Mutex<Mapping>>>>>);

impl MappingWatcher {
    /// Makes sure that the task that awaits `mapping` is woken when the copy is done or when waiting for the device
    /// fails. The copy must be submitted.
    fn watch_mapping(&self, device: &OpenDevice, mapping: &Arc<Mutex<Mapping>>) {
        let mut mappings = lock(&self.0);
        let is_running = mappings.is_some();
        mappings.get_or_insert_default().push(Arc::clone(mapping));
        drop(mappings);
        if is_running {
            return;
        }
        let watched_device = device.clone();
        let thread = std::thread::Builder::new().name("wgslice watcher".into());
        if thread
            .spawn(move || watched_device.shared.watcher.run(&watched_device))
            .is_err()
        {
            // If the operating system does not allow another thread, this call waits for the device itself.
            self.run(device);
        }
    }

    fn run(&self, device: &OpenDevice) {
        while let Some(mappings) = self.next() {
            if device.wait_for_submissions().is_err() {
                for mapping in mappings {
                    let mut mapping = lock(&mapping);
                    mapping.result.get_or_insert(Err(wgpu::BufferAsyncError));
                    mapping.wakers.drain(..).for_each(Waker::wake);
                }
            }
        }
    }

    /// Returns the mappings that were added since the last call, or `None` if none were added, which ends the thread.
    fn next(&self) -> Option<Vec<Arc<Mutex<Mapping>>>> {
        let mut mappings = lock(&self.0);
        let new_mappings = mappings.take().filter(|list| !list.is_empty())?;
        *mappings = Some(Vec::new());
        Some(new_mappings)
    }
}
