//! Evaluates expressions to terms.

use super::machine::{
    BranchState, CallFrame, FormulaMachine, Place, UnsupportedReason, Value, VariableRoot,
};
use super::terms::Term;
use naga::{
    AddressSpace, Expression, Handle, Literal, RelationalFunction, ScalarKind, Type, TypeInner,
    UnaryOperator,
};

impl<'a> FormulaMachine<'a> {
    /// Returns the value of an expression. If a statement `Emit` has already evaluated the expression, returns the
    /// stored value.
    pub(super) fn evaluate_once(
        &mut self,
        frame: &mut CallFrame<'a>,
        handle: Handle<Expression>,
        state: &BranchState,
    ) -> Result<Value, UnsupportedReason> {
        match frame.values.get(&handle) {
            Some(value) => Ok(value.clone()),
            None => self.evaluate(frame, handle, state),
        }
    }

    pub(super) fn evaluate_scalar(
        &mut self,
        frame: &mut CallFrame<'a>,
        handle: Handle<Expression>,
        state: &BranchState,
    ) -> Result<Term, UnsupportedReason> {
        match self.evaluate_once(frame, handle, state)? {
            Value::Term(term) => Ok(term),
            other => Err(format!("{other:?} as a scalar")),
        }
    }

    pub(super) fn evaluate_pointer(
        &mut self,
        frame: &mut CallFrame<'a>,
        handle: Handle<Expression>,
        state: &BranchState,
    ) -> Result<Place, UnsupportedReason> {
        match self.evaluate_once(frame, handle, state)? {
            Value::Pointer(place) => Ok(place),
            other => Err(format!("{other:?} as a pointer")),
        }
    }

    fn scalar_kind(&self, frame: &CallFrame<'a>, handle: Handle<Expression>) -> ScalarKind {
        let inner_type = frame.info[handle].ty.inner_with(&self.module.types);
        inner_type.scalar_kind().unwrap_or(ScalarKind::Uint)
    }

    fn literal_term(&mut self, literal: Literal) -> Result<Term, UnsupportedReason> {
        Ok(match literal {
            Literal::U32(value) => self.pool.word_term(value),
            Literal::I32(value) => self.pool.word_term(value.cast_unsigned()),
            Literal::F32(value) => self.pool.word_term(value.to_bits()),
            Literal::Bool(value) => self.pool.truth_term(value),
            other => return Err(format!("the literal {other:?}")),
        })
    }

    /// Returns the value of a constant expression of the module, outside of functions.
    fn constant_value(&mut self, handle: Handle<Expression>) -> Result<Value, UnsupportedReason> {
        let module = self.module;
        Ok(match &module.global_expressions[handle] {
            Expression::Literal(literal) => Value::Term(self.literal_term(*literal)?),
            Expression::Constant(constant) => {
                return self.constant_value(module.constants[*constant].init);
            }
            Expression::ZeroValue(ty) => self.zero_value(*ty)?,
            Expression::Compose { components, .. } => {
                let parts = components.iter().map(|&part| self.constant_value(part));
                Value::Parts(flatten_parts(parts.collect::<Result<_, _>>()?))
            }
            Expression::Splat { size, value } => {
                Value::Parts(vec![self.constant_value(*value)?; *size as usize])
            }
            other => return Err(format!("the constant {other:?}")),
        })
    }

