//! Code that the examples share. Except for the choice of an adapter, it uses only wgpu.

#![allow(dead_code, reason = "no example needs all of it")]

use std::error::Error;
use wgpu::util::DeviceExt;
use wgslice::gpu::AdapterOptions;

/// Opens the program's own device on the first adapter that can run the library's shaders, with WebGPU's default
/// limits.
pub(crate) fn open() -> Result<(wgpu::Device, wgpu::Queue), Box<dyn Error>> {
    let candidates = pollster::block_on(AdapterOptions::default().adapters())?;
    let mut fitting = candidates
        .iter()
        .filter(|candidate| candidate.refused.is_none());
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
    [first, second]: [&wgpu::Buffer; 2],
) -> wgpu::BindGroup {
    let entries = [(0, first), (1, second)].map(|(binding, buffer)| wgpu::BindGroupEntry {
        binding,
        resource: buffer.as_entire_binding(),
    });
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &entries,
    })
}

/// Creates a buffer with this content for shaders and copies.
pub(crate) fn buffer(device: &wgpu::Device, contents: &[u8]) -> wgpu::Buffer {
    device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
        label: None,
        contents,
        usage: wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::COPY_DST
            | wgpu::BufferUsages::COPY_SRC,
    })
}

/// Reads the bytes of a buffer with wgpu alone.
pub(crate) fn read_buffer(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    buffer: &wgpu::Buffer,
) -> Result<Vec<u8>, Box<dyn Error>> {
    let staging = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("staging"),
        size: buffer.size(),
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
    queue.submit([encoder.finish()]);
    staging.map_async(wgpu::MapMode::Read, .., |mapped| {
        mapped.expect("the copy is mapped");
    });
    device.poll(wgpu::PollType::wait_indefinitely())?;
    Ok(staging.get_mapped_range(..)?.to_vec())
}

/// Creates a texture for copies.
pub(crate) fn texture(
    device: &wgpu::Device,
    format: wgpu::TextureFormat,
    [width, height]: [u32; 2],
) -> wgpu::Texture {
    device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d {
            width,
            height,
            depth_or_array_layers: 1,
        },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: wgpu::TextureUsages::COPY_DST | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    })
}

/// Reads the bytes of a texture with wgpu alone: copies rows that are padded to a multiple of 256 bytes, and drops the
/// padding on the CPU.
pub(crate) fn read_texture(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    texture: &wgpu::Texture,
) -> Result<Vec<u8>, Box<dyn Error>> {
    let texel_bytes = texture.format().block_copy_size(None);
    let row_bytes = texture.width() * texel_bytes.ok_or("the format has several planes")?;
    let pitch = row_bytes.next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
    let staging = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("staging"),
        size: u64::from(pitch) * u64::from(texture.height()),
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&Default::default());
    encoder.copy_texture_to_buffer(
        texture.as_image_copy(),
        wgpu::TexelCopyBufferInfo {
            buffer: &staging,
            layout: wgpu::TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some(pitch),
                rows_per_image: None,
            },
        },
        texture.size(),
    );
    queue.submit([encoder.finish()]);
    staging.map_async(wgpu::MapMode::Read, .., |mapped| {
        mapped.expect("the copy is mapped");
    });
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let mapped = staging.get_mapped_range(..)?;
    let rows = mapped.chunks(pitch as usize);
    Ok(rows
        .flat_map(|padded| &padded[..row_bytes as usize])
        .copied()
        .collect())
}
