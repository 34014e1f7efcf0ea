//! Runs a function of a shader on terms instead of numbers, and so converts its code to a formula.
//!
//! Both sides of a branch run. Afterwards the condition selects between the values that differ. Loops are unrolled. A
//! function has no formula if unknown values decide whether a loop runs another round, or if the function uses
//! something unsupported.

use super::terms::{Pool, Sort, Term};
use naga::{
    ArraySize, Expression, Function, Handle, Module, ScalarKind, Type, TypeInner,
    valid::{FunctionInfo, ModuleInfo},
};
use std::collections::HashMap;

/// Why a function has no formula.
pub(super) type Unsupported = String;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Term(Term),
    /// The components of a vector, the members of a struct or the elements of an array.
    Parts(Vec<Self>),
    Pointer(Place),
}

/// A variable, and the path to a part of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) root: Root,
    pub(super) path: Vec<Term>,
}

impl Place {
    pub(super) fn of(root: Root) -> Self {
        Self {
            root,
            path: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Root {
    Local(usize),
    /// A uniform variable.
    Known(Handle<naga::GlobalVariable>),
    /// A buffer, about whose content nothing is known.
    Buffer(String, Handle<Type>),
}

/// The state that may differ between the two sides of a branch.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) locals: Vec<Value>,
    /// The result. `None` if no statement has returned a value so far.
    pub(super) result: Option<Value>,
    /// Whether the function has returned.
    pub(super) returned: Term,
    /// Whether the function has left the current loop.
    pub(super) broken: Term,
    /// Whether the function has continued the current loop.
    pub(super) continued: Term,
}

pub(crate) struct Machine<'a> {
    pub(super) pool: Pool,
    pub(super) module: &'a Module,
    info: &'a ModuleInfo,
    /// The known values of arguments and uniforms, by their names in the formula.
    fixed: HashMap<String, u32>,
    globals: HashMap<Handle<naga::GlobalVariable>, Value>,
}

/// A function that is being run.
pub(super) struct Frame<'a> {
    pub(super) function: &'a Function,
    pub(super) info: &'a FunctionInfo,
    pub(super) arguments: Vec<Value>,
    pub(super) values: HashMap<Handle<Expression>, Value>,
    pub(super) locals: HashMap<Handle<naga::LocalVariable>, usize>,
}

/// The type of a part of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum PartType {
    Type(Handle<Type>),
    Scalar(ScalarKind),
}

impl<'a> Machine<'a> {
    pub(crate) fn new(module: &'a Module, info: &'a ModuleInfo, fixed: &[(&str, u32)]) -> Self {
        let fixed = fixed.iter().map(|&(name, value)| (name.to_owned(), value));
        Self {
            pool: Pool::default(),
            module,
            info,
            fixed: fixed.collect(),
            globals: HashMap::new(),
        }
    }

    /// Returns the formula of a function. Its arguments are inputs. Its outputs are the result and the final values of
    /// the variables that pointer arguments point at.
    pub(crate) fn formula(&mut self, name: &str) -> Result<String, Unsupported> {
        let (handle, function) = self
            .module
            .functions
            .iter()
            .find(|(_, function)| function.name.as_deref() == Some(name))
            .ok_or_else(|| format!("no function {name}"))?;
        let no = self.pool.truth(false);
        let mut state = State {
            locals: Vec::new(),
            result: None,
            returned: no,
            broken: no,
            continued: no,
        };
        let mut arguments = Vec::new();
        let mut after = Vec::new();
        for argument in &function.arguments {
            let name = argument.name.clone().unwrap_or_default();
            let inner = &self.module.types[argument.ty].inner;
            if let TypeInner::Pointer { base, .. } = *inner {
                let value = self.inputs(base, &format!("in.{name}"))?;
                state.locals.push(value);
                let place = Place::of(Root::Local(state.locals.len() - 1));
                after.push((format!("out.{name}"), base, place.clone()));
                arguments.push(Value::Pointer(place));
            } else {
                arguments.push(self.inputs(argument.ty, &format!("in.{name}"))?);
            }
        }
        let result = self.call(handle, arguments, &mut state)?;
        let mut outputs = Vec::new();
        if let (Some(value), Some(result)) = (result, &function.result) {
            self.outputs(result.ty, "out", &value, &mut outputs)?;
        }
        for (name, ty, place) in after {
            let value = self.load(&place, &state)?;
            self.outputs(ty, &name, &value, &mut outputs)?;
        }
        Ok(self.pool.formula(&outputs))
    }

    /// Returns the value of a uniform variable, whose members are inputs unless they are known.
    pub(super) fn uniforms(
        &mut self,
        variable: Handle<naga::GlobalVariable>,
    ) -> Result<Value, Unsupported> {
        if let Some(value) = self.globals.get(&variable) {
            return Ok(value.clone());
        }
        let global = &self.module.global_variables[variable];
        let name = global.name.as_deref().unwrap_or_default();
        let value = self.inputs(global.ty, name)?;
        self.globals.insert(variable, value.clone());
        Ok(value)
    }

