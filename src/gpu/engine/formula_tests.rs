//! The Python script `tests/python/proofs.py` proves lemmas about shader functions. This test checks that each of these
//! functions can be written as a formula, and can save the formulas in files. `crates/formats/` translates the text of
//! a function to a formula, and documents the names of arguments, uniforms and results.

use super::program::{Kernel, Prelude, Program, UniformSpace};
use shader_formats::Shader;
use std::{env, fs, path::Path};

/// Each line has a kernel, a function, and values: of constants, in upper case, and of inputs of the formula, in lower
/// case. The line is also the name of the formula's file.
const FORMULAS: &str = "\
copy plus
copy begin_of in.c=0
copy lies_inside
copy_words fetch ELEMENT=1
copy_words fetch ELEMENT=2
copy_words fetch ELEMENT=2 STRADDLES=1
copy_words fetch ELEMENT=3
copy_words packed ELEMENT=1
copy_words packed ELEMENT=2
copy_words packed ELEMENT=3
link hash
combine_parts f16_of_f32 RULE=3
combine_parts f32_of_f16 RULE=3
combine_parts rounded RULE=3
combine_parts add_bf16 RULE=4
convert bf16_of_f32
convert integer_of_f32
combine_parts combined_parts ELEMENT=1
combine_parts combined_parts ELEMENT=2
combine combined COMBINE=0 NUMBERS=3
combine combined COMBINE=1 NUMBERS=3
combine combined COMBINE=3 NUMBERS=1
combine combined COMBINE=4 NUMBERS=2";

/// Returns the formula of a line, or the reason why it has none.
fn formula_of_line(line: &str) -> Result<String, String> {
    let (names, values): (Vec<_>, Vec<_>) = line.split(' ').partition(|word| !word.contains('='));
    let [kernel, function] = names[..] else {
        panic!("{line}");
    };
    let kernel = Kernel::ALL.iter().find(|known| known.name() == kernel);
    let &kernel = kernel.ok_or("there is no such kernel")?;
    let values = values.into_iter().filter_map(|word| word.split_once('='));
    let values = values.map(|(name, value)| (name, value.parse::<u32>().unwrap()));
    let (known_inputs, constants): (Vec<_>, Vec<_>) =
        values.partition(|(name, _)| name.contains('.'));
    let constants: Vec<(&str, f64)> = constants
        .into_iter()
        .map(|(name, value)| (name, value.into()))
        .collect();
    let text = Program::new(kernel, Prelude::all_of(kernel)[0], 64).text(UniformSpace::Uniform);
    Shader::parse(&text)?.formula(function, &constants, &known_inputs)
}

/// With `WGSLICE_FORMULAS=FOLDER` the formulas are written to that folder.
#[test]
fn formulas_of_the_shaders() {
    let folder = env::var("WGSLICE_FORMULAS").ok();
    for line in FORMULAS.lines() {
        let text = formula_of_line(line).unwrap_or_else(|why| panic!("{line}: {why}"));
        if let Some(folder) = &folder {
            fs::write(Path::new(folder).join(format!("{line}.smt2")), text).unwrap();
        }
    }
}
