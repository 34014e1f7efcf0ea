//! Derives formulas from the functions of a shader.
//!
//! | file | content |
//! |---|---|
//! | `machine`, `statement` | running functions on terms: variables and statements |
//! | `expression`, `arithmetic` | the terms of expressions, and of the results of operators |
//! | `terms` | terms, and how they are written as SMT-LIB |

mod arithmetic;
mod expression;
mod machine;
mod statement;
mod terms;

pub(crate) use machine::FormulaMachine;
