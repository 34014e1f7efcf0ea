//! Creates bind groups of buffers, and their layouts.

use wgpu::{BindGroupEntry, BindGroupLayout, BindGroupLayoutEntry, BindingResource, BufferBinding};

/// Creates the layout of a group of buffers, given the type of each buffer and whether its offset is dynamic.
pub(in crate::gpu) fn group_layout(
    device: &wgpu::Device,
    label: Option<&str>,
    buffers: &[(wgpu::BufferBindingType, bool)],
) -> BindGroupLayout {
    let entry = |(binding, &(ty, has_dynamic_offset))| BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty,
            has_dynamic_offset,
            min_binding_size: None,
        },
        count: None,
    };
    let entries: Vec<_> = (0..).zip(buffers).map(entry).collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label,
        entries: &entries,
    })
}

/// Creates a bind group of ranges of buffers, each given as a buffer, an offset and a size in bytes.
pub(in crate::gpu) fn bind_group<'a>(
    device: &wgpu::Device,
    label: Option<&str>,
    layout: &BindGroupLayout,
    ranges: impl IntoIterator<Item = (&'a wgpu::Buffer, u64, u64)>,
) -> wgpu::BindGroup {
    let entry = |(binding, (buffer, offset, size))| BindGroupEntry {
        binding,
        resource: BindingResource::Buffer(BufferBinding {
            buffer,
            offset,
            size: wgpu::BufferSize::new(size),
        }),
    };
    let entries: Vec<_> = (0..).zip(ranges).map(entry).collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label,
        layout,
        entries: &entries,
    })
}
