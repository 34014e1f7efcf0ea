//! Checks that the interpreter can run a shader: it runs compute shaders on buffers, with 32-bit numbers, 64-bit
//! integers, and no subgroups, textures, matrices or ray tracing.

use super::arithmetic::math_function;
use naga::{
    BuiltIn, EntryPoint, Expression, Function, MathFunction, Module, RelationalFunction, Scalar,
    ScalarKind, Statement, TypeInner,
    valid::{FunctionInfo, ModuleInfo},
};

/// Checks that the interpreter can run an entry point of a module. The error names the missing feature.
pub(crate) fn check_supported(
    module: &Module,
    info: &ModuleInfo,
    entry_index: usize,
) -> Result<(), String> {
    for (_, ty) in module.types.iter() {
        let is_supported = match ty.inner {
            TypeInner::Scalar(scalar)
            | TypeInner::Atomic(scalar)
            | TypeInner::Vector { scalar, .. } => is_supported_scalar(scalar),
            TypeInner::Pointer { .. }
            | TypeInner::ValuePointer { .. }
            | TypeInner::Array { .. }
            | TypeInner::Struct { .. } => true,
            _ => false,
        };
        if !is_supported {
            return Err(format!("the type {:?}", ty.inner));
        }
    }
    for (handle, function) in module.functions.iter() {
        check_function(module, function, &info[handle])?;
    }
    let entry_point: &EntryPoint = &module.entry_points[entry_index];
    check_function(
        module,
        &entry_point.function,
        info.get_entry_point(entry_index),
    )?;
    let member_bindings = |ty| match &module.types[ty].inner {
        TypeInner::Struct { members, .. } => members
            .iter()
            .map(|member| member.binding.clone())
            .collect(),
        _ => Vec::new(),
    };
    let arguments = entry_point.function.arguments.iter();
    let bindings = arguments.flat_map(|argument| {
        [vec![argument.binding.clone()], member_bindings(argument.ty)].concat()
    });
    for binding in bindings.flatten() {
        match binding {
            naga::Binding::BuiltIn(
                BuiltIn::WorkGroupId
                | BuiltIn::NumWorkGroups
                | BuiltIn::LocalInvocationId
                | BuiltIn::GlobalInvocationId
                | BuiltIn::LocalInvocationIndex,
            ) => {}
            other => return Err(format!("the input {other:?}")),
        }
    }
    Ok(())
}

fn is_supported_scalar(scalar: Scalar) -> bool {
    match scalar.kind {
        ScalarKind::Sint | ScalarKind::Uint => matches!(scalar.width, 4 | 8),
        ScalarKind::Float => scalar.width == 4,
        ScalarKind::Bool => true,
        _ => false,
    }
}

fn check_function(module: &Module, function: &Function, info: &FunctionInfo) -> Result<(), String> {
    for (handle, expression) in function.expressions.iter() {
        let is_supported = match expression {
            Expression::Literal(_)
            | Expression::Constant(_)
            | Expression::ZeroValue(_)
            | Expression::Compose { .. }
            | Expression::Access { .. }
            | Expression::AccessIndex { .. }
            | Expression::Splat { .. }
            | Expression::Swizzle { .. }
            | Expression::FunctionArgument(_)
            | Expression::GlobalVariable(_)
            | Expression::LocalVariable(_)
            | Expression::Load { .. }
            | Expression::Unary { .. }
            | Expression::Binary { .. }
            | Expression::Select { .. }
            | Expression::As { .. }
            | Expression::CallResult(_)
            | Expression::AtomicResult { .. }
            | Expression::WorkGroupUniformLoadResult { .. }
            | Expression::ArrayLength(_) => true,
            Expression::Relational { fun, .. } => {
                matches!(fun, RelationalFunction::All | RelationalFunction::Any)
            }
            Expression::Math {
                fun: MathFunction::Dot,
                ..
            } => true,
            Expression::Math { fun, arg, .. } => {
                let scalar = info[*arg].ty.inner_with(&module.types).scalar();
                scalar.is_some_and(|scalar| math_function(*fun, scalar).is_some())
            }
            _ => false,
        };
        let inner_type = info[handle].ty.inner_with(&module.types);
        if !is_supported
            || inner_type
                .scalar()
                .is_some_and(|scalar| !is_supported_scalar(scalar))
        {
            return Err(format!("the expression {expression:?}"));
        }
    }
    check_block(&function.body)
}

fn check_block(block: &naga::Block) -> Result<(), String> {
    for statement in block {
        match statement {
            Statement::Emit(_)
            | Statement::Break
            | Statement::Continue
            | Statement::Return { .. }
            | Statement::ControlBarrier(_)
            | Statement::MemoryBarrier(_)
            | Statement::Store { .. }
            | Statement::Atomic { .. }
            | Statement::WorkGroupUniformLoad { .. }
            | Statement::Call { .. } => {}
            Statement::Block(block) => check_block(block)?,
            Statement::If { accept, reject, .. } => {
                check_block(accept)?;
                check_block(reject)?;
            }
            Statement::Switch { cases, .. } => {
                cases.iter().try_for_each(|case| check_block(&case.body))?;
            }
            Statement::Loop {
                body, continuing, ..
            } => {
                check_block(body)?;
                check_block(continuing)?;
            }
            other => return Err(format!("the statement {other:?}")),
        }
    }
    Ok(())
}