    pub(super) fn evaluate(
        &mut self,
        frame: &mut CallFrame<'a>,
        handle: Handle<Expression>,
        state: &BranchState,
    ) -> Result<Value, UnsupportedReason> {
        let function = frame.function;
        Ok(match &function.expressions[handle] {
            Expression::Literal(literal) => Value::Term(self.literal_term(*literal)?),
            Expression::Constant(constant) => {
                return self.constant_value(self.module.constants[*constant].init);
            }
            Expression::ZeroValue(ty) => self.zero_value(*ty)?,
            Expression::Compose { ty, components } => {
                let parts = components
                    .iter()
                    .map(|&part| self.evaluate_once(frame, part, state));
                let parts: Vec<_> = parts.collect::<Result<_, _>>()?;
                match self.module.types[*ty].inner {
                    TypeInner::Vector { .. } => Value::Parts(flatten_parts(parts)),
                    _ => Value::Parts(parts),
                }
            }
            Expression::Splat { size, value } => {
                Value::Parts(vec![
                    self.evaluate_once(frame, *value, state)?;
                    *size as usize
                ])
            }
            Expression::Swizzle {
                size,
                vector,
                pattern,
            } => {
                let vector = self.evaluate_once(frame, *vector, state)?;
                let pattern = &pattern[..*size as usize];
                let parts = pattern
                    .iter()
                    .map(|&at| part_of_value(&vector, at as usize));
                Value::Parts(parts.collect::<Result<_, _>>()?)
            }
            Expression::Access { base, index } => {
                let index = self.evaluate_scalar(frame, *index, state)?;
                return self.element_of(frame, *base, index, state);
            }
            Expression::AccessIndex { base, index } => {
                let index = self.pool.word_term(*index);
                return self.element_of(frame, *base, index, state);
            }
            Expression::FunctionArgument(number) => frame.arguments[*number as usize].clone(),
            Expression::GlobalVariable(variable) => {
                let global = &self.module.global_variables[*variable];
                let root = match global.space {
                    AddressSpace::Uniform => VariableRoot::Uniform(*variable),
                    _ => VariableRoot::Buffer(global.name.clone().unwrap_or_default(), global.ty),
                };
                Value::Pointer(Place::whole_variable(root))
            }
            Expression::LocalVariable(variable) => Value::Pointer(Place::whole_variable(
                VariableRoot::Local(frame.locals[variable]),
            )),
            Expression::Load { pointer } => {
                let place = self.evaluate_pointer(frame, *pointer, state)?;
                return self.load(&place, state);
            }
            Expression::Unary { op, expr } => {
                let kind = self.scalar_kind(frame, *expr);
                let value = self.evaluate_once(frame, *expr, state)?;
                return self.map_components(&[value], |machine, terms| {
                    machine.apply_unary(*op, kind, terms[0])
                });
            }
            Expression::Binary { op, left, right } => {
                let kind = self.scalar_kind(frame, *left);
                let operands = [*left, *right].map(|side| self.evaluate_once(frame, side, state));
                let [left, right] = operands;
                return self.map_components(&[left?, right?], |machine, terms| {
                    machine.apply_binary(*op, kind, terms[0], terms[1])
                });
            }
            Expression::Select {
                condition,
                accept,
                reject,
            } => {
                let operands = [*condition, *accept, *reject]
                    .map(|part| self.evaluate_once(frame, part, state));
                let [condition, yes, no] = operands;
                return self.map_components(&[condition?, yes?, no?], |machine, terms| {
                    Ok(machine.pool.select(terms[0], terms[1], terms[2]))
                });
            }
            Expression::Relational { fun, argument } => {
                let parts = match self.evaluate_once(frame, *argument, state)? {
                    Value::Parts(parts) => parts,
                    other => vec![other],
                };
                let mut folded_truth = self.pool.truth_term(*fun == RelationalFunction::All);
                for part in parts {
                    let Value::Term(term) = part else {
                        return Err(format!("{part:?} in {fun:?}"));
                    };
                    folded_truth = match fun {
                        RelationalFunction::All => self.pool.and(folded_truth, term),
                        RelationalFunction::Any => self.pool.or(folded_truth, term),
                        other => return Err(format!("the function {other:?}")),
                    };
                }
                Value::Term(folded_truth)
            }
            Expression::Math {
                fun,
                arg,
                arg1,
                arg2,
                ..
            } => {
                let kind = self.scalar_kind(frame, *arg);
                let arguments = [Some(*arg), *arg1, *arg2].into_iter().flatten();
                let values = arguments.map(|argument| self.evaluate_once(frame, argument, state));
                let values: Vec<_> = values.collect::<Result<_, _>>()?;
                return self.map_components(&values, |machine, terms| {
                    machine.apply_math(*fun, kind, terms)
                });
            }
            Expression::As {
                expr,
                kind,
                convert,
            } => {
                let source_kind = self.scalar_kind(frame, *expr);
                let (target_kind, keeps_bits) = (*kind, convert.is_none());
                let value = self.evaluate_once(frame, *expr, state)?;
                return self.map_components(&[value], |machine, terms| {
                    machine.convert_scalar(source_kind, target_kind, keeps_bits, terms[0])
                });
            }
            Expression::ArrayLength(pointer) => {
                let place = self.evaluate_pointer(frame, *pointer, state)?;
                let VariableRoot::Buffer(name, _) = place.root else {
                    return Err("the length of a variable".to_owned());
                };
                Value::Term(
                    self.pool
                        .function_term(&format!("{name}.length"), Vec::new()),
                )
            }
            other => return Err(format!("the expression {other:?}")),
        })
    }

    /// Returns an element of a value, or a pointer to the element if `base` is a pointer.
    fn element_of(
        &mut self,
        frame: &mut CallFrame<'a>,
        base: Handle<Expression>,
        index: Term,
        state: &BranchState,
    ) -> Result<Value, UnsupportedReason> {
        Ok(match self.evaluate_once(frame, base, state)? {
            Value::Pointer(mut place) => {
                place.path.push(index);
                Value::Pointer(place)
            }
            value => self.element_at(&value, index)?,
        })
    }

    /// Returns element `index` of a value. A known index after the last element is an error. An unknown index that is
    /// too large selects the last element, but no shader of wgslice uses such an index.
    fn element_at(&mut self, value: &Value, index: Term) -> Result<Value, UnsupportedReason> {
        let Value::Parts(parts) = value else {
            return Err(format!("an element of {value:?}"));
        };
        if let Some(known_index) = self.pool.known_word(index) {
            return part_of_value(value, known_index as usize);
        }
        let mut numbered_parts = parts.iter().enumerate().rev();
        let (_, last) = numbered_parts.next().ok_or("an empty array")?;
        let mut selected = last.clone();
        for (number, part) in numbered_parts {
            let part_number = self
                .pool
                .word_term(u32::try_from(number).unwrap_or_default());
            let is_this_part = self.pool.compare_words("=", [index, part_number]);
            selected = self.select_value(is_this_part, part.clone(), selected)?;
        }
        Ok(selected)
    }

