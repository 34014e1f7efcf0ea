//! Records minimal wgpu commands of the kind that wgslice records.
//!
//! For every dispatch, the commands set the pipeline, the bind groups and 128 bytes of `Params`. A recorder that does
//! not track the other commands of the pass must set all of these.

use wgpu::{BufferUsages, ComputePass};

/// The size in bytes of the shader's struct `Params`.
const PARAMS_BYTES: u32 = 128;

/// A pipeline, and the bind groups that all its dispatches share.
pub(crate) struct Bare {
    pipeline: wgpu::ComputePipeline,
    buffers_layout: wgpu::BindGroupLayout,
    /// The bind group of the buffer to which a gather reports wrong indices, at a dynamic offset. `None` for a slice.
    report: Option<wgpu::BindGroup>,
    /// The bind group of `Params` in a uniform buffer, at a dynamic offset. `None` if immediates hold `Params`.
    params: Option<wgpu::BindGroup>,
}

impl Bare {
    pub(crate) fn new(device: &wgpu::Device, is_gather: bool, uses_immediates: bool) -> Self {
        let layout = |buffers: &[(wgpu::BufferBindingType, bool)]| {
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
                label: None,
                entries: &entries,
            })
        };
        let storage = |read_only| (wgpu::BufferBindingType::Storage { read_only }, false);
        let mut buffers = vec![storage(true), storage(false)];
        if is_gather {
            buffers.push(storage(true));
        }
        let buffers_layout = layout(&buffers);
        let report_layout =
            layout(&[(wgpu::BufferBindingType::Storage { read_only: false }, true)]);
        let params_layout = layout(&[(wgpu::BufferBindingType::Uniform, true)]);
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[
                Some(&buffers_layout),
                is_gather.then_some(&report_layout),
                (!uses_immediates).then_some(&params_layout),
            ],
            immediate_size: if uses_immediates { PARAMS_BYTES } else { 0 },
        });
        let address_space = if uses_immediates {
            "var<immediate>"
        } else {
            "@group(2) @binding(0) var<uniform>"
        };
        let (index_declarations, index_use) = if is_gather {
            (
                "@group(0) @binding(2) var<storage> indices: array<u32>;
                 @group(1) @binding(0) var<storage, read_write> report: array<u32>;",
                "report[0] = indices[0];",
            )
        } else {
            ("", "")
        };
        let source = format!(
            "struct Params {{ words: array<vec4<u32>, 8> }}
             {address_space} params: Params;
             @group(0) @binding(0) var<storage> source: array<u32>;
             @group(0) @binding(1) var<storage, read_write> dest: array<u32>;
             {index_declarations}
             @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) at: vec3<u32>) {{
                 dest[at.x] = source[at.x] + params.words[7].x;
                 {index_use}
             }}"
        );
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: None,
            compilation_options: Default::default(),
            cache: None,
        });
        let group = |layout, bytes, usage| {
            let buffer = buffer(device, 2 * bytes, usage);
            group(device, layout, &[(&buffer, Some(bytes))])
        };
        Self {
            report: is_gather.then(|| group(&report_layout, 256, BufferUsages::STORAGE)),
            params: (!uses_immediates).then(|| group(&params_layout, 256, BufferUsages::UNIFORM)),
            pipeline,
            buffers_layout,
        }
    }

    pub(crate) fn group(
        &self,
        device: &wgpu::Device,
        buffers: &[&wgpu::Buffer],
    ) -> wgpu::BindGroup {
        let buffers: Vec<_> = buffers.iter().map(|&buffer| (buffer, None)).collect();
        group(device, &self.buffers_layout, &buffers)
    }

    pub(crate) fn dispatch(&self, pass: &mut ComputePass<'_>, group: &wgpu::BindGroup) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, group, &[]);
        if let Some(report) = &self.report {
            pass.set_bind_group(1, report, &[256]);
        }
        match &self.params {
            Some(params) => pass.set_bind_group(2, params, &[256]),
            None => pass.set_immediates(0, &[0; PARAMS_BYTES as usize]),
        }
        pass.dispatch_workgroups(1, 1, 1);
    }
}

pub(crate) fn buffer(device: &wgpu::Device, size: u64, usage: BufferUsages) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size,
        usage: usage | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

fn group(
    device: &wgpu::Device,
    layout: &wgpu::BindGroupLayout,
    buffers: &[(&wgpu::Buffer, Option<u64>)],
) -> wgpu::BindGroup {
    let entries: Vec<_> = (0..)
        .zip(buffers)
        .map(|(binding, &(buffer, bytes))| wgpu::BindGroupEntry {
            binding,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer,
                offset: 0,
                size: bytes.and_then(wgpu::BufferSize::new),
            }),
        })
        .collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout,
        entries: &entries,
    })
}
