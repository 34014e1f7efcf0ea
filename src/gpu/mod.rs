//! The GPU executor: a device, its pipelines, and plans recorded into command encoders.
//!
//! | file | decides |
//! |---|---|
//! | `adapter` | which adapter is used |
//! | `grid` | how rows are dealt out to invocations |
//! | `params` | what a dispatch is told, word by word |
//! | `pipeline` | how shaders are put together, and that each is compiled once |
//! | `encode` | what is recorded for a plan: nothing, a copy, or a dispatch |
//! | `transfer` | how bytes get to the device and back |

mod adapter;
mod encode;
mod grid;
mod params;
mod pipeline;
#[cfg(test)]
mod shader_tests;
mod transfer;

pub use adapter::{AdapterOptions, Candidate, Software};
pub use encode::{DeviceIndices, PendingReport};

use crate::Error;
use grid::Kind;
use pipeline::{PARAMS_BYTES, ParamsSpace, Pipelines};
use std::sync::Arc;

/// A GPU, or a software adapter that acts as one: a `wgpu` device with the shaders that run there.
///
/// Cheap to clone; clones share the compiled pipelines.
#[derive(Clone, Debug)]
pub struct Gpu {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    device: wgpu::Device,
    queue: wgpu::Queue,
    info: wgpu::AdapterInfo,
    limits: wgpu::Limits,
    params: ParamsSpace,
    pipelines: Pipelines,
}

impl Gpu {
    /// Works on the caller's device. Any limits will do, and no feature is needed; where the device
    /// was opened with `Features::IMMEDIATES` and 128 bytes of them, they are used.
    ///
    /// Errors of the device reach the caller's own handlers.
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        let limits = device.limits();
        let immediates = device.features().contains(wgpu::Features::IMMEDIATES)
            && limits.max_immediate_size >= PARAMS_BYTES;
        Self {
            inner: Arc::new(Inner {
                device: device.clone(),
                queue: queue.clone(),
                info: device.adapter_info(),
                limits,
                params: if immediates {
                    ParamsSpace::Immediate
                } else {
                    ParamsSpace::Uniform
                },
                pipelines: Pipelines::default(),
            }),
        }
    }

    /// Opens a device on the adapter that the options choose, with all that the adapter allows.
    ///
    /// # Errors
    ///
    /// [`Error::NoAdapter`] where none fits; it lists what there is. [`Error::Device`] where the
    /// driver refuses.
    pub async fn open_async(options: &AdapterOptions) -> Result<Self, Error> {
        Self::on_adapter(&options.choose().await?).await
    }

    /// Opens a device on this adapter, with all that it allows: for a caller that went through
    /// [`AdapterOptions::adapters`] and chose.
    ///
    /// # Errors
    ///
    /// [`Error::Device`] where the driver refuses.
    pub async fn on_adapter(adapter: &wgpu::Adapter) -> Result<Self, Error> {
        let (device, queue) = adapter
            .request_device(&wgpu::DeviceDescriptor {
                label: Some("wgslice"),
                required_features: adapter.features() & wgpu::Features::IMMEDIATES,
                required_limits: adapter.limits(),
                ..Default::default()
            })
            .await
            .map_err(|error| Error::Device {
                doing: "opening the device",
                message: error.to_string(),
            })?;
        Ok(Self::new(&device, &queue))
    }

    /// [`Gpu::open_async`], waiting for it.
    ///
    /// # Errors
    ///
    /// As [`Gpu::open_async`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(options: &AdapterOptions) -> Result<Self, Error> {
        pollster::block_on(Self::open_async(options))
    }

    /// The device.
    pub fn device(&self) -> &wgpu::Device {
        &self.inner.device
    }

    /// The queue.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.inner.queue
    }

    /// What the driver says of the adapter.
    pub fn info(&self) -> &wgpu::AdapterInfo {
        &self.inner.info
    }

    /// Whether the adapter computes on the CPU.
    pub fn is_software(&self) -> bool {
        adapter::is_software(&self.inner.info)
    }

    fn kind(&self) -> Kind {
        if self.is_software() {
            Kind::Software
        } else {
            Kind::Hardware
        }
    }
}

/// Two are equal if they are the same device.
impl PartialEq for Gpu {
    fn eq(&self, other: &Self) -> bool {
        self.inner.device == other.inner.device
    }
}

/// The adapter's name, kind and API.
impl std::fmt::Display for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&adapter::describe(&self.inner.info))
    }
}
