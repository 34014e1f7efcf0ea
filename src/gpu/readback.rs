//! Reads bytes back from the device.

use super::{Gpu, failure::device_error};
use crate::{Error, Plan};
use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};
use wgpu::BufferUsages;

const DOING: &str = "reading back";

/// A range of a buffer. Its offset and length are multiples of 4 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) buffer: &'a wgpu::Buffer,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// A submitted copy of pieces, one after the other, into a buffer that will be mapped.
#[derive(Debug)]
pub(super) struct Readback {
    gpu: Gpu,
    staging: wgpu::Buffer,
    mapping: Arc<Mapping>,
}

#[derive(Debug, Default)]
struct Mapping(Mutex<MappingState>);

#[derive(Debug, Default)]
struct MappingState {
    result: Option<Result<(), wgpu::BufferAsyncError>>,
    waker: Option<Waker>,
}

impl Mapping {
    fn state(&self) -> MutexGuard<'_, MappingState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn arrive(&self, result: Result<(), wgpu::BufferAsyncError>) {
        let mut state = self.state();
        state.result = Some(result);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }
}

impl Gpu {
    /// Submits a copy of the pieces, to be mapped.
    pub(super) fn read_back<'a>(
        &self,
        pieces: impl Iterator<Item = Piece<'a>> + Clone,
    ) -> Result<Readback, Error> {
        let size = pieces.clone().map(|piece| piece.bytes).sum();
        let staging = self.staging(size)?;
        self.read_back_through(staging, pieces)
    }

    /// A buffer that the device copies to and the host reads.
    pub(super) fn staging(&self, size: u64) -> Result<wgpu::Buffer, Error> {
        self.guarded(DOING, || {
            self.inner.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("wgslice readback"),
                size,
                usage: BufferUsages::MAP_READ | BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        })
    }

    /// [`Gpu::read_back`] through an unmapped buffer that is large enough.
    pub(super) fn read_back_through<'a>(
        &self,
        staging: wgpu::Buffer,
        pieces: impl Iterator<Item = Piece<'a>>,
    ) -> Result<Readback, Error> {
        let mapping = Arc::new(Mapping::default());
        self.submit(DOING, |encoder| {
            let mut at = 0;
            for Piece {
                buffer,
                offset,
                bytes,
            } in pieces
            {
                encoder.copy_buffer_to_buffer(buffer, offset, &staging, at, bytes);
                at += bytes;
            }
            let mapping = Arc::clone(&mapping);
            encoder.map_buffer_on_submit(&staging, wgpu::MapMode::Read, .., move |result| {
                mapping.arrive(result);
            });
            Ok(())
        })?;
        Ok(Readback {
            gpu: self.clone(),
            staging,
            mapping,
        })
    }
}

impl Readback {
    /// Whether the bytes, or an error, have arrived.
    pub(super) fn has_arrived(&self) -> bool {
        let state = self.mapping.state();
        state.result.is_some()
    }

    /// Copies the first `bytes.len()` bytes, which must have arrived.
    pub(super) fn copy_to(&self, bytes: &mut [u8]) -> Result<(), Error> {
        let mapped = {
            let state = self.mapping.state();
            state.result.clone()
        };
        let gpu = &self.gpu;
        if let Some(Err(error)) = mapped {
            return Err(device_error(gpu, DOING, &error));
        }
        let view = self
            .staging
            .get_mapped_range(..)
            .map_err(|error| device_error(gpu, DOING, &error))?;
        // On several threads, since the system maps pages of new memory at their first write, which takes longer than
        // the copy.
        Plan::copy(bytes.len()).run(&view[..bytes.len()], bytes)
    }

    /// The unmapped buffer, for reuse.
    pub(super) fn into_staging(self) -> wgpu::Buffer {
        self.staging.unmap();
        self.staging
    }

    /// A future that is ready when the bytes have arrived.
    pub(super) fn arrival(&self) -> Arrival {
        Arrival {
            gpu: self.gpu.clone(),
            mapping: Arc::clone(&self.mapping),
            watched: false,
        }
    }
}

/// A future that is ready when the bytes have arrived.
#[derive(Debug)]
pub(super) struct Arrival {
    gpu: Gpu,
    mapping: Arc<Mapping>,
    watched: bool,
}

impl Future for Arrival {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        {
            let mut state = self.mapping.state();
            if state.result.is_some() {
                return Poll::Ready(());
            }
            state.waker = Some(context.waker().clone());
        }
        if !self.watched {
            self.watched = true;
            watch(&self.gpu);
        }
        Poll::Pending
    }
}

/// Makes the device run its callbacks. A browser does so by itself; elsewhere a thread waits for the device, since a
/// future must not block.
fn watch(gpu: &Gpu) {
    #[cfg(not(target_arch = "wasm32"))]
    {
        let gpu = gpu.clone();
        std::thread::spawn(move || gpu.wait());
    }
    #[cfg(target_arch = "wasm32")]
    let _ = gpu;
}
