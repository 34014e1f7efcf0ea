//! What the examples need of wgpu alone.

#![allow(dead_code, reason = "no example needs all of it")]

use std::error::Error;
use wgslice::gpu::AdapterOptions;

/// Opens the program's own device: of the first adapter that can run the library's shaders, with WebGPU's default limits.
pub(crate) fn open() -> Result<(wgpu::Device, wgpu::Queue), Box<dyn Error>> {
    let candidates = pollster::block_on(AdapterOptions::default().adapters())?;
    let mut fitting = candidates.iter().filter(|found| found.refused.is_none());
    let candidate = fitting.next().ok_or("there is no adapter")?;
    println!("on {candidate}");
    let device = candidate.adapter.request_device(&Default::default());
    Ok(pollster::block_on(device)?)
}

/// Compiles a shader of the program, whose entry point is `main`.
pub(crate) fn compute_pipeline(
    device: &wgpu::Device,
    label: &str,
    shader: &str,
    constants: &[(&str, f64)],
) -> wgpu::ComputePipeline {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(label),
        source: wgpu::ShaderSource::Wgsl(shader.into()),
    });
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(label),
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions {
            constants,
            ..Default::default()
        },
        cache: None,
    })
}

/// Binds buffers to the bindings 0 and 1 of a shader.
pub(crate) fn bind(
    device: &wgpu::Device,
    pipeline: &wgpu::ComputePipeline,
    [from, to]: [&wgpu::Buffer; 2],
) -> wgpu::BindGroup {
    let entries = [(0, from), (1, to)].map(|(binding, buffer)| wgpu::BindGroupEntry {
        binding,
        resource: buffer.as_entire_binding(),
    });
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &entries,
    })
}
