//! The pipelines of a device, each compiled at its first use and kept.
//!
//! There are at most 400 different pipelines (`shader_tests` counts them), of which a program uses tens. On lavapipe
//! a pipeline of a slice that has run takes 0.8 MB of resident memory, and one of a gather 1.4 MB (averages of 200 of
//! each).
//!
//! A device whose limits are too low rejects layouts or pipelines. On a caller's device, the error would reach only the
//! caller's handlers. So layouts and pipelines are created in error scopes. A rejected pipeline is not kept: each
//! recording that needs it fails with the device's error.

use super::{
    maps::{Buffer, Facts},
    program::{BUFFERS_GROUP, Program, REPORT_GROUP, UNIFORMS_GROUP, UniformSpace},
    scope::scoped,
    slots::{Slots, UniformSlots},
    uniforms::UNIFORM_BYTES,
};
use crate::{Error, lock::lock};
use std::{collections::HashMap, sync::Mutex};
use wgpu::BufferBindingType;

/// The pipelines of a device, and the slots that they bind.
#[derive(Debug)]
pub(crate) struct Pipelines {
    device: wgpu::Device,
    /// How the uniforms reach the shaders.
    pub(super) space: UniformSpace,
    cache: Option<wgpu::PipelineCache>,
    made: Mutex<HashMap<Program, wgpu::ComputePipeline>>,
    pub(super) reports: Slots,
    pub(super) uniforms: UniformSlots,
}

impl Pipelines {
    /// Returns a collection that has no pipelines yet. It will compile them through `cache`, if there is one.
    pub(crate) fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        space: UniformSpace,
        cache: Option<wgpu::PipelineCache>,
    ) -> Self {
        Self {
            device: device.clone(),
            space,
            cache,
            made: Mutex::default(),
            reports: Slots::new(device, queue),
            uniforms: UniformSlots::new(device, queue),
        }
    }

    /// Returns the pipeline of a program, which is compiled at its first use.
    pub(crate) fn get(&self, program: Program) -> Result<wgpu::ComputePipeline, Error> {
        let made = || lock(&self.made);
        if let Some(pipeline) = made().get(&program) {
            return Ok(pipeline.clone());
        }
        // The program is compiled without the lock, so that other threads can record meanwhile. If two threads compile
        // the same program, both use the pipeline that was made first.
        match scoped(&self.device, || self.make(&program)) {
            (pipeline, None) => Ok(made().entry(program).or_insert(pipeline).clone()),
            (_, Some(wgpu::Error::OutOfMemory { .. })) => Err(Error::OutOfDeviceMemory {
                doing: "compiling a shader",
            }),
            (_, Some(error)) => Err(Error::Pipeline {
                shader: program.to_string(),
                source: error.into(),
            }),
        }
    }

    /// Frees the slots that no report and no submitted command holds.
    pub(super) fn trim(&self) {
        self.reports.trim();
        self.uniforms.trim();
    }

    /// Fails if one of the device's limits is too low for a program. Workgroup memory is not checked:
    /// [`Kind::workgroup`](super::caps::Kind::workgroup) makes workgroups so small that it suffices, if the device has
    /// at least 4 KiB.
    pub(super) fn allows(&self, program: &Program, limits: &wgpu::Limits) -> Result<(), Error> {
        let Facts {
            buffers, reports, ..
        } = program.op.facts();
        let reports = u32::from(*reports);
        let in_storage = u32::from(self.space == UniformSpace::Storage);
        let in_uniform = u32::from(self.space == UniformSpace::Uniform);
        let groups = match (in_storage + in_uniform, reports) {
            (1, _) => UNIFORMS_GROUP + 1,
            (_, 1) => REPORT_GROUP + 1,
            _ => BUFFERS_GROUP + 1,
        };
        let storage_buffers =
            u32::try_from(buffers.len()).unwrap_or(u32::MAX) + reports + in_storage;
        let needs = [
            ("max_bind_groups", groups, limits.max_bind_groups),
            (
                "max_storage_buffers_per_shader_stage",
                storage_buffers,
                limits.max_storage_buffers_per_shader_stage,
            ),
            (
                "max_dynamic_storage_buffers_per_pipeline_layout",
                reports + in_storage,
                limits.max_dynamic_storage_buffers_per_pipeline_layout,
            ),
            (
                "max_dynamic_uniform_buffers_per_pipeline_layout",
                in_uniform,
                limits.max_dynamic_uniform_buffers_per_pipeline_layout,
            ),
            (
                "max_compute_invocations_per_workgroup",
                program.workgroup,
                limits.max_compute_invocations_per_workgroup,
            ),
            (
                "max_compute_workgroup_size_x",
                program.workgroup,
                limits.max_compute_workgroup_size_x,
            ),
        ];
        match needs
            .into_iter()
            .find(|(_, needed, allowed)| needed > allowed)
        {
            None => Ok(()),
            Some((limit, needed, allowed)) => Err(Error::DeviceLimit {
                what: "a shader",
                limit,
                needed: needed.into(),
                allowed: allowed.into(),
            }),
        }
    }

    /// The programs compiled so far.
    #[cfg(test)]
    pub(super) fn compiled(&self) -> Vec<Program> {
        let made = self.made.lock().unwrap();
        made.keys().copied().collect()
    }

    fn make(&self, program: &Program) -> wgpu::ComputePipeline {
        let device = &self.device;
        let label = program.to_string();
        let label = Some(label.as_str());
        let storage =
            |&Buffer { read_only, .. }: &Buffer| (BufferBindingType::Storage { read_only }, false);
        let buffers: Vec<_> = program.op.facts().buffers.iter().map(storage).collect();
        let reports = (BufferBindingType::Storage { read_only: false }, true);
        let uniforms = match self.space {
            UniformSpace::Immediate => None,
            UniformSpace::Uniform => Some(BufferBindingType::Uniform),
            UniformSpace::Storage => Some(BufferBindingType::Storage { read_only: true }),
        };
        let [buffers, reports, uniforms] = [
            Some(buffers),
            program.op.facts().reports.then(|| vec![reports]),
            uniforms.map(|ty| vec![(ty, true)]),
        ]
        .map(|buffers| Some(group_layout(device, label, &buffers?)));
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label,
            bind_group_layouts: &[buffers.as_ref(), reports.as_ref(), uniforms.as_ref()],
            immediate_size: match self.space {
                UniformSpace::Immediate => UNIFORM_BYTES,
                UniformSpace::Uniform | UniformSpace::Storage => 0,
            },
        });
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label,
            source: wgpu::ShaderSource::Wgsl(program.text(self.space).into()),
        });
        device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label,
            layout: Some(&layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &program.constants(),
                zero_initialize_workgroup_memory: false,
            },
            // `None` unless the caller passes a cache. Loading one from a file is unsafe, and most drivers have a cache
            // of their own. With lavapipe's own cache, the first result of a gather that an earlier process had
            // compiled took 24 ms instead of 80 ms.
            cache: self.cache.as_ref(),
        })
    }
}

/// Creates a layout for a bind group of buffers, given the type of each and whether its offset is dynamic.
fn group_layout(
    device: &wgpu::Device,
    label: Option<&str>,
    buffers: &[(BufferBindingType, bool)],
) -> wgpu::BindGroupLayout {
    let entries: Vec<_> = (0..)
        .zip(buffers)
        .map(
            |(binding, &(ty, has_dynamic_offset))| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty,
                    has_dynamic_offset,
                    min_binding_size: None,
                },
                count: None,
            },
        )
        .collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label,
        entries: &entries,
    })
}
