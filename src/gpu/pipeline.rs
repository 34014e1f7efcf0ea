//! The pipelines of a device, each compiled at its first use and kept.
//!
//! A device has fewer than 400 (`shader_tests` counts them), and a program uses tens. On lavapipe a pipeline of a slice
//! takes 0.8 MB once it has run, and one of a gather 1.4 MB (resident memory after 200 of each).
//!
//! A device whose limits are too low rejects layouts or pipelines. On a caller's device that error would reach only the
//! caller's handlers, so each is created in an error scope, and a rejected one is never used: recording fails with the
//! device's error, each time.

use super::{
    maps::Op,
    program::{Program, UniformSpace},
    scope::scoped,
    slots::{Reports, SharedUniforms, Strips},
    uniforms::UNIFORM_BYTES,
};
use crate::Error;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};
use wgpu::{BufferBindingType, BufferUsages};

/// The pipelines of a device and the layouts that they share.
#[derive(Debug)]
pub(crate) struct Pipelines {
    space: UniformSpace,
    cache: Option<wgpu::PipelineCache>,
    made: Mutex<HashMap<Program, wgpu::ComputePipeline>>,
    buffers: [wgpu::BindGroupLayout; Op::ALL.len()],
    /// The errors of operations whose layouts the device rejected.
    refused: [Option<Error>; Op::ALL.len()],
    pub(super) reports: Reports,
    pub(super) uniforms: SharedUniforms,
}

impl Pipelines {
    /// The layouts of this device, and no pipelines yet.
    pub(crate) fn new(device: &wgpu::Device, space: UniformSpace) -> Self {
        let storage = |&read_only: &bool| (BufferBindingType::Storage { read_only }, false);
        let mut refused = [const { None }; Op::ALL.len()];
        let mut layout = |label, entries: &[_], needed: &dyn Fn(Op) -> bool| {
            let (layout, error) = scoped(device, || group_layout(device, label, entries));
            if let Some(error) = error {
                for op in Op::ALL.into_iter().filter(|&op| needed(op)) {
                    refused[op as usize].get_or_insert_with(|| refusal(op.facts().name, &error));
                }
            }
            layout
        };
        let buffers = Op::ALL.map(|op| {
            let entries: Vec<_> = op.facts().buffers.iter().map(storage).collect();
            layout(op.facts().name, &entries, &|other| other == op)
        });
        let mut strips = |label, usage, ty, needed: &dyn Fn(Op) -> bool| Strips {
            label,
            usage,
            layout: layout(label, &[(ty, true)], needed),
        };
        let reports = Reports::new(strips(
            "wgslice reports",
            BufferUsages::STORAGE | BufferUsages::COPY_SRC,
            BufferBindingType::Storage { read_only: false },
            &|op| op.facts().reports,
        ));
        let (usage, ty) = match space {
            UniformSpace::Storage => (
                BufferUsages::STORAGE,
                BufferBindingType::Storage { read_only: true },
            ),
            UniformSpace::Immediate | UniformSpace::Uniform => {
                (BufferUsages::UNIFORM, BufferBindingType::Uniform)
            }
        };
        let uniforms = SharedUniforms::new(strips("wgslice uniforms", usage, ty, &|_| {
            space != UniformSpace::Immediate
        }));
        Self {
            space,
            cache: None,
            made: Mutex::default(),
            buffers,
            refused,
            reports,
            uniforms,
        }
    }

    /// How the uniforms reach the shaders.
    pub(crate) fn space(&self) -> UniformSpace {
        self.space
    }

    /// No pipelines yet, for the same device. Each is compiled through `cache`.
    pub(crate) fn with_cache(&self, device: &wgpu::Device, cache: wgpu::PipelineCache) -> Self {
        Self {
            cache: Some(cache),
            ..Self::new(device, self.space)
        }
    }

    /// The bind group layout of an operation's buffers.
    pub(crate) fn buffers(&self, op: Op) -> &wgpu::BindGroupLayout {
        &self.buffers[op as usize]
    }

    /// The pipeline of a program, compiled if this is its first use.
    pub(crate) fn get(
        &self,
        device: &wgpu::Device,
        program: Program,
    ) -> Result<wgpu::ComputePipeline, Error> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = made.get(&program) {
            return Ok(pipeline.clone());
        }
        if let Some(error) = &self.refused[program.op as usize] {
            return Err(error.clone());
        }
        match scoped(device, || self.make(device, &program)) {
            (pipeline, None) => {
                made.insert(program, pipeline.clone());
                Ok(pipeline)
            }
            (_, Some(error)) => Err(refusal(&program.to_string(), &error)),
        }
    }

    /// The programs compiled so far.
    #[cfg(test)]
    pub(super) fn compiled(&self) -> Vec<Program> {
        let made = self.made.lock().unwrap();
        made.keys().copied().collect()
    }

    fn make(&self, device: &wgpu::Device, program: &Program) -> wgpu::ComputePipeline {
        let label = program.to_string();
        let label = Some(label.as_str());
        let immediate = self.space == UniformSpace::Immediate;
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label,
            bind_group_layouts: &[
                Some(self.buffers(program.op)),
                program
                    .op
                    .facts()
                    .reports
                    .then_some(&self.reports.strips.layout),
                (!immediate).then_some(&self.uniforms.strips.layout),
            ],
            immediate_size: if immediate { UNIFORM_BYTES } else { 0 },
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
            // Only if the caller passes one: a cache trusts the bytes of a file, which is unsafe, and drivers have
            // their own. On lavapipe, the first result of a gather that an earlier process had compiled took 24 ms
            // instead of 80 ms.
            cache: self.cache.as_ref(),
        })
    }
}

/// The error for a shader or layout that the device rejects.
fn refusal(shader: &str, error: &wgpu::Error) -> Error {
    match error {
        wgpu::Error::OutOfMemory { .. } => Error::OutOfDeviceMemory {
            doing: "compiling a shader",
        },
        _ => Error::Pipeline {
            shader: shader.to_owned(),
            message: error.to_string(),
        },
    }
}

/// A bind group layout of buffers, each with its type and whether its offset is dynamic.
fn group_layout(
    device: &wgpu::Device,
    label: &str,
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
        label: Some(label),
        entries: &entries,
    })
}
