//! Loads and stores, and the checks for their faults.

use super::{
    CallFrame, Machine, Mask, READ, name_of,
    pointer::component_count,
    value::{Data, Location, Pointer, StrayIndex, from_bits, to_bits},
};
use crate::{
    Access, Depends, Outside, Wrong,
    memory::{WORD_BYTES, to_usize},
};
use naga::{
    AddressSpace, ArraySize, Expression, GlobalVariable, Handle, Module, Scalar, TypeInner,
};

/// The location of a global variable's words: in a binding, or in workgroup memory.
#[derive(Clone, Copy)]
enum WordLocation {
    Bound(super::BoundMemory),
    Workgroup,
}

/// Appends to `out` the scalars in a value of a type, each with its offset in bytes. The value begins at byte `at`.
fn list_scalars(module: &Module, inner: &TypeInner, at: u32, out: &mut Vec<(u32, Scalar)>) {
    let list_part = |ty, at, out: &mut _| list_scalars(module, &module.types[ty].inner, at, out);
    match *inner {
        TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => out.push((at, scalar)),
        TypeInner::Vector { size, scalar } => {
            out.extend((0..size as u32).map(|n| (at + n * u32::from(scalar.width), scalar)));
        }
        TypeInner::Array {
            base,
            size: ArraySize::Constant(count),
            stride,
        } => {
            (0..count.get()).for_each(|n| list_part(base, at + n * stride, out));
        }
        TypeInner::Struct { ref members, .. } => {
            members
                .iter()
                .for_each(|member| list_part(member.ty, at + member.offset, out));
        }
        ref other => unreachable!("naga loads and stores no {other:?}"),
    }
}

impl<'a> Machine<'a> {
    fn location_of(&self, variable: Handle<GlobalVariable>) -> WordLocation {
        match self.bound[variable.index()] {
            Some(bound) => WordLocation::Bound(bound),
            None => WordLocation::Workgroup,
        }
    }

    /// Returns the size in bytes of a variable's binding or workgroup memory.
    pub(super) fn variable_bytes(&self, variable: Handle<GlobalVariable>) -> u64 {
        match self.location_of(variable) {
            WordLocation::Bound(bound) => bound.bytes,
            WordLocation::Workgroup => self.workgroup_memories[&variable].bytes(),
        }
    }

    pub(super) fn load_value(
        &mut self,
        frame: &CallFrame<'a>,
        handle: Handle<Expression>,
        pointer: &Pointer,
        inner: &TypeInner,
        mask: &Mask,
    ) -> Data {
        let lane_count = self.lane_count;
        match pointer.place {
            Location::Local(slot) => {
                let component_count = component_count(&self.program.module, inner);
                if pointer.at.is_uniform && StrayIndex::from_code(pointer.at.words[0]).is_none() {
                    let first_word = to_usize(pointer.at.words[0].cast_unsigned());
                    return self.stack[slot].part(first_word, component_count, lane_count);
                }
                let mut words = vec![0; component_count * lane_count];
                let mut unknown_masks = vec![0; component_count * lane_count];
                for lane in (0..lane_count).filter(|&lane| mask[lane]) {
                    let Some(first_component) =
                        self.local_place(frame, handle, (slot, pointer, lane), READ)
                    else {
                        continue;
                    };
                    for n in 0..component_count {
                        let word_index = (first_component + n) * lane_count + lane;
                        words[n * lane_count + lane] = self.stack[slot].words[word_index];
                        unknown_masks[n * lane_count + lane] = self.stack[slot]
                            .unknown_masks
                            .get(word_index)
                            .copied()
                            .unwrap_or(0);
                    }
                }
                Data::varying(words).with_unknown(unknown_masks)
            }
            Location::Global(variable) => {
                let mut scalars = Vec::new();
                list_scalars(&self.program.module, inner, 0, &mut scalars);
                let access = match inner {
                    TypeInner::Atomic(_) => Access::Atomic,
                    _ => READ,
                };
                // If all lanes share an address, only the first active lane reads it.
                let reading_lanes: Vec<usize> = match pointer.at.is_uniform {
                    true => mask
                        .iter()
                        .position(|&is_active| is_active)
                        .into_iter()
                        .collect(),
                    false => (0..lane_count).filter(|&lane| mask[lane]).collect(),
                };
                let places = self.active_lane_places(
                    frame,
                    handle,
                    (variable, pointer),
                    &scalars,
                    &reading_lanes,
                    access,
                );
                let words_per_component = if pointer.at.is_uniform { 1 } else { lane_count };
                let mut words = vec![0; scalars.len() * words_per_component];
                let mut unknown_masks = Vec::new();
                for (lane, at) in places {
                    for (n, &(offset, scalar)) in scalars.iter().enumerate() {
                        let at = at + u64::from(offset);
                        self.record_access(frame, handle, (variable, at, access), scalar, lane);
                        let (bits, unknown_bits) = self.bits_in_memory(variable, at, scalar);
                        let word_index = n * words_per_component + lane % words_per_component;
                        words[word_index] = from_bits(bits, scalar);
                        if unknown_bits != 0 {
                            unknown_masks.resize(words.len(), 0);
                            unknown_masks[word_index] = unknown_bits;
                        }
                    }
                }
                let data = Data::new(words, pointer.at.is_uniform);
                if unknown_masks.is_empty() {
                    data
                } else {
                    data.with_unknown(unknown_masks)
                }
            }
        }
    }