    pub(super) fn load(
        &mut self,
        place: &Place,
        state: &BranchState,
    ) -> Result<Value, UnsupportedReason> {
        let (root_value, path) = match &place.root {
            VariableRoot::Local(number) => (state.locals[*number].clone(), &place.path[..]),
            VariableRoot::Uniform(variable) => (self.uniform_value(*variable)?, &place.path[..]),
            VariableRoot::Buffer(name, ty) => {
                let TypeInner::Array { base, .. } = self.module.types[*ty].inner else {
                    return Err(format!("the buffer {name}"));
                };
                let (&index, path) = place.path.split_first().ok_or("a whole buffer")?;
                (self.buffer_element(name, base, index)?, path)
            }
        };
        let mut value = root_value;
        for &index in path {
            value = self.element_at(&value, index)?;
        }
        Ok(value)
    }

    /// Returns element `index` of a buffer. The element, or each of its parts, is an uninterpreted function of the
    /// index.
    fn buffer_element(
        &mut self,
        name: &str,
        element: Handle<Type>,
        index: Term,
    ) -> Result<Value, UnsupportedReason> {
        let Some(parts) = self.parts_of_type(element)? else {
            return Ok(Value::Term(self.pool.function_term(name, vec![index])));
        };
        let parts = parts.into_iter().map(|(part, _)| {
            let name = format!("{name}.{part}");
            Value::Term(self.pool.function_term(&name, vec![index]))
        });
        Ok(Value::Parts(parts.collect()))
    }

    /// Returns `old` after replacing the part at `path` by `new`.
    pub(super) fn with_stored_part(
        &mut self,
        old: Value,
        path: &[Term],
        new: Value,
    ) -> Result<Value, UnsupportedReason> {
        let Some((&index, rest)) = path.split_first() else {
            return Ok(new);
        };
        let Value::Parts(mut parts) = old else {
            return Err(format!("a store to a part of {old:?}"));
        };
        for (number, part) in (0..).zip(&mut parts) {
            let word = self.pool.word_term(number);
            let is_this_part = self.pool.compare_words("=", [index, word]);
            if self.pool.known_truth(is_this_part) == Some(false) {
                continue;
            }
            let changed_part = self.with_stored_part(part.clone(), rest, new.clone())?;
            *part = self.select_value(is_this_part, changed_part, part.clone())?;
        }
        Ok(Value::Parts(parts))
    }

    /// Applies a function to scalars, or to each component of vectors.
    fn map_components(
        &mut self,
        values: &[Value],
        apply: impl Fn(&mut Self, &[Term]) -> Result<Term, UnsupportedReason>,
    ) -> Result<Value, UnsupportedReason> {
        let component_count = values.iter().find_map(|value| match value {
            Value::Parts(parts) => Some(parts.len()),
            _ => None,
        });
        let mut component_at = |number: usize| {
            let terms = values.iter().map(|value| match value {
                Value::Term(term) => Ok(*term),
                Value::Parts(parts) => match parts.get(number) {
                    Some(Value::Term(term)) => Ok(*term),
                    other => Err(format!("{other:?} as a component")),
                },
                Value::Pointer(_) => Err("arithmetic with pointers".to_owned()),
            });
            let terms: Vec<_> = terms.collect::<Result<_, _>>()?;
            apply(self, &terms).map(Value::Term)
        };
        match component_count {
            None => component_at(0),
            Some(component_count) => {
                let parts = (0..component_count).map(component_at);
                parts.collect::<Result<_, _>>().map(Value::Parts)
            }
        }
    }

    fn apply_unary(
        &mut self,
        op: UnaryOperator,
        kind: ScalarKind,
        term: Term,
    ) -> Result<Term, UnsupportedReason> {
        Ok(match (op, kind) {
            (UnaryOperator::LogicalNot, _) => self.pool.not(term),
            (UnaryOperator::BitwiseNot, _) => self.pool.word_function("bvnot", &[term]),
            (UnaryOperator::Negate, ScalarKind::Sint) => self.pool.word_function("bvneg", &[term]),
            _ => return Err(format!("{op:?} of {kind:?}")),
        })
    }
}

/// Returns part `number` of a value: a component, a member or an element.
fn part_of_value(value: &Value, number: usize) -> Result<Value, UnsupportedReason> {
    match value {
        Value::Parts(parts) => parts.get(number).cloned(),
        _ => None,
    }
    .ok_or_else(|| format!("part {number} of {value:?}"))
}

/// Returns the components of vectors and scalars in order.
fn flatten_parts(parts: Vec<Value>) -> Vec<Value> {
    let components = parts.into_iter().flat_map(|part| match part {
        Value::Parts(parts) => parts,
        other => vec![other],
    });
    components.collect()
}
