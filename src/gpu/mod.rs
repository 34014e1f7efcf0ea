//! Runs plans on a GPU: opens a device, compiles its pipelines, and records plans into command encoders.
//!
//! | file | decides |
//! |---|---|
//! | `adapter`, `caps` | which adapter is used, and the limits of a dispatch on its device |
//! | `cut` | how a walk is cut into dispatches that fit the device's limits |
//! | `launch` | which kernel runs a walk, in what units, and which invocation moves what |
//! | `uniforms` | the numbers that a dispatch reads |
//! | `program`, `rule` | how the WGSL of a pipeline is assembled; how scatters combine elements |
//! | `pipeline` | when a pipeline is compiled: once, at its first use |
//! | `route`, `copy` | what is recorded for a plan: nothing, copies, a clear, or dispatches |
//! | `encode`, `run`, `explain` | how these commands are recorded, run on tensors, and described in words |
//! | `scatter`, `steps` | how scatters are recorded; their steps |
//! | `scratch` | the memory between the steps of a scatter, and between a texture and a tensor |
//! | `texture` | which texels of a texture are copied, and through which rows |
//! | `argument` | whether the buffers that are passed fit a plan |
//! | `bounds` | whether a dispatch stays within its bindings, in tests and debug builds; the contract of a dispatch |
//! | `work`, `prepared` | which commands are recorded for a plan, worked out once; the same ahead of the recording |
//! | `groups`, `recent` | which bind groups are kept for reuse; how long unused values are kept |
//! | `slots` | which uniform slots and report slots are reused |
//! | `pool` | which buffers of dropped tensors new tensors reuse |
//! | `report` | how a gather or scatter reports later how many tuples were out of range |
//! | `transfer`, `upload`, `fill`, `readback`, `ring` | how bytes are transferred to the device and back |
//! | `failure`, `scope` | how device errors become [`Error`]s |

mod adapter;
mod argument;
#[cfg(any(test, debug_assertions))]
mod bounds;
#[cfg(test)]
mod cache_tests;
mod caps;
mod copy;
mod cut;
mod encode;
mod explain;
mod failure;
mod fill;
#[cfg(test)]
mod formula_tests;
mod groups;
#[cfg(test)]
mod kernel_tests;
mod launch;
mod pipeline;
mod pool;
mod prepared;
mod program;
mod readback;
mod recent;
mod report;
#[cfg(not(target_arch = "wasm32"))]
mod ring;
mod route;
mod rule;
mod run;
mod scatter;
mod scope;
mod scratch;
#[cfg(test)]
mod shader_formats;
#[cfg(test)]
mod shader_tests;
mod slots;
mod steps;
mod texture;
mod transfer;
mod uniforms;
mod upload;
mod work;

pub use adapter::{AdapterOptions, Candidate, SoftwareAdapters};
pub use encode::DeviceIndices;
pub use prepared::Prepared;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use ring::Ring;
pub use texture::Texels;
pub(crate) use transfer::DeviceBytes;

use crate::{Error, lock::lock};
use caps::{Reach, Tuning, VECTOR, largest_binding};
use groups::Groups;
use pipeline::Pipelines;
use pool::Pool;
use program::UniformSpace;
use readback::Watcher;
use scratch::{KeptTexels, ScatterMemory};
use std::sync::{Arc, OnceLock};
use work::Works;

/// A GPU, or a software adapter that acts as one: a `wgpu` device and its compiled pipelines.
///
/// Cheap to clone; clones share the pipelines.
#[derive(Clone, Debug)]
pub struct Gpu {
    inner: Arc<Inner>,
}

#[derive(Clone, Debug)]
struct Inner {
    device: wgpu::Device,
    queue: wgpu::Queue,
    info: wgpu::AdapterInfo,
    limits: wgpu::Limits,
    reach: Reach,
    pipelines: Arc<Pipelines>,
    groups: Arc<Groups>,
    /// The commands that were worked out for recent plans. They depend on the limits and the pipelines, so
    /// [`Gpu::with`] empties this.
    works: Arc<Works>,
    scatter: Arc<ScatterMemory>,
    texels: Arc<KeptTexels>,
    pool: Arc<Pool>,
    watcher: Arc<Watcher>,
    /// Why the device was lost. Empty until then, and always for a caller's device.
    lost: Arc<OnceLock<String>>,
    /// Whether a call may wait for the device. False in a browser.
    may_block: bool,
}