    pub(super) fn store_value(
        &mut self,
        frame: &CallFrame<'a>,
        handle: Handle<Expression>,
        pointer: &Pointer,
        inner: &TypeInner,
        value: &Data,
        mask: &Mask,
    ) {
        let lane_count = self.lane_count;
        match pointer.place {
            Location::Local(slot) => {
                if pointer.at.is_uniform
                    && StrayIndex::from_code(pointer.at.words[0]).is_none()
                    && !mask.contains(&false)
                {
                    let first_word = to_usize(pointer.at.words[0].cast_unsigned());
                    self.stack[slot].set_all(first_word, value, lane_count);
                    return;
                }
                for lane in (0..lane_count).filter(|&lane| mask[lane]) {
                    let place =
                        self.local_place(frame, handle, (slot, pointer, lane), Access::Write);
                    let Some(first_component) = place else {
                        continue;
                    };
                    for n in 0..value.component_count(lane_count) {
                        let unknown_bits = value.unknown_at(n, lane, lane_count);
                        self.stack[slot].set(
                            (first_component + n) * lane_count + lane,
                            value.word_at(n, lane, lane_count),
                            unknown_bits,
                        );
                    }
                }
            }
            Location::Global(variable) => {
                let mut scalars = Vec::new();
                list_scalars(&self.program.module, inner, 0, &mut scalars);
                let access = match inner {
                    TypeInner::Atomic(_) => Access::Atomic,
                    _ => Access::Write,
                };
                let active_lanes: Vec<_> = (0..lane_count).filter(|&lane| mask[lane]).collect();
                for (lane, at) in self.active_lane_places(
                    frame,
                    handle,
                    (variable, pointer),
                    &scalars,
                    &active_lanes,
                    access,
                ) {
                    for (n, &(offset, scalar)) in scalars.iter().enumerate() {
                        let bits = to_bits(value.word_at(n, lane, lane_count), scalar);
                        let unknown_bits =
                            to_bits(value.unknown_at(n, lane, lane_count).cast_signed(), scalar);
                        if unknown_bits == to_bits(-1, scalar) {
                            self.record_unwritten_store(frame, handle, variable, lane);
                        }
                        let at = at + u64::from(offset);
                        self.record_access(frame, handle, (variable, at, access), scalar, lane);
                        self.set_bits(variable, at, (bits, unknown_bits), scalar);
                    }
                }
            }
        }
    }

