//! Finds elements of vectors, arrays and structures: through pointers, or in values that are not in memory.

use super::{
    CallFrame, Machine, Mask, READ,
    expression::index_of,
    value::{Data, Location, Pointer, StrayIndex, Value},
};
use crate::{Access, Outside, Wrong, memory::to_usize};
use naga::{ArraySize, Expression, Handle, Module, TypeInner};
use std::borrow::Cow;

/// Returns the number of scalars in a value of a type.
pub(super) fn component_count(module: &Module, inner: &TypeInner) -> usize {
    let count_of = |ty| component_count(module, &module.types[ty].inner);
    match *inner {
        TypeInner::Vector { size, .. } => size as usize,
        TypeInner::Array {
            base,
            size: ArraySize::Constant(count),
            ..
        } => count.get() as usize * count_of(base),
        TypeInner::Struct { ref members, .. } => {
            members.iter().map(|member| count_of(member.ty)).sum()
        }
        _ => 1,
    }
}

impl<'a> Machine<'a> {
    /// Returns the type that a pointer points to.
    pub(super) fn pointee_type(
        &self,
        frame: &CallFrame<'a>,
        pointer: Handle<Expression>,
    ) -> Cow<'a, TypeInner> {
        let program = self.program;
        match *self.type_of(frame, pointer) {
            TypeInner::Pointer { base, .. } => Cow::Borrowed(&program.module.types[base].inner),
            TypeInner::ValuePointer {
                size: Some(size),
                scalar,
                ..
            } => Cow::Owned(TypeInner::Vector { size, scalar }),
            TypeInner::ValuePointer {
                size: None, scalar, ..
            } => Cow::Owned(TypeInner::Scalar(scalar)),
            ref other => unreachable!("naga takes no {other:?} for a pointer"),
        }
    }

    /// Returns an element of a vector, array or structure, or a pointer to the element if `base` is a pointer.
    pub(super) fn element_of(
        &mut self,
        frame: &mut CallFrame<'a>,
        handle: Handle<Expression>,
        base: Handle<Expression>,
        index: &Data,
        mask: &Mask,
    ) -> Value {
        match self.value_of(frame, base, mask) {
            Value::Pointer(pointer) => {
                let pointee = self.pointee_type(frame, base);
                Value::Pointer(self.pointer_to_element(&pointer, &pointee, index))
            }
            Value::Data(data) => {
                let base_type = self.type_of(frame, base);
                Value::Data(self.element_of_value(frame, handle, (&data, base_type), index, mask))
            }
        }
    }

    fn pointer_to_element(&self, pointer: &Pointer, inner: &TypeInner, index: &Data) -> Pointer {
        let is_local = matches!(pointer.place, Location::Local(_));
        // The distance between elements is in components for a local variable, otherwise in bytes. The number of
        // elements is `None` for an array whose size depends on the binding.
        let (stride, element_count) = match *inner {
            TypeInner::Vector { size, scalar } => (
                if is_local { 1 } else { u64::from(scalar.width) },
                Some(size as u32),
            ),
            TypeInner::Array { base, size, stride } => {
                let element_components = self.component_count(base) as u64;
                let count = match size {
                    ArraySize::Constant(count) => Some(count.get()),
                    _ => None,
                };
                (
                    if is_local {
                        element_components
                    } else {
                        stride.into()
                    },
                    count,
                )
            }
            TypeInner::Struct { ref members, .. } => {
                let member = index.words[0].cast_unsigned();
                let earlier_members = &members[..to_usize(member)];
                let at = match is_local {
                    true => earlier_members
                        .iter()
                        .map(|member| self.component_count(member.ty) as u64)
                        .sum(),
                    false => u64::from(members[earlier_members.len()].offset),
                };
                let at = pointer
                    .at
                    .map(|offset| match StrayIndex::from_code(offset) {
                        None => offset + at.cast_signed(),
                        Some(_) => offset,
                    });
                return Pointer {
                    place: pointer.place,
                    at,
                };
            }
            ref other => unreachable!("naga takes no element of {other:?}"),
        };
        let clamps = self.options.outside == Outside::Clamp;
        let last_index = match (element_count, pointer.place) {
            (Some(count), _) => count - 1,
            (None, Location::Global(variable)) if clamps => {
                let bytes_left =
                    self.variable_bytes(variable) - u64::try_from(pointer.at.words[0]).unwrap_or(0);
                u32::try_from((bytes_left / stride).saturating_sub(1)).unwrap_or(u32::MAX)
            }
            _ => u32::MAX,
        };
        let reports_wraps = self.options.outside == Outside::Fault;
        let at = pointer.at.zip(index, self.lane_count, |offset, word| {
            let (index, has_wrapped) = index_of(word);
            match () {
                () if StrayIndex::from_code(offset).is_some() => offset,
                () if has_wrapped && reports_wraps => StrayIndex::Wrapped(index).code(),
                () if index > last_index && !clamps => StrayIndex::Outside(index).code(),
                () => offset + (u64::from(index.min(last_index)) * stride).cast_signed(),
            }
        });
        Pointer {
            place: pointer.place,
            at,
        }
    }

    /// Returns an element of a value that is not in memory.
    fn element_of_value(
        &mut self,
        frame: &CallFrame<'a>,
        handle: Handle<Expression>,
        (data, inner): (&Data, &TypeInner),
        index: &Data,
        mask: &Mask,
    ) -> Data {
        let lane_count = self.lane_count;
        if let TypeInner::Struct { members, .. } = inner {
            let member = to_usize(index.words[0].cast_unsigned());
            let first_component = members[..member]
                .iter()
                .map(|member| self.component_count(member.ty))
                .sum();
            let member_components = self.component_count(members[member].ty);
            return data.part(first_component, member_components, lane_count);
        }
        let element_components = match inner {
            TypeInner::Array { base, .. } => self.component_count(*base),
            _ => 1,
        };
        let element_count = data.component_count(lane_count) / element_components;
        if index.is_uniform && to_usize(index_of(index.words[0]).0.into()) < element_count {
            let element = to_usize(index_of(index.words[0]).0.into());
            return data.part(element * element_components, element_components, lane_count);
        }
        let mut words = vec![0; element_components * lane_count];
        let mut unknown_masks = vec![0; element_components * lane_count];
        for lane in 0..lane_count {
            let (element, _) = index_of(index.word_at(0, lane, lane_count));
            let mut element = element as usize;
            if element >= element_count {
                if mask[lane] && self.options.outside == Outside::Fault {
                    let fault = Wrong::Outside {
                        access: READ,
                        at: element as u64,
                        size: element_count as u64,
                    };
                    self.record_lane_fault(lane, fault, "", Some((frame.function, handle)));
                }
                element = element_count - 1;
            }
            for n in 0..element_components {
                words[n * lane_count + lane] =
                    data.word_at(element * element_components + n, lane, lane_count);
                unknown_masks[n * lane_count + lane] =
                    data.unknown_at(element * element_components + n, lane, lane_count);
            }
        }
        Data::varying(words).with_unknown(unknown_masks)
    }

    pub(super) fn array_length(&self, pointer: &Pointer) -> i64 {
        let Location::Global(variable) = pointer.place else {
            unreachable!("naga sizes arrays of variables")
        };
        let module = &self.program.module;
        let mut ty = &module.types[module.global_variables[variable].ty].inner;
        let mut bytes_before = 0;
        // The array is the last member of a structure, or the whole variable.
        if let TypeInner::Struct { members, .. } = ty {
            let last_member = members.last().expect("a structure has members");
            (ty, bytes_before) = (
                &module.types[last_member.ty].inner,
                last_member.offset.into(),
            );
        }
        let TypeInner::Array { stride, .. } = *ty else {
            unreachable!("naga sizes arrays")
        };
        let length = (self.variable_bytes(variable) - bytes_before) / u64::from(stride);
        length.cast_signed()
    }

    /// Returns the number of the component of a lane's own variable at which an access begins. Returns `None` for a
    /// [`StrayIndex`], and records a fault for it with [`Outside::Fault`].
    pub(super) fn local_place(
        &mut self,
        frame: &CallFrame<'a>,
        handle: Handle<Expression>,
        (slot, pointer, lane): (usize, &Pointer, usize),
        access: Access,
    ) -> Option<usize> {
        let at = pointer.at.word_at(0, lane, self.lane_count);
        let variable_components = (self.stack[slot].words.len() / self.lane_count) as u64;
        match StrayIndex::from_code(at) {
            None => Some(to_usize(at.cast_unsigned())),
            Some(stray) => {
                self.record_stray_index(
                    frame,
                    handle,
                    (stray, "", variable_components),
                    access,
                    lane,
                );
                None
            }
        }
    }

    pub(super) fn record_stray_index(
        &mut self,
        frame: &CallFrame<'a>,
        handle: Handle<Expression>,
        (stray, name, size): (StrayIndex, &str, u64),
        access: Access,
        lane: usize,
    ) {
        if self.options.outside != Outside::Fault {
            return;
        }
        let fault = match stray {
            StrayIndex::Outside(index) => Wrong::Outside {
                access,
                at: index.into(),
                size,
            },
            StrayIndex::Wrapped(index) => Wrong::Wrapped { index },
        };
        self.record_lane_fault(lane, fault, name, Some((frame.function, handle)));
    }
}
