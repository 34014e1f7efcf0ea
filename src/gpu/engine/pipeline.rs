//! The pipelines of a device, each compiled at its first use and kept while it is used.
//!
//! A program uses tens of pipelines. On lavapipe, a pipeline that has run takes 0.8 MB of resident memory for a slice
//! and 1.4 MB for a gather (averages of 200 pipelines each). So a program that runs thousands of different plans would
//! need gigabytes if all pipelines were kept.
//!
//! A device rejects layouts or pipelines if its limits are too low. On a caller's device, only the caller's error
//! handlers would get this error. So layouts and pipelines are created in error scopes. A rejected pipeline is not
//! kept: each recording that needs it fails with the device's error.

use super::{
    OpenDevice,
    caps::check_limit,
    group::group_layout,
    program::{Kernel, Prelude, Program, UNIFORMS_GROUP, UniformSpace},
    report::REPORT_BYTES,
    run_in_error_scope,
    slots::{Slot, Slots},
    uniforms::UNIFORM_BYTES,
};
use crate::{Error, lock::lock};
use std::{
    collections::HashMap,
    mem,
    sync::{Mutex, OnceLock},
};
use wgpu::BufferBindingType;

/// The number of pipelines in a generation. There are two generations, so a device keeps at most twice this number, in
/// addition to the pipelines of prepared plans.
const GENERATION_SIZE: usize = 64;

/// The pipelines of a device, and the slots that they bind.
#[derive(Debug)]
pub(crate) struct Pipelines {
    device: OpenDevice,
    /// The address space from which the shaders read the uniforms.
    pub(in crate::gpu) space: UniformSpace,
    cache: Option<wgpu::PipelineCache>,
    generations: Mutex<PipelineGenerations>,
    /// The parsed sources of programs. Programs with the same source differ only in constants.
    modules: Mutex<HashMap<(Kernel, Prelude, u32), wgpu::ShaderModule>>,
    pub(in crate::gpu) reports: Slots,
    /// The slot for dispatches whose reports are never read.
    unread_slot: OnceLock<Slot>,
    pub(in crate::gpu) uniforms: Slots,
}

/// The compiled pipelines in two generations. A pipeline that is used moves to the young generation. When this
/// generation is full, the old generation is dropped, and the young one becomes the old one.
#[derive(Debug, Default)]
struct PipelineGenerations {
    young: HashMap<Program, wgpu::ComputePipeline>,
    old: HashMap<Program, wgpu::ComputePipeline>,
}

impl PipelineGenerations {
    fn find_pipeline(&mut self, program: &Program) -> Option<wgpu::ComputePipeline> {
        if let Some(pipeline) = self.young.get(program) {
            return Some(pipeline.clone());
        }
        let (program, pipeline) = self.old.remove_entry(program)?;
        self.young.insert(program, pipeline.clone());
        Some(pipeline)
    }
}

impl Pipelines {
    /// Makes a collection without pipelines. It will compile them through `cache`, if there is one.
    pub(crate) fn new(
        device: &OpenDevice,
        space: UniformSpace,
        cache: Option<wgpu::PipelineCache>,
    ) -> Self {
        let OpenDevice { wgpu, queue, .. } = device;
        Self {
            device: device.clone(),
            space,
            cache,
            generations: Mutex::default(),
            modules: Mutex::default(),
            reports: Slots::new(wgpu, queue, REPORT_BYTES),
            unread_slot: OnceLock::new(),
            uniforms: Slots::new(wgpu, queue, UNIFORM_BYTES),
        }
    }

    /// Returns the pipeline of a program, which is compiled at its first use.
    pub(crate) fn get_or_compile(&self, program: Program) -> Result<wgpu::ComputePipeline, Error> {
        if let Some(pipeline) = lock(&self.generations).find_pipeline(&program) {
            return Ok(pipeline);
        }
        // The program is compiled without the lock, so that other threads can record at the same time. If two threads
        // compile the same program, both use the pipeline that was made first.
        let make = || {
            let module = self.parsed_module(&program);
            let pipeline = self.compile(&program, &module);
            // A lost device reports no error when it creates a pipeline, only when the pipeline is used.
            pipeline.get_bind_group_layout(UNIFORMS_GROUP);
            (module, pipeline)
        };
        let doing = "compiling a shader";
        let ((module, pipeline), error) = run_in_error_scope(&self.device.wgpu, make);
        let Some(error) = error else {
            lock(&self.modules)
                .entry(program.text_key())
                .or_insert(module);
            let young_pipelines = &mut lock(&self.generations).young;
            return Ok(young_pipelines.entry(program).or_insert(pipeline).clone());
        };
        self.device.check_alive(doing)?;
        Err(match error {
            wgpu::Error::OutOfMemory { .. } => Error::OutOfDeviceMemory { doing },
            error => Error::Pipeline {
                shader: program.to_string(),
                source: error.into(),
            },
        })
    }

