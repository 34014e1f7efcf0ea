//! The `wgslice` command: slices and gathers files with TensorFlow's semantics.
//!
//! | file | decides |
//! |---|---|
//! | `args` | the options that several commands share |
//! | `device` | the backend that the options select |
//! | `files` | reading and writing arrays |
//! | `slice` | the operation that goes piece by piece |
//! | `ops` | the table of all other operations; `boxes` and `conversion` have what several of them share |
//! | `info`, `inspect` | `info`, of devices and of files |
//! | `compare`, `verify`, `bench` | one subcommand each |
//! | `many` | one operation on many files |
//! | `literal` | arrays that are written on the command line |
//! | `shell` | completions and manual pages |
//! | `job` | how an operation of the table runs |
//! | `range` | numbers that a conversion loses |
//! | `report` | the output of a run |
//! | `target`, `values` | where a result goes, and how its values are printed |
//! | `times` | the times of the stages of a run |
//! | `progress` | progress bars |
//! | `failure` | errors and exit codes |
//! | `pieces` | slices of arrays as they are stored |
//! | `print` | lines on standard output and standard error |
//! | `units` | numbers for people |

mod args;
mod bench;
mod compare;
mod device;
mod failure;
mod files;
mod info;
mod inspect;
mod job;
mod literal;
mod many;
mod ops;
mod pieces;
mod print;
mod progress;
mod range;
mod report;
mod shell;
mod slice;
mod target;
mod text;
mod times;
mod units;
mod values;
#[cfg(feature = "verify")]
mod verify;

use args::{Args, Global, To};
use clap::{
    Subcommand,
    error::{ContextKind, ContextValue, ErrorKind},
};
use clap_complete::Shell;
use failure::Failure;
use files::Source;
use ops::Operation;
use report::Outcome;
use std::{env, path::Path, process::ExitCode};

#[derive(Debug, Subcommand)]
enum Command {
    Slice(slice::Slice),
    #[command(flatten)]
    Operation(Operation),
    /// Show what files hold; without files the adapters of this machine, and which would be used and why
    #[command(after_help = "\
Examples:
  wgslice info photo.png volume.npy
  wgslice info model.safetensors
  wgslice info
  wgslice info --device gpu --backend vulkan
  wgslice info --json")]
    Info {
        /// Files: .npy, .npz, .png, .jpg or .safetensors
        #[arg(value_name = "FILE")]
        files: Vec<Source>,
    },
    Compare(compare::Compare),
    #[cfg(feature = "verify")]
    Verify(verify::Verify),
    Bench(bench::Bench),
    /// Print a script by which a shell completes the command line
    #[command(after_help = "\
Examples:
  wgslice completions bash > ~/.local/share/bash-completion/completions/wgslice
  wgslice completions zsh > ~/.zfunc/_wgslice
  wgslice completions fish > ~/.config/fish/completions/wgslice.fish")]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, of the command or of a subcommand
    #[command(after_help = "\
Examples:
  wgslice man | man -l -
  wgslice man slice > wgslice-slice.1")]
    Man {
        /// The subcommand
        subcommand: Option<String>,
    },
}

impl Command {
    fn run(&self, global: &Global, to: &To) -> Result<ExitCode, Failure> {
        match self {
            Self::Slice(_) | Self::Operation(_) => {
                self.make(global, to)?.print(global, to)?;
                Ok(ExitCode::SUCCESS)
            }
            Self::Info { files } if files.is_empty() => info::run(global),
            Self::Info { files } => inspect::run(global, files),
            Self::Compare(args) => compare::run(global, args),
            #[cfg(feature = "verify")]
            Self::Verify(args) => verify::run(global, args),
            Self::Bench(args) => bench::run(global, args),
            Self::Completions { shell } => shell::completions(*shell).map(|()| ExitCode::SUCCESS),
            Self::Man { subcommand } => {
                shell::man(subcommand.as_deref()).map(|()| ExitCode::SUCCESS)
            }
        }
    }

