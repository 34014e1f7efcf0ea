//! Evaluates expressions to terms.

use super::machine::{Frame, Machine, Place, Root, State, Unsupported, Value};
use super::terms::Term;
use naga::{
    AddressSpace, Expression, Handle, Literal, RelationalFunction, ScalarKind, Type, TypeInner,
    UnaryOperator,
};

impl<'a> Machine<'a> {
    /// Returns the value of an expression. If the expression was emitted before, this is the stored value.
    pub(super) fn value(
        &mut self,
        frame: &mut Frame<'a>,
        handle: Handle<Expression>,
        state: &State,
    ) -> Result<Value, Unsupported> {
        match frame.values.get(&handle) {
            Some(value) => Ok(value.clone()),
            None => self.evaluate(frame, handle, state),
        }
    }

    pub(super) fn term(
        &mut self,
        frame: &mut Frame<'a>,
        handle: Handle<Expression>,
        state: &State,
    ) -> Result<Term, Unsupported> {
        match self.value(frame, handle, state)? {
            Value::Term(term) => Ok(term),
            other => Err(format!("{other:?} as a scalar")),
        }
    }

    pub(super) fn place(
        &mut self,
        frame: &mut Frame<'a>,
        handle: Handle<Expression>,
        state: &State,
    ) -> Result<Place, Unsupported> {
        match self.value(frame, handle, state)? {
            Value::Pointer(place) => Ok(place),
            other => Err(format!("{other:?} as a pointer")),
        }
    }

    fn kind(&self, frame: &Frame<'a>, handle: Handle<Expression>) -> ScalarKind {
        let inner = frame.info[handle].ty.inner_with(&self.module.types);
        inner.scalar_kind().unwrap_or(ScalarKind::Uint)
    }

    fn literal(&mut self, literal: Literal) -> Result<Term, Unsupported> {
        Ok(match literal {
            Literal::U32(value) => self.pool.word(value),
            Literal::I32(value) => self.pool.word(value.cast_unsigned()),
            Literal::F32(value) => self.pool.word(value.to_bits()),
            Literal::Bool(value) => self.pool.truth(value),
            other => return Err(format!("the literal {other:?}")),
        })
    }

    /// Returns the value of an expression outside of functions.
    fn constant(&mut self, handle: Handle<Expression>) -> Result<Value, Unsupported> {
        let module = self.module;
        Ok(match &module.global_expressions[handle] {
            Expression::Literal(literal) => Value::Term(self.literal(*literal)?),
            Expression::Constant(constant) => {
                return self.constant(module.constants[*constant].init);
            }
            Expression::ZeroValue(ty) => self.zeros(*ty)?,
            Expression::Compose { components, .. } => {
                let parts = components.iter().map(|&part| self.constant(part));
                Value::Parts(flat(parts.collect::<Result<_, _>>()?))
            }
            Expression::Splat { size, value } => {
                Value::Parts(vec![self.constant(*value)?; *size as usize])
            }
            other => return Err(format!("the constant {other:?}")),
        })
    }

