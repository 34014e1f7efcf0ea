//! Tests that naga can write every shader in every format that wgpu passes to drivers. The tests need no adapter.
//!
//! Each shader text is written with two settings: the first and the last combination of values of its constants. With
//! `WGSLICE_SHADERS=FOLDER`, each text is written with all of its [`constant_settings`], and the files are kept in that
//! folder for tests with other compilers: see `bash tests/run compilers`.

use super::{
    caps::Tuning,
    program::{
        Constant::{self, *},
        Kernel, Prelude, Program, UniformSpace,
    },
    shader_tests::{UNIFORM_SPACES, all_programs, override_constants},
};
use shader_formats::{Format, Shader};
use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// Override constants and their values.
type ConstantValues = Vec<(Constant, u32)>;

struct ShaderText {
    /// The program with the kernel and the prelude. Its constants are not used.
    program: Program,
    space: UniformSpace,
    source: String,
    settings: Vec<ConstantValues>,
}

fn shader_texts() -> Vec<ShaderText> {
    let texts_of = |program: Program| {
        UNIFORM_SPACES.map(|space| {
            let source = program.text(space);
            ShaderText {
                program: program.clone(),
                space,
                settings: constant_settings(&program, &source, space),
                source,
            }
        })
    };
    all_programs().into_iter().flat_map(texts_of).collect()
}

/// Returns, for each tuning, all combinations of the [`sample_values`] of the constants that the text declares, except
/// combinations that the library never uses.
fn constant_settings(program: &Program, source: &str, space: UniformSpace) -> Vec<ConstantValues> {
    let mut all_settings = Vec::new();
    for is_software in [false, true] {
        // Only software adapters read uniforms from storage.
        if space == UniformSpace::Storage && !is_software {
            continue;
        }
        let tuning = Tuning::for_device(is_software, &wgpu::Limits::default());
        let mut settings = vec![ConstantValues::new()];
        for constant in override_constants(source).1 {
            if let Some(values) = possible_values(program, constant, &tuning) {
                let sample = sample_values(program.kernel, constant, &values);
                let with_sampled_values = |setting: &ConstantValues| {
                    let with_value = |&value: &u32| [&setting[..], &[(constant, value)]].concat();
                    sample.iter().map(with_value).collect::<Vec<_>>()
                };
                settings = settings.iter().flat_map(with_sampled_values).collect();
            }
        }
        all_settings.extend(settings);
    }
    all_settings.retain(|setting| !is_unused(program.kernel, setting));
    if matches!(program.kernel, Kernel::Combine | Kernel::CombineParts) {
        for setting in all_settings
            .iter_mut()
            .filter(|setting| setting.contains(&(Unique, 0)))
        {
            setting.retain(|(constant, _)| !WALK_CONSTANTS.contains(constant));
        }
    }
    all_settings
}

/// The constants that describe a walk: see `walk_constants` in `launch.rs`. Kernels that combine have these constants
/// only if rows are unique.
const WALK_CONSTANTS: [Constant; 8] = [
    Dims,
    Coordinates,
    Crops,
    Scatters,
    Fixed,
    Plain,
    Long,
    Masked,
];

