//! `wgslice completions` and `wgslice man`: print descriptions of the command for shells and for `man`.

use crate::{args::Args, failure::Failure, print};
use clap_complete::Shell;

/// Prints a script that completes the command line.
pub(crate) fn print_completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        shell,
        &mut Args::command_definition(),
        "wgslice",
        &mut script,
    );
    print_bytes(&script)
}

/// Prints the manual page of the command, or of a subcommand.
pub(crate) fn print_man_page(subcommand: Option<&str>) -> Result<(), Failure> {
    let mut command = Args::command_definition();
    command.build();
    let command = match subcommand {
        None => command,
        Some(name) => {
            let subcommand = command.find_subcommand(name).cloned();
            let unknown_subcommand =
                || Failure::usage(format_args!("there is no subcommand {name}"));
            subcommand.ok_or_else(unknown_subcommand)?
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(Failure::usage)?;
    print_bytes(&page)
}

fn print_bytes(text: &[u8]) -> Result<(), Failure> {
    print::print_line(str::from_utf8(text).map_err(Failure::usage)?.trim_end());
    Ok(())
}
