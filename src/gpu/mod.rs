//! The GPU executor: a device, its pipelines, and plans recorded into command encoders.
//!
//! | file | decides |
//! |---|---|
//! | `adapter`, `caps` | which adapter is used, and what its device takes in one dispatch |
//! | `job` | what one dispatch has to do |
//! | `kernels` | which kernel does it: one ordered table, and a file for each kernel |
//! | `maps` | where rows begin: a file for each row map |
//! | `grid` | how rows are dealt out to invocations |
//! | `uniforms` | what a dispatch reads as immediates or a uniform buffer, word by word |
//! | `program`, `rule` | how the text of a pipeline is pasted together, and its constants |
//! | `pipeline` | that each is compiled once |
//! | `window` | how a plan is cut into dispatches that the device's limits allow |
//! | `route`, `copy` | what is recorded for a plan: nothing, copies, a clear, or dispatches |
//! | `encode`, `explain` | that it is recorded, and said |
//! | `scatter`, `lists`, `scratch` | the steps of a scatter, and what is kept between them |
//! | `argument` | which buffers may be passed |
//! | `groups`, `slots`, `recent` | bind groups, uniform slots and reports, kept so that recording creates nothing on the device |
//! | `pool` | that new tensors reuse the buffers of dropped ones |
//! | `report` | how a gather says later which tuples were out of range |
//! | `transfer`, `upload`, `fill`, `readback`, `ring` | how bytes get to the device and back |
//! | `failure`, `scope` | what the device reports, as errors |

mod adapter;
mod argument;
#[cfg(test)]
mod cache_tests;
mod caps;
mod copy;
mod encode;
mod explain;
mod failure;
mod fill;
mod grid;
mod groups;
mod job;
#[cfg(test)]
mod kernel_tests;
mod kernels;
mod lists;
mod maps;
mod pipeline;
mod pool;
mod program;
mod readback;
mod recent;
mod report;
#[cfg(not(target_arch = "wasm32"))]
mod ring;
mod route;
mod rule;
mod scatter;
mod scope;
mod scratch;
#[cfg(test)]
mod shader_tests;
mod slots;
mod transfer;
mod uniforms;
mod upload;
mod window;

pub use adapter::{AdapterOptions, Candidate, Software};
pub use encode::DeviceIndices;
pub use report::PendingReport;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use ring::Ring;
pub(crate) use transfer::DeviceBytes;

use crate::Error;
use caps::Kind;
use caps::Reach;
use groups::Groups;
use pipeline::Pipelines;
use pool::Pool;
use program::UniformSpace;
use scratch::ScatterMemory;
use std::sync::{Arc, OnceLock};

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
    reach: Reach,
    pipelines: Arc<Pipelines>,
    groups: Groups,
    scatter: ScatterMemory,
    pool: Arc<Pool>,
    /// Why the device was lost, once it was.
    lost: Arc<OnceLock<String>>,
}

/// Bytes of a result that one dispatch writes, at most: even at a hundredth of the speed of any
/// GPU's memory that is far below the seconds after which drivers give up on it.
const DISPATCH_BYTES: u64 = 512 << 20;