/// Returns the values that the library gives a constant of a program's text. If there are many values, returns some of
/// them, including the minimum and the maximum. Returns `None` if the library does not set the constant.
pub(super) fn possible_values(
    program: &Program,
    constant: Constant,
    tuning: &Tuning,
) -> Option<Vec<u32>> {
    let kernel = program.kernel;
    let copies = matches!(
        kernel,
        Kernel::Copy | Kernel::CopyWords | Kernel::UpdateWords
    );
    let is_move = copies || kernel == Kernel::Convert;
    let combines = matches!(kernel, Kernel::Combine | Kernel::CombineParts);
    let works_on_rows = combines || matches!(kernel, Kernel::Last | Kernel::Link | Kernel::Atomic);
    let binary = |can_be_set: bool| (0..=u32::from(can_be_set)).collect();
    Some(match constant {
        Dims if kernel == Kernel::MaskRows => vec![0, 1, 2, 3, 4, 30],
        _ if WALK_CONSTANTS.contains(&constant) && !is_move && !works_on_rows => return None,
        // Rows have at least one dimension. Two values suffice for these kernels, because `last` and `link` find rows
        // by the same functions and have all values.
        Dims if combines || kernel == Kernel::Atomic => vec![1, 30],
        Dims if works_on_rows => vec![1, 2, 3, 4, 30],
        Dims => vec![0, 1, 2, 3, 4, 30],
        Coordinates => vec![0, 1, 2, 3, 9],
        // Pastes are the only scatters with boxes, and they replace elements.
        Crops => binary(!combines && kernel != Kernel::Atomic),
        // A result is dense only if tuples select positions in the source.
        Scatters => binary(matches!(kernel, Kernel::Copy | Kernel::UpdateWords)),
        // Only gradients have boxes with start indices that are not in tuples, and their results are dense.
        Fixed => binary(matches!(kernel, Kernel::Copy | Kernel::CopyWords)),
        Plain => binary(true),
        // Slices are counted with 32 bits. There can be more slices only if they are empty, and then their tuples are
        // only checked.
        Long => binary(is_move || kernel == Kernel::Last),
        Masked => binary(copies),
        Loops if is_move || kernel == Kernel::Combine => vec![tuning.loops.into()],
        Loops => return None,
        ByRows | Fresh | Unique if !combines => return None,
        Rows => vec![1, 4],
        Element if combines => vec![1, 2],
        Element => vec![1, 2, 3],
        // Integers are signed only where the sign makes a difference, and there is no atomic multiplication.
        Combine if program.prelude == Prelude::Integer(true) => vec![3, 4],
        Combine if kernel == Kernel::Atomic => vec![0, 1, 3, 4],
        // Numbers of 8 bytes do not fit in units of 4 bytes.
        Numbers if program.prelude == Prelude::Words(4) => vec![0, 1, 2, 4],
        RunTo | Combine | Rule | Numbers | Bytes => vec![0, 1, 2, 3, 4],
        Forward | Short | Straddles | Continues | Fills | Tables | Steady | Chooses | Ordered
        | Lasts | ByRows | Fresh | Unique => binary(true),
        From => vec![0, 2, 3, 4, 5, 6],
        To => (0..7).collect(),
        FromBytes | ToBytes => vec![1, 2, 4],
        Edges => vec![0, 1, 2],
    })
}

/// Returns a sample of a constant's values. Other values only change how many times loops over dimensions and
/// coordinates are unrolled.
fn sample_values(kernel: Kernel, constant: Constant, values: &[u32]) -> Vec<u32> {
    let (first_value, last_value) = (values[0], values[values.len() - 1]);
    let combines = matches!(kernel, Kernel::Combine | Kernel::CombineParts);
    match constant {
        Dims | Coordinates if combines => vec![last_value],
        Dims if kernel == Kernel::Convert => vec![last_value],
        Dims => vec![first_value, last_value],
        Coordinates => vec![0, 1, last_value],
        Plain if combines => vec![0],
        _ => values.to_vec(),
    }
}

/// Returns whether the library never uses this combination of values, or tested combinations represent it.
fn is_unused(kernel: Kernel, setting: &ConstantValues) -> bool {
    let has_value = |constant: Constant, value: u32| setting.contains(&(constant, value));
    let lacks_needed_tuples = has_value(Coordinates, 0)
        && [Crops, Scatters, Plain, Long]
            .iter()
            .any(|&constant| has_value(constant, 1));
    let needs_more_than_a_mask =
        !has_value(Coordinates, 1) || has_value(Crops, 1) || has_value(Scatters, 1);
    lacks_needed_tuples
        || has_value(Masked, 1) && needs_more_than_a_mask
        || has_value(Crops, 1) && has_value(Plain, 1)
        || has_value(Long, 1)
            && [Plain, Fixed, Masked]
                .iter()
                .any(|&constant| has_value(constant, 1))
        || has_value(Crops, 0) && has_value(Fixed, 1)
        || has_value(Ordered, 0) && has_value(Lasts, 1)
        || has_value(Unique, 1) && (has_value(ByRows, 0) || has_value(Fresh, 1))
        || match kernel {
            Kernel::CopyWords => {
                let loads_elements = has_value(Bytes, 0);
                has_value(Short, 1) && (has_value(Rows, 4) || !loads_elements)
                    || has_value(Element, 1) && loads_elements && has_value(Straddles, 1)
                    || has_value(Element, 3) && (has_value(Straddles, 0) || !loads_elements)
                    || has_value(Element, 2) && !loads_elements && !has_value(Bytes, 1)
                    || has_value(Rows, 4) && !loads_elements && !has_value(Bytes, 4)
                    || has_value(Rows, 1) && has_value(Bytes, 4)
                    || !loads_elements && !has_value(Bytes, 4) && has_value(Straddles, 0)
                    || has_value(Bytes, 3) && has_value(Crops, 0)
            }
            Kernel::Convert => {
                let is_type_of_size = |type_constant: Constant, size_constant: Constant| {
                    [(1, 0..2), (2, 2..6), (4, 6..7)]
                        .into_iter()
                        .all(|(size, mut types)| {
                            has_value(size_constant, size)
                                == types.any(|number| has_value(type_constant, number))
                        })
                };
                // Conversions from bytes use tables. Tables for different result types differ only in the size of an
                // entry, so one result type of each size is tested: u8 (0), f16 (4) and f32 (6). Conversions from or to
                // f32 represent all conversions without a table. They are tested only without coordinates.
                let has_tables = has_value(From, 0)
                    && (has_value(To, 0) || has_value(To, 4) || has_value(To, 6));
                let is_plain = !has_value(From, 0)
                    && (has_value(From, 6) || has_value(To, 6))
                    && has_value(Coordinates, 0);
                !is_type_of_size(From, FromBytes)
                    || !is_type_of_size(To, ToBytes)
                    || has_value(Tables, 1) && !has_tables
                    || has_value(Tables, 0) && !(is_plain && has_value(Steady, 1))
                    || has_value(ToBytes, 4) && !has_value(Edges, 0)
            }
            Kernel::UpdateWords => {
                has_value(Forward, 1) && !(has_value(Element, 1) && has_value(RunTo, 1))
            }
            // COMBINE describes how whole words are combined, and RULE how elements smaller than a word are combined.
            Kernel::Combine => {
                let combines_parts = has_value(Numbers, 4);
                combines_parts && !has_value(Combine, 0)
                    || !(combines_parts || has_value(Rule, 0) && has_value(Element, 2))
            }
            _ => false,
        }
}

