//! A minimal dispatch, to compare the cost of other dispatches with. Its shader has no parameters and copies words.

use super::{adapter::Adapter, measured::Problem};
use wgpu::{Buffer, CommandEncoder};

const SHADER: &str = "
@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&input) && id.x < arrayLength(&output)) {
        output[id.x] = input[id.x];
    }
}
";

/// The compiled shader and its buffers, ready to be dispatched.
#[derive(Debug)]
pub(crate) struct Bare {
    pipeline: wgpu::ComputePipeline,
    bindings: wgpu::BindGroup,
    /// The workgroups of a dispatch.
    groups: u32,
}

impl Bare {
    /// Compiles the shader. `output` must have at most 65 535 × 256 bytes: each workgroup writes 256 bytes, and a
    /// device may limit a dispatch to 65 535 workgroups along a dimension.
    pub(crate) fn new(adapter: &Adapter, input: &Buffer, output: &Buffer) -> Self {
        let device = &adapter.device;
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("bare"),
            source: wgpu::ShaderSource::Wgsl(SHADER.into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("bare"),
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: Default::default(),
            cache: None,
        });
        let entries = [(0, input), (1, output)].map(|(binding, buffer)| wgpu::BindGroupEntry {
            binding,
            resource: buffer.as_entire_binding(),
        });
        let bindings = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("bare"),
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        Self {
            pipeline,
            bindings,
            groups: u32::try_from(output.size().div_ceil(4 * 64)).unwrap_or(u32::MAX),
        }
    }

    /// Records `count` dispatches in one pass.
    pub(crate) fn record(&self, encoder: &mut CommandEncoder, count: usize) -> Result<(), Problem> {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        for _ in 0..count {
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, &self.bindings, &[]);
            pass.dispatch_workgroups(self.groups, 1, 1);
        }
        Ok(())
    }
}