    /// Returns the names and types of the parts of a type. `None` for a scalar.
    pub(super) fn parts(
        &self,
        ty: Handle<Type>,
    ) -> Result<Option<Vec<(String, PartType)>>, Unsupported> {
        Ok(match &self.module.types[ty].inner {
            TypeInner::Scalar(_) | TypeInner::Atomic(_) => None,
            TypeInner::Vector { size, scalar } => {
                let names = ["x", "y", "z", "w"].iter().take(*size as usize);
                let part = PartType::Scalar(scalar.kind);
                Some(names.map(|name| ((*name).to_owned(), part)).collect())
            }
            TypeInner::Struct { members, .. } => {
                let of = |member: &naga::StructMember| {
                    (
                        member.name.clone().unwrap_or_default(),
                        PartType::Type(member.ty),
                    )
                };
                Some(members.iter().map(of).collect())
            }
            &TypeInner::Array {
                base,
                size: ArraySize::Constant(count),
                ..
            } => {
                let numbers = 0..count.get();
                Some(
                    numbers
                        .map(|n| (n.to_string(), PartType::Type(base)))
                        .collect(),
                )
            }
            other => return Err(format!("the type {other:?}")),
        })
    }

    /// Returns a value whose scalars are inputs, unless they have a known value.
    fn inputs(&mut self, ty: Handle<Type>, name: &str) -> Result<Value, Unsupported> {
        let Some(parts) = self.parts(ty)? else {
            let kind = self.module.types[ty].inner.scalar_kind();
            return Ok(self.input(kind.unwrap_or(ScalarKind::Uint), name));
        };
        let mut values = Vec::new();
        for (part, ty) in parts {
            let name = format!("{name}.{part}");
            values.push(match ty {
                PartType::Type(ty) => self.inputs(ty, &name)?,
                PartType::Scalar(kind) => self.input(kind, &name),
            });
        }
        Ok(Value::Parts(values))
    }

    fn input(&mut self, kind: ScalarKind, name: &str) -> Value {
        let sort = match kind {
            ScalarKind::Bool => Sort::Bool,
            _ => Sort::Word,
        };
        Value::Term(match self.fixed.get(name) {
            Some(&value) => self.pool.word(value),
            None => self.pool.input(name, sort),
        })
    }

    fn outputs(
        &self,
        ty: Handle<Type>,
        name: &str,
        value: &Value,
        out: &mut Vec<(String, Term)>,
    ) -> Result<(), Unsupported> {
        match value {
            Value::Term(term) => out.push((name.to_owned(), *term)),
            Value::Parts(values) => {
                let parts = self.parts(ty)?.unwrap_or_default();
                for ((part, ty), value) in parts.into_iter().zip(values) {
                    let name = format!("{name}.{part}");
                    match (ty, value) {
                        (PartType::Type(ty), value) => self.outputs(ty, &name, value, out)?,
                        (PartType::Scalar(_), Value::Term(term)) => out.push((name, *term)),
                        (PartType::Scalar(_), value) => return Err(format!("{value:?}")),
                    }
                }
            }
            Value::Pointer(_) => return Err("a pointer as a result".to_owned()),
        }
        Ok(())
    }

    pub(super) fn call(
        &mut self,
        handle: Handle<Function>,
        arguments: Vec<Value>,
        state: &mut State,
    ) -> Result<Option<Value>, Unsupported> {
        let function = &self.module.functions[handle];
        let mut frame = Frame {
            function,
            info: &self.info[handle],
            arguments,
            values: HashMap::new(),
            locals: HashMap::new(),
        };
        let no = self.pool.truth(false);
        let before = (
            state.result.take(),
            state.returned,
            state.broken,
            state.continued,
        );
        (state.returned, state.broken, state.continued) = (no, no, no);
        for (handle, variable) in function.local_variables.iter() {
            let value = match variable.init {
                Some(init) => self.value(&mut frame, init, state)?,
                None => self.zeros(variable.ty)?,
            };
            frame.locals.insert(handle, state.locals.len());
            state.locals.push(value);
        }
        let named = |why| format!("{}: {why}", function.name.as_deref().unwrap_or_default());
        self.block(&mut frame, &function.body, state)
            .map_err(named)?;
        let result = state.result.take();
        (state.result, state.returned, state.broken, state.continued) = before;
        Ok(result)
    }

    pub(super) fn zeros(&mut self, ty: Handle<Type>) -> Result<Value, Unsupported> {
        let Some(parts) = self.parts(ty)? else {
            let kind = self.module.types[ty].inner.scalar_kind();
            return Ok(self.zero(kind.unwrap_or(ScalarKind::Uint)));
        };
        let zeros = parts.into_iter().map(|(_, part)| match part {
            PartType::Type(ty) => self.zeros(ty),
            PartType::Scalar(kind) => Ok(self.zero(kind)),
        });
        zeros.collect::<Result<_, _>>().map(Value::Parts)
    }

    fn zero(&mut self, kind: ScalarKind) -> Value {
        Value::Term(match kind {
            ScalarKind::Bool => self.pool.truth(false),
            _ => self.pool.word(0),
        })
    }
}
