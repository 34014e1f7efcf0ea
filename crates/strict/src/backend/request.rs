//! Describes the pipelines that a program requested, so they can be created again elsewhere, for example to examine the
//! output of a compiler.

use super::{
    bind::{StrictGroupLayout, StrictPipelineLayout},
    pipeline::group_layout,
};
use crate::machine::Program;
use wgpu::{BindGroupLayoutEntry, BindingType, ShaderStages};

/// A requested pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct PipelineRequest {
    /// The label of the pipeline.
    pub label: String,
    /// The shader in WGSL, after [`Options::rewrite`](crate::Options::rewrite).
    pub source: String,
    /// The name of the entry point.
    pub entry_point: String,
    /// The overrides of the shader to which the request gives a value: their names and values.
    pub constants: Vec<(String, f64)>,
    /// The entries of the layout of each bind group. Without a pipeline layout, wgpu derives them from the shader.
    pub groups: Vec<Vec<BindGroupLayoutEntry>>,
    /// The size of the immediates in bytes, from the pipeline layout. 0 without a pipeline layout.
    pub immediate_size: u32,
    /// True if workgroup variables are initialized to zeros.
    pub zero_initialize_workgroup_memory: bool,
}

impl PipelineRequest {
    /// Returns the request for a pipeline that was created from `descriptor` with this program.
    pub(super) fn of(descriptor: &wgpu::ComputePipelineDescriptor<'_>, program: &Program) -> Self {
        let options = &descriptor.compilation_options;
        let layout: Option<&StrictPipelineLayout> = descriptor
            .layout
            .map(|layout| layout.as_custom().expect("a layout of this device"));
        let (groups, immediate_size) = match layout {
            Some(layout) => (layout.groups.clone(), layout.immediate_size),
            None => (implied_layouts(program), 0),
        };
        Self {
            label: program.label.clone(),
            source: program.source.clone(),
            entry_point: program.module.entry_points[program.entry_index]
                .name
                .clone(),
            constants: options
                .constants
                .iter()
                .map(|&(name, value)| (name.to_owned(), value))
                .collect(),
            groups: groups.iter().map(StrictGroupLayout::entries).collect(),
            immediate_size,
            zero_initialize_workgroup_memory: options.zero_initialize_workgroup_memory,
        }
    }
}

/// Returns the layouts that wgpu derives from a shader's bindings for a pipeline without a layout.
fn implied_layouts(program: &Program) -> Vec<StrictGroupLayout> {
    let variables = program.module.global_variables.iter();
    let binding_points = variables.filter_map(|(_, variable)| variable.binding);
    let group_count = binding_points
        .map(|binding| binding.group + 1)
        .max()
        .unwrap_or(0);
    (0..group_count)
        .map(|group| group_layout(&program.module, group))
        .collect()
}

impl StrictGroupLayout {
    /// Returns this layout in wgpu's form. Every binding is visible to compute shaders.
    pub(super) fn entries(&self) -> Vec<BindGroupLayoutEntry> {
        let entry = |(&binding, &(ty, has_dynamic_offset))| BindGroupLayoutEntry {
            binding,
            visibility: ShaderStages::COMPUTE,
            ty: BindingType::Buffer {
                ty,
                has_dynamic_offset,
                min_binding_size: None,
            },
            count: None,
        };
        self.0.iter().map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Options, StrictGpu};
    use wgpu::{BindingType, BufferBindingType};

    const SOURCE: &str = "override N: u32;
        @group(0) @binding(1) var<storage, read_write> x: array<u32>;
        @group(1) @binding(0) var<uniform> y: vec4<u32>;
        @compute @workgroup_size(64)
        fn start(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] = y[N]; }";

    fn make_pipeline(gpu: &StrictGpu, layout: Option<&wgpu::PipelineLayout>) {
        let device = gpu.device();
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(SOURCE.into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("numbers"),
            layout,
            module: &module,
            entry_point: None,
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &[("N", 3.0)],
                zero_initialize_workgroup_memory: false,
            },
            cache: None,
        });
        drop(pipeline);
    }

    fn gpu_that_keeps_requests() -> StrictGpu {
        StrictGpu::new(Options {
            keeps_pipelines: true,
            ..Options::default()
        })
    }

    #[test]
    fn requests_are_returned_once_and_only_with_the_option() {
        let gpu = gpu_that_keeps_requests();
        make_pipeline(&gpu, None);
        let [request] = &gpu.take_pipelines()[..] else {
            panic!("one was made");
        };
        assert_eq!(
            (&*request.label, &*request.entry_point),
            ("numbers", "start")
        );
        assert_eq!(request.source, SOURCE);
        assert_eq!(request.constants, [("N".to_owned(), 3.0)]);
        assert!(!request.zero_initialize_workgroup_memory);
        assert!(gpu.take_pipelines().is_empty());

        let gpu_without_option = StrictGpu::new(Options::default());
        make_pipeline(&gpu_without_option, None);
        assert!(gpu_without_option.take_pipelines().is_empty());
    }

    #[test]
    fn layouts_come_from_the_descriptor_or_from_the_shader() {
        let gpu = gpu_that_keeps_requests();
        make_pipeline(&gpu, None);
        let implied_request = gpu.take_pipelines().remove(0);
        let buffers = |request: &super::PipelineRequest| {
            let group_layout = |group: &Vec<wgpu::BindGroupLayoutEntry>| {
                let buffer = |entry: &wgpu::BindGroupLayoutEntry| match entry.ty {
                    BindingType::Buffer {
                        ty,
                        has_dynamic_offset,
                        ..
                    } => (entry.binding, ty, has_dynamic_offset),
                    other => panic!("{other:?}"),
                };
                group.iter().map(buffer).collect::<Vec<_>>()
            };
            request.groups.iter().map(group_layout).collect::<Vec<_>>()
        };
        let writable_storage = BufferBindingType::Storage { read_only: false };
        let expected = |dynamic| {
            vec![
                vec![(1, writable_storage, false)],
                vec![(0, BufferBindingType::Uniform, dynamic)],
            ]
        };
        assert_eq!(buffers(&implied_request), expected(false));
        assert_eq!(implied_request.immediate_size, 0);

        let device = gpu.device();
        let group = |binding, ty, has_dynamic_offset| {
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: None,
                entries: &[wgpu::BindGroupLayoutEntry {
                    binding,
                    visibility: wgpu::ShaderStages::COMPUTE,
                    ty: BindingType::Buffer {
                        ty,
                        has_dynamic_offset,
                        min_binding_size: None,
                    },
                    count: None,
                }],
            })
        };
        let groups = [
            group(1, writable_storage, false),
            group(0, BufferBindingType::Uniform, true),
        ];
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&groups[0]), Some(&groups[1])],
            immediate_size: 16,
        });
        make_pipeline(&gpu, Some(&layout));
        let request = gpu.take_pipelines().remove(0);
        assert_eq!(buffers(&request), expected(true));
        assert_eq!(request.immediate_size, 16);
    }
}
