//! `wgslice completions` and `wgslice man`: print descriptions of the command for shells and for `man`.

use crate::{args::Args, failure::Failure, print};
use clap_complete::Shell;

/// Prints a script that completes the command line.
pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::definition(), "wgslice", &mut script);
    printed(&script)
}

/// Prints the manual page of the command, or of a subcommand.
pub(crate) fn man(subcommand: Option<&str>) -> Result<(), Failure> {
    let mut command = Args::definition();
    command.build();
    let command = match subcommand {
        None => command,
        Some(name) => {
            let found = command.find_subcommand(name).cloned();
            let unknown = || Failure::usage(format_args!("there is no subcommand {name}"));
            found.ok_or_else(unknown)?
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(Failure::usage)?;
    printed(&page)
}

fn printed(text: &[u8]) -> Result<(), Failure> {
    print::line(str::from_utf8(text).map_err(Failure::usage)?.trim_end());
    Ok(())
}
