//! Loads and stores, and the checks for their faults.

use super::{
    CallFrame, Machine, Mask, READ, name_of,
    pointer::component_count,
    value::{Data, Location, Pointer, StrayIndex, from_bits, to_bits},
};
use crate::{
    Access, Depends, Outside, Wrong,
    memory::{WORD, to_usize},
};
use naga::{
    AddressSpace, ArraySize, Expression, GlobalVariable, Handle, Module, Scalar, TypeInner,
};

/// The location of a global variable's words: in a binding, or in workgroup memory.
#[derive(Clone, Copy)]
enum WordLocation {
    Bound(super::BoundMemory),
    Shared,
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
            None => WordLocation::Shared,
        }
    }

    /// Returns the size in bytes of a variable's binding or workgroup memory.
    pub(super) fn variable_bytes(&self, variable: Handle<GlobalVariable>) -> u64 {
        match self.location_of(variable) {
            WordLocation::Bound(bound) => bound.bytes,
            WordLocation::Shared => self.shared[&variable].bytes(),
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
        let lanes = self.lanes;
        match pointer.place {
            Location::Local(slot) => {
                let count = component_count(&self.program.module, inner);
                if pointer.at.uniform && StrayIndex::from_code(pointer.at.words[0]).is_none() {
                    let first_word = to_usize(pointer.at.words[0].cast_unsigned());
                    return self.stack[slot].part(first_word, count, lanes);
                }
                let mut words = vec![0; count * lanes];
                let mut unknown_words = vec![0; count * lanes];
                for lane in (0..lanes).filter(|&lane| mask[lane]) {
                    let Some(first) = self.local_place(frame, handle, (slot, pointer, lane), READ)
                    else {
                        continue;
                    };
                    for n in 0..count {
                        let at = (first + n) * lanes + lane;
                        words[n * lanes + lane] = self.stack[slot].words[at];
                        unknown_words[n * lanes + lane] =
                            self.stack[slot].unknown.get(at).copied().unwrap_or(0);
                    }
                }
                Data::varying(words).with_unknown(unknown_words)
            }
            Location::Global(variable) => {
                let mut parts = Vec::new();
                list_scalars(&self.program.module, inner, 0, &mut parts);
                let access = match inner {
                    TypeInner::Atomic(_) => Access::Atomic,
                    _ => READ,
                };
                // If all lanes share an address, only the first active lane reads it.
                let reading_lanes: Vec<usize> = match pointer.at.uniform {
                    true => mask
                        .iter()
                        .position(|&is_active| is_active)
                        .into_iter()
                        .collect(),
                    false => (0..lanes).filter(|&lane| mask[lane]).collect(),
                };
                let places = self.active_lane_places(
                    frame,
                    handle,
                    (variable, pointer),
                    &parts,
                    &reading_lanes,
                    access,
                );
                let width = if pointer.at.uniform { 1 } else { lanes };
                let mut words = vec![0; parts.len() * width];
                let mut unknown_words = Vec::new();
                for (lane, at) in places {
                    for (n, &(offset, scalar)) in parts.iter().enumerate() {
                        let at = at + u64::from(offset);
                        self.touch(frame, handle, (variable, at, access), scalar, lane);
                        let (bits, unknown_bits) = self.bits_in_memory(variable, at, scalar);
                        words[n * width + lane % width] = from_bits(bits, scalar);
                        if unknown_bits != 0 {
                            unknown_words.resize(parts.len() * width, 0);
                            unknown_words[n * width + lane % width] = unknown_bits;
                        }
                    }
                }
                let data = Data::new(words, pointer.at.uniform);
                if unknown_words.is_empty() {
                    data
                } else {
                    data.with_unknown(unknown_words)
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
        let lanes = self.lanes;
        match pointer.place {
            Location::Local(slot) => {
                if pointer.at.uniform
                    && StrayIndex::from_code(pointer.at.words[0]).is_none()
                    && !mask.contains(&false)
                {
                    let first_word = to_usize(pointer.at.words[0].cast_unsigned());
                    self.stack[slot].set_all(first_word, value, lanes);
                    return;
                }
                for lane in (0..lanes).filter(|&lane| mask[lane]) {
                    let place =
                        self.local_place(frame, handle, (slot, pointer, lane), Access::Write);
                    let Some(first) = place else { continue };
                    for n in 0..value.components(lanes) {
                        let unknown_bits = value.unknown_at(n, lane, lanes);
                        self.stack[slot].set(
                            (first + n) * lanes + lane,
                            value.word_at(n, lane, lanes),
                            unknown_bits,
                        );
                    }
                }
            }
            Location::Global(variable) => {
                let mut parts = Vec::new();
                list_scalars(&self.program.module, inner, 0, &mut parts);
                let access = match inner {
                    TypeInner::Atomic(_) => Access::Atomic,
                    _ => Access::Write,
                };
                let active_lanes: Vec<_> = (0..lanes).filter(|&lane| mask[lane]).collect();
                for (lane, at) in self.active_lane_places(
                    frame,
                    handle,
                    (variable, pointer),
                    &parts,
                    &active_lanes,
                    access,
                ) {
                    for (n, &(offset, scalar)) in parts.iter().enumerate() {
                        let bits = to_bits(value.word_at(n, lane, lanes), scalar);
                        let unknown_bits =
                            to_bits(value.unknown_at(n, lane, lanes).cast_signed(), scalar);
                        if unknown_bits == to_bits(-1, scalar) {
                            self.record_unwritten_store(frame, handle, variable, lane);
                        }
                        let at = at + u64::from(offset);
                        self.touch(frame, handle, (variable, at, access), scalar, lane);
                        self.set_bits(variable, at, (bits, unknown_bits), scalar);
                    }
                }
            }
        }
    }

    /// Returns the active lanes with an access inside the variable, each with the first byte of its access. Counts
    /// these accesses if the variable is a storage buffer. With [`Outside::Fault`], the access of any other
    /// active lane is a fault.
    #[allow(clippy::too_many_arguments, reason = "an access is all of that")]
    pub(super) fn active_lane_places(
        &mut self,
        frame: &CallFrame<'a>,
        handle: Handle<Expression>,
        (variable, pointer): (Handle<GlobalVariable>, &Pointer),
        parts: &[(u32, Scalar)],
        active_lanes: &[usize],
        access: Access,
    ) -> Vec<(usize, u64)> {
        let program = self.program;
        let global = &program.module.global_variables[variable];
        let name = name_of(global);
        let variable_bytes = self.variable_bytes(variable);
        let bytes = parts
            .iter()
            .map(|&(offset, scalar)| u64::from(offset) + u64::from(scalar.width))
            .max();
        let bytes = bytes.unwrap_or(0);
        let mut places = Vec::with_capacity(active_lanes.len());
        for &lane in active_lanes {
            let at = pointer.at.word_at(0, lane, self.lanes);
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
                None if at.cast_unsigned() + bytes <= variable_bytes => {
                    places.push((lane, at.cast_unsigned()));
                }
                None if self.options.outside == Outside::Fault => {
                    let fault = Wrong::Outside {
                        access,
                        at: at.cast_unsigned(),
                        size: variable_bytes,
                    };
                    self.fault_of(lane, fault, name, Some((frame.function, handle)));
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
            let lanes: Vec<_> = places
                .iter()
                .map(|&(lane, at)| (lane, bound.offset + at))
                .collect();
            counter.access((name, variable_bytes), access, bytes, &lanes);
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
        let (memory, at) = self.memory_of(variable, at);
        let join_words = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        match scalar.width {
            8 => {
                let unknown_bits = join_words(memory.unknown(at), memory.unknown(at + 1));
                (
                    join_words(memory.word(at), memory.word(at + 1)),
                    unknown_bits,
                )
            }
            _ => (memory.word(at).into(), memory.unknown(at).into()),
        }
    }

    pub(super) fn set_bits(
        &mut self,
        variable: Handle<GlobalVariable>,
        at: u64,
        (bits, unknown): (u64, u64),
        scalar: Scalar,
    ) {
        let (memory, at) = self.memory_of(variable, at);
        let shifted_word = |bits: u64, shift: u32| {
            u32::try_from(bits >> shift & u64::from(u32::MAX)).expect("32 bits")
        };
        memory.set_word(at, shifted_word(bits, 0), shifted_word(unknown, 0));
        if scalar.width == 8 {
            memory.set_word(at + 1, shifted_word(bits, 32), shifted_word(unknown, 32));
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
            let dependency = Depends::Stored;
            self.fault_of(
                lane,
                Wrong::Unwritten { what: dependency },
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
                &mut *self.memories[bound.memory],
                to_usize((bound.offset + at) / WORD),
            ),
            WordLocation::Shared => {
                let memory = self
                    .shared
                    .get_mut(&variable)
                    .expect("memory of the workgroup");
                (memory, to_usize(at / WORD))
            }
        }
    }

    /// Records an access to a scalar, and a fault if the access races with an earlier access. Does nothing while
    /// counting.
    pub(super) fn touch(
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
            let (invocation, number) = match self.location_of(variable) {
                // The dispatch does not write to a read-only binding, so no access to it races.
                WordLocation::Bound(bound) if !bound.writable => continue,
                WordLocation::Bound(_) => (self.invocation_of_lane(lane, false), self.number),
                WordLocation::Shared => (self.invocation_of_lane(lane, true), 1),
            };
            let reports_races = self.options.outside == Outside::Fault;
            let (memory, word) = self.memory_of(variable, at);
            if let Some(with) = memory.touch(word, number, access, invocation)
                && reports_races
            {
                let name = name_of(&self.program.module.global_variables[variable]);
                self.fault_of(
                    lane,
                    Wrong::Race { access, with, at },
                    name,
                    Some((frame.function, handle)),
                );
            }
        }
    }
}
