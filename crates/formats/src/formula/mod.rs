//! Makes formulas of the functions of a shader, from the shader's text.
//!
//! | file | content |
//! |---|---|
//! | `machine`, `statement` | run functions on terms: their variables, their statements |
//! | `expression`, `arithmetic` | the terms of expressions, and of the results of operators |
//! | `terms` | terms, and how they are written as SMT-LIB |

mod arithmetic;
mod expression;
mod machine;
mod statement;
mod terms;

pub(crate) use machine::Machine;
