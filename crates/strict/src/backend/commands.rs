//! Recorded commands, which run when they are submitted.

use super::{
    SharedState,
    bind::{Binding, StrictGroup},
    buffer::StrictBuffer,
    panic_for_missing,
    pipeline::StrictPipeline,
};
use crate::machine::Program;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};
use wgpu::{
    BufferAddress, DynamicOffset,
    custom::{
        CommandBufferInterface, CommandEncoderInterface, ComputePassInterface, DispatchBindGroup,
        DispatchBuffer, DispatchCommandBuffer, DispatchComputePass, DispatchComputePipeline,
        DispatchQuerySet, DispatchRenderPass, DispatchTexture, DispatchTextureView,
    },
};

/// A recorded command. Offsets and sizes are in bytes.
#[derive(Debug)]
pub(super) enum Command {
    Copy {
        from: StrictBuffer,
        from_offset: u64,
        to: StrictBuffer,
        to_offset: u64,
        bytes: u64,
    },
    Clear {
        buffer: StrictBuffer,
        offset: u64,
        bytes: u64,
    },
    Dispatch(Dispatch),
}

/// A recorded dispatch with all resources that were set for it.
#[derive(Debug)]
pub(super) struct Dispatch {
    pub(super) program: Arc<Program>,
    /// The bindings, by group and binding number. Their offsets include the dynamic offsets.
    pub(super) bindings: BTreeMap<(u32, u32), Binding>,
    pub(super) immediates: Vec<u8>,
    pub(super) workgroups: [u32; 3],
}

type CommandList = Arc<Mutex<Vec<Command>>>;

/// A command encoder, which appends to its list of commands.
#[derive(Debug)]
pub(super) struct StrictEncoder {
    pub(super) shared: Arc<SharedState>,
    pub(super) commands: CommandList,
}

/// The commands of a finished encoder. Submitting them empties the list.
#[derive(Debug)]
pub(super) struct StrictCommands(pub(super) CommandList);

impl CommandBufferInterface for StrictCommands {}

impl StrictEncoder {
    fn push(&self, command: Command) {
        super::lock(&self.commands).push(command);
    }

    /// Returns whether all these offsets and sizes in bytes are multiples of 4, the size of a word. Reports an error if
    /// not.
    fn are_word_aligned(&self, command: &str, offsets_and_sizes: &[u64]) -> bool {
        let unaligned = offsets_and_sizes
            .iter()
            .find(|bytes| !bytes.is_multiple_of(4));
        if let Some(unaligned) = unaligned {
            self.shared.report_invalid(format!(
                "a {command} begins and ends at multiples of 4 bytes, which {unaligned} is not"
            ));
        }
        unaligned.is_none()
    }
}

impl CommandEncoderInterface for StrictEncoder {
    fn copy_buffer_to_buffer(
        &self,
        source: &DispatchBuffer,
        source_offset: BufferAddress,
        destination: &DispatchBuffer,
        destination_offset: BufferAddress,
        copy_size: Option<BufferAddress>,
    ) {
        let (from, to) = (
            StrictBuffer::from_dispatch(source).clone(),
            StrictBuffer::from_dispatch(destination).clone(),
        );
        let bytes_left = super::lock(&from.memory).bytes() - source_offset;
        let bytes = copy_size.unwrap_or(bytes_left);
        if !self.are_word_aligned("copy", &[source_offset, destination_offset, bytes]) {
            return;
        }
        self.push(Command::Copy {
            from,
            from_offset: source_offset,
            to,
            to_offset: destination_offset,
            bytes,
        });
    }

    fn clear_buffer(
        &self,
        buffer: &DispatchBuffer,
        offset: BufferAddress,
        size: Option<BufferAddress>,
    ) {
        let buffer = StrictBuffer::from_dispatch(buffer).clone();
        let buffer_bytes = super::lock(&buffer.memory).bytes();
        let bytes = size.unwrap_or(buffer_bytes.saturating_sub(offset));
        if !self.are_word_aligned("clear", &[offset, bytes]) {
            return;
        }
        if offset
            .checked_add(bytes)
            .is_none_or(|end| end > buffer_bytes)
        {
            self.shared.report_invalid(format!(
                "a clear of {bytes} bytes at {offset}, beyond the {buffer_bytes} of the buffer"
            ));
            return;
        }
        self.push(Command::Clear {
            buffer,
            offset,
            bytes,
        });
    }

