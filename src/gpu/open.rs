//! Opens devices.

use super::{
    device::{OpenDevice, adapter::AdapterOptions},
    engine::Engine,
};
use crate::Error;
use std::sync::Arc;

/// A GPU, or a software adapter that acts as one: a `wgpu` device and its compiled pipelines.
///
/// | to | call |
/// |---|---|
/// | use my program's own device | [`Gpu::new`], opened with what [`Gpu::device_descriptor`] requests |
/// | open one | `Gpu::open`, [`Gpu::open_async`], or [`Gpu::from_adapter`] on an adapter that I choose |
/// | record a plan into my own encoder or pass | [`Gpu::encode`]; before, [`Gpu::prepare`] |
/// | copy texels to or from a buffer | [`Gpu::encode_from_texture`], [`Gpu::encode_to_texture`] |
/// | run operations on values and tensors | [`Backend`](crate::Backend)`::from(gpu)` |
///
/// Cheap to clone; clones share the pipelines.
#[derive(Clone, Debug)]
pub struct Gpu {
    pub(super) engine: Arc<Engine>,
}

/// Constructors, and the needs of a device. See the table above.
impl Gpu {
    /// Uses the caller's device. Any limits are accepted, and no feature is required.
    ///
    /// If the device's limits are too low for the shaders, recording fails. Device errors that no call returns reach
    /// the caller's own handlers.
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        Self {
            engine: Arc::new(Engine::new(OpenDevice::new(device, queue))),
        }
    }

    /// Opens a device like [`Gpu::open_async`], but blocks until the device is open.
    ///
    /// # Errors
    ///
    /// As [`Gpu::open_async`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(options: &AdapterOptions) -> Result<Self, Error> {
        pollster::block_on(Self::open_async(options))
    }

    /// Opens a device on the adapter that the options choose, with the adapter's limits.
    ///
    /// # Errors
    ///
    /// [`Error::NoAdapter`] if no adapter fits; its message lists the machine's adapters. [`Error::Device`] if the
    /// driver opens no device.
    pub async fn open_async(options: &AdapterOptions) -> Result<Self, Error> {
        Self::from_adapter(&options.choose().await?).await
    }

    /// Opens a device on this adapter, such as one from [`AdapterOptions::adapters`], with the adapter's limits.
    ///
    /// # Errors
    ///
    /// [`Error::Device`] if the driver opens no device.
    pub async fn from_adapter(adapter: &wgpu::Adapter) -> Result<Self, Error> {
        let (device, queue) = adapter
            .request_device(&wgpu::DeviceDescriptor {
                required_limits: adapter.limits(),
                ..Self::device_descriptor(adapter)
            })
            .await
            .map_err(|error| Error::Device {
                doing: "opening the device",
                source: error.into(),
            })?;
        let gpu = Self::new(&device, &queue);
        let shared = Arc::clone(&gpu.opened().shared);
        device.set_device_lost_callback(move |reason, message| {
            // If there is a reason already, the first one is kept.
            let _ = shared.lost.set(format!("{message} ({reason:?})"));
        });
        Ok(gpu)
    }

    /// The features and limits to request for a device that your program opens: the feature for pipeline caches, if the adapter has
    /// it, and WebGPU's default limits, two of them raised as far as the adapter allows: the sizes of buffers and of
    /// bindings, so that fewer plans are cut into several dispatches. Where the adapter does not reach a default, the
    /// limit is the adapter's.
    ///
    /// ```no_run
    /// use wgslice::{wgpu, Gpu};
    ///
    /// # async fn example(adapter: &wgpu::Adapter) -> Result<(), wgpu::RequestDeviceError> {
    /// let mut wanted = Gpu::device_descriptor(adapter);
    /// wanted.required_features |= wgpu::Features::TIMESTAMP_QUERY; // what your own program needs
    /// let (device, queue) = adapter.request_device(&wanted).await?;
    /// let gpu = Gpu::new(&device, &queue);
    /// # Ok(())
    /// # }
    /// ```
    pub fn device_descriptor(adapter: &wgpu::Adapter) -> wgpu::DeviceDescriptor<'static> {
        let allowed = adapter.limits();
        wgpu::DeviceDescriptor {
            label: Some("wgslice"),
            required_features: adapter.features() & wgpu::Features::PIPELINE_CACHE,
            required_limits: wgpu::Limits {
                max_buffer_size: allowed.max_buffer_size,
                max_storage_buffer_binding_size: allowed.max_storage_buffer_binding_size,
                ..wgpu::Limits::default().or_worse_values_from(&allowed)
            },
            ..Default::default()
        }
    }
}
