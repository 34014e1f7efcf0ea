//! `bindgen IN.wasm OUT` writes the module for browsers and its JavaScript to the folder OUT. It leaves out comments
//! and documentation, which would be a fortieth of the download.

use std::{env, error::Error, fs, path::Path, process::ExitCode};
use wasm_bindgen_cli_support::Bindgen;

const SHADERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shaders");

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [input, output] = &arguments[..] else {
        eprintln!("usage: bindgen IN.wasm OUT");
        return ExitCode::from(2);
    };
    match write(Path::new(input), Path::new(output)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn write(input: &Path, output: &Path) -> Result<(), Box<dyn Error>> {
    let mut module = fs::read(input)?;
    for shader in fs::read_dir(SHADERS)? {
        blank_comments(&mut module, &fs::read_to_string(shader?.path())?);
    }
    let name = input.file_stem().and_then(|name| name.to_str());
    let name = name.ok_or("the module has no name")?;
    let mut bindgen = Bindgen::new();
    bindgen.input_bytes(name, module).typescript(false);
    // The names of functions are a twelfth of the download, and only debuggers read them: a panic has its own message.
    bindgen.remove_name_section(true);
    bindgen.web(true)?.generate(output)?;
    let script = output.join(name).with_extension("js");
    fs::write(&script, without_docs(&fs::read_to_string(&script)?))?;
    Ok(())
}

/// Replaces the comments of a shader by spaces wherever its source is in the module. The code keeps its positions.
fn blank_comments(module: &mut [u8], shader: &str) {
    let lines = shader.split_inclusive('\n').map(|line| {
        let (code, comment) = line.split_at(line.find("//").unwrap_or(line.len()));
        let blank = comment.bytes().map(|byte| match byte {
            b'\n' => '\n',
            _ => ' ',
        });
        code.chars().chain(blank).collect::<String>()
    });
    let blanked: String = lines.collect();
    let mut search_start = 0;
    while let Some(offset) = module[search_start..]
        .windows(shader.len())
        .position(|part| part == shader.as_bytes())
    {
        let start = search_start + offset;
        module[start..start + shader.len()].copy_from_slice(blanked.as_bytes());
        search_start = start + shader.len();
    }
}

/// Removes the documentation of the exported items.
fn without_docs(script: &str) -> String {
    let mut is_inside = false;
    let code = script.split_inclusive('\n').filter(|line| {
        let is_start = line.trim_start().starts_with("/**");
        let is_doc = is_inside || is_start;
        is_inside = is_doc && !line.trim_end().ends_with("*/");
        !is_doc
    });
    code.collect()
}