/// The most bytes of a result that one dispatch writes. Even at 2 GB/s, about a hundredth of a GPU's memory bandwidth,
/// such a dispatch takes 0.3 s, and drivers abort a dispatch only after some seconds.
const DISPATCH_BYTES: u64 = 512 << 20;

impl Gpu {
    /// Uses the caller's device. Any limits are accepted, and no feature is required.
    ///
    /// If the device's limits are too low for the shaders, recording fails. Device errors that no call returns reach
    /// the caller's own handlers.
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        let limits = device.limits();
        let info = device.adapter_info();
        let is_software = adapter::is_software(&info);
        let space = UniformSpace::of(is_software, &limits);
        let reach = Reach {
            binding: largest_binding(&limits),
            alignment: limits.min_storage_buffer_offset_alignment.into(),
            groups: limits.max_compute_workgroups_per_dimension,
            dispatch: DISPATCH_BYTES,
            units: i32::MAX as u64,
            tuning: Tuning::of(is_software, &limits),
        };
        Self {
            inner: Arc::new(Inner {
                device: device.clone(),
                queue: queue.clone(),
                info,
                limits,
                reach,
                pipelines: Arc::new(Pipelines::new(device, queue, space, None)),
                groups: Arc::default(),
                works: Arc::default(),
                scatter: Arc::default(),
                texels: Arc::default(),
                pool: Arc::default(),
                watcher: Arc::default(),
                lost: Arc::default(),
                may_block: cfg!(not(target_arch = "wasm32")),
            }),
        }
    }

    /// The same device, on which a dispatch writes at most `bytes` bytes of the result, but at least 16; larger results
    /// take several dispatches. This helps with drivers that abort long dispatches particularly early, and lets other
    /// work run between the dispatches.
    #[must_use]
    pub fn with_dispatch_bytes(&self, bytes: u64) -> Self {
        self.with(|inner| inner.reach.dispatch = bytes.max(VECTOR as u64))
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
        self.with(|inner| {
            let space = inner.pipelines.space;
            let pipelines = Pipelines::new(&inner.device, &inner.queue, space, Some(cache));
            inner.pipelines = Arc::new(pipelines);
        })
    }

    /// The same device, with shader offsets of at most `units` units, so that tests with small data take the paths of
    /// tensors of more than 2^31 units.
    #[cfg(feature = "test-seams")]
    #[doc(hidden)]
    #[must_use]
    pub fn with_offset_limit(&self, units: u64) -> Self {
        self.with(|inner| inner.reach.units = units)
    }

    /// The same device treated as a hardware GPU, so that tests on a software adapter also run the grids of GPUs.
    #[cfg(feature = "test-seams")]
    #[doc(hidden)]
    #[must_use]
    pub fn as_hardware(&self) -> Self {
        self.with(|inner| {
            inner.reach.tuning = Tuning::of(false, &inner.limits);
        })
    }

    /// The same device on which no call may wait, so that tests see what programs in a browser do.
    #[cfg(feature = "test-seams")]
    #[doc(hidden)]
    #[must_use]
    pub fn without_blocking(&self) -> Self {
        self.with(|inner| inner.may_block = false)
    }

    fn with(&self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = (*self.inner).clone();
        change(&mut inner);
        inner.works = Arc::default();
        Self {
            inner: Arc::new(inner),
        }
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
        let lost = Arc::clone(&gpu.inner.lost);
        device.set_device_lost_callback(move |reason, message| {
            // If there is a reason already, the first one is kept.
            let _ = lost.set(format!("{message} ({reason:?})"));
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
        &self.inner.device
    }

    /// The device's queue.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.inner.queue
    }

    /// What wgpu reports about the adapter, such as its name, its kind and its graphics API.
    pub fn adapter_info(&self) -> &wgpu::AdapterInfo {
        &self.inner.info
    }

    /// Whether this is a software adapter, which runs shaders on the CPU.
    pub fn is_software(&self) -> bool {
        adapter::is_software(&self.inner.info)
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
        self.inner.pool.clear();
        self.inner.groups.clear();
        self.inner.works.clear();
        self.inner.pipelines.trim();
        *lock(&self.inner.scatter) = None;
        lock(&self.inner.texels).clear();
    }
}

/// Two GPUs are equal if they have the same device.
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
