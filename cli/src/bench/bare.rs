//! The minimal cost of a dispatch: a shader without parameters that copies words.

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

/// The shader and its buffers.
#[derive(Debug)]
pub(crate) struct Bare {
    pipeline: wgpu::ComputePipeline,
    bindings: wgpu::BindGroup,
    groups: u32,
}

impl Bare {
    /// `output` must be smaller than 16 MiB: a dimension of a dispatch may be limited to 65 535 workgroups.
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
