//! Runs plans on a GPU: opens a device, compiles pipelines, and records plans into command encoders.
//!
//! | | does |
//! |---|---|
//! | `device` | transfers bytes to an open device and back, waits for it, and reports its failures |
//! | `engine` | turns plans into commands, on top of `device` |
//! | `open` | opens a [`Gpu`], which has a device and an engine; declared first, so that the documentation of [`Gpu`] begins with constructors |
//! | `record`, `prepared` | record plans into a caller's encoders and passes; prepare plans in advance |
//! | `run` | runs plans on tensors |
//! | `texture` | copies the texels of a texture to a tensor and back, through padded rows |
//! | `ring` | streams a slice through the device, piece by piece |

pub(crate) mod open;

#[cfg(test)]
mod cache_tests;
mod device;
mod engine;
#[cfg(test)]
mod pass_tests;
mod prepared;
mod record;
#[cfg(not(target_arch = "wasm32"))]
mod ring;
mod run;
mod texture;

pub use device::adapter::{AdapterOptions, FoundAdapter, SoftwareAdapters};
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use device::transfer::padded_size;
pub(crate) use device::{DeviceBytes, OpenDevice};
pub(crate) use open::Gpu;
pub use prepared::{Prepare, Prepared};
pub use record::Recorder;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use ring::PieceRing;
pub use texture::Texels;

use crate::{Plan, moves::Move};
use device::{adapter, caps::VECTOR_BYTES};
use engine::Engine;
use std::sync::Arc;

impl Gpu {
    /// Returns the same device with a limit: a dispatch writes at most `bytes` bytes of the result. Limits below 16
    /// count as 16. Larger results take several dispatches. The limit helps with drivers that abort long dispatches,
    /// and lets other work run between the dispatches.
    #[must_use]
    pub fn with_dispatch_bytes(&self, bytes: u64) -> Self {
        self.with_changed_engine(|engine| {
            engine.limits.max_result_bytes = bytes.max(VECTOR_BYTES as u64);
        })
    }

    /// Returns the same device with a pipeline cache. The device compiles each pipeline again at its next use, through
    /// `cache`. The caller can save `cache` for the program's next start. Drivers with their own cache, such as Mesa's
    /// and NVIDIA's, do not need `cache`.
    ///
    /// If `cache` belongs to another device, every recording that needs a pipeline fails with
    /// [`Error::Pipeline`](crate::Error::Pipeline).
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
        self.with_changed_engine(|engine| engine.compile_through(cache))
    }

    /// Returns the same device with shader offsets of at most `units` units. Tests with small data then take the paths
    /// for tensors of more than 2^31 units.
    #[cfg(feature = "test-seams")]
    #[doc(hidden)]
    #[must_use]
    pub fn with_offset_limit(&self, units: u64) -> Self {
        self.with_changed_engine(|engine| engine.limits.max_units = units)
    }

    /// Returns the same device, treated as a hardware GPU. Tests on a software adapter then also run the grids for
    /// GPUs.
    #[cfg(feature = "test-seams")]
    #[doc(hidden)]
    #[must_use]
    pub fn as_hardware(&self) -> Self {
        self.with_changed_engine(|engine| {
            engine.limits.tuning =
                device::caps::Tuning::for_device(false, &engine.device.shared.limits);
        })
    }

    /// Returns the same device, but walks with few units do not share pipelines on it. Tests with small data then run
    /// the pipelines for large data.
    #[cfg(feature = "test-seams")]
    #[doc(hidden)]
    #[must_use]
    pub fn without_shared_pipelines(&self) -> Self {
        self.with_changed_engine(|engine| engine.limits.tuning.few_units = 0)
    }

    /// Returns the same device, but calls on it that would block fail. Tests then run like programs in a browser.
    #[cfg(feature = "test-seams")]
    #[doc(hidden)]
    #[must_use]
    pub fn without_blocking(&self) -> Self {
        self.with_changed_engine(|engine| engine.device.may_block = false)
    }

    fn with_changed_engine(&self, change: impl FnOnce(&mut Engine)) -> Self {
        let mut engine = (*self.engine).clone();
        change(&mut engine);
        engine.drop_kept_work();
        Self {
            engine: Arc::new(engine),
        }
    }

    /// Returns the open device, for transfers and waits.
    pub(crate) fn open_device(&self) -> &OpenDevice {
        &self.engine.device
    }

    /// Returns the `wgpu` device.
    ///
    /// Call [`wgpu::Device::destroy`] only while no other thread uploads values or records commands for the device. In
    /// wgpu 30, a write to a buffer and the poll that frees a destroyed device's buffers take two locks in opposite
    /// orders, so both threads can hang.
    pub fn device(&self) -> &wgpu::Device {
        &self.open_device().wgpu
    }

    /// Returns the device's queue.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.open_device().queue
    }

    /// Returns wgpu's information about the adapter, such as its name, its kind and its graphics API.
    pub fn adapter_info(&self) -> &wgpu::AdapterInfo {
        &self.open_device().shared.info
    }

    /// Describes the commands that are recorded for a plan on this device: none, a clear, copies, or dispatches with
    /// their main kernel. The description assumes that each argument is one whole buffer. For a plan that changes its
    /// destination in place, the description also has the number of bytes that are copied first if the source is in the
    /// destination's buffer.
    pub fn explain(&self, plan: &Plan) -> String {
        plan.each_step(|step_move| {
            let aside = engine::aside::describe_cost(step_move).unwrap_or_default();
            format!("{step_move}: {}{aside}", self.explain_move(step_move))
        })
    }

    /// Returns the part of [`Gpu::explain`]'s text that describes the commands of a move.
    pub(crate) fn explain_move(&self, step_move: &Move) -> String {
        self.engine.explain_move(step_move)
    }

    /// Returns whether the device is on a software adapter, which runs shaders on the CPU.
    pub fn is_software(&self) -> bool {
        adapter::is_software(&self.open_device().shared.info)
    }

    /// Frees all memory that is kept for reuse. Call this when large tensors or buffers are no longer needed. It frees:
    ///
    /// - Buffers of dropped tensors, which new tensors of the same size reuse. Live tensors and these buffers together
    ///   hold no more bytes than live tensors alone have held since the pool was last emptied. This call empties the
    ///   pool, and so does running out of device memory. A buffer is also freed if more than 32 consecutive requests
    ///   for buffers do not reuse it.
    /// - Scratch memory, for example of scatters, searches in masks, and copies from and to textures.
    /// - Bind groups for buffers that occur in several recordings. These bind groups keep the buffers alive.
    /// - Shared buffers for reports (16 KiB each) and uniforms (64 KiB each), unless a report, a prepared plan or a
    ///   submitted command uses them.
    /// - On the host, the dispatches of plans that were recorded recently.
    ///
    /// Compiled pipelines stay, because compiling them again takes longer than most work. Ordinary programs use tens of
    /// pipelines, and a device keeps at most 128 in addition to the pipelines of prepared plans.
    pub fn trim(&self) {
        self.open_device().shared.pool.clear();
        self.engine.free_unused();
    }
}

/// Two GPUs are equal if they have the same device.
impl PartialEq for Gpu {
    fn eq(&self, other: &Self) -> bool {
        self.device() == other.device()
    }
}

/// Prints the adapter's name, kind and API.
impl std::fmt::Display for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&adapter::describe_adapter(&self.open_device().shared.info))
    }
}
