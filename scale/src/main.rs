//! The command `wgslice-scale`.

mod commands;
mod failure;
mod log;

use clap::Parser;
use commands::Args;
use std::{
    io::{Write, stderr},
    process::ExitCode,
};

fn main() -> ExitCode {
    let args = Args::parse();
    log::start(args.verbose);
    match commands::run(args.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // If standard error cannot be written to, the exit code still tells what happened.
            let _ = writeln!(stderr(), "error: {failure}");
            failure.exit_code()
        }
    }
}
