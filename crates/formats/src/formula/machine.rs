//! Runs a function of a shader on symbolic terms instead of numbers, to convert its code to a formula.
//!
//! Both sides of a branch run. Afterwards the condition selects between the values that differ. Loops are unrolled. A
//! function has no formula if unknown values decide whether a loop runs another iteration, or if the function uses
//! something unsupported.

use super::terms::{Sort, Term, TermPool};
use naga::{
    ArraySize, Expression, Function, Handle, Module, ScalarKind, Type, TypeInner,
    valid::{FunctionInfo, ModuleInfo},
};
use std::collections::HashMap;

/// The reason why a function has no formula.
pub(super) type UnsupportedReason = String;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Term(Term),
    /// The components of a vector, the members of a struct or the elements of an array.
    Parts(Vec<Self>),
    Pointer(Place),
}

/// A variable, and the path to a part of it: the index of a component, a member or an element at each level.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) root: VariableRoot,
    pub(super) path: Vec<Term>,
}

impl Place {
    pub(super) fn whole_variable(root: VariableRoot) -> Self {
        Self {
            root,
            path: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum VariableRoot {
    Local(usize),
    Uniform(Handle<naga::GlobalVariable>),
    /// A buffer with unknown content: its name and its type.
    Buffer(String, Handle<Type>),
}

/// The state that can differ between the two sides of a branch.
#[derive(Clone, Debug)]
pub(super) struct BranchState {
    pub(super) locals: Vec<Value>,
    /// The function's result. `None` if no statement has returned a value so far.
    pub(super) result: Option<Value>,
    /// True if the function has returned.
    pub(super) returned: Term,
    /// True if the function has left the current loop.
    pub(super) broken: Term,
    /// True if a `continue` has ended the current iteration of the loop.
    pub(super) continued: Term,
}

pub(crate) struct FormulaMachine<'a> {
    pub(super) pool: TermPool,
    pub(super) module: &'a Module,
    info: &'a ModuleInfo,
    /// The known values of arguments and uniforms, by their names in the formula.
    known_values: HashMap<String, u32>,
    /// The values of the uniform variables that have been read.
    uniform_values: HashMap<Handle<naga::GlobalVariable>, Value>,
}

/// A function that is being run.
pub(super) struct CallFrame<'a> {
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

impl<'a> FormulaMachine<'a> {
    pub(crate) fn new(module: &'a Module, info: &'a ModuleInfo, fixed: &[(&str, u32)]) -> Self {
        let known_values = fixed.iter().map(|&(name, value)| (name.to_owned(), value));
        Self {
            pool: TermPool::default(),
            module,
            info,
            known_values: known_values.collect(),
            uniform_values: HashMap::new(),
        }
    }

    /// Returns the formula of a function. The function's arguments are the inputs of the formula. The outputs are the
    /// function's result and the final values of the variables that pointer arguments point at.
    pub(crate) fn formula(&mut self, name: &str) -> Result<String, UnsupportedReason> {
        let (handle, function) = self
            .module
            .functions
            .iter()
            .find(|(_, function)| function.name.as_deref() == Some(name))
            .ok_or_else(|| format!("no function {name}"))?;
        let false_term = self.pool.truth_term(false);
        let mut state = BranchState {
            locals: Vec::new(),
            result: None,
            returned: false_term,
            broken: false_term,
            continued: false_term,
        };
        let mut arguments = Vec::new();
        let mut final_values = Vec::new();
        for argument in &function.arguments {
            let name = argument.name.clone().unwrap_or_default();
            let inner_type = &self.module.types[argument.ty].inner;
            if let TypeInner::Pointer { base, .. } = *inner_type {
                let value = self.input_value(base, &format!("in.{name}"))?;
                state.locals.push(value);
                let place = Place::whole_variable(VariableRoot::Local(state.locals.len() - 1));
                final_values.push((format!("out.{name}"), base, place.clone()));
                arguments.push(Value::Pointer(place));
            } else {
                arguments.push(self.input_value(argument.ty, &format!("in.{name}"))?);
            }
        }
        let result = self.call_function(handle, arguments, &mut state)?;
        let mut outputs = Vec::new();
        if let (Some(value), Some(result)) = (result, &function.result) {
            self.list_outputs(result.ty, "out", &value, &mut outputs)?;
        }
        for (name, ty, place) in final_values {
            let value = self.load(&place, &state)?;
            self.list_outputs(ty, &name, &value, &mut outputs)?;
        }
        Ok(self.pool.formula(&outputs))
    }

    /// Returns the value of a uniform variable. Its members are inputs of the formula unless they have a known value.
    pub(super) fn uniform_value(
        &mut self,
        variable: Handle<naga::GlobalVariable>,
    ) -> Result<Value, UnsupportedReason> {
        if let Some(value) = self.uniform_values.get(&variable) {
            return Ok(value.clone());
        }
        let global = &self.module.global_variables[variable];
        let name = global.name.as_deref().unwrap_or_default();
        let value = self.input_value(global.ty, name)?;
        self.uniform_values.insert(variable, value.clone());
        Ok(value)
    }

    /// Returns the names and types of the parts of a type, or `None` for a scalar.
    pub(super) fn parts_of_type(
        &self,
        ty: Handle<Type>,
    ) -> Result<Option<Vec<(String, PartType)>>, UnsupportedReason> {
        Ok(match &self.module.types[ty].inner {
            TypeInner::Scalar(_) | TypeInner::Atomic(_) => None,
            TypeInner::Vector { size, scalar } => {
                let names = ["x", "y", "z", "w"].iter().take(*size as usize);
                let part = PartType::Scalar(scalar.kind);
                Some(names.map(|name| ((*name).to_owned(), part)).collect())
            }
            TypeInner::Struct { members, .. } => {
                let name_and_type = |member: &naga::StructMember| {
                    (
                        member.name.clone().unwrap_or_default(),
                        PartType::Type(member.ty),
                    )
                };
                Some(members.iter().map(name_and_type).collect())
            }
            &TypeInner::Array {
                base,
                size: ArraySize::Constant(count),
                ..
            } => {
                let indices = 0..count.get();
                Some(
                    indices
                        .map(|index| (index.to_string(), PartType::Type(base)))
                        .collect(),
                )
            }
            other => return Err(format!("the type {other:?}")),
        })
    }

    /// Returns a value of a type. Its scalars are inputs of the formula unless they have a known value.
    fn input_value(&mut self, ty: Handle<Type>, name: &str) -> Result<Value, UnsupportedReason> {
        let Some(parts) = self.parts_of_type(ty)? else {
            let kind = self.module.types[ty].inner.scalar_kind();
            return Ok(self.input_term(kind.unwrap_or(ScalarKind::Uint), name));
        };
        let mut values = Vec::new();
        for (part, ty) in parts {
            let name = format!("{name}.{part}");
            values.push(match ty {
                PartType::Type(ty) => self.input_value(ty, &name)?,
                PartType::Scalar(kind) => self.input_term(kind, &name),
            });
        }
        Ok(Value::Parts(values))
    }

    fn input_term(&mut self, kind: ScalarKind, name: &str) -> Value {
        let sort = match kind {
            ScalarKind::Bool => Sort::Bool,
            _ => Sort::Word,
        };
        Value::Term(match self.known_values.get(name) {
            Some(&value) => self.pool.word_term(value),
            None => self.pool.input(name, sort),
        })
    }

    fn list_outputs(
        &self,
        ty: Handle<Type>,
        name: &str,
        value: &Value,
        out: &mut Vec<(String, Term)>,
    ) -> Result<(), UnsupportedReason> {
        match value {
            Value::Term(term) => out.push((name.to_owned(), *term)),
            Value::Parts(values) => {
                let parts = self.parts_of_type(ty)?.unwrap_or_default();
                for ((part, ty), value) in parts.into_iter().zip(values) {
                    let name = format!("{name}.{part}");
                    match (ty, value) {
                        (PartType::Type(ty), value) => self.list_outputs(ty, &name, value, out)?,
                        (PartType::Scalar(_), Value::Term(term)) => out.push((name, *term)),
                        (PartType::Scalar(_), value) => return Err(format!("{value:?}")),
                    }
                }
            }
            Value::Pointer(_) => return Err("a pointer as a result".to_owned()),
        }
        Ok(())
    }

    pub(super) fn call_function(
        &mut self,
        handle: Handle<Function>,
        arguments: Vec<Value>,
        state: &mut BranchState,
    ) -> Result<Option<Value>, UnsupportedReason> {
        let function = &self.module.functions[handle];
        let mut frame = CallFrame {
            function,
            info: &self.info[handle],
            arguments,
            values: HashMap::new(),
            locals: HashMap::new(),
        };
        let false_term = self.pool.truth_term(false);
        let outer_state = (
            state.result.take(),
            state.returned,
            state.broken,
            state.continued,
        );
        (state.returned, state.broken, state.continued) = (false_term, false_term, false_term);
        for (handle, variable) in function.local_variables.iter() {
            let value = match variable.init {
                Some(init) => self.evaluate_once(&mut frame, init, state)?,
                None => self.zero_value(variable.ty)?,
            };
            frame.locals.insert(handle, state.locals.len());
            state.locals.push(value);
        }
        let with_function_name =
            |why| format!("{}: {why}", function.name.as_deref().unwrap_or_default());
        self.run_block(&mut frame, &function.body, state)
            .map_err(with_function_name)?;
        let result = state.result.take();
        (state.result, state.returned, state.broken, state.continued) = outer_state;
        Ok(result)
    }

    pub(super) fn zero_value(&mut self, ty: Handle<Type>) -> Result<Value, UnsupportedReason> {
        let Some(parts) = self.parts_of_type(ty)? else {
            let kind = self.module.types[ty].inner.scalar_kind();
            return Ok(self.zero_term(kind.unwrap_or(ScalarKind::Uint)));
        };
        let zeros = parts.into_iter().map(|(_, part)| match part {
            PartType::Type(ty) => self.zero_value(ty),
            PartType::Scalar(kind) => Ok(self.zero_term(kind)),
        });
        zeros.collect::<Result<_, _>>().map(Value::Parts)
    }

    fn zero_term(&mut self, kind: ScalarKind) -> Value {
        Value::Term(match kind {
            ScalarKind::Bool => self.pool.truth_term(false),
            _ => self.pool.word_term(0),
        })
    }
}