impl Gpu {
    /// Works on the caller's device. Any limits will do, and no feature is needed; where the device
    /// was opened with `Features::IMMEDIATES` and 128 bytes of them, they are used.
    ///
    /// Where its limits are too low for the shaders, recording says so; other errors of the device
    /// reach the caller's own handlers.
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        let limits = device.limits();
        let info = device.adapter_info();
        let kind = if adapter::is_software(&info) {
            Kind::Software
        } else {
            Kind::Hardware
        };
        let space = UniformSpace::of(device, kind);
        let reach = Reach {
            binding: limits.max_storage_buffer_binding_size,
            alignment: limits.min_storage_buffer_offset_alignment.into(),
            groups: limits.max_compute_workgroups_per_dimension,
            dispatch: DISPATCH_BYTES,
            units: i32::MAX as u64,
            kind,
            workgroup: kind.workgroup(&limits),
        };
        Self {
            inner: Arc::new(Inner {
                device: device.clone(),
                queue: queue.clone(),
                info,
                limits,
                reach,
                pipelines: Arc::new(Pipelines::new(device, space)),
                groups: Groups::default(),
                scatter: ScatterMemory::default(),
                pool: Arc::default(),
                lost: Arc::default(),
            }),
        }
    }

    /// The same device, on which no dispatch writes more than `bytes` bytes: for drivers that give
    /// up on long dispatches even earlier, or to leave room between them for other work.
    #[must_use]
    pub fn with_dispatch_bytes(&self, bytes: u64) -> Self {
        let dispatch = bytes;
        self.with_reach(Reach {
            dispatch,
            ..self.inner.reach
        })
    }

    /// The same device, whose pipelines are compiled anew, with the help of a cache that the caller keeps on
    /// disk. Drivers that have a cache of their own, as Mesa's and NVIDIA's do, need none.
    ///
    /// A cache of another device makes the first use of each pipeline fail with [`Error::Pipeline`].
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
    /// // SAFETY: nobody but this program writes the file, and it writes there what `get_data` returned.
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
        let inner = &*self.inner;
        let pipelines = inner.pipelines.with_cache(&inner.device, cache);
        self.with(inner.reach, Arc::new(pipelines))
    }

    /// The same device as if its shaders computed with fewer bits, so that tests on small data take
    /// the paths of tensors beyond 2^31 units.
    #[doc(hidden)]
    #[must_use]
    pub fn with_offset_limit(&self, units: u64) -> Self {
        self.with_reach(Reach {
            units,
            ..self.inner.reach
        })
    }

    /// The same device, treated as a GPU whatever it is, so that tests on a software adapter take
    /// both ways of dealing out work.
    #[doc(hidden)]
    #[must_use]
    pub fn as_hardware(&self) -> Self {
        self.with_reach(Reach {
            kind: Kind::Hardware,
            workgroup: Kind::Hardware.workgroup(&self.inner.limits),
            ..self.inner.reach
        })
    }

    fn with_reach(&self, reach: Reach) -> Self {
        self.with(reach, Arc::clone(&self.inner.pipelines))
    }

    fn with(&self, reach: Reach, pipelines: Arc<Pipelines>) -> Self {
        let inner = &*self.inner;
        Self {
            inner: Arc::new(Inner {
                device: inner.device.clone(),
                queue: inner.queue.clone(),
                info: inner.info.clone(),
                limits: inner.limits.clone(),
                reach,
                pipelines,
                groups: Groups::default(),
                scatter: ScatterMemory::default(),
                pool: Arc::clone(&inner.pool),
                lost: Arc::clone(&inner.lost),
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
                required_features: adapter.features()
                    & (wgpu::Features::IMMEDIATES | wgpu::Features::PIPELINE_CACHE),
                required_limits: adapter.limits(),
                ..Default::default()
            })
            .await
            .map_err(|error| Error::Device {
                doing: "opening the device",
                message: error.to_string(),
            })?;
        let gpu = Self::new(&device, &queue);
        let lost = Arc::clone(&gpu.inner.lost);
        device.set_device_lost_callback(move |reason, message| {
            // Only the first reason is of interest.
            let _ = lost.set(format!("{message} ({reason:?})"));
        });
        Ok(gpu)
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

    /// Drops all memory that is kept for what may come, to be called when large tensors or buffers are
    /// done with:
    ///
    /// - Buffers of dropped tensors, which serve new tensors of their size. Together with the tensors that
    ///   are there they never hold more than tensors once held at the same time, and by itself a buffer
    ///   goes when 32 tensors were made without it.
    /// - Bind groups of the caller's buffers that were recorded more than once, which keep them alive.
    ///   wgpu does not tell when a caller drops a buffer, so by itself a group goes only when 2048 to 4096
    ///   dispatches were recorded without it.
    /// - The memory that scatters use between their steps.
    ///
    /// Compiled pipelines stay, since to compile them again takes longer than most work. There are fewer than
    /// 400, and ordinary programs use tens.
    pub fn trim(&self) {
        self.inner.pool.clear();
        self.inner.groups.clear();
        self.inner.scatter.clear();
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