    fn begin_compute_pass(
        &self,
        descriptor: &wgpu::ComputePassDescriptor<'_>,
    ) -> DispatchComputePass {
        self.shared.record_label("pass", descriptor.label);
        DispatchComputePass::custom(StrictPass {
            shared: Arc::clone(&self.shared),
            commands: Arc::clone(&self.commands),
            program: None,
            groups: BTreeMap::new(),
            immediates: Vec::new(),
        })
    }

    fn finish(&mut self) -> DispatchCommandBuffer {
        DispatchCommandBuffer::custom(StrictCommands(Arc::clone(&self.commands)))
    }

    fn insert_debug_marker(&self, _label: &str) {}
    fn push_debug_group(&self, _label: &str) {}
    fn pop_debug_group(&self) {}

    fn copy_buffer_to_texture(
        &self,
        _source: wgpu::TexelCopyBufferInfo<'_>,
        _destination: wgpu::TexelCopyTextureInfo<'_>,
        _copy_size: wgpu::Extent3d,
    ) {
        panic_for_missing("textures")
    }

    fn copy_texture_to_buffer(
        &self,
        _source: wgpu::TexelCopyTextureInfo<'_>,
        _destination: wgpu::TexelCopyBufferInfo<'_>,
        _copy_size: wgpu::Extent3d,
    ) {
        panic_for_missing("textures")
    }

    fn copy_texture_to_texture(
        &self,
        _source: wgpu::TexelCopyTextureInfo<'_>,
        _destination: wgpu::TexelCopyTextureInfo<'_>,
        _copy_size: wgpu::Extent3d,
    ) {
        panic_for_missing("textures")
    }

    fn begin_render_pass(
        &self,
        _descriptor: &wgpu::RenderPassDescriptor<'_>,
    ) -> DispatchRenderPass {
        panic_for_missing("render passes")
    }

    fn clear_texture(&self, _texture: &DispatchTexture, _range: &wgpu::ImageSubresourceRange) {
        panic_for_missing("textures")
    }

    fn write_timestamp(&self, _query_set: &DispatchQuerySet, _query_index: u32) {
        panic_for_missing("queries")
    }

    fn resolve_query_set(
        &self,
        _query_set: &DispatchQuerySet,
        _first_query: u32,
        _query_count: u32,
        _destination: &DispatchBuffer,
        _destination_offset: BufferAddress,
    ) {
        panic_for_missing("queries")
    }

    fn mark_acceleration_structures_built<'a>(
        &self,
        _blas: &mut dyn Iterator<Item = &'a wgpu::Blas>,
        _tlas: &mut dyn Iterator<Item = &'a wgpu::Tlas>,
    ) {
        panic_for_missing("ray tracing")
    }

    fn build_acceleration_structures<'a>(
        &self,
        _blas: &mut dyn Iterator<Item = &'a wgpu::BlasBuildEntry<'a>>,
        _tlas: &mut dyn Iterator<Item = &'a wgpu::Tlas>,
    ) {
        panic_for_missing("ray tracing")
    }

    fn transition_resources<'a>(
        &mut self,
        _buffers: &mut dyn Iterator<Item = wgpu::wgt::BufferTransition<&'a DispatchBuffer>>,
        _textures: &mut dyn Iterator<Item = wgpu::wgt::TextureTransition<&'a DispatchTexture>>,
    ) {
    }
}

/// A compute pass: the pipeline, the bind groups and the immediates that are set for the next dispatch. Dispatches are
/// appended to the encoder's list of commands.
#[derive(Debug)]
struct StrictPass {
    shared: Arc<SharedState>,
    commands: CommandList,
    program: Option<Arc<Program>>,
    groups: BTreeMap<u32, BTreeMap<u32, Binding>>,
    immediates: Vec<u8>,
}

