//! Bytes on their way back from the device.

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

/// Bytes of a buffer: a multiple of 4 from a multiple of 4 on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) buffer: &'a wgpu::Buffer,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// A copy of some pieces, one behind the other, that was submitted and will be mapped.
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
    /// Submits a copy of the pieces, and asks for it to be mapped.
    pub(super) fn read_back<'a>(
        &self,
        pieces: impl Iterator<Item = Piece<'a>> + Clone,
    ) -> Result<Readback, Error> {
        let size = pieces.clone().map(|piece| piece.bytes).sum();
        let staging = self.staging(size)?;
        self.read_back_through(staging, pieces)
    }

    /// Memory that the device copies to and the host reads.
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

    /// [`Gpu::read_back`] through memory that is large enough and not mapped.
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
    /// Whether the bytes are here, or an error is.
    pub(super) fn has_arrived(&self) -> bool {
        let state = self.mapping.state();
        state.result.is_some()
    }

    /// Copies the bytes, of which there must be as many, and which must be here.
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
        // By several threads, since the system maps the pages of new memory as they are first written,
        // which takes longer than the copy.
        Plan::copy(bytes.len()).run(&view[..bytes.len()], bytes)
    }

    /// The memory, for another use.
    pub(super) fn into_staging(self) -> wgpu::Buffer {
        self.staging.unmap();
        self.staging
    }

    /// The bytes' arrival.
    pub(super) fn arrival(&self) -> Arrival {
        Arrival {
            gpu: self.gpu.clone(),
            mapping: Arc::clone(&self.mapping),
            watched: false,
        }
    }
}

/// Done when the bytes are here.
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

/// Sees to it that the device's callbacks are run. A browser does by itself; elsewhere somebody has
/// to wait for the device, and a future must not.
fn watch(gpu: &Gpu) {
    #[cfg(not(target_arch = "wasm32"))]
    {
        let gpu = gpu.clone();
        std::thread::spawn(move || gpu.wait());
    }
    #[cfg(target_arch = "wasm32")]
    let _ = gpu;
}