    /// Drops the old generation if the young generation is full, and returns whether it did. If so, holders of
    /// pipelines must request them again, which moves the pipelines in use to the young generation.
    pub(in crate::gpu) fn drop_old_if_full(&self) -> bool {
        let mut pipelines = lock(&self.generations);
        let is_full = pipelines.young.len() >= GENERATION_SIZE;
        if is_full {
            pipelines.old = mem::take(&mut pipelines.young);
        }
        is_full
    }

    /// Returns the slot for dispatches whose reports are never read. It belongs to its own strip (see `slots`), which
    /// is never cleared. If the slot's buffer could not be created, the slot is not kept, and the next recording tries
    /// again.
    pub(in crate::gpu) fn unread_slot(
        &self,
        layout: impl FnOnce() -> wgpu::BindGroupLayout,
    ) -> Slot {
        if let Some(slot) = self.unread_slot.get() {
            return slot.clone();
        }
        let OpenDevice { wgpu, queue, .. } = &self.device;
        let slot = Slots::new(wgpu, queue, REPORT_BYTES).lend_slot(layout);
        match slot.has_buffer() {
            true => self.unread_slot.get_or_init(|| slot).clone(),
            false => slot,
        }
    }

    /// Frees the slots that are not held by a report, a kept work or a submitted command.
    pub(in crate::gpu) fn free_unused(&self) {
        self.reports.free_unused();
        self.uniforms.free_unused();
    }

    /// Fails if one of the device's limits is too low for a program. Workgroup memory is not checked:
    /// [`Tuning::for_device`](crate::gpu::device::caps::Tuning::for_device) makes workgroups so small that this memory
    /// suffices, if the device has at least 4 KiB.
    pub(in crate::gpu) fn check_limits(&self, program: &Program) -> Result<(), Error> {
        let limits = &self.device.shared.limits;
        let uniforms_in_storage = u32::from(self.space == UniformSpace::Storage);
        let uniforms_in_uniform_space = u32::from(self.space == UniformSpace::Uniform);
        let buffers = u32::try_from(program.kernel.changes().len()).unwrap_or(u32::MAX);
        let workgroup = program.workgroup;
        macro_rules! check {
            ($($limit:ident: $needed:expr,)*) => {
                $(check_limit("a shader", stringify!($limit), ($needed).into(), limits.$limit.into())?;)*
            };
        }
        check! {
            max_bind_groups: UNIFORMS_GROUP + 1,
            max_storage_buffers_per_shader_stage: buffers + 1 + uniforms_in_storage,
            max_dynamic_storage_buffers_per_pipeline_layout: 1 + uniforms_in_storage,
            max_dynamic_uniform_buffers_per_pipeline_layout: uniforms_in_uniform_space,
            max_compute_invocations_per_workgroup: workgroup,
            max_compute_workgroup_size_x: workgroup,
        }
        Ok(())
    }

    /// Returns the programs whose pipelines are kept.
    #[cfg(test)]
    pub(in crate::gpu) fn compiled_programs(&self) -> Vec<Program> {
        let pipelines = self.generations.lock().unwrap();
        pipelines
            .young
            .keys()
            .chain(pipelines.old.keys())
            .cloned()
            .collect()
    }

    /// Returns the parsed module of a program's source. Parses the source if no program with it was compiled yet.
    fn parsed_module(&self, program: &Program) -> wgpu::ShaderModule {
        if let Some(module) = lock(&self.modules).get(&program.text_key()) {
            return module.clone();
        }
        let label = program.to_string();
        self.device
            .wgpu
            .create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some(&label),
                source: wgpu::ShaderSource::Wgsl(program.text(self.space).into()),
            })
    }

    fn compile(&self, program: &Program, module: &wgpu::ShaderModule) -> wgpu::ComputePipeline {
        let device = &self.device.wgpu;
        let label = program.to_string();
        let label = Some(label.as_str());
        let storage = |read_only| BufferBindingType::Storage { read_only };
        let changes = program.kernel.changes().iter();
        let buffers: Vec<_> = changes.map(|&changes| (storage(!changes), false)).collect();
        let report = (storage(false), true);
        let uniforms = match self.space {
            UniformSpace::Uniform => BufferBindingType::Uniform,
            UniformSpace::Storage => storage(true),
        };
        let [buffers, report, uniforms] = [&buffers[..], &[report], &[(uniforms, true)]]
            .map(|buffers| group_layout(device, label, buffers));
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label,
            bind_group_layouts: &[Some(&buffers), Some(&report), Some(&uniforms)],
            immediate_size: 0,
        });
        let constants = program.constants.iter();
        let constants: Vec<(&str, f64)> = constants
            .map(|&(constant, value)| (constant.name(), value.into()))
            .collect();
        device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label,
            layout: Some(&layout),
            module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &constants,
                zero_initialize_workgroup_memory: false,
            },
            // `None` unless the caller passes a cache. Loading a cache from a file is unsafe, and most drivers have
            // their own cache. With lavapipe's own cache, the first result of a gather that an earlier process had
            // compiled took 24 ms instead of 80 ms.
            cache: self.cache.as_ref(),
        })
    }
}
