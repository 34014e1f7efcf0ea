//! Tests that every shader can be written in every format that wgpu hands to drivers. No adapter is needed.
//!
//! Each text is written with the first and the last setting of its constants. With `WGSLICE_SHADERS=FOLDER`, each text
//! is written with all settings that the library uses, and the files are kept in that folder for other compilers: see
//! `bash tests/run-compilers`.

use super::{
    caps::Kind,
    program::{Program, UniformSpace},
    shader_texts::{programs, spaces},
};
use shader_formats::{Format, Shader};
use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
};

/// A text, and every program of the library that has this text.
struct Text {
    source: String,
    space: UniformSpace,
    programs: Vec<Program>,
}

/// All texts, with the size of workgroups that a device of each kind gets if its limits are WebGPU's.
fn texts() -> Vec<Text> {
    let mut texts: BTreeMap<String, Text> = BTreeMap::new();
    for kind in [Kind::Hardware, Kind::Software] {
        let workgroup = kind.workgroup(&wgpu::Limits::default());
        for program in programs(kind) {
            let program = Program {
                workgroup,
                ..program
            };
            for &space in spaces(kind) {
                let source = program.text(space);
                let text = texts.entry(source.clone()).or_insert_with(|| Text {
                    source,
                    space,
                    programs: Vec::new(),
                });
                text.programs.push(program);
            }
        }
    }
    texts.into_values().collect()
}

/// The different settings of override constants that programs compile a text with.
fn constants(text: &Text) -> Vec<Vec<(&'static str, f64)>> {
    let each = text.programs.iter().map(Program::constants);
    // Floats have no order, but their bits do.
    let different: BTreeSet<Vec<_>> = each
        .map(|constants| {
            let bits = constants.into_iter();
            bits.map(|(name, value)| (name, value.to_bits())).collect()
        })
        .collect();
    let float = |(name, bits)| (name, f64::from_bits(bits));
    let each = different.into_iter();
    each.map(|constants| constants.into_iter().map(float).collect())
        .collect()
}

/// The line of `texts.jsonl` that describes a text to compilers of WGSL.
fn line(number: usize, text: &Text) -> serde_json::Value {
    let constants = constants(text);
    let constants: Vec<serde_json::Map<_, _>> = constants
        .into_iter()
        .map(|all| {
            all.into_iter()
                .map(|(name, value)| (name.to_owned(), value.into()))
                .collect()
        })
        .collect();
    serde_json::json!({
        "text": number,
        "name": text.programs[0].to_string(),
        "space": format!("{:?}", text.space),
        "constants": constants,
        "source": text.source,
    })
}

/// Writes one text in all formats, and returns what could not be written.
fn write(number: usize, text: &Text, folder: Option<&Path>) -> Vec<String> {
    let name = &text.programs[0];
    let shader = Shader::parse(&text.source).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut refused = Vec::new();
    let all = constants(text);
    for (setting, constants) in all.iter().enumerate() {
        if folder.is_none() && setting > 0 && setting + 1 < all.len() {
            continue;
        }
        for format in Format::ALL {
            match (shader.write(format, constants), folder) {
                (Ok(bytes), Some(folder)) => {
                    let file = format!("{number:04}-{setting:02}.{}", format.extension());
                    fs::write(folder.join(format.name()).join(file), bytes).unwrap();
                }
                (Ok(bytes), None) => assert!(!bytes.is_empty()),
                (Err(error), _) => {
                    refused.push(format!(
                        "{} {name} {:?} {constants:?}: {error}",
                        format.name(),
                        text.space
                    ));
                }
            }
        }
    }
    refused
}

#[test]
fn every_program_is_written_in_every_format() {
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
    let settings: usize = texts.iter().map(|text| constants(text).len()).sum();
    println!("{} texts, {settings} with their constants", texts.len());
    let each = texts.iter().enumerate();
    let refused: Vec<String> = each
        .flat_map(|(number, text)| write(number, text, folder.as_deref()))
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
