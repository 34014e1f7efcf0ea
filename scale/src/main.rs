//! The command `wgslice-scale`.

mod commands;
mod failure;
mod log;

use clap::Parser;
use commands::Args;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = Args::parse();
    log::start(args.verbose);
    match commands::run(args.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            failure.exit_code()
        }
    }
}