    pub(super) fn evaluate(
        &mut self,
        frame: &mut Frame<'a>,
        handle: Handle<Expression>,
        state: &State,
    ) -> Result<Value, Unsupported> {
        let function = frame.function;
        Ok(match &function.expressions[handle] {
            Expression::Literal(literal) => Value::Term(self.literal(*literal)?),
            Expression::Constant(constant) => {
                return self.constant(self.module.constants[*constant].init);
            }
            Expression::ZeroValue(ty) => self.zeros(*ty)?,
            Expression::Compose { ty, components } => {
                let parts = components
                    .iter()
                    .map(|&part| self.value(frame, part, state));
                let parts: Vec<_> = parts.collect::<Result<_, _>>()?;
                match self.module.types[*ty].inner {
                    TypeInner::Vector { .. } => Value::Parts(flat(parts)),
                    _ => Value::Parts(parts),
                }
            }
            Expression::Splat { size, value } => {
                Value::Parts(vec![self.value(frame, *value, state)?; *size as usize])
            }
            Expression::Swizzle {
                size,
                vector,
                pattern,
            } => {
                let vector = self.value(frame, *vector, state)?;
                let pattern = &pattern[..*size as usize];
                let parts = pattern.iter().map(|&at| part(&vector, at as usize));
                Value::Parts(parts.collect::<Result<_, _>>()?)
            }
            Expression::Access { base, index } => {
                let index = self.term(frame, *index, state)?;
                return self.element(frame, *base, index, state);
            }
            Expression::AccessIndex { base, index } => {
                let index = self.pool.word(*index);
                return self.element(frame, *base, index, state);
            }
            Expression::FunctionArgument(number) => frame.arguments[*number as usize].clone(),
            Expression::GlobalVariable(variable) => {
                let global = &self.module.global_variables[*variable];
                let root = match global.space {
                    AddressSpace::Uniform => Root::Known(*variable),
                    _ => Root::Buffer(global.name.clone().unwrap_or_default(), global.ty),
                };
                Value::Pointer(Place::of(root))
            }
            Expression::LocalVariable(variable) => {
                Value::Pointer(Place::of(Root::Local(frame.locals[variable])))
            }
            Expression::Load { pointer } => {
                let place = self.place(frame, *pointer, state)?;
                return self.load(&place, state);
            }
            Expression::Unary { op, expr } => {
                let kind = self.kind(frame, *expr);
                let value = self.value(frame, *expr, state)?;
                return self.each(&[value], |machine, terms| {
                    machine.unary(*op, kind, terms[0])
                });
            }
            Expression::Binary { op, left, right } => {
                let kind = self.kind(frame, *left);
                let both = [*left, *right].map(|side| self.value(frame, side, state));
                let [left, right] = both;
                return self.each(&[left?, right?], |machine, terms| {
                    machine.binary(*op, kind, terms[0], terms[1])
                });
            }
            Expression::Select {
                condition,
                accept,
                reject,
            } => {
                let all = [*condition, *accept, *reject].map(|part| self.value(frame, part, state));
                let [condition, yes, no] = all;
                return self.each(&[condition?, yes?, no?], |machine, terms| {
                    Ok(machine.pool.select(terms[0], terms[1], terms[2]))
                });
            }
            Expression::Relational { fun, argument } => {
                let terms = match self.value(frame, *argument, state)? {
                    Value::Parts(parts) => parts,
                    other => vec![other],
                };
                let mut all = self.pool.truth(*fun == RelationalFunction::All);
                for part in terms {
                    let Value::Term(term) = part else {
                        return Err(format!("{part:?} in {fun:?}"));
                    };
                    all = match fun {
                        RelationalFunction::All => self.pool.and(all, term),
                        RelationalFunction::Any => self.pool.or(all, term),
                        other => return Err(format!("the function {other:?}")),
                    };
                }
                Value::Term(all)
            }
            Expression::Math {
                fun,
                arg,
                arg1,
                arg2,
                ..
            } => {
                let kind = self.kind(frame, *arg);
                let arguments = [Some(*arg), *arg1, *arg2].into_iter().flatten();
                let values = arguments.map(|argument| self.value(frame, argument, state));
                let values: Vec<_> = values.collect::<Result<_, _>>()?;
                return self.each(&values, |machine, terms| machine.math(*fun, kind, terms));
            }
            Expression::As {
                expr,
                kind,
                convert,
            } => {
                let from = self.kind(frame, *expr);
                let (to, bits) = (*kind, convert.is_none());
                let value = self.value(frame, *expr, state)?;
                return self.each(&[value], |machine, terms| {
                    machine.converted(from, to, bits, terms[0])
                });
            }
            Expression::ArrayLength(pointer) => {
                let place = self.place(frame, *pointer, state)?;
                let Root::Buffer(name, _) = place.root else {
                    return Err("the length of a variable".to_owned());
                };
                Value::Term(self.pool.memory(&format!("{name}.length"), Vec::new()))
            }
            other => return Err(format!("the expression {other:?}")),
        })
    }

    /// Returns an element of a value, or the place of an element.
    fn element(
        &mut self,
        frame: &mut Frame<'a>,
        base: Handle<Expression>,
        index: Term,
        state: &State,
    ) -> Result<Value, Unsupported> {
        Ok(match self.value(frame, base, state)? {
            Value::Pointer(mut place) => {
                place.path.push(index);
                Value::Pointer(place)
            }
            value => self.at(&value, index)?,
        })
    }

