//! Bind groups and their layouts.

use super::{SharedState, buffer::StrictBuffer};
use std::collections::BTreeMap;
use wgpu::{
    BindingResource, BindingType, BufferBindingType, BufferUsages,
    custom::{BindGroupInterface, BindGroupLayoutInterface, PipelineLayoutInterface},
};

/// The layout of a bind group. For each binding number, it holds the kind of the binding and whether its offset is
/// dynamic.
#[derive(Clone, Debug, Default)]
pub(super) struct StrictGroupLayout(pub(super) BTreeMap<u32, (BufferBindingType, bool)>);

impl BindGroupLayoutInterface for StrictGroupLayout {}

impl StrictGroupLayout {
    pub(super) fn new(descriptor: &wgpu::BindGroupLayoutDescriptor<'_>) -> Self {
        let number_and_type = |entry: &wgpu::BindGroupLayoutEntry| match entry.ty {
            BindingType::Buffer {
                ty,
                has_dynamic_offset,
                ..
            } => (entry.binding, (ty, has_dynamic_offset)),
            other => super::panic_for_missing(&format!("binding of {other:?}")),
        };
        Self(descriptor.entries.iter().map(number_and_type).collect())
    }
}

/// The layout of a pipeline. Only `get_bind_group_layout` and `take_pipelines` report it. Dispatches do not use it:
/// they look up each binding by the group and number that the shader declares.
#[derive(Debug)]
pub(super) struct StrictPipelineLayout {
    pub(super) groups: Vec<StrictGroupLayout>,
    pub(super) immediate_size: u32,
}

impl StrictPipelineLayout {
    pub(super) fn new(descriptor: &wgpu::PipelineLayoutDescriptor<'_>) -> Self {
        let own_layout = |group: &Option<&wgpu::BindGroupLayout>| {
            let layout = group.map(|group| group.as_custom().expect("a layout of this device"));
            layout.cloned().unwrap_or_default()
        };
        Self {
            groups: descriptor
                .bind_group_layouts
                .iter()
                .map(own_layout)
                .collect(),
            immediate_size: descriptor.immediate_size,
        }
    }
}

impl PipelineLayoutInterface for StrictPipelineLayout {}

/// A bound part of a buffer. Offset and size are in bytes.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    pub(super) buffer: StrictBuffer,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) has_dynamic_offset: bool,
}

/// A bind group: its bindings by their numbers.
#[derive(Clone, Debug)]
pub(super) struct StrictGroup(pub(super) BTreeMap<u32, Binding>);

impl BindGroupInterface for StrictGroup {}

impl StrictGroup {
    pub(super) fn new(shared: &SharedState, descriptor: &wgpu::BindGroupDescriptor<'_>) -> Self {
        let layout: &StrictGroupLayout = descriptor
            .layout
            .as_custom()
            .expect("a layout of this device");
        let mut bindings = BTreeMap::new();
        for entry in descriptor.entries {
            let BindingResource::Buffer(bound) = &entry.resource else {
                super::panic_for_missing("bindings other than buffers");
            };
            let Some(&(ty, has_dynamic_offset)) = layout.0.get(&entry.binding) else {
                shared.report_invalid(format!("the layout has no binding {}", entry.binding));
                continue;
            };
            let buffer: &StrictBuffer = bound.buffer.as_custom().expect("a buffer of this device");
            let bytes_left = bound.buffer.size() - bound.offset.min(bound.buffer.size());
            let bytes = bound.size.map_or(bytes_left, u64::from);
            let limits = &shared.limits;
            let (usage, alignment, max_bytes) = match ty {
                BufferBindingType::Uniform => (
                    BufferUsages::UNIFORM,
                    limits.min_uniform_buffer_offset_alignment,
                    limits.max_uniform_buffer_binding_size,
                ),
                BufferBindingType::Storage { .. } => (
                    BufferUsages::STORAGE,
                    limits.min_storage_buffer_offset_alignment,
                    limits.max_storage_buffer_binding_size,
                ),
            };
            let problem = match () {
                () if !buffer.usage.contains(usage) => {
                    format!("its buffer lacks the usage {usage:?}")
                }
                () if !bound.offset.is_multiple_of(alignment.into()) => {
                    format!(
                        "its offset {} is not a multiple of {alignment}",
                        bound.offset
                    )
                }
                () if bytes == 0 || bytes > bytes_left => {
                    format!(
                        "its size is {bytes} bytes, but {bytes_left} bytes of the buffer follow its offset"
                    )
                }
                () if bytes > max_bytes => format!("its {bytes} bytes are more than {max_bytes}"),
                () => String::new(),
            };
            if !problem.is_empty() {
                shared.report_invalid(format!("binding {}: {problem}", entry.binding));
            }
            let binding = Binding {
                buffer: buffer.clone(),
                offset: bound.offset,
                bytes,
                has_dynamic_offset,
            };
            bindings.insert(entry.binding, binding);
        }
        if bindings.len() != layout.0.len() {
            shared.report_invalid(format!(
                "{} bindings where the layout has {}",
                bindings.len(),
                layout.0.len()
            ));
        }
        Self(bindings)
    }
}
