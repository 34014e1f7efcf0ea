//! Tests that every shader can be written in every format that wgpu hands to drivers. No adapter is needed.
//!
//! Each text is written with the first and the last setting of its constants. With `WGSLICE_SHADERS=FOLDER`, each text
//! is written with all of its [`settings`], and the files are kept in that folder for other compilers: see
//! `bash tests/run compilers`.

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

/// Values of override constants, by name.
pub(super) type Setting = Vec<(String, u32)>;

pub(super) struct Text {
    /// The kernel and the prelude. Its constants are not used.
    pub(super) program: Program,
    pub(super) space: UniformSpace,
    pub(super) source: String,
    pub(super) settings: Vec<Setting>,
}

pub(super) fn texts() -> Vec<Text> {
    let of = |program: Program| {
        SPACES.map(|space| {
            let source = program.text(space);
            Text {
                program: program.clone(),
                space,
                settings: settings(program.kernel, &source, space),
                source,
            }
        })
    };
    programs().into_iter().flat_map(of).collect()
}

/// For each tuning all combinations of [`values`] of the constants that the text declares, but not those that the
/// library never has.
fn settings(kernel: Kernel, source: &str, space: UniformSpace) -> Vec<Setting> {
    let mut all = Vec::new();
    for is_software in [false, true] {
        // Only software adapters read the walk from storage.
        if space == UniformSpace::Storage && !is_software {
            continue;
        }
        let tuning = Tuning::of(is_software, &wgpu::Limits::default());
        let mut settings = vec![Setting::new()];
        let overrides = source
            .lines()
            .filter_map(|line| line.strip_prefix("override "));
        for (name, _) in overrides.filter_map(|line| line.split_once(':')) {
            if let Some(values) = values(kernel, name, &tuning) {
                let with = |setting: &Setting| {
                    let with = |&value: &u32| [&setting[..], &[(name.to_owned(), value)]].concat();
                    values.iter().map(with).collect::<Vec<_>>()
                };
                settings = settings.iter().flat_map(with).collect();
            }
        }
        all.extend(settings);
    }
    all.retain(|setting| !is_unused(kernel, setting));
    all
}

/// The values that the library gives a constant or, of many, some, among them the least and the greatest. `None` if it
/// gives none.
fn values(kernel: Kernel, name: &str, tuning: &Tuning) -> Option<Vec<u32>> {
    let finds_rows = !matches!(
        kernel,
        Kernel::Order
            | Kernel::Combine
            | Kernel::CombineParts
            | Kernel::MaskCount
            | Kernel::MaskScan
            | Kernel::MaskRows
    );
    let moves_rows = matches!(
        kernel,
        Kernel::Copy | Kernel::CopyWords | Kernel::CopyUnaligned | Kernel::UpdateWords
    );
    Some(match name {
        "DIMS" if kernel == Kernel::MaskRows => vec![1, 8],
        "MASKED" if !moves_rows => return None,
        "CHUNK" | "MOST" => return None,
        "DIMS" | "COORDINATES" | "CROPS" | "SCATTERS" | "PLAIN" | "FIXED" | "LONG"
            if !finds_rows =>
        {
            return None;
        }
        // Conversions are of moves that make results: none scatters, and boxes are where tuples say.
        "SCATTERS" | "FIXED" if kernel == Kernel::Convert => vec![0],
        "DIMS" if kernel == Kernel::Convert => vec![8],
        "LOOPS" => vec![tuning.loops.into()],
        "DIMS" => vec![0, 8],
        "COORDINATES" => vec![0, 1, 9],
        "ROWS" => vec![1, 4],
        "ELEMENT" => vec![1, 2, 3],
        "RUN_TO" => vec![0, 1, 2, 4],
        "ABREAST" if tuning.loops => vec![1, 8],
        "ABREAST" => vec![1],
        "COMBINE" | "RULE" | "NUMBERS" | "BYTES" => vec![0, 1, 2, 3, 4],
        "CROPS" | "SCATTERS" | "PLAIN" | "FIXED" | "LONG" | "FORWARD" | "SHORT" | "STRADDLES"
        | "MASKED" | "CONTINUES" | "FILLS" | "TABLES" | "STEADY" | "CHOOSES" | "ORDERED"
        | "LASTS" | "BY_ROWS" | "FRESH" | "UNIQUE" => vec![0, 1],
        "FROM" => vec![0, 2, 3, 4, 5, 6],
        "TO" => (0..7).collect(),
        "FROM_BYTES" | "TO_BYTES" => vec![1, 2, 4],
        "EDGES" => vec![0, 1, 2],
        _ => panic!("no values of {name}"),
    })
}