    /// Returns element `index` of a value. A known index after the last element is an error. An unknown index that is
    /// too large selects the last element, but no shader here uses such an index.
    fn at(&mut self, value: &Value, index: Term) -> Result<Value, Unsupported> {
        let Value::Parts(parts) = value else {
            return Err(format!("an element of {value:?}"));
        };
        if let Some(known) = self.pool.known_word(index) {
            return part(value, known as usize);
        }
        let mut all = parts.iter().enumerate().rev();
        let (_, last) = all.next().ok_or("an empty array")?;
        let mut found = last.clone();
        for (number, part) in all {
            let number = self.pool.word(u32::try_from(number).unwrap_or_default());
            let here = self.pool.compare("=", [index, number]);
            found = self.either(here, part.clone(), found)?;
        }
        Ok(found)
    }

    pub(super) fn load(&mut self, place: &Place, state: &State) -> Result<Value, Unsupported> {
        let (root, path) = match &place.root {
            Root::Local(number) => (state.locals[*number].clone(), &place.path[..]),
            Root::Known(variable) => (self.uniforms(*variable)?, &place.path[..]),
            Root::Buffer(name, ty) => {
                let TypeInner::Array { base, .. } = self.module.types[*ty].inner else {
                    return Err(format!("the buffer {name}"));
                };
                let (&index, path) = place.path.split_first().ok_or("a whole buffer")?;
                (self.memory(name, base, index)?, path)
            }
        };
        let mut value = root;
        for &index in path {
            value = self.at(&value, index)?;
        }
        Ok(value)
    }

    /// Returns element `index` of a buffer.
    fn memory(
        &mut self,
        name: &str,
        element: Handle<Type>,
        index: Term,
    ) -> Result<Value, Unsupported> {
        let Some(parts) = self.parts(element)? else {
            return Ok(Value::Term(self.pool.memory(name, vec![index])));
        };
        let parts = parts.into_iter().map(|(part, _)| {
            let name = format!("{name}.{part}");
            Value::Term(self.pool.memory(&name, vec![index]))
        });
        Ok(Value::Parts(parts.collect()))
    }

    /// Returns the value `old`, where `new` replaces the part at the end of the path.
    pub(super) fn stored(
        &mut self,
        old: Value,
        path: &[Term],
        new: Value,
    ) -> Result<Value, Unsupported> {
        let Some((&index, rest)) = path.split_first() else {
            return Ok(new);
        };
        let Value::Parts(mut parts) = old else {
            return Err(format!("a store to a part of {old:?}"));
        };
        for (number, part) in (0..).zip(&mut parts) {
            let word = self.pool.word(number);
            let here = self.pool.compare("=", [index, word]);
            if self.pool.known_truth(here) == Some(false) {
                continue;
            }
            let changed = self.stored(part.clone(), rest, new.clone())?;
            *part = self.either(here, changed, part.clone())?;
        }
        Ok(Value::Parts(parts))
    }

    /// Applies a function to scalars, or to each component of vectors.
    fn each(
        &mut self,
        values: &[Value],
        apply: impl Fn(&mut Self, &[Term]) -> Result<Term, Unsupported>,
    ) -> Result<Value, Unsupported> {
        let count = values.iter().find_map(|value| match value {
            Value::Parts(parts) => Some(parts.len()),
            _ => None,
        });
        let mut component = |number: usize| {
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
        match count {
            None => component(0),
            Some(count) => {
                let parts = (0..count).map(component);
                parts.collect::<Result<_, _>>().map(Value::Parts)
            }
        }
    }

    fn unary(
        &mut self,
        op: UnaryOperator,
        kind: ScalarKind,
        term: Term,
    ) -> Result<Term, Unsupported> {
        Ok(match (op, kind) {
            (UnaryOperator::LogicalNot, _) => self.pool.not(term),
            (UnaryOperator::BitwiseNot, _) => self.pool.of_words("bvnot", &[term]),
            (UnaryOperator::Negate, ScalarKind::Sint) => self.pool.of_words("bvneg", &[term]),
            _ => return Err(format!("{op:?} of {kind:?}")),
        })
    }
}

/// Returns part `number` of a value: a component, a member or an element.
fn part(value: &Value, number: usize) -> Result<Value, Unsupported> {
    match value {
        Value::Parts(parts) => parts.get(number).cloned(),
        _ => None,
    }
    .ok_or_else(|| format!("part {number} of {value:?}"))
}

/// Returns the components of vectors and scalars in order.
fn flat(parts: Vec<Value>) -> Vec<Value> {
    let each = parts.into_iter().flat_map(|part| match part {
        Value::Parts(parts) => parts,
        other => vec![other],
    });
    each.collect()
}
