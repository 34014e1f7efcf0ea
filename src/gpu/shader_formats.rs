//! Tests that every shader can be written in every format that wgpu hands to drivers. No adapter is needed.
//!
//! Each text is written with the first and the last setting of its constants. With `WGSLICE_SHADERS=FOLDER`, each text
//! is written with all settings of [`settings`], and the files are kept in that folder for other compilers: see
//! `bash tests/run-compilers`.

use super::{
    caps::Tuning,
    program::{Kernel, Program, UniformSpace},
    shader_tests::{SPACES, programs},
};
use shader_formats::{Format, Shader};
use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// A program's text, and the programs of the library that differ from it in constants only.
struct Text {
    source: String,
    space: UniformSpace,
    programs: Vec<Program>,
}

fn texts() -> Vec<Text> {
    let of = |program: Program| {
        SPACES.map(|space| {
            let source = program.text(space);
            let programs = settings(&program, &source, space);
            Text {
                source,
                space,
                programs,
            }
        })
    };
    programs().into_iter().flat_map(of).collect()
}

/// Each combination of a tuning and of values of the constants that the text declares, unless the library never has it.
fn settings(program: &Program, source: &str, space: UniformSpace) -> Vec<Program> {
    let limits = wgpu::Limits::default();
    let tunings = [false, true].map(|is_software| Tuning::of(is_software, &limits));
    // Only software adapters read the walk from storage.
    let tunings = tunings
        .iter()
        .filter(|tuning| tuning.loops || space == UniformSpace::Uniform);
    let mut all: Vec<Program> = tunings
        .map(|tuning| {
            let program = Program::new(program.kernel, program.prelude, tuning.workgroup);
            match source.contains("override LOOPS:") {
                true => program.with(&[("LOOPS", tuning.loops.into())]),
                false => program,
            }
        })
        .collect();
    for &(name, values) in VALUES {
        if source.contains(&format!("override {name}:")) && is_set(program.kernel, name) {
            all = all
                .iter()
                .flat_map(|program| values.iter().map(|&value| program.with(&[(name, value)])))
                .collect();
        }
    }
    all.retain(|program| !is_unused(program));
    all
}

/// Values of constants other than `WORKGROUP` and `LOOPS`: all that the library uses or, where these are many, some of
/// them, among them the least and the greatest.
const VALUES: &[(&str, &[usize])] = &[
    ("DIMS", &[0, 2, 8]),
    ("COORDINATES", &[0, 1, 8]),
    ("CROPS", &[0, 1]),
    ("SCATTERS", &[0, 1]),
    ("ROWS", &[1, 4]),
    ("ELEMENT", &[1, 2, 3]),
    ("SHORT", &[0, 1]),
    ("STRADDLES", &[0, 1]),
    ("RUN_TO", &[0, 1, 4]),
    ("CHOOSES", &[0, 1]),
    ("ORDERED", &[0, 1]),
    ("BY_ROWS", &[0, 1]),
    ("FRESH", &[0, 1]),
    ("COMBINE", &[0, 1, 2, 3, 4]),
    ("NUMBERS", &[0, 1, 2, 3]),
    ("RULE", &[0, 1, 2, 3, 4]),
];

/// Whether the library gives programs of a kernel the constant. Kernels that look up no rows import those of the walk.
fn is_set(kernel: Kernel, name: &str) -> bool {
    let of_walk = ["DIMS", "COORDINATES", "CROPS", "SCATTERS"].contains(&name);
    !of_walk
        || !matches!(
            kernel,
            Kernel::Order | Kernel::Combine | Kernel::CombineParts
        )
}

/// Whether the library never has this combination of constants.
fn is_unused(program: &Program) -> bool {
    let is = |name, value| program.constant(name) == Some(value);
    let without_tuples = is("COORDINATES", 0) && (is("CROPS", 1) || is("SCATTERS", 1));
    without_tuples
        || match program.kernel {
            Kernel::CopyWords => {
                is("SHORT", 1) && is("ROWS", 4)
                    || is("ELEMENT", 1) && is("STRADDLES", 1)
                    || is("ELEMENT", 3) && is("STRADDLES", 0)
            }
            // Rows of a scatter have tuples, which point at slices. Atomics do not multiply.
            Kernel::Last | Kernel::Link | Kernel::Atomic => {
                is("COORDINATES", 0) || is("CROPS", 1) || is("SCATTERS", 1) || is("COMBINE", 2)
            }
            Kernel::CombineParts => is("ELEMENT", 3),
            _ => false,
        }
}

/// The line of `texts.jsonl` that describes a text to compilers of WGSL.
fn line(number: usize, text: &Text) -> serde_json::Value {
    let constants = |program: &Program| -> serde_json::Map<_, _> {
        let each = program.constants();
        each.map(|(name, value)| (name.to_owned(), value.into()))
            .collect()
    };
    serde_json::json!({
        "text": number,
        "name": text.programs[0].to_string(),
        "space": format!("{:?}", text.space),
        "constants": text.programs.iter().map(constants).collect::<Vec<_>>(),
        "source": text.source,
    })
}

/// Writes one text in all formats, and returns what could not be written.
fn write(number: usize, text: &Text, folder: Option<&Path>) -> Vec<String> {
    let shader = Shader::parse(&text.source);
    let shader = shader.unwrap_or_else(|error| panic!("{}: {error}", text.programs[0]));
    let mut refused = Vec::new();
    for (setting, program) in text.programs.iter().enumerate() {
        if folder.is_none() && setting > 0 && setting + 1 < text.programs.len() {
            continue;
        }
        let constants: Vec<_> = program
            .constants()
            .map(|(name, value)| (name, value.into()))
            .collect();
        for format in Format::ALL {
            match (shader.write(format, &constants), folder) {
                (Ok(bytes), Some(folder)) => {
                    let file = format!("{number:02}-{setting:03}.{}", format.extension());
                    fs::write(folder.join(format.name()).join(file), bytes).unwrap();
                }
                (Ok(bytes), None) => assert!(!bytes.is_empty()),
                (Err(error), _) => {
                    let format = format.name();
                    refused.push(format!("{format} {program} {:?}: {error}", text.space));
                }
            }
        }
    }
    refused
}

#[test]
fn every_shader_is_written_in_every_format() {
    let folder = env::var_os("WGSLICE_SHADERS").map(PathBuf::from);
    let texts = texts();
    if let Some(folder) = &folder {
        for format in Format::ALL {
            fs::create_dir_all(folder.join(format.name())).unwrap();
        }
        let lines = texts.iter().enumerate();
        let lines: String = lines
            .map(|(number, text)| format!("{}\n", line(number, text)))
            .collect();
        fs::write(folder.join("texts.jsonl"), lines).unwrap();
    }
    let settings: usize = texts.iter().map(|text| text.programs.len()).sum();
    println!("{} texts, {settings} with their constants", texts.len());
    let each = texts.iter().enumerate();
    let refused: Vec<String> = each
        .flat_map(|(number, text)| write(number, text, folder.as_deref()))
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