    /// Makes an array, or explains how. Only operations do.
    fn make(&self, global: &Global, to: &To) -> Result<Outcome, Failure> {
        match self {
            Self::Slice(args) => slice::run(global, to, args),
            Self::Operation(operation) => operation.job()?.run(global, to),
            _ => Err(Failure::usage("this subcommand makes no array")),
        }
    }
}

fn main() -> ExitCode {
    quiet_without_a_display();
    let runs = match Args::parsed() {
        Ok(runs) => runs,
        Err(error) => return refused(error),
    };
    let global = &runs[0].global;
    print::choose(global.quiet, global.verbose);
    files::watch_for_signals();
    let outcome = match &runs[..] {
        [run] => run.command.run(&run.global, &run.to),
        runs => many::run(runs),
    };
    let code = outcome.unwrap_or_else(report);
    match print::all_written() {
        // An error of the command keeps its own exit code, which says more.
        Err(unwritten) if code == ExitCode::SUCCESS => report(unwritten),
        Err(unwritten) => {
            report(unwritten);
            code
        }
        Ok(()) => code,
    }
}

/// What may be meant by a word that is one too many.
fn hint(word: &str) -> Option<String> {
    let in_a_slice = |c: char| c.is_ascii_digit() || ",:.-+[] ".contains(c);
    let named = ["None", "newaxis", "np.newaxis"].contains(&word.trim_matches([',', ' ']));
    let line: Vec<_> = env::args_os().collect();
    let at = line.iter().position(|argument| argument == word);
    let is_file = |at: usize| at > 1 && Path::new(&line[at]).is_file();
    if at.is_some_and(|at| is_file(at) || is_file(at - 1)) {
        Some("many inputs need a folder for the results: --to DIR".into())
    } else if named || word.chars().all(in_a_slice) {
        Some("put a slice into quotes, as in '0, 1:, None'".into())
    } else {
        None
    }
}

/// Prints the help that was asked for, or what is wrong with the arguments.
fn refused(mut error: clap::Error) -> ExitCode {
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg)
        && let Some(hint) = hint(word)
    {
        error.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![hint.into()]),
        );
    }
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && Path::new(word).is_file()
    {
        let hint = format!("did you mean `wgslice slice {word} SPEC`?").into();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint]));
        error.remove(ContextKind::SuggestedSubcommand);
    }
    // The last one is the most similar.
    if let Some(ContextValue::Strings(names)) = error.get(ContextKind::SuggestedSubcommand) {
        let names = names.iter().rev().cloned().collect();
        let kind = ContextKind::SuggestedSubcommand;
        error.insert(kind, ContextValue::Strings(names));
    }
    let message = error.render().to_string();
    let clipped = print::clipped(&message);
    // Messages that need no clipping are printed by clap, which adds colours.
    let printed = if error.use_stderr() && clipped.len() < message.trim_end().len() {
        print::line_to_stderr(clipped);
        Ok(())
    } else {
        error.print()
    };
    match printed {
        Err(unwritten) if !error.use_stderr() => {
            print::unwritten(&unwritten).map_or_else(report, |()| ExitCode::SUCCESS)
        }
        _ => u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
    }
}

/// Prints the error, and returns its exit code.
fn report(failure: Failure) -> ExitCode {
    // A program whose reader has gone ends without a word.
    if !matches!(failure, Failure::ReaderGone) {
        print::error(&failure);
    }
    failure.exit_code()
}

/// Mesa's Vulkan layer `device_select` looks for the GPU of the display, to list that GPU first. If there is no
/// display, libwayland complains on stderr. So this function turns the layer off if `XDG_RUNTIME_DIR` names no folder
/// for the sockets of displays, unless the user makes the layer choose a GPU.
fn quiet_without_a_display() {
    let runtime = env::var_os("XDG_RUNTIME_DIR").is_some_and(|path| Path::new(&path).is_absolute());
    if cfg!(target_os = "linux") && !runtime && env::var_os("MESA_VK_DEVICE_SELECT").is_none() {
        // SAFETY: `main` calls this first, when the process has a single thread.
        unsafe { env::set_var("NODEVICE_SELECT", "1") };
    }
}
