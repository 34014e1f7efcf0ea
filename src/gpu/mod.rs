//! Runs plans on a GPU: opens a device, compiles its pipelines, and records plans into command encoders.
//!
//! | | does |
//! |---|---|
//! | `device` | transfers bytes to an open device and back, waits for it, and tells its failures |
//! | `engine` | makes commands of plans, on top of `device` |
//! | this file | opens a [`Gpu`], which is both |
//! | `record`, `prepared` | record plans into a caller's encoders and passes; ahead of time |
//! | `run` | runs plans on tensors |
//! | `texture` | copies the texels of a texture, through which rows |
//! | `ring` | streams a slice through the device, piece by piece |

#[cfg(test)]
mod cache_tests;
mod device;
mod engine;
mod prepared;
mod record;
#[cfg(not(target_arch = "wasm32"))]
mod ring;
mod run;
mod texture;

pub use device::adapter::{AdapterOptions, Candidate, SoftwareAdapters};
pub(crate) use device::{DeviceBytes, OpenDevice};
pub use prepared::{Prepare, Prepared};
pub use record::{Buffers, DeviceIndices, Recorder};
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use ring::Ring;
pub use texture::Texels;

use crate::{Error, Plan};
use device::{
    adapter,
    caps::{Tuning, VECTOR},
};
use engine::Engine;
use std::sync::Arc;

