//! Lists the programs that a device compiles, so that `bash tests/run variants` sees which of them the tests reach.

use super::program::{Program, UniformSpace};
use std::{env, fs::OpenOptions, io::Write};

/// Appends a line to the file in `WGSLICE_PROGRAMS`, if it is set. All processes that run tests may share the file.
pub(super) fn record(program: &Program, space: UniformSpace) {
    let Some(file) = env::var_os("WGSLICE_PROGRAMS") else {
        return;
    };
    let constants = program.constants.iter();
    let constants: String = constants
        .map(|(constant, value)| format!(" {}={value}", constant.name()))
        .collect();
    let Program {
        kernel, prelude, ..
    } = program;
    let line = format!("{} {prelude:?} {space:?}{constants}\n", kernel.name());
    let file = OpenOptions::new().create(true).append(true).open(file);
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.expect("the file in WGSLICE_PROGRAMS can be written");
}
