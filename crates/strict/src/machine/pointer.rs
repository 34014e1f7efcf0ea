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
                Value::Data(self.part(frame, handle, (&data, base_type), index, mask))
            }
        }
    }

    fn pointer_to_element(&self, pointer: &Pointer, inner: &TypeInner, index: &Data) -> Pointer {
        let is_local = matches!(pointer.place, Location::Local(_));
        // The distance between elements, in components for a local variable and otherwise in bytes, and the number of
        // elements. The number is `None` for an array whose size depends on the binding.
        let (stride, count) = match *inner {
            TypeInner::Vector { size, scalar } => (
                if is_local { 1 } else { u64::from(scalar.width) },
                Some(size as u32),
            ),
            TypeInner::Array { base, size, stride } => {
                let element_words = self.components(base) as u64;
                let count = match size {
                    ArraySize::Constant(count) => Some(count.get()),
                    _ => None,
                };
                (
                    if is_local {
                        element_words
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
                        .map(|member| self.components(member.ty) as u64)
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
        let last = match (count, pointer.place) {
            (Some(count), _) => count - 1,
            (None, Location::Global(variable)) if clamps => {
                let bytes_left =
                    self.variable_bytes(variable) - u64::try_from(pointer.at.words[0]).unwrap_or(0);
                u32::try_from((bytes_left / stride).saturating_sub(1)).unwrap_or(u32::MAX)
            }
            _ => u32::MAX,
        };
        let finds_wraps = self.options.outside == Outside::Fault;
        let at = pointer.at.zip(index, self.lanes, |offset, word| {
            let (index, wrapped) = index_of(word);
            match () {
                () if StrayIndex::from_code(offset).is_some() => offset,
                () if wrapped && finds_wraps => StrayIndex::Wrapped(index).code(),
                () if index > last && !clamps => StrayIndex::Outside(index).code(),
                () => offset + (u64::from(index.min(last)) * stride).cast_signed(),
            }
        });
        Pointer {
            place: pointer.place,
            at,
        }
    }

    /// Returns an element of a value that is not in memory.
    fn part(
        &mut self,
        frame: &CallFrame<'a>,
        handle: Handle<Expression>,
        (data, inner): (&Data, &TypeInner),
        index: &Data,
        mask: &Mask,
    ) -> Data {
        let lanes = self.lanes;
        if let TypeInner::Struct { members, .. } = inner {
            let member = to_usize(index.words[0].cast_unsigned());
            let first_word = members[..member]
                .iter()
                .map(|member| self.components(member.ty))
                .sum();
            return data.part(first_word, self.components(members[member].ty), lanes);
        }
        let element_words = match inner {
            TypeInner::Array { base, .. } => self.components(*base),
            _ => 1,
        };
        let count = data.components(lanes) / element_words;
        if index.uniform && to_usize(index_of(index.words[0]).0.into()) < count {
            let element = to_usize(index_of(index.words[0]).0.into());
            return data.part(element * element_words, element_words, lanes);
        }
        let mut words = vec![0; element_words * lanes];
        let mut unknown_words = vec![0; element_words * lanes];
        for lane in 0..lanes {
            let (at, _) = index_of(index.word_at(0, lane, lanes));
            let mut at = at as usize;
            if at >= count {
                if mask[lane] && self.options.outside == Outside::Fault {
                    let fault = Wrong::Outside {
                        access: READ,
                        at: at as u64,
                        size: count as u64,
                    };
                    self.fault_of(lane, fault, "", Some((frame.function, handle)));
                }
                at = count - 1;
            }
            for n in 0..element_words {
                words[n * lanes + lane] = data.word_at(at * element_words + n, lane, lanes);
                unknown_words[n * lanes + lane] =
                    data.unknown_at(at * element_words + n, lane, lanes);
            }
        }
        Data::varying(words).with_unknown(unknown_words)
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

    /// Returns the component of a lane's own variable at which an access begins, or `None` if the pointer is a
    /// [`StrayIndex`], which [`Outside::Fault`] makes a fault.
    pub(super) fn local_place(
        &mut self,
        frame: &CallFrame<'a>,
        handle: Handle<Expression>,
        (slot, pointer, lane): (usize, &Pointer, usize),
        access: Access,
    ) -> Option<usize> {
        let at = pointer.at.word_at(0, lane, self.lanes);
        let variable_words = (self.stack[slot].words.len() / self.lanes) as u64;
        match StrayIndex::from_code(at) {
            None => Some(to_usize(at.cast_unsigned())),
            Some(stray) => {
                self.record_stray_index(frame, handle, (stray, "", variable_words), access, lane);
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
        self.fault_of(lane, fault, name, Some((frame.function, handle)));
    }
}
