//! Computes the values of expressions, each for all lanes of a workgroup at the same time.

use super::{
    CallFrame, Machine, Mask,
    arithmetic::{binary_function, convert_scalar, math_function, unary_function, unknown_bits},
    pointer_to,
    value::{Data, Location, Pointer, Value, all_if_any, from_bits, low_word, to_bits},
};
use crate::{Depends, Outside, Wrong};
use naga::{
    BinaryOperator, Expression, Handle, Literal, MathFunction, RelationalFunction, Scalar,
    ScalarKind, TypeInner,
};
use std::rc::Rc;

impl<'a> Machine<'a> {
    /// Returns the value of an expression that was emitted earlier or need not be emitted.
    pub(super) fn value_of(
        &mut self,
        frame: &mut CallFrame<'a>,
        handle: Handle<Expression>,
        mask: &Mask,
    ) -> Value {
        match &frame.values[handle.index()] {
            Some(value) => value.clone(),
            None => {
                let value = self.evaluate(frame, handle, mask);
                // naga does not emit some expressions, such as constants and names of variables. They are evaluated at
                // their first use.
                frame.values[handle.index()] = Some(value.clone());
                value
            }
        }
    }

    pub(super) fn data_of(
        &mut self,
        frame: &mut CallFrame<'a>,
        handle: Handle<Expression>,
        mask: &Mask,
    ) -> Data {
        match self.value_of(frame, handle, mask) {
            Value::Data(data) => data,
            Value::Pointer(_) => unreachable!("naga takes no pointer for a value"),
        }
    }

    pub(super) fn pointer_of(
        &mut self,
        frame: &mut CallFrame<'a>,
        handle: Handle<Expression>,
        mask: &Mask,
    ) -> Pointer {
        match self.value_of(frame, handle, mask) {
            Value::Pointer(pointer) => pointer,
            Value::Data(_) => unreachable!("naga takes no value for a pointer"),
        }
    }

