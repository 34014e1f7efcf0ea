//! The `wgslice` command: slices and gathers files with TensorFlow's semantics.
//!
//! | file | content |
//! |---|---|
//! | `args` | the options that several commands share |
//! | `device` | the backend that the options select |
//! | `files` | reading and writing arrays |
//! | `slice`, `split` | the operations that run piece by piece |
//! | `ops` | the table of all other operations; its modules `boxes` and `conversion` have the code that several of them
//! share |
//! | `info`, `inspect` | `wgslice info`, on devices and on files |
//! | `compare`, `verify`, `bench` | one subcommand each |
//! | `many` | one operation on many files |
//! | `literal` | arrays on the command line |
//! | `help` | the help |
//! | `shell` | completions and manual pages |
//! | `job` | running an operation of the table |
//! | `range` | detecting numbers that a conversion loses |
//! | `report` | the output of a run |
//! | `target`, `values` | the destination of a result, and how its values are printed |
//! | `times` | the times of the stages of a run |
//! | `progress` | progress bars |
//! | `failure` | errors and exit codes |
//! | `pieces` | slices of arrays as they are stored in files |
//! | `print` | lines on standard output and standard error |
//! | `text` | reading text files |
//! | `units` | formatting numbers for people |

mod args;
mod bench;
mod compare;
mod device;
mod failure;
mod files;
mod help;
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
mod split;
mod target;
mod text;
mod times;
mod units;
mod values;
#[cfg(feature = "verify")]
mod verify;

use args::{Args, Global, OutputOptions};
use clap::{
    Subcommand,
    error::{ContextKind, ContextValue, ErrorKind},
};
use clap_complete::Shell;
use failure::Failure;
use files::Source;
use ops::Operation;
use report::Outcome;
use std::{env, ffi::OsString, path::Path, process::ExitCode};

#[derive(Debug, Subcommand)]
enum Command {
    Slice(slice::Slice),
    Convert(slice::Convert),
    Split(split::Split),
    #[command(flatten)]
    Operation(Operation),
    /// Show the arrays in files; without files, the adapters of the machine
    ///
    /// Without files it also prints the device that would be used, and the reason.
    #[command(after_help = "\
Examples:
  wgslice info photo.png volume.npy
  wgslice info model.safetensors
  wgslice info
  wgslice info --device gpu --backend vulkan
  wgslice info --json")]
    Info {
        #[arg(value_name = "FILE", help = format!("Files: {}", files::READ_FORMATS))]
        files: Vec<Source>,
    },
    Compare(compare::Compare),
    #[cfg(feature = "verify")]
    Verify(verify::Verify),
    Bench(bench::Bench),
    /// Print a script that completes the command line in a shell
    #[command(after_help = "\
Examples:
  wgslice completions bash > ~/.local/share/bash-completion/completions/wgslice
  wgslice completions zsh > ~/.zfunc/_wgslice
  wgslice completions fish > ~/.config/fish/completions/wgslice.fish")]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page of the command or of a subcommand
    #[command(after_help = "\
Examples:
  wgslice man | man -l -
  wgslice man slice > wgslice-slice.1")]
    Man {
        /// The subcommand
        subcommand: Option<String>,
    },
    /// Print this help, or the help of a subcommand or a topic
    #[command(after_help = "\
Examples:
  wgslice help slice
  wgslice help files
  wgslice help options")]
    Help {
        /// A subcommand, files (formats, and arrays on the command line) or options (of all subcommands)
        #[arg(value_name = "SUBCOMMAND")]
        topic: Option<String>,
    },
}

impl Command {
    fn run(&self, global: &Global, output_options: &OutputOptions) -> Result<ExitCode, Failure> {
        match self {
            Self::Slice(_) | Self::Convert(_) | Self::Split(_) | Self::Operation(_) => {
                self.make_array(global, output_options)?
                    .print(global, output_options)?;
                Ok(ExitCode::SUCCESS)
            }
            Self::Info { files } if files.is_empty() => info::run(global),
            Self::Info { files } => inspect::run(global, files),
            Self::Compare(args) => compare::run(global, args),
            #[cfg(feature = "verify")]
            Self::Verify(args) => verify::run(global, args),
            Self::Bench(args) => bench::run(global, args),
            Self::Completions { shell } => {
                shell::print_completions(*shell).map(|()| ExitCode::SUCCESS)
            }
            Self::Help { topic } => {
                print::print_styled(help::text_for(topic.as_deref())?);
                Ok(ExitCode::SUCCESS)
            }
            Self::Man { subcommand } => {
                shell::print_man_page(subcommand.as_deref()).map(|()| ExitCode::SUCCESS)
            }
        }
    }

    /// Runs the operation, or explains it. Fails for subcommands that make no array.
    fn make_array(
        &self,
        global: &Global,
        output_options: &OutputOptions,
    ) -> Result<Outcome, Failure> {
        match self {
            Self::Slice(args) => slice::run(global, output_options, args),
            Self::Convert(args) => args.run(global, output_options),
            Self::Split(args) => args.run(global, output_options),
            Self::Operation(operation) => operation.job()?.run(global, output_options),
            _ => Err(Failure::usage("this subcommand makes no array")),
        }
    }
}