    /// Returns the active lanes with an access inside the variable, each with the first byte of its access. Counts
    /// these accesses if the variable is a storage buffer. With [`Outside::Fault`], the access of any other
    /// active lane is a fault.
    #[allow(
        clippy::too_many_arguments,
        reason = "each argument describes the access"
    )]
    pub(super) fn active_lane_places(
        &mut self,
        frame: &CallFrame<'a>,
        handle: Handle<Expression>,
        (variable, pointer): (Handle<GlobalVariable>, &Pointer),
        scalars: &[(u32, Scalar)],
        active_lanes: &[usize],
        access: Access,
    ) -> Vec<(usize, u64)> {
        let program = self.program;
        let global = &program.module.global_variables[variable];
        let name = name_of(global);
        let variable_bytes = self.variable_bytes(variable);
        let access_bytes = scalars
            .iter()
            .map(|&(offset, scalar)| u64::from(offset) + u64::from(scalar.width))
            .max();
        let access_bytes = access_bytes.unwrap_or(0);
        let mut places = Vec::with_capacity(active_lanes.len());
        for &lane in active_lanes {
            let at = pointer.at.word_at(0, lane, self.lane_count);
            match StrayIndex::from_code(at) {
                Some(stray) => {
                    self.record_stray_index(
                        frame,
                        handle,
                        (stray, name, variable_bytes),
                        access,
                        lane,
                    );
                }
                None if at.cast_unsigned() + access_bytes <= variable_bytes => {
                    places.push((lane, at.cast_unsigned()));
                }
                None if self.options.outside == Outside::Fault => {
                    let fault = Wrong::Outside {
                        access,
                        at: at.cast_unsigned(),
                        size: variable_bytes,
                    };
                    self.record_lane_fault(lane, fault, name, Some((frame.function, handle)));
                }
                None => {}
            }
        }
        let is_storage = matches!(global.space, AddressSpace::Storage { .. });
        let location = self.location_of(variable);
        if let (Some(counter), true, WordLocation::Bound(bound)) =
            (&mut self.counter, is_storage, location)
        {
            // A read that all lanes share counts as a read of one lane, because `active_lanes` is then a single lane.
            let lane_addresses: Vec<_> = places
                .iter()
                .map(|&(lane, at)| (lane, bound.offset + at))
                .collect();
            counter.count_access(
                (name, variable_bytes),
                access,
                access_bytes,
                &lane_addresses,
            );
        }
        places
    }

    /// Returns the bits of a scalar in memory, and a mask of its unwritten bits.
    pub(super) fn bits_in_memory(
        &mut self,
        variable: Handle<GlobalVariable>,
        at: u64,
        scalar: Scalar,
    ) -> (u64, u64) {
        let (memory, word_index) = self.memory_of(variable, at);
        let join_words = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        match scalar.width {
            8 => {
                let unknown_bits = join_words(
                    memory.unknown_bits(word_index),
                    memory.unknown_bits(word_index + 1),
                );
                (
                    join_words(memory.word(word_index), memory.word(word_index + 1)),
                    unknown_bits,
                )
            }
            _ => (
                memory.word(word_index).into(),
                memory.unknown_bits(word_index).into(),
            ),
        }
    }

    pub(super) fn set_bits(
        &mut self,
        variable: Handle<GlobalVariable>,
        at: u64,
        (bits, unknown_bits): (u64, u64),
        scalar: Scalar,
    ) {
        let (memory, word_index) = self.memory_of(variable, at);
        let shifted_word = |bits: u64, shift: u32| {
            u32::try_from(bits >> shift & u64::from(u32::MAX)).expect("32 bits")
        };
        memory.set_word(
            word_index,
            shifted_word(bits, 0),
            shifted_word(unknown_bits, 0),
        );
        if scalar.width == 8 {
            memory.set_word(
                word_index + 1,
                shifted_word(bits, 32),
                shifted_word(unknown_bits, 32),
            );
        }
    }

    /// Records a fault if a scalar that is wholly unwritten is stored in a buffer. Storing it in workgroup memory is
    /// not a fault, because shaders copy whole vectors to it, even if the last vector of a buffer is partly unwritten.
    /// The scalar then stays unwritten, so storing it in a buffer later is a fault.
    fn record_unwritten_store(
        &mut self,
        frame: &CallFrame<'a>,
        handle: Handle<Expression>,
        variable: Handle<GlobalVariable>,
        lane: usize,
    ) {
        let is_bound = matches!(self.location_of(variable), WordLocation::Bound(_));
        if is_bound && self.options.counting.is_none() && self.options.outside == Outside::Fault {
            let name = name_of(&self.program.module.global_variables[variable]);
            self.record_lane_fault(
                lane,
                Wrong::Unwritten {
                    what: Depends::Stored,
                },
                name,
                Some((frame.function, handle)),
            );
        }
    }

    /// Returns the memory of a variable, and the index in that memory of the word at byte `at` of the variable.
    fn memory_of(
        &mut self,
        variable: Handle<GlobalVariable>,
        at: u64,
    ) -> (&mut crate::memory::Memory, usize) {
        match self.location_of(variable) {
            WordLocation::Bound(bound) => (
                &mut *self.memories[bound.memory_index],
                to_usize((bound.offset + at) / WORD_BYTES),
            ),
            WordLocation::Workgroup => {
                let memory = self
                    .workgroup_memories
                    .get_mut(&variable)
                    .expect("memory of the workgroup");
                (memory, to_usize(at / WORD_BYTES))
            }
        }
    }

    /// Records an access to a scalar, and a fault if the access races with an earlier access. Does nothing while
    /// counting.
    pub(super) fn record_access(
        &mut self,
        frame: &CallFrame<'a>,
        handle: Handle<Expression>,
        (variable, at, access): (Handle<GlobalVariable>, u64, Access),
        scalar: Scalar,
        lane: usize,
    ) {
        if self.options.counting.is_some() {
            return;
        }
        for at in (at..at + u64::from(scalar.width)).step_by(4) {
            let (invocation, dispatch_number) = match self.location_of(variable) {
                // The dispatch does not write to a read-only binding, so no access to it races.
                WordLocation::Bound(bound) if !bound.is_writable => continue,
                WordLocation::Bound(_) => {
                    (self.invocation_of_lane(lane, false), self.dispatch_number)
                }
                WordLocation::Workgroup => (self.invocation_of_lane(lane, true), 1),
            };
            let reports_races = self.options.outside == Outside::Fault;
            let (memory, word_index) = self.memory_of(variable, at);
            if let Some(with) =
                memory.record_access(word_index, dispatch_number, access, invocation)
                && reports_races
            {
                let name = name_of(&self.program.module.global_variables[variable]);
                self.record_lane_fault(
                    lane,
                    Wrong::Race { access, with, at },
                    name,
                    Some((frame.function, handle)),
                );
            }
        }
    }
}
