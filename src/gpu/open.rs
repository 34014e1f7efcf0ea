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
/// | use the program's own device | [`Gpu::new`]; open the device with [`Gpu::device_descriptor`] |
/// | open a device | `Gpu::open`, [`Gpu::open_async`], or [`Gpu::from_adapter`] on an adapter of your choice |
/// | record a plan into your own encoder or pass | [`Gpu::encode`]; to compile in advance, [`Gpu::prepare`] |
/// | copy texels to or from a buffer | [`Gpu::encode_from_texture`], [`Gpu::encode_to_texture`] |
/// | run operations on values and tensors | [`Backend`](crate::Backend)`::from(gpu)` |
///
/// A `Gpu` is cheap to clone. Clones share the pipelines.
#[derive(Clone, Debug)]
pub struct Gpu {
    pub(super) engine: Arc<Engine>,
}

/// Constructors, and the requirements for a device. See the table above.
impl Gpu {
    /// Uses the caller's device, which can have any limits and needs no features.
    ///
    /// If the device's limits are too low for the shaders, recording fails. Device errors that no call returns go to
    /// the caller's own error handlers.
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        Self {
            engine: Arc::new(Engine::new(OpenDevice::new(device, queue))),
        }
    }

    /// Opens a device like [`Gpu::open_async`], but blocks until the device is open.
    ///
    /// # Errors
    ///
    /// The errors of [`Gpu::open_async`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(options: &AdapterOptions) -> Result<Self, Error> {
        pollster::block_on(Self::open_async(options))
    }

    /// Opens a device on the adapter that the options choose, with the adapter's limits.
    ///
    /// # Errors
    ///
    /// [`Error::NoAdapter`] if no adapter fits; its message lists the machine's adapters. [`Error::Device`] if the
    /// driver cannot open a device.
    pub async fn open_async(options: &AdapterOptions) -> Result<Self, Error> {
        Self::from_adapter(&options.choose_adapter().await?).await
    }

    /// Opens a device on this adapter, such as one from [`AdapterOptions::adapters`], with the adapter's limits.
    ///
    /// # Errors
    ///
    /// [`Error::Device`] if the driver cannot open a device.
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
        let shared_device = Arc::clone(&gpu.open_device().shared);
        device.set_device_lost_callback(move |reason, message| {
            // `set` keeps the first reason if there are several.
            let _ = shared_device.lost.set(format!("{message} ({reason:?})"));
        });
        Ok(gpu)
    }

    /// Returns the features and limits to request for a device that your program opens. The only feature is
    /// `PIPELINE_CACHE`, if the adapter has it. The limits are WebGPU's defaults, or the adapter's limits where these
    /// are lower. The limits on the sizes of buffers and bindings are the adapter's, so that fewer plans are cut into
    /// several dispatches.
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
        let adapter_limits = adapter.limits();
        wgpu::DeviceDescriptor {
            label: Some("wgslice"),
            required_features: adapter.features() & wgpu::Features::PIPELINE_CACHE,
            required_limits: wgpu::Limits {
                max_buffer_size: adapter_limits.max_buffer_size,
                max_storage_buffer_binding_size: adapter_limits.max_storage_buffer_binding_size,
                ..wgpu::Limits::default().or_worse_values_from(&adapter_limits)
            },
            ..Default::default()
        }
    }
}
