//! `bindgen IN.wasm OUT` writes the module for browsers and its JavaScript to the folder OUT.

use std::{env, process::ExitCode};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [input, output] = &arguments[..] else {
        eprintln!("usage: bindgen IN.wasm OUT");
        return ExitCode::from(2);
    };
    let mut bindgen = Bindgen::new();
    bindgen.input_path(input).typescript(false);
    // The names of functions make up a twelfth of the download, and only debuggers read them: a panic has its own
    // message.
    bindgen.remove_name_section(true);
    match bindgen.web(true).and_then(|web| web.generate(output)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