/// Returns whether the library never has this combination of values.
fn is_unused(kernel: Kernel, setting: &Setting) -> bool {
    let is = |name: &str, value: u32| {
        setting
            .iter()
            .any(|known| known.0 == name && known.1 == value)
    };
    let without_tuples = is("COORDINATES", 0)
        && ["CROPS", "SCATTERS", "PLAIN", "LONG"]
            .iter()
            .any(|name| is(name, 1));
    let more_than_a_mask = !is("COORDINATES", 1) || is("CROPS", 1) || is("SCATTERS", 1);
    without_tuples
        || is("MASKED", 1) && more_than_a_mask
        || is("CROPS", 1) && is("PLAIN", 1)
        || is("LONG", 1) && ["PLAIN", "FIXED", "MASKED"].iter().any(|name| is(name, 1))
        || is("ROWS", 4) && is("ABREAST", 8)
        || is("CROPS", 0) && is("FIXED", 1)
        || is("ORDERED", 0) && is("LASTS", 1)
        || is("UNIQUE", 1) && (is("BY_ROWS", 0) || is("FRESH", 1))
        || match kernel {
            Kernel::CopyWords => {
                let elements = is("BYTES", 0);
                is("SHORT", 1) && (is("ROWS", 4) || !elements)
                    || is("ELEMENT", 1) && elements && is("STRADDLES", 1)
                    || is("ELEMENT", 3) && (is("STRADDLES", 0) || !elements)
                    || is("ELEMENT", 2) && !elements && !is("BYTES", 1)
                    || is("ROWS", 4) && !elements && !is("BYTES", 4)
                    || is("ROWS", 1) && is("BYTES", 4)
                    || !elements && !is("BYTES", 4) && is("STRADDLES", 0)
                    || is("BYTES", 3) && is("CROPS", 0)
            }
            Kernel::Convert => {
                let fits = |name: &str, bytes: &str| {
                    [(1, 0..2), (2, 2..6), (4, 6..7)]
                        .into_iter()
                        .all(|(size, mut types)| {
                            is(bytes, size) == types.any(|number| is(name, number))
                        })
                };
                // Bytes have tables, whose entries only their size tells apart. Of the others, pairs with f32 stand for all, and
                // how they find their rows for how bytes do.
                let of_tables = is("FROM", 0) && (is("TO", 0) || is("TO", 4) || is("TO", 6));
                let plain =
                    !is("FROM", 0) && (is("FROM", 6) || is("TO", 6)) && is("COORDINATES", 0);
                !fits("FROM", "FROM_BYTES")
                    || !fits("TO", "TO_BYTES")
                    || is("TABLES", 1) && !of_tables
                    || is("TABLES", 0) && !(plain && is("STEADY", 1))
                    || is("TO_BYTES", 4) && !is("EDGES", 0)
                    || is("SCATTERS", 1)
            }
            Kernel::UpdateWords => is("FORWARD", 1) && !(is("ELEMENT", 1) && is("RUN_TO", 1)),
            // Rows of a scatter have tuples, which point at slices. Atomics do not multiply.
            Kernel::Last | Kernel::Link | Kernel::Atomic => {
                is("COORDINATES", 0) || is("CROPS", 1) || is("SCATTERS", 1) || is("COMBINE", 2)
            }
            Kernel::CombineParts => is("ELEMENT", 3),
            // COMBINE describes how whole words are combined, and RULE how elements of less than a word are.
            Kernel::Combine => {
                let parts = is("NUMBERS", 4);
                is("ELEMENT", 3)
                    || parts && !is("COMBINE", 0)
                    || !(parts || is("RULE", 0) && is("ELEMENT", 2))
            }
            _ => false,
        }
}

/// The line of `texts.jsonl` that describes a text to compilers of WGSL.
fn line(number: usize, text: &Text) -> serde_json::Value {
    let constants = |setting: &Setting| -> serde_json::Map<_, _> {
        let each = setting.iter().cloned();
        each.map(|(name, value)| (name, value.into())).collect()
    };
    serde_json::json!({
        "text": number,
        "name": text.program.kernel.name(),
        "space": format!("{:?}", text.space),
        "constants": text.settings.iter().map(constants).collect::<Vec<_>>(),
        "source": text.source,
    })
}

/// Writes one text in all formats, and returns what could not be written.
fn write(number: usize, text: &Text, folder: Option<&Path>) -> Vec<String> {
    let shader = Shader::parse(&text.source);
    let shader = shader.unwrap_or_else(|error| panic!("{}: {error}", text.program));
    let mut refused = Vec::new();
    for (n, setting) in text.settings.iter().enumerate() {
        if folder.is_none() && n > 0 && n + 1 < text.settings.len() {
            continue;
        }
        let constants = setting.iter();
        let constants: Vec<_> = constants
            .map(|(name, value)| (&name[..], f64::from(*value)))
            .collect();
        for format in Format::ALL {
            match (shader.write(format, &constants), folder) {
                (Ok(bytes), Some(folder)) => {
                    let file = format!("{number:02}-{n:03}.{}", format.extension());
                    fs::write(folder.join(format.name()).join(file), bytes).unwrap();
                }
                (Ok(bytes), None) => assert!(!bytes.is_empty()),
                (Err(error), _) => refused.push(format!(
                    "{} {} {:?} {constants:?}: {error}",
                    format.name(),
                    text.program,
                    text.space
                )),
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
    let settings: usize = texts.iter().map(|text| text.settings.len()).sum();
    println!("{} texts, {settings} with their constants", texts.len());
    let each = texts.iter().enumerate();
    let refused: Vec<String> = each
        .flat_map(|(number, text)| write(number, text, folder.as_deref()))
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
