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
                // naga does not emit expressions such as constants and names of variables. This call evaluates them.
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
            Expression::ZeroValue(ty) => Data::uniform(vec![0; self.components(*ty)]),
            Expression::Compose { components, .. } => {
                let parts: Vec<_> = components
                    .iter()
                    .map(|&part| self.constant_value(part))
                    .collect();
                Data::concat(&parts, self.lanes)
            }
            Expression::Splat { size, value } => Data::concat(
                &vec![self.constant_value(*value); *size as usize],
                self.lanes,
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
        let lanes = self.lanes;
        let function = frame.function;
        Value::Data(match &function.expressions[handle] {
            Expression::Literal(literal) => literal_data(*literal),
            Expression::Constant(constant) => {
                self.constant_value(self.program.module.constants[*constant].init)
            }
            Expression::ZeroValue(ty) => Data::uniform(vec![0; self.components(*ty)]),
            Expression::Compose { components, .. } => {
                let parts: Vec<_> = components
                    .iter()
                    .map(|&part| self.data_of(frame, part, mask))
                    .collect();
                Data::concat(&parts, lanes)
            }
            Expression::Splat { size, value } => {
                let value = self.data_of(frame, *value, mask);
                Data::concat(&vec![value; *size as usize], lanes)
            }
            Expression::Swizzle {
                size,
                vector,
                pattern,
            } => {
                let vector = self.data_of(frame, *vector, mask);
                let pattern = pattern[..*size as usize].iter();
                let parts: Vec<_> = pattern
                    .map(|&component| vector.part(component as usize, 1, lanes))
                    .collect();
                Data::concat(&parts, lanes)
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
                return pointer_to(match self.private.get(variable) {
                    Some(&slot) => Location::Local(slot),
                    None => Location::Global(*variable),
                });
            }
            Expression::LocalVariable(local) => {
                return pointer_to(Location::Local(frame.locals + local.index()));
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
                a.zip_by(&b, lanes, f, |a, b| unknown_bits(*op, scalar, a, b))
            }
            Expression::Select {
                condition,
                accept,
                reject,
            } => {
                let condition = self.data_of(frame, *condition, mask);
                let (yes, no) = (
                    self.data_of(frame, *accept, mask),
                    self.data_of(frame, *reject, mask),
                );
                self.select_components(&condition, &yes, &no)
            }
            Expression::Relational { fun, argument } => {
                let argument = self.data_of(frame, *argument, mask);
                let needs_all = match fun {
                    RelationalFunction::All => true,
                    RelationalFunction::Any => false,
                    other => unreachable!("a shader with {other:?} is not supported"),
                };
                let first_component = argument.part(0, 1, lanes);
                (1..argument.components(lanes)).fold(first_component, |folded, component| {
                    let next_component = argument.part(component, 1, lanes);
                    folded.zip(&next_component, lanes, |a, b| {
                        if needs_all { a & b } else { a | b }
                    })
                })
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
                    None => Data::uniform(vec![0; first_operand.components(lanes)]),
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
                        let unknown_words = data.unknown.clone();
                        Data {
                            unknown: unknown_words,
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

    /// Gives two operands the same number of components. If only one operand is a scalar, it is repeated for each
    /// component of the other operand.
    fn with_same_components(&self, a: Data, b: Data) -> (Data, Data) {
        let lanes = self.lanes;
        match (a.components(lanes), b.components(lanes)) {
            (n, m) if n == m => (a, b),
            (1, m) => (Data::concat(&vec![a; m], lanes), b),
            (n, _) => (a, Data::concat(&vec![b; n], lanes)),
        }
    }

    fn map_three(&self, f: fn(i64, i64, i64) -> i64, operands: [&Data; 3]) -> Data {
        let lanes = self.lanes;
        let uniform = operands.iter().all(|data| data.uniform);
        let width = if uniform { 1 } else { lanes };
        let count = operands[0].components(lanes) * width;
        let at = |data: &Data, n: usize| data.word_at(n / width, n % width, lanes);
        let words =
            (0..count).map(|n| f(at(operands[0], n), at(operands[1], n), at(operands[2], n)));
        let result = Data::new(words.collect::<Rc<_>>(), uniform);
        if operands.iter().all(|data| data.unknown.is_none()) {
            return result;
        }
        let unknown_words = (0..count).map(|n| {
            let bits = operands.map(|data| data.unknown_at(n / width, n % width, lanes));
            all_if_any(bits[0] | bits[1] | bits[2])
        });
        result.with_unknown(unknown_words.collect())
    }

    fn select_components(&self, condition: &Data, yes: &Data, no: &Data) -> Data {
        let lanes = self.lanes;
        let components = yes.components(lanes);
        let uniform = condition.uniform && yes.uniform && no.uniform;
        let width = if uniform { 1 } else { lanes };
        let component_of = |n: usize| {
            if condition.components(lanes) == 1 {
                0
            } else {
                n / width
            }
        };
        let chosen_value = |n: usize| match condition.word_at(component_of(n), n % width, lanes) {
            1 => yes,
            _ => no,
        };
        let words =
            (0..components * width).map(|n| chosen_value(n).word_at(n / width, n % width, lanes));
        let result = Data::new(words.collect::<Rc<_>>(), uniform);
        if [condition, yes, no]
            .iter()
            .all(|data| data.unknown.is_none())
        {
            return result;
        }
        let unknown_words = (0..components * width).map(|n| {
            let undecided_bits =
                all_if_any(condition.unknown_at(component_of(n), n % width, lanes));
            undecided_bits | chosen_value(n).unknown_at(n / width, n % width, lanes)
        });
        result.with_unknown(unknown_words.collect())
    }

    fn dot_product(&self, scalar: Scalar, a: &Data, b: &Data) -> Data {
        let products = a.zip(
            b,
            self.lanes,
            binary_function(BinaryOperator::Multiply, scalar),
        );
        let add = binary_function(BinaryOperator::Add, scalar);
        let first_product = products.part(0, 1, self.lanes);
        (1..products.components(self.lanes)).fold(first_product, |sum, component| {
            sum.zip(&products.part(component, 1, self.lanes), self.lanes, add)
        })
    }

    /// Records a fault if a value depends on unwritten memory. Does nothing without [`Outside::Fault`]. Does nothing
    /// while counting either, because workgroups outside the sample write nothing.
    pub(super) fn check_is_written(
        &mut self,
        frame: &CallFrame<'a>,
        handle: Handle<Expression>,
        data: &Data,
        what: Depends,
        mask: &Mask,
    ) {
        let reports_faults =
            self.options.counting.is_none() && self.options.outside == Outside::Fault;
        if data.unknown.is_none() || !reports_faults {
            return;
        }
        let lanes = self.lanes;
        let is_unknown =
            |lane: usize| (0..data.components(lanes)).any(|c| data.unknown_at(c, lane, lanes) != 0);
        if let Some(lane) = (0..lanes).find(|&lane| mask[lane] && is_unknown(lane)) {
            self.fault_of(
                lane,
                Wrong::Unwritten { what },
                "",
                Some((frame.function, handle)),
            );
        }
    }

    /// Counts the operations of an expression that was emitted, unless its value is the same in all lanes.
    pub(super) fn count(
        &mut self,
        frame: &CallFrame<'a>,
        handle: Handle<Expression>,
        value: &Value,
        mask: &Mask,
    ) {
        let Value::Data(data) = value else { return };
        if self.counter.is_none() || data.uniform {
            return;
        }
        let is_division = match &frame.function.expressions[handle] {
            // Every compiler removes divisions, remainders and multiplications by 1.
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
        let operations = counter.active_subgroups(mask) * data.components(self.lanes) as u64;
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