impl ComputePassInterface for StrictPass {
    fn set_pipeline(&mut self, pipeline: &DispatchComputePipeline) {
        let pipeline: &StrictPipeline = pipeline.as_custom().expect("a pipeline of this device");
        self.program.clone_from(&pipeline.0);
    }

    fn set_bind_group(
        &mut self,
        index: u32,
        group: Option<&DispatchBindGroup>,
        offsets: &[DynamicOffset],
    ) {
        let Some(group) = group else {
            self.groups.remove(&index);
            return;
        };
        let group: &StrictGroup = group.as_custom().expect("a bind group of this device");
        let mut bindings = group.0.clone();
        let mut offsets = offsets.iter();
        for binding in bindings
            .values_mut()
            .filter(|binding| binding.has_dynamic_offset)
        {
            let Some(&offset) = offsets.next() else {
                self.shared
                    .report_invalid("a dynamic offset is missing".into());
                return;
            };
            binding.offset += u64::from(offset);
            if binding.offset + binding.bytes > super::lock(&binding.buffer.memory).bytes() {
                self.shared.report_invalid(format!(
                    "the dynamic offset {offset} leads beyond the buffer"
                ));
                return;
            }
        }
        self.groups.insert(index, bindings);
    }

    fn set_immediates(&mut self, offset: u32, data: &[u8]) {
        let end_byte = offset as usize + data.len();
        if end_byte > self.shared.limits.max_immediate_size as usize {
            self.shared
                .report_invalid(format!("{end_byte} bytes of immediates"));
            return;
        }
        self.immediates
            .resize(self.immediates.len().max(end_byte), 0);
        self.immediates[offset as usize..end_byte].copy_from_slice(data);
    }

    fn dispatch_workgroups(&mut self, x: u32, y: u32, z: u32) {
        let max_workgroups = self.shared.limits.max_compute_workgroups_per_dimension;
        if [x, y, z].iter().any(|&count| count > max_workgroups) {
            self.shared.report_invalid(format!(
                "({x}, {y}, {z}) workgroups, more than {max_workgroups} in a dimension"
            ));
            return;
        }
        let Some(program) = self.program.clone() else {
            self.shared
                .report_invalid("a dispatch without a pipeline".into());
            return;
        };
        let workgroup_size = program.entry_point().workgroup_size;
        let invocation_count: u32 = workgroup_size.iter().product();
        if invocation_count > self.shared.limits.max_compute_invocations_per_workgroup {
            self.shared
                .report_invalid(format!("{invocation_count} invocations in a workgroup"));
            return;
        }
        let groups = self.groups.iter();
        let bindings = groups.flat_map(|(&group, group_bindings)| {
            group_bindings
                .iter()
                .map(move |(&n, binding)| ((group, n), binding.clone()))
        });
        let dispatch = Dispatch {
            program,
            bindings: bindings.collect(),
            immediates: self.immediates.clone(),
            workgroups: [x, y, z],
        };
        super::lock(&self.commands).push(Command::Dispatch(dispatch));
    }

    fn insert_debug_marker(&mut self, _label: &str) {}
    fn push_debug_group(&mut self, _label: &str) {}
    fn pop_debug_group(&mut self) {}

    fn write_timestamp(&mut self, _query_set: &DispatchQuerySet, _query_index: u32) {
        panic_for_missing("queries")
    }

    fn begin_pipeline_statistics_query(
        &mut self,
        _query_set: &DispatchQuerySet,
        _query_index: u32,
    ) {
        panic_for_missing("queries")
    }

    fn end_pipeline_statistics_query(&mut self) {
        panic_for_missing("queries")
    }

    fn dispatch_workgroups_indirect(&mut self, _buffer: &DispatchBuffer, _offset: BufferAddress) {
        panic_for_missing("indirect dispatches")
    }

    fn transition_resources<'a>(
        &mut self,
        _buffers: &mut dyn Iterator<Item = wgpu::wgt::BufferTransition<&'a DispatchBuffer>>,
        _textures: &mut dyn Iterator<Item = wgpu::wgt::TextureTransition<&'a DispatchTextureView>>,
    ) {
    }
}

impl Drop for StrictPass {
    fn drop(&mut self) {}
}
