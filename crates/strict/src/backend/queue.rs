//! Runs recorded commands as soon as they are submitted, before `submit` returns.

use super::{
    SharedState,
    buffer::{StagedBytes, StrictBuffer},
    commands::{Command, Dispatch, StrictCommands},
    lock, panic_for_missing,
};
use crate::{
    DispatchCounts,
    counts::sample_workgroups,
    machine::{BoundMemory, Machine, Random},
    memory::{Memory, WORD_BYTES, to_usize},
};
use naga::{AddressSpace, StorageAccess};
use std::sync::{Arc, MutexGuard, atomic::Ordering};
use wgpu::{
    BufferAddress, BufferSize,
    custom::{
        BoxSubmittedWorkDoneCallback, DispatchBlas, DispatchBuffer, DispatchCommandBuffer,
        DispatchQueueWriteBuffer, DispatchSurfaceOutputDetail, QueueInterface,
    },
};

#[derive(Debug)]
pub(super) struct StrictQueue(pub(super) Arc<SharedState>);

impl QueueInterface for StrictQueue {
    fn write_buffer(&self, buffer: &DispatchBuffer, offset: BufferAddress, data: &[u8]) {
        let _timeline = lock(&self.0.timeline);
        lock(&StrictBuffer::from_dispatch(buffer).memory).write(offset, data);
    }

    fn create_staging_buffer(&self, size: BufferSize) -> Option<DispatchQueueWriteBuffer> {
        Some(DispatchQueueWriteBuffer::custom(StagedBytes(vec![
            0;
            to_usize(
                size.get()
            )
        ])))
    }

    fn validate_write_buffer(
        &self,
        buffer: &DispatchBuffer,
        offset: BufferAddress,
        size: BufferSize,
    ) -> Option<()> {
        let buffer_bytes = lock(&StrictBuffer::from_dispatch(buffer).memory).bytes();
        let is_inside = offset
            .checked_add(size.get())
            .is_some_and(|end| end <= buffer_bytes);
        if !is_inside {
            self.0.report_invalid(format!(
                "a write of {size} bytes at {offset}, beyond the {buffer_bytes} of the buffer"
            ));
        }
        is_inside.then_some(())
    }

    fn write_staging_buffer(
        &self,
        buffer: &DispatchBuffer,
        offset: BufferAddress,
        staging: &DispatchQueueWriteBuffer,
    ) {
        let _timeline = lock(&self.0.timeline);
        let staged: &StagedBytes = staging.as_custom().expect("bytes of this device");
        lock(&StrictBuffer::from_dispatch(buffer).memory).write(offset, &staged.0);
    }

    fn submit(&self, command_buffers: &mut dyn Iterator<Item = DispatchCommandBuffer>) -> u64 {
        let _timeline = lock(&self.0.timeline);
        for commands in command_buffers {
            let commands: &StrictCommands = commands.as_custom().expect("commands of this device");
            let commands = std::mem::take(&mut *lock(&commands.0));
            for command in commands {
                self.run(command);
            }
        }
        0
    }

    fn on_submitted_work_done(&self, callback: BoxSubmittedWorkDoneCallback) {
        lock(&self.0.due_callbacks).push(callback);
    }

    fn get_timestamp_period(&self) -> f32 {
        1.0
    }

    fn write_texture(
        &self,
        _texture: wgpu::TexelCopyTextureInfo<'_>,
        _data: &[u8],
        _data_layout: wgpu::TexelCopyBufferLayout,
        _size: wgpu::Extent3d,
    ) {
        panic_for_missing("textures")
    }

    fn compact_blas(&self, _blas: &DispatchBlas) -> (Option<u64>, DispatchBlas) {
        panic_for_missing("ray tracing")
    }

    fn present(&self, _detail: &DispatchSurfaceOutputDetail) {
        panic_for_missing("surfaces")
    }
}

impl StrictQueue {
    fn run(&self, command: Command) {
        match command {
            Command::Copy {
                from,
                from_offset,
                to,
                to_offset,
                bytes,
            } => {
                // Bytes that are unwritten in the source become unwritten in the destination.
                let words: Vec<_> = {
                    let memory = lock(&from.memory);
                    let first_word = to_usize(from_offset / WORD_BYTES);
                    (first_word..first_word + to_usize(bytes / WORD_BYTES))
                        .map(|n| (memory.word(n), memory.unknown_bits(n)))
                        .collect()
                };
                let mut memory = lock(&to.memory);
                for (n, (word, unknown_bits)) in (to_usize(to_offset / WORD_BYTES)..).zip(words) {
                    memory.set_word(n, word, unknown_bits);
                }
            }
            Command::Clear {
                buffer,
                offset,
                bytes,
            } => {
                let mut memory = lock(&buffer.memory);
                let first_word = to_usize(offset / WORD_BYTES);
                (first_word..first_word + to_usize(bytes / WORD_BYTES))
                    .for_each(|n| memory.set_word(n, 0, 0));
            }
            Command::Dispatch(dispatch) => self.run_dispatch(&dispatch),
        }
    }

