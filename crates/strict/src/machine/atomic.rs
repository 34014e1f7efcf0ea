//! Runs atomic operations on buffers and workgroup memory.

use super::{
    CallFrame, Machine, Mask,
    arithmetic::{binary_function, math_function, unknown_bits},
    value::{Data, Location, Value, all_if_any, from_bits, to_bits},
};
use crate::Access;
use naga::{AtomicFunction, BinaryOperator, Expression, Handle, MathFunction, Scalar, TypeInner};

/// The parts of an atomic statement: its pointer, function, value and result. Some statements have no result.
type AtomicParts<'a> = (
    Handle<Expression>,
    &'a AtomicFunction,
    Handle<Expression>,
    Option<Handle<Expression>>,
);

impl<'a> Machine<'a> {
    pub(super) fn run_atomic(
        &mut self,
        frame: &mut CallFrame<'a>,
        parts: AtomicParts<'a>,
        mask: &Mask,
    ) {
        let (handle, fun, value, result) = parts;
        let lane_count = self.lane_count;
        let pointer = self.pointer_of(frame, handle, mask);
        let TypeInner::Atomic(scalar) = *self.pointee_type(frame, handle) else {
            unreachable!("naga wants an atomic")
        };
        let value = self.data_of(frame, value, mask);
        let compare_value = match fun {
            AtomicFunction::Exchange {
                compare: Some(compare_value),
            } => Some(self.data_of(frame, *compare_value, mask)),
            _ => None,
        };
        let Location::Global(variable) = pointer.place else {
            unreachable!("naga has no atomics of an invocation")
        };
        let active_lanes: Vec<_> = (0..lane_count).filter(|&lane| mask[lane]).collect();
        let components = [(0, scalar)];
        let places = self.active_lane_places(
            frame,
            handle,
            (variable, &pointer),
            &components,
            &active_lanes,
            Access::Atomic,
        );
        let mut old_values = vec![0; lane_count];
        let mut exchanged_flags = vec![0; lane_count];
        let mut unknown_masks = vec![0; lane_count];
        for (lane, at) in places {
            self.record_access(frame, handle, (variable, at, Access::Atomic), scalar, lane);
            let (bits, unknown_bits) = self.bits_in_memory(variable, at, scalar);
            let old = from_bits(bits, scalar);
            let operand = (
                value.word_at(0, lane, lane_count),
                value.unknown_at(0, lane, lane_count),
            );
            let expected = compare_value
                .as_ref()
                .map(|compare_value| compare_value.word_at(0, lane, lane_count));
            let matches =
                expected.is_none_or(|expected| to_bits(expected, scalar) == to_bits(old, scalar));
            let (new, new_unknown) = match matches {
                true => updated_value(fun, scalar, (old, unknown_bits), operand),
                false => (old, unknown_bits),
            };
            (old_values[lane], exchanged_flags[lane]) = (old, i64::from(matches));
            unknown_masks[lane] = unknown_bits;
            let new_bits = (
                to_bits(new, scalar),
                to_bits(new_unknown.cast_signed(), scalar),
            );
            self.set_bits(variable, at, new_bits, scalar);
        }
        if let Some(result) = result {
            if compare_value.is_some() {
                old_values.extend(exchanged_flags);
                unknown_masks.extend(unknown_masks.clone());
            }
            frame.values[result.index()] = Some(Value::Data(
                Data::varying(old_values).with_unknown(unknown_masks),
            ));
        }
    }
}

/// Returns the value that an atomic operation stores, and a mask of its bits that depend on unwritten memory.
fn updated_value(
    fun: &AtomicFunction,
    scalar: Scalar,
    (old, unknown_old): (i64, u64),
    (operand, unknown_operand): (i64, u64),
) -> (i64, u64) {
    let apply_operator = |op| {
        let unknown_bits = unknown_bits(op, scalar, (old, unknown_old), (operand, unknown_operand));
        (binary_function(op, scalar)(old, operand), unknown_bits)
    };
    let apply_function = |fun| {
        let new = math_function(fun, scalar).map_or(old, |f| f(old, operand, 0));
        (new, all_if_any(unknown_old | unknown_operand))
    };
    match fun {
        AtomicFunction::Add => apply_operator(BinaryOperator::Add),
        AtomicFunction::Subtract => apply_operator(BinaryOperator::Subtract),
        AtomicFunction::And => apply_operator(BinaryOperator::And),
        AtomicFunction::ExclusiveOr => apply_operator(BinaryOperator::ExclusiveOr),
        AtomicFunction::InclusiveOr => apply_operator(BinaryOperator::InclusiveOr),
        AtomicFunction::Min => apply_function(MathFunction::Min),
        AtomicFunction::Max => apply_function(MathFunction::Max),
        AtomicFunction::Exchange { .. } => (operand, unknown_operand),
    }
}