/// A GPU, or a software adapter that acts as one: a `wgpu` device and its compiled pipelines.
///
/// Cheap to clone; clones share the pipelines.
#[derive(Clone, Debug)]
pub struct Gpu {
    engine: Arc<Engine>,
}

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

    /// The same device, on which a dispatch writes at most `bytes` bytes of the result, but at least 16; larger results
    /// take several dispatches. This helps with drivers that abort long dispatches particularly early, and lets other
    /// work run between the dispatches.
    #[must_use]
    pub fn with_dispatch_bytes(&self, bytes: u64) -> Self {
        self.with(|engine| engine.reach.dispatch = bytes.max(VECTOR as u64))
    }

    /// The same device, on which each pipeline is compiled again at its next use, through `cache`. The caller can save
    /// `cache` for the program's next start. Drivers with a cache of their own, such as Mesa's and NVIDIA's, do not
    /// need `cache`.
    ///
    /// If `cache` is of another device, every recording that needs a pipeline fails with [`Error::Pipeline`].
    ///
    /// ```no_run
    /// # fn example(gpu: wgslice::Gpu, file: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    /// # #[cfg(not(target_arch = "wasm32"))] {
    /// let data = std::fs::read(file).ok();
    /// let descriptor = wgpu::PipelineCacheDescriptor {
    ///     label: None,
    ///     data: data.as_deref(),
    ///     fallback: true,
    /// };
    /// // SAFETY: only this program writes the file, and only with the result of `get_data`.
    /// let cache = unsafe { gpu.device().create_pipeline_cache(&descriptor) };
    /// let gpu = gpu.with_pipeline_cache(cache.clone());
    /// // … work …
    /// if let Some(data) = cache.get_data() {
    ///     std::fs::write(file, data)?;
    /// }
    /// # }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_pipeline_cache(&self, cache: wgpu::PipelineCache) -> Self {
        self.with(|engine| engine.compile_through(cache))
    }

    /// The same device, with shader offsets of at most `units` units, so that tests with small data take the paths of
    /// tensors of more than 2^31 units.
    #[cfg(feature = "test-seams")]
    #[doc(hidden)]
    #[must_use]
    pub fn with_offset_limit(&self, units: u64) -> Self {
        self.with(|engine| engine.reach.units = units)
    }

    /// The same device treated as a hardware GPU, so that tests on a software adapter also run the grids of GPUs.
    #[cfg(feature = "test-seams")]
    #[doc(hidden)]
    #[must_use]
    pub fn as_hardware(&self) -> Self {
        self.with(|engine| {
            engine.reach.tuning = Tuning::of(false, &engine.device.shared.limits);
        })
    }

    /// The same device on which no call may wait, so that tests see what programs in a browser do.
    #[cfg(feature = "test-seams")]
    #[doc(hidden)]
    #[must_use]
    pub fn without_blocking(&self) -> Self {
        self.with(|engine| engine.device.may_block = false)
    }

    fn with(&self, change: impl FnOnce(&mut Engine)) -> Self {
        let mut engine = (*self.engine).clone();
        change(&mut engine);
        engine.forget();
        Self {
            engine: Arc::new(engine),
        }
    }

    /// The device, to transfer bytes and to wait.
    pub(crate) fn opened(&self) -> &OpenDevice {
        &self.engine.device
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

    /// The features of the adapter that this crate can use: pipeline caches. If your program opens the device, request them together with
    /// [`Gpu::wanted_limits`]:
    ///
    /// ```no_run
    /// use wgslice::{wgpu, Gpu};
    ///
    /// # async fn example(adapter: &wgpu::Adapter) -> Result<(), wgpu::RequestDeviceError> {
    /// let (device, queue) = adapter
    ///     .request_device(&wgpu::DeviceDescriptor {
    ///         required_features: Gpu::wanted_features(adapter), // | your own
    ///         required_limits: Gpu::wanted_limits(adapter),
    ///         ..Default::default()
    ///     })
    ///     .await?;
    /// let gpu = Gpu::new(&device, &queue);
    /// # Ok(())
    /// # }
    /// ```
    pub fn wanted_features(adapter: &wgpu::Adapter) -> wgpu::Features {
        adapter.features() & wgpu::Features::PIPELINE_CACHE
    }

    /// WebGPU's default limits, two of them raised as far as the adapter allows: the sizes of buffers and of bindings,
    /// so that fewer plans are cut into several dispatches. Where the adapter does not reach a default, the limit is the adapter's.
    ///
    /// ```no_run
    /// use wgslice::{wgpu, Gpu};
    ///
    /// # fn example(adapter: &wgpu::Adapter) {
    /// let limits = wgpu::Limits {
    ///     max_bindings_per_bind_group: 8, // what your own program needs
    ///     ..Gpu::wanted_limits(adapter)
    /// };
    /// # }
    /// ```
    pub fn wanted_limits(adapter: &wgpu::Adapter) -> wgpu::Limits {
        let allowed = adapter.limits();
        wgpu::Limits {
            max_buffer_size: allowed.max_buffer_size,
            max_storage_buffer_binding_size: allowed.max_storage_buffer_binding_size,
            ..wgpu::Limits::default().or_worse_values_from(&allowed)
        }
    }

    /// Opens a device on this adapter, such as one from [`AdapterOptions::adapters`], with the adapter's limits.
    ///
    /// # Errors
    ///
    /// [`Error::Device`] if the driver opens no device.
    pub async fn from_adapter(adapter: &wgpu::Adapter) -> Result<Self, Error> {
        let (device, queue) = adapter
            .request_device(&wgpu::DeviceDescriptor {
                label: Some("wgslice"),
                required_features: Self::wanted_features(adapter),
                required_limits: adapter.limits(),
                ..Default::default()
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

    /// Opens a device like [`Gpu::open_async`], but blocks until the device is open.
    ///
    /// # Errors
    ///
    /// As [`Gpu::open_async`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(options: &AdapterOptions) -> Result<Self, Error> {
        pollster::block_on(Self::open_async(options))
    }

    /// The `wgpu` device.
    pub fn device(&self) -> &wgpu::Device {
        &self.opened().wgpu
    }

    /// The device's queue.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.opened().queue
    }

    /// What wgpu reports about the adapter, such as its name, its kind and its graphics API.
    pub fn adapter_info(&self) -> &wgpu::AdapterInfo {
        &self.opened().shared.info
    }

    /// Describes the commands that are recorded for a plan on this device: nothing, a clear, copies, or dispatches and
    /// the kernel of the first. Assumes that each argument is the whole of one buffer.
    pub fn explain(&self, plan: &Plan) -> String {
        format!("{plan}: {}", self.how(plan))
    }

    /// The text of [`Gpu::explain`] without the plan's description.
    pub(crate) fn how(&self, plan: &Plan) -> String {
        self.engine.how(plan)
    }

    /// Whether this is a software adapter, which runs shaders on the CPU.
    pub fn is_software(&self) -> bool {
        adapter::is_software(&self.opened().shared.info)
    }

    /// Frees all memory that is kept for reuse. Call this when large tensors or buffers are no longer needed. It frees:
    ///
    /// - Buffers of dropped tensors, which new tensors of the same size reuse. These buffers and live tensors together
    ///   hold no more than the most bytes that tensors have held at once since the pool of buffers was last emptied, by
    ///   this call or because the device ran out of memory. A buffer is also freed when 32 requests for buffers did not
    ///   reuse it.
    /// - The scratch memory of scatters and of copies from and to textures.
    /// - Bind groups of buffers that were recorded repeatedly, which keep these buffers alive.
    /// - Slots of reports and uniforms (16 KiB for every 64) that no report and no submitted command holds.
    /// - On the host, the dispatches of plans that were recorded recently.
    ///
    /// Compiled pipelines stay, since compiling them again takes longer than most work. Ordinary
    /// programs use tens of pipelines.
    pub fn trim(&self) {
        self.opened().shared.pool.clear();
        self.engine.trim();
    }
}

/// Two GPUs are equal if they have the same device.
impl PartialEq for Gpu {
    fn eq(&self, other: &Self) -> bool {
        self.device() == other.device()
    }
}

/// The adapter's name, kind and API.
impl std::fmt::Display for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&adapter::describe(&self.opened().shared.info))
    }
}