    fn run_dispatch(&self, dispatch: &Dispatch) {
        let Dispatch {
            program,
            bindings,
            immediates,
            workgroups,
        } = dispatch;
        let options = &*self.0.options;
        let mut buffers: Vec<&StrictBuffer> = Vec::new();
        let mut bound_buffers = vec![None; program.module.global_variables.len()];
        for (handle, variable) in program.module.global_variables.iter() {
            let Some(binding_point) = variable.binding else {
                continue;
            };
            let Some(binding) = bindings.get(&(binding_point.group, binding_point.binding)) else {
                self.0.report_invalid(format!(
                    "{}: nothing is bound to {binding_point:?}",
                    program.label
                ));
                return;
            };
            let is_same_buffer =
                |buffer: &&StrictBuffer| Arc::ptr_eq(&buffer.memory, &binding.buffer.memory);
            let memory_index = buffers.iter().position(is_same_buffer).unwrap_or_else(|| {
                buffers.push(&binding.buffer);
                buffers.len() - 1
            });
            let is_writable = matches!(variable.space, AddressSpace::Storage { access } if access.contains(StorageAccess::STORE));
            bound_buffers[handle.index()] = Some(BoundMemory {
                memory_index,
                offset: binding.offset,
                bytes: binding.bytes,
                is_writable,
            });
        }
        for place in bound_buffers
            .iter()
            .flatten()
            .filter(|place| place.is_writable)
        {
            if bound_buffers
                .iter()
                .flatten()
                .filter(|other| other.memory_index == place.memory_index)
                .count()
                > 1
            {
                self.0.report_invalid(format!(
                    "{}: a buffer that is written is bound twice",
                    program.label
                ));
                return;
            }
        }
        let mut immediate_memory = Memory::new(immediates.len() as u64);
        immediate_memory.write(0, immediates);
        for (handle, variable) in program.module.global_variables.iter() {
            if variable.space == AddressSpace::Immediate {
                let bytes = immediate_memory.bytes();
                bound_buffers[handle.index()] = Some(BoundMemory {
                    memory_index: buffers.len(),
                    offset: 0,
                    bytes,
                    is_writable: false,
                });
            }
        }

        // With counting, the order stays ascending, because only in this order do the invocations of a subgroup have
        // neighbouring indices.
        let seed = options.shuffle.filter(|_| options.counting.is_none());
        // The order does not depend on earlier dispatches or on other threads, so it can be repeated.
        let random = seed.map(|seed| {
            let sizes = bound_buffers.iter().flatten().map(|place| place.bytes);
            let order_inputs = workgroups.iter().copied().map(u64::from).chain(sizes);
            let bytes = order_inputs.flat_map(u64::to_le_bytes);
            Random::from_seed_and_bytes(seed, bytes.chain(immediates.iter().copied()))
        });
        let dispatch_number = self.0.log.dispatches.fetch_add(1, Ordering::Relaxed) + 1;
        let (faults, counts) = {
            let mut guards: Vec<MutexGuard<'_, Memory>> = lock_memories(&buffers);
            let mut memories: Vec<&mut Memory> =
                guards.iter_mut().map(|guard| &mut **guard).collect();
            memories.push(&mut immediate_memory);
            let mut machine = Machine::new(
                program,
                options,
                memories,
                bound_buffers,
                (dispatch_number, *workgroups),
            );
            let [width, height, depth] = workgroups.map(u64::from);
            let max_workgroups = options
                .counting
                .map_or(u64::MAX, |counting| counting.most_workgroups);
            let mut sampled_workgroups = sample_workgroups(width * height * depth, max_workgroups);
            if let Some(mut random) = random.clone() {
                random.shuffle(&mut sampled_workgroups);
            }
            let mut run_count = 0;
            for &group in &sampled_workgroups {
                run_count += 1;
                let id = [
                    group % width,
                    group / width % height,
                    group / (width * height),
                ];
                let id = id.map(|n| u32::try_from(n).expect("a workgroup's number"));
                machine.run(id, random.as_ref().map(|random| random.fork(group)));
                if !machine.faults.is_empty() {
                    break;
                }
            }
            let counts = machine.counter.take().map(|counter| {
                let workgroup_size = program.entry_point().workgroup_size;
                let invocation_count = u64::from(workgroup_size.iter().product::<u32>());
                DispatchCounts {
                    pipeline: program.label.clone(),
                    workgroups: *workgroups,
                    workgroup_size,
                    workgroups_run: run_count,
                    invocations: run_count * invocation_count,
                    subgroups: run_count * invocation_count.div_ceil(counter.subgroup_size as u64),
                    operations: counter.operations,
                    divisions: counter.divisions,
                    bindings: counter.into_binding_counts(),
                }
            });
            (machine.faults, counts)
        };
        self.0.record_label("dispatch", Some(&program.label));
        lock(&self.0.log.counts).extend(counts);
        self.0.report_faults(faults);
    }
}

/// Locks the memories of different buffers and returns them in the order of `buffers`. All threads lock memories in
/// the same order, to avoid deadlocks.
fn lock_memories<'a>(buffers: &[&'a StrictBuffer]) -> Vec<MutexGuard<'a, Memory>> {
    let mut order: Vec<usize> = (0..buffers.len()).collect();
    order.sort_by_key(|&n| Arc::as_ptr(&buffers[n].memory) as usize);
    let mut guards: Vec<_> = order
        .iter()
        .map(|&n| (n, lock(&buffers[n].memory)))
        .collect();
    guards.sort_by_key(|&(n, _)| n);
    guards.into_iter().map(|(_, guard)| guard).collect()
}
