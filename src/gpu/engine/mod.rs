//! Turns walks into recorded commands. The engine uses the module `device`. Tensors, textures and streams use
//! the engine.
//!
//! | file | decides |
//! |---|---|
//! | `cut` | how a walk is cut into dispatches that fit the device's limits |
//! | `dispatch` | which ranges of the arguments a dispatch binds |
//! | `launch` | which kernel runs a walk, in which units, and which units each invocation moves |
//! | `steps`, `slices`, `rule` | the steps of a scatter; which slice each row goes to; how scatters combine elements |
//! | `find` | the steps of a search for the true elements of a mask |
//! | `tuples` | where the index tuples of a walk are, and what their integers mean |
//! | `uniforms` | the numbers that a dispatch reads |
//! | `program`, `pipeline` | how the WGSL of a pipeline is assembled, and when a pipeline is compiled: once, at its first use |
//! | `route`, `copy` | which commands are recorded for a move: none, copies, a clear, or dispatches |
//! | `work` | which dispatches, pipelines and uniforms are kept for a move |
//! | `cache` | how long works and their bind groups are kept |
//! | `commands` | which commands a move has for its arguments, and how they are recorded |
//! | `record` | how the steps of a plan are recorded in their order, in as few passes as the order allows |
//! | `explain` | how the commands of a move are described |
//! | `argument` | whether the buffers that are passed fit a plan |
//! | `aside` | how a source or index tuples in the buffer of the destination are copied to another buffer first |
//! | `report` | how the number of out-of-range tuples is read back when the device is done with a gather or scatter |
//! | `scratch` | which buffers hold data between the steps of a scatter, between a texture and a tensor, and for `aside` |
//! | `bounds` | whether a dispatch stays within its bindings, in tests and debug builds; the contract of a dispatch |

pub(super) mod argument;
pub(super) mod aside;
#[cfg(any(test, debug_assertions))]
mod bounds;
#[cfg(test)]
mod bounds_tests;
mod cache;
pub(super) mod commands;
mod copy;
mod cut;
pub(super) mod dispatch;
mod explain;
pub(super) mod find;
#[cfg(test)]
mod formula_tests;
#[cfg(test)]
mod kernel_tests;
mod launch;
#[cfg(test)]
mod operator_tests;
mod pipeline;
pub(super) mod program;
pub(super) mod record;
pub(super) mod report;
pub(super) mod route;
mod rule;
mod scratch;
#[cfg(test)]
mod shader_formats;
#[cfg(test)]
mod shader_tests;
mod slices;
mod steps;
mod tuples;
mod uniforms;
#[cfg(test)]
mod variant_tests;
pub(super) mod work;

use super::device::{OpenDevice, adapter, caps, group, run_in_error_scope, slots};
use cache::Cache;
use caps::{DispatchLimits, Tuning, largest_binding};
use pipeline::Pipelines;
use program::UniformSpace;
use scratch::ScratchBuffers;
use std::sync::Arc;

/// The maximum number of bytes of a result that one dispatch writes. At 2 GB/s, about a hundredth of a GPU's memory
/// bandwidth, such a dispatch takes 0.3 s. Drivers abort a dispatch only after several seconds.
const MAX_RESULT_BYTES: u64 = 512 << 20;

/// Records plans for a device. Clones share the pipelines and all caches.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    pub(super) device: OpenDevice,
    pub(super) limits: DispatchLimits,
    pub(super) pipelines: Arc<Pipelines>,
    pub(super) cache: Arc<Cache>,
    pub(super) scratch: Arc<ScratchBuffers>,
}

impl Engine {
    pub(super) fn new(device: OpenDevice) -> Self {
        let limits = &device.shared.limits;
        let is_software = adapter::is_software(&device.shared.info);
        let space = UniformSpace::for_device(is_software, limits);
        Self {
            limits: DispatchLimits {
                max_binding_bytes: largest_binding(limits),
                alignment: limits.min_storage_buffer_offset_alignment.into(),
                max_groups: limits.max_compute_workgroups_per_dimension,
                max_result_bytes: MAX_RESULT_BYTES,
                max_units: i32::MAX as u64,
                tuning: Tuning::for_device(is_software, limits),
            },
            pipelines: Arc::new(Pipelines::new(&device, space, None)),
            device,
            cache: Arc::default(),
            scratch: Arc::default(),
        }
    }

    /// Drops all pipelines. Each is compiled again through `cache` at its next use.
    pub(super) fn compile_through(&mut self, cache: wgpu::PipelineCache) {
        let space = self.pipelines.space;
        self.pipelines = Arc::new(Pipelines::new(&self.device, space, Some(cache)));
    }

    /// Drops the kept works of plans, because limits or pipelines have changed.
    pub(super) fn drop_kept_work(&mut self) {
        self.cache = Arc::default();
    }

    /// Frees all memory that is kept for reuse, except the pipelines.
    pub(super) fn free_unused(&self) {
        self.cache.clear();
        self.pipelines.free_unused();
        self.scratch.free_unused();
    }
}
