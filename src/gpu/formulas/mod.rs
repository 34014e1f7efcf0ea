//! Makes formulas of the functions of the shaders, from the shaders' text. `tests/proofs.py` proves that each function
//! computes what it must, for all inputs.
//!
//! A formula is written in SMT-LIB. It names the arguments `in.NAME`, the uniforms `uniforms.NAME` and the result
//! `out`. The final value of a variable that the pointer argument `NAME` points at is `out.NAME`. The names of
//! members, components and elements follow these names. Buffers, operations on floats, quotients by unknown numbers
//! and products of two unknown numbers are functions about which nothing is known.
//!
//! | file | content |
//! |---|---|
//! | `machine`, `statement` | run functions on terms: their variables, their statements |
//! | `expression`, `arithmetic` | the terms of expressions, and of the results of operators |
//! | `terms` | terms, and how they are written as SMT-LIB |
//! | `list` | the functions with a formula |

mod arithmetic;
mod expression;
mod list;
mod machine;
mod statement;
mod terms;

use super::program::UniformSpace;
use list::{Asked, asked};
use machine::Machine;
use naga::{
    back::pipeline_constants::process_overrides,
    valid::{Capabilities, ValidationFlags, Validator},
};
use std::{env, fs, path::Path};

/// The formula of a function, or why it has none.
fn formula(asked: &Asked) -> Result<String, String> {
    let program = asked.program()?;
    let text = program.text(UniformSpace::Uniform);
    let module = naga::front::wgsl::parse_str(&text).map_err(|error| error.to_string())?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .map_err(|error| error.to_string())?;
    let constants = program.constants().into_iter();
    let constants = constants
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let (module, info) =
        process_overrides(&module, &info, None, &constants).map_err(|error| error.to_string())?;
    Machine::new(&module, &info, asked.fixed).formula(asked.function)
}

/// Every function of the list has a formula. With `WGSLICE_FORMULAS=FOLDER` the formulas are written to that folder.
#[test]
fn formulas_of_the_shaders() {
    let folder = env::var("WGSLICE_FORMULAS").ok();
    let mut missing = Vec::new();
    for asked in asked() {
        match formula(&asked) {
            Ok(text) => {
                if let Some(folder) = &folder {
                    let path = Path::new(folder).join(format!("{}.smt2", asked.name));
                    fs::write(path, text).unwrap();
                }
            }
            Err(why) => missing.push(format!("{}: {why}", asked.name)),
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// If a function has no formula, the error names the function.
#[test]
fn a_function_without_a_formula_is_named() {
    let of = |function| {
        let asked = asked()
            .into_iter()
            .find(|asked| asked.name == "coordinate")
            .unwrap();
        formula(&Asked { function, ..asked })
    };
    let why = of("missing").unwrap_err();
    assert!(
        why.starts_with("missing: walk: a loop whose end is not known"),
        "{why}"
    );
    assert!(
        of("nothing")
            .unwrap_err()
            .starts_with("no program with nothing")
    );
}