/// Returns the line of `texts.jsonl` that describes a text to compilers of WGSL.
fn text_line(text_number: usize, text: &ShaderText) -> serde_json::Value {
    let constants_to_json = |setting: &ConstantValues| -> serde_json::Map<_, _> {
        let constants = setting.iter().cloned();
        constants
            .map(|(constant, value)| (constant.name().to_owned(), value.into()))
            .collect()
    };
    serde_json::json!({
        "text": text_number,
        "name": text.program.kernel.name(),
        "space": format!("{:?}", text.space),
        "constants": text.settings.iter().map(constants_to_json).collect::<Vec<_>>(),
        "source": text.source,
    })
}

/// Writes one text in all formats. Returns a message for each format that failed.
fn write_text(text_number: usize, text: &ShaderText, folder: Option<&Path>) -> Vec<String> {
    let shader = Shader::parse(&text.source);
    let shader = shader.unwrap_or_else(|error| panic!("{}: {error}", text.program));
    let mut failures = Vec::new();
    for (n, setting) in text.settings.iter().enumerate() {
        if folder.is_none() && n > 0 && n + 1 < text.settings.len() {
            continue;
        }
        let constants = setting.iter();
        let constants: Vec<_> = constants
            .map(|(constant, value)| (constant.name(), f64::from(*value)))
            .collect();
        for format in Format::ALL {
            match (shader.write(format, &constants), folder) {
                (Ok(bytes), Some(folder)) => {
                    let file = format!("{text_number:02}-{n:03}.{}", format.extension());
                    fs::write(folder.join(format.name()).join(file), bytes).unwrap();
                }
                (Ok(bytes), None) => assert!(!bytes.is_empty()),
                (Err(error), _) => failures.push(format!(
                    "{} {} {:?} {constants:?}: {error}",
                    format.name(),
                    text.program,
                    text.space
                )),
            }
        }
    }
    failures
}

#[test]
fn every_shader_is_written_in_every_format() {
    let folder = env::var_os("WGSLICE_SHADERS").map(PathBuf::from);
    let texts = shader_texts();
    if let Some(folder) = &folder {
        for format in Format::ALL {
            fs::create_dir_all(folder.join(format.name())).unwrap();
        }
        let lines = texts.iter().enumerate();
        let lines: String = lines
            .map(|(number, text)| format!("{}\n", text_line(number, text)))
            .collect();
        fs::write(folder.join("texts.jsonl"), lines).unwrap();
    }
    let settings: usize = texts.iter().map(|text| text.settings.len()).sum();
    println!("{} texts, {settings} with their constants", texts.len());
    let numbered_texts = texts.iter().enumerate();
    let failures: Vec<String> = numbered_texts
        .flat_map(|(number, text)| write_text(number, text, folder.as_deref()))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
