//! The pipelines of a device, each made at its first use, and kept for the next.
//!
//! There are less than 400 of a device (`shader_tests` counts them), and a program uses tens. On lavapipe one of a
//! slice that has run takes 0.8 MB and one of a gather 1.4 (resident memory after 200 of each).
//!
//! A device whose limits are too low for them refuses layouts or pipelines. On a device of the
//! caller's nobody else would tell, so each is made in an error scope, and one that was refused is
//! never used: recording fails with what the device said, each time.

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
    /// Why an operation's layouts cannot be had.
    refused: [Option<Error>; Op::ALL.len()],
    pub(super) reports: Reports,
    pub(super) uniforms: SharedUniforms,
}

impl Pipelines {
    /// Of this device.
    pub(crate) fn new(device: &wgpu::Device, space: UniformSpace) -> Self {
        let storage = |&read_only: &bool| (BufferBindingType::Storage { read_only }, false);
        let mut refused = [const { None }; Op::ALL.len()];
        let mut layout = |label, entries: &[_], needed: &dyn Fn(Op) -> bool| {
            let (layout, error) = scoped(device, || group_layout(device, label, entries));
            if let Some(error) = error {
                for op in Op::ALL.into_iter().filter(|&op| needed(op)) {
                    refused[op as usize].get_or_insert_with(|| refusal(op.name(), &error));
                }
            }
            layout
        };
        let buffers = Op::ALL.map(|op| {
            let entries: Vec<_> = op.buffers().iter().map(storage).collect();
            layout(op.name(), &entries, &|other| other == op)
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
            &Op::reports,
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

    /// How params reach the shaders.
    pub(crate) fn space(&self) -> UniformSpace {
        self.space
    }

    /// None yet, of the same device. Each is made with the help of what `cache` holds, which learns of it.
    pub(crate) fn with_cache(&self, device: &wgpu::Device, cache: wgpu::PipelineCache) -> Self {
        Self {
            cache: Some(cache),
            ..Self::new(device, self.space)
        }
    }

    /// The layout of an operation's buffers.
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

    /// The programs that were used so far.
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
                program.op.reports().then_some(&self.reports.strips.layout),
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
            // None unless the caller has one: it takes bytes from a file on trust, which is unsafe, and
            // drivers keep their own: of a gather that lavapipe had compiled in an earlier process, the
            // first result came after 24 ms instead of 80.
            cache: self.cache.as_ref(),
        })
    }
}

/// The error for a shader that the device refuses.
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

/// A layout of buffers, each with its type and whether its offset comes with the dispatch.
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