    pub(super) fn type_of(
        &self,
        frame: &CallFrame<'a>,
        handle: Handle<Expression>,
    ) -> &'a TypeInner {
        let program = self.program;
        frame.info[handle].ty.inner_with(&program.module.types)
    }

    pub(super) fn scalar_type_of(
        &self,
        frame: &CallFrame<'a>,
        handle: Handle<Expression>,
    ) -> Scalar {
        self.type_of(frame, handle)
            .scalar()
            .expect("naga computes with scalars and vectors")
    }

    /// Returns the value of a constant expression outside of functions.
    pub(super) fn constant_value(&self, handle: Handle<Expression>) -> Data {
        let module = &self.program.module;
        match &module.global_expressions[handle] {
            Expression::Literal(literal) => literal_data(*literal),
            Expression::Constant(constant) => self.constant_value(module.constants[*constant].init),
            Expression::ZeroValue(ty) => Data::uniform(vec![0; self.component_count(*ty)]),
            Expression::Compose { components, .. } => {
                let parts: Vec<_> = components
                    .iter()
                    .map(|&part| self.constant_value(part))
                    .collect();
                Data::concat(&parts, self.lane_count)
            }
            Expression::Splat { size, value } => Data::concat(
                &vec![self.constant_value(*value); *size as usize],
                self.lane_count,
            ),
            other => unreachable!("naga evaluates {other:?} itself"),
        }
    }

    pub(super) fn evaluate(
        &mut self,
        frame: &mut CallFrame<'a>,
        handle: Handle<Expression>,
        mask: &Mask,
    ) -> Value {
        let lane_count = self.lane_count;
        let function = frame.function;
        Value::Data(match &function.expressions[handle] {
            Expression::Literal(literal) => literal_data(*literal),
            Expression::Constant(constant) => {
                self.constant_value(self.program.module.constants[*constant].init)
            }
            Expression::ZeroValue(ty) => Data::uniform(vec![0; self.component_count(*ty)]),
            Expression::Compose { components, .. } => {
                let parts: Vec<_> = components
                    .iter()
                    .map(|&part| self.data_of(frame, part, mask))
                    .collect();
                Data::concat(&parts, lane_count)
            }
            Expression::Splat { size, value } => {
                let value = self.data_of(frame, *value, mask);
                Data::concat(&vec![value; *size as usize], lane_count)
            }
            Expression::Swizzle {
                size,
                vector,
                pattern,
            } => {
                let vector = self.data_of(frame, *vector, mask);
                let pattern = pattern[..*size as usize].iter();
                let parts: Vec<_> = pattern
                    .map(|&component| vector.part(component as usize, 1, lane_count))
                    .collect();
                Data::concat(&parts, lane_count)
            }
            Expression::Access { base, index } => {
                let index = self.data_of(frame, *index, mask);
                self.check_is_written(frame, handle, &index, Depends::Index, mask);
                return self.element_of(frame, handle, *base, &index, mask);
            }
            Expression::AccessIndex { base, index } => {
                let index = Data::uniform(vec![i64::from(*index)]);
                return self.element_of(frame, handle, *base, &index, mask);
            }
            Expression::FunctionArgument(n) => return frame.arguments[*n as usize].clone(),
            Expression::GlobalVariable(variable) => {
                return pointer_to(match self.private_slots.get(variable) {
                    Some(&slot) => Location::Local(slot),
                    None => Location::Global(*variable),
                });
            }
            Expression::LocalVariable(local) => {
                return pointer_to(Location::Local(frame.first_local + local.index()));
            }
            Expression::Load { pointer } => {
                let from = self.pointer_of(frame, *pointer, mask);
                let pointee = self.pointee_type(frame, *pointer);
                self.load_value(frame, *pointer, &from, &pointee, mask)
            }
            Expression::Unary { op, expr } => {
                let f = unary_function(*op, self.scalar_type_of(frame, *expr));
                self.data_of(frame, *expr, mask).map(f)
            }
            Expression::Binary { op, left, right } => {
                let scalar = self.scalar_type_of(frame, *left);
                let f = binary_function(*op, scalar);
                let (a, b) = (
                    self.data_of(frame, *left, mask),
                    self.data_of(frame, *right, mask),
                );
                let (a, b) = self.with_same_components(a, b);
                a.zip_by(&b, lane_count, f, |a, b| unknown_bits(*op, scalar, a, b))
            }
            Expression::Select {
                condition,
                accept,
                reject,
            } => {
                let condition = self.data_of(frame, *condition, mask);
                let (accepted, rejected) = (
                    self.data_of(frame, *accept, mask),
                    self.data_of(frame, *reject, mask),
                );
                self.select_components(&condition, &accepted, &rejected)
            }
            Expression::Relational { fun, argument } => {
                let argument = self.data_of(frame, *argument, mask);
                let needs_all = match fun {
                    RelationalFunction::All => true,
                    RelationalFunction::Any => false,
                    other => unreachable!("a shader with {other:?} is not supported"),
                };
                let first_component = argument.part(0, 1, lane_count);
                (1..argument.component_count(lane_count)).fold(
                    first_component,
                    |folded, component| {
                        let next_component = argument.part(component, 1, lane_count);
                        folded.zip(&next_component, lane_count, |a, b| {
                            if needs_all { a & b } else { a | b }
                        })
                    },
                )
            }
            Expression::Math {
                fun,
                arg,
                arg1,
                arg2,
                ..
            } => {
                let scalar = self.scalar_type_of(frame, *arg);
                let first_operand = self.data_of(frame, *arg, mask);
                if *fun == MathFunction::Dot {
                    let second_operand = self.data_of(frame, arg1.expect("two vectors"), mask);
                    return Value::Data(self.dot_product(scalar, &first_operand, &second_operand));
                }
                let f = math_function(*fun, scalar).expect("supported functions");
                let mut optional_operand = |arg: Option<Handle<Expression>>| match arg {
                    Some(arg) => self.data_of(frame, arg, mask),
                    None => Data::uniform(vec![0; first_operand.component_count(lane_count)]),
                };
                let (second_operand, third_operand) =
                    (optional_operand(*arg1), optional_operand(*arg2));
                let (first_operand, second_operand) =
                    self.with_same_components(first_operand, second_operand);
                let (_, third_operand) =
                    self.with_same_components(first_operand.clone(), third_operand);
                self.map_three(f, [&first_operand, &second_operand, &third_operand])
            }
            Expression::As {
                expr,
                kind,
                convert,
            } => {
                let from = self.scalar_type_of(frame, *expr);
                let data = self.data_of(frame, *expr, mask);
                match convert {
                    Some(width) => {
                        let to = Scalar {
                            kind: *kind,
                            width: *width,
                        };
                        data.map(|word| convert_scalar(word, from, to))
                    }
                    // A bitcast keeps the bits. Between integers it also keeps the 64-bit number that tells whether a
                    // computation wrapped.
                    None if from.kind != ScalarKind::Float && *kind != ScalarKind::Float => data,
                    None => {
                        let to = Scalar {
                            kind: *kind,
                            width: from.width,
                        };
                        let unknown_masks = data.unknown_masks.clone();
                        Data {
                            unknown_masks,
                            ..data.map(|word| from_bits(to_bits(word, from), to))
                        }
                    }
                }
            }
            Expression::ArrayLength(pointer) => {
                let pointer = self.pointer_of(frame, *pointer, mask);
                Data::uniform(vec![self.array_length(&pointer)])
            }
            other => unreachable!("a shader with {other:?} is not supported"),
        })
    }

    /// Returns two operands with the same number of components. If only one operand is a scalar, it is repeated for
    /// each component of the other operand.
    fn with_same_components(&self, a: Data, b: Data) -> (Data, Data) {
        let lane_count = self.lane_count;
        match (a.component_count(lane_count), b.component_count(lane_count)) {
            (n, m) if n == m => (a, b),
            (1, m) => (Data::concat(&vec![a; m], lane_count), b),
            (n, _) => (a, Data::concat(&vec![b; n], lane_count)),
        }
    }

    fn map_three(&self, f: fn(i64, i64, i64) -> i64, operands: [&Data; 3]) -> Data {
        let lane_count = self.lane_count;
        let is_uniform = operands.iter().all(|data| data.is_uniform);
        let component_words = if is_uniform { 1 } else { lane_count };
        let word_count = operands[0].component_count(lane_count) * component_words;
        let word = |data: &Data, n: usize| {
            data.word_at(n / component_words, n % component_words, lane_count)
        };
        let words = (0..word_count).map(|n| {
            f(
                word(operands[0], n),
                word(operands[1], n),
                word(operands[2], n),
            )
        });
        let result = Data::new(words.collect::<Rc<_>>(), is_uniform);
        if operands.iter().all(|data| data.unknown_masks.is_none()) {
            return result;
        }
        let unknown_masks = (0..word_count).map(|n| {
            let masks = operands
                .map(|data| data.unknown_at(n / component_words, n % component_words, lane_count));
            all_if_any(masks[0] | masks[1] | masks[2])
        });
        result.with_unknown(unknown_masks.collect())
    }

    fn select_components(&self, condition: &Data, accepted: &Data, rejected: &Data) -> Data {
        let lane_count = self.lane_count;
        let is_uniform = condition.is_uniform && accepted.is_uniform && rejected.is_uniform;
        let component_words = if is_uniform { 1 } else { lane_count };
        let word_count = accepted.component_count(lane_count) * component_words;
        let condition_component = |n: usize| {
            if condition.component_count(lane_count) == 1 {
                0
            } else {
                n / component_words
            }
        };
        let chosen_value = |n: usize| match condition.word_at(
            condition_component(n),
            n % component_words,
            lane_count,
        ) {
            1 => accepted,
            _ => rejected,
        };
        let words = (0..word_count)
            .map(|n| chosen_value(n).word_at(n / component_words, n % component_words, lane_count));
        let result = Data::new(words.collect::<Rc<_>>(), is_uniform);
        if [condition, accepted, rejected]
            .iter()
            .all(|data| data.unknown_masks.is_none())
        {
            return result;
        }
        let unknown_masks = (0..word_count).map(|n| {
            let lane = n % component_words;
            let undecided_bits =
                all_if_any(condition.unknown_at(condition_component(n), lane, lane_count));
            undecided_bits | chosen_value(n).unknown_at(n / component_words, lane, lane_count)
        });
        result.with_unknown(unknown_masks.collect())
    }

    fn dot_product(&self, scalar: Scalar, a: &Data, b: &Data) -> Data {
        let products = a.zip(
            b,
            self.lane_count,
            binary_function(BinaryOperator::Multiply, scalar),
        );
        let add = binary_function(BinaryOperator::Add, scalar);
        let first_product = products.part(0, 1, self.lane_count);
        (1..products.component_count(self.lane_count)).fold(first_product, |sum, component| {
            sum.zip(
                &products.part(component, 1, self.lane_count),
                self.lane_count,
                add,
            )
        })
    }

    /// Records a fault if a value depends on unwritten memory. Does nothing without [`Outside::Fault`]. Does nothing
    /// while counting either, because workgroups outside the sample write nothing.
    pub(super) fn check_is_written(
        &mut self,
        frame: &CallFrame<'a>,
        handle: Handle<Expression>,
        data: &Data,
        dependency: Depends,
        mask: &Mask,
    ) {
        let reports_faults =
            self.options.counting.is_none() && self.options.outside == Outside::Fault;
        if data.unknown_masks.is_none() || !reports_faults {
            return;
        }
        let lane_count = self.lane_count;
        let is_unknown = |lane: usize| {
            (0..data.component_count(lane_count)).any(|c| data.unknown_at(c, lane, lane_count) != 0)
        };
        if let Some(lane) = (0..lane_count).find(|&lane| mask[lane] && is_unknown(lane)) {
            self.record_lane_fault(
                lane,
                Wrong::Unwritten { what: dependency },
                "",
                Some((frame.function, handle)),
            );
        }
    }

    /// Counts the operations of an expression that was emitted, unless its value is the same in all lanes.
    pub(super) fn count_operations(
        &mut self,
        frame: &CallFrame<'a>,
        handle: Handle<Expression>,
        value: &Value,
        mask: &Mask,
    ) {
        let Value::Data(data) = value else { return };
        if self.counter.is_none() || data.is_uniform {
            return;
        }
        let is_division = match &frame.function.expressions[handle] {
            // Compilers remove divisions, remainders and multiplications by 1.
            Expression::Binary {
                op: BinaryOperator::Divide | BinaryOperator::Modulo | BinaryOperator::Multiply,
                right,
                ..
            } if self.is_constant_one(frame, *right) => return,
            Expression::Binary {
                op: BinaryOperator::Divide | BinaryOperator::Modulo,
                left,
                ..
            } => {
                let inner = frame.info[*left].ty.inner_with(&self.program.module.types);
                inner.scalar_kind() != Some(ScalarKind::Float)
            }
            Expression::Binary { .. }
            | Expression::Unary { .. }
            | Expression::Select { .. }
            | Expression::Math { .. }
            | Expression::Relational { .. }
            | Expression::As {
                convert: Some(_), ..
            } => false,
            _ => return,
        };
        let Some(counter) = &mut self.counter else {
            return;
        };
        let operations =
            counter.active_subgroups(mask) * data.component_count(self.lane_count) as u64;
        counter.operations += operations;
        counter.divisions += if is_division { operations } else { 0 };
    }

    /// Returns whether an expression is the integer constant 1. An override can be such a constant.
    fn is_constant_one(&self, frame: &CallFrame<'a>, handle: Handle<Expression>) -> bool {
        let module = &self.program.module;
        let expression = match frame.function.expressions[handle] {
            Expression::Constant(constant) => {
                &module.global_expressions[module.constants[constant].init]
            }
            ref expression => expression,
        };
        matches!(
            expression,
            Expression::Literal(Literal::U32(1) | Literal::I32(1))
        )
    }
}

fn literal_data(literal: Literal) -> Data {
    Data::uniform(vec![match literal {
        Literal::U32(x) => i64::from(x.cast_signed()),
        Literal::I32(x) => i64::from(x),
        Literal::U64(x) => x.cast_signed(),
        Literal::I64(x) => x,
        Literal::F32(x) => i64::from(x.to_bits()),
        Literal::Bool(x) => i64::from(x),
        other => unreachable!("a shader with {other:?} is not supported"),
    }])
}

/// Returns the index that a shader sees, and whether the index as a 64-bit number is outside the range of `u32`.
pub(super) fn index_of(word: i64) -> (u32, bool) {
    (low_word(word), i64::from(low_word(word)) != word)
}