fn main() -> ExitCode {
    disable_display_layer();
    let invocations = match Args::parse_invocations() {
        Ok(invocations) => invocations,
        Err(error) => return print_help_or_error(error),
    };
    let global = &invocations[0].global;
    print::set_verbosity(global.quiet, global.verbose);
    files::watch_for_signals();
    let outcome = match &invocations[..] {
        [invocation] => invocation
            .command
            .run(&invocation.global, &invocation.output_options),
        invocations => many::run_all(invocations),
    };
    let code = outcome.unwrap_or_else(report_failure);
    match print::check_stdout() {
        // If the command failed, its own exit code is more precise.
        Err(write_error) if code == ExitCode::SUCCESS => report_failure(write_error),
        Err(write_error) => {
            report_failure(write_error);
            code
        }
        Ok(()) => code,
    }
}

/// Suggests what the user meant by a superfluous word, if that can be guessed. `takes_slices` is true if the subcommand
/// has a SPEC.
fn suggest_meaning(word: &str, line: &[OsString], takes_slices: bool) -> Option<String> {
    let is_slice_char = |c: char| c.is_ascii_digit() || ",:.-+[] ".contains(c);
    let is_integer_char = |c: char| c.is_ascii_digit() || ",-+ ".contains(c);
    let is_new_axis = ["None", "newaxis", "np.newaxis"].contains(&word.trim_matches([',', ' ']));
    let is_file = |argument: &&OsString| Path::new(argument).is_file();
    let file_count = line.iter().skip(2).filter(is_file).count();
    let is_option =
        word.starts_with("--") || word.starts_with('-') && !word.chars().all(is_slice_char);
    if is_option {
        None
    } else if Path::new(word).is_file() || file_count > 1 && takes_slices {
        Some("many inputs need a folder for the results: --to DIR".into())
    } else if takes_slices && (is_new_axis || word.chars().all(is_slice_char)) {
        Some("put a slice into quotes, as in '0, 1:, None'".into())
    } else if word.chars().all(is_integer_char) {
        Some("write several numbers with commas and without spaces, as in 5,1,7".into())
    } else {
        None
    }
}

/// Returns whether a subcommand has an argument for a slice or an index expression.
fn takes_slices(subcommand: &str) -> bool {
    let definition = Args::command_definition();
    let command = definition.find_subcommand(subcommand);
    command.is_some_and(|command| command.get_positionals().any(|arg| arg.get_id() == "spec"))
}

/// Prints the requested help, or the help for a command line without a subcommand.
fn print_help(error: &clap::Error, line: &[OsString]) -> ExitCode {
    let topic = help::help_topic(line);
    match help::text_for(topic.as_deref()) {
        Err(failure) => report_failure(failure),
        Ok(text) if error.use_stderr() => {
            print::print_styled_to_stderr(text);
            u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
        }
        Ok(text) => {
            print::print_styled(text);
            print::check_stdout().map_or_else(report_failure, |()| ExitCode::SUCCESS)
        }
    }
}

/// Prints the requested help, or the error in the arguments.
fn print_help_or_error(mut error: clap::Error) -> ExitCode {
    let line: Vec<OsString> = env::args_os().collect();
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        return print_help(&error, &line);
    }
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg)
        && let Some(subcommand) = Args::first_word(&line)
        && let Some(hint) = suggest_meaning(word, &line, takes_slices(&subcommand))
    {
        error.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![hint.into()]),
        );
    }
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
    {
        let hint = match Path::new(word).is_file() {
            true => Some(format!(
                "did you mean `wgslice slice {}`?",
                quote_words(&line[1..])
            )),
            false => help::suggest_subcommand(word),
        };
        error.remove(ContextKind::SuggestedSubcommand);
        let hints = hint.into_iter().map(Into::into).collect();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(hints));
    }
    let message = error.render().to_string();
    let short_message = print::shorten_lines(&message);
    // If nothing was shortened, clap prints the message, because clap adds colours.
    let printed = if error.use_stderr() && short_message.len() < message.trim_end().len() {
        print::print_line_to_stderr(short_message);
        Ok(())
    } else {
        error.print()
    };
    match printed {
        Err(write_error) if !error.use_stderr() => {
            print::stdout_failure(&write_error).map_or_else(report_failure, |()| ExitCode::SUCCESS)
        }
        _ => u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
    }
}

/// Quotes words for a shell.
fn quote_words(words: &[OsString]) -> String {
    let quote_word = |word: &OsString| {
        let word = word.to_string_lossy();
        let is_plain = |c: char| c.is_alphanumeric() || "-_./#=+".contains(c);
        match !word.is_empty() && word.chars().all(is_plain) {
            true => word.into_owned(),
            false => format!("'{}'", word.replace('\'', "'\\''")),
        }
    };
    words.iter().map(quote_word).collect::<Vec<_>>().join(" ")
}

/// Prints the error and returns its exit code.
fn report_failure(failure: Failure) -> ExitCode {
    // If the reader of standard output has gone, the command ends without a message.
    if !matches!(failure, Failure::ReaderGone) {
        print::print_error(&failure);
    }
    failure.exit_code()
}

/// Disables Mesa's Vulkan layer `device_select` if `XDG_RUNTIME_DIR` names no folder for display sockets. Keeps the
/// layer if the user chooses a GPU through it. The layer looks for the display's GPU, to list that GPU first. Without a
/// display, libwayland, which the layer uses, would print an error on stderr.
fn disable_display_layer() {
    let has_runtime_folder =
        env::var_os("XDG_RUNTIME_DIR").is_some_and(|path| Path::new(&path).is_absolute());
    if cfg!(target_os = "linux")
        && !has_runtime_folder
        && env::var_os("MESA_VK_DEVICE_SELECT").is_none()
    {
        // SAFETY: `main` calls this first, when the process has a single thread.
        unsafe { env::set_var("NODEVICE_SELECT", "1") };
    }
}
