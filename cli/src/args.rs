//! The command line: the options that several commands share. `main` lists the commands; each command's file defines
//! its own arguments.

mod inputs;
mod numbers;

pub(crate) use numbers::{
    Integers, Paddings, Sizes, parse_fraction, parse_mask, parse_memory, parse_number,
};

use crate::{
    Command,
    files::{Element, Format, Source, WRITTEN_FORMATS},
};
use clap::{Args as ArgGroup, CommandFactory, FromArgMatches, Parser, ValueEnum, error::ErrorKind};
use std::{
    env,
    ffi::OsString,
    num::NonZero,
    path::{Path, PathBuf},
};
use wgslice::options::{self, OutOfRange};

pub(crate) const AFTER_HELP: &str = "\
Examples:
  wgslice info model.safetensors                       the arrays in a file
  wgslice slice photo.png '0, :5'                      the values of a slice
  wgslice slice photo.png '32:288:2, ::-1' -o out.png  crop, halve and flip
  wgslice slice *.png '::2, ::2' --to half             many files
  curl -s URL | wgslice slice - '::2' -o - > out.png   pipes
  wgslice gather model.safetensors#wte 0,5,7 -o rows.npy
  wgslice stack photo-*.png -o batch.npy

Exit codes:
  0  done
  1  compare found a difference; verify or bench a wrong result
  2  bad usage, bad input, or an output that cannot be written
  3  the device does not exist, failed, or is too small
  141  the reader of standard output closed the pipe
  129, 130, 131, 143  ended by SIGHUP, SIGINT (Ctrl-C), SIGQUIT or SIGTERM; the output is
     complete, or unchanged";

/// The subcommands that make no array.
const WITHOUT_OUTPUT: [&str; 7] = [
    "bench",
    "compare",
    "completions",
    "help",
    "info",
    "man",
    "verify",
];

/// Slices and gathers n-dimensional arrays in files, on the GPU or the CPU, with TensorFlow's
/// exact semantics.
#[derive(Debug, Parser)]
#[command(name = "wgslice", version, max_term_width = 90, after_help = AFTER_HELP)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Args {
    /// Returns the definition of the command line. Every subcommand that makes an array has the options of
    /// [`OutputOptions`].
    pub(crate) fn command_definition() -> clap::Command {
        Self::command().mut_subcommands(|command| {
            match WITHOUT_OUTPUT.contains(&command.get_name()) {
                true => command,
                false => OutputOptions::augment_args(command),
            }
        })
    }

    /// Returns the first argument of a command line that is not part of an option, if there is one.
    pub(crate) fn first_word(line: &[OsString]) -> Option<String> {
        inputs::first_free_word(&Self::command_definition(), line)
    }

    /// Parses the arguments of this process. Returns an invocation for each input if the line has `--to` and several
    /// inputs.
    pub(crate) fn parse_invocations() -> Result<Vec<Invocation>, clap::Error> {
        let mut definition = Self::command_definition();
        let lines = inputs::split_by_input(&definition, env::args_os().collect());
        let parse = |line: Vec<OsString>| {
            // This method does not clone the definition. A clone would take a quarter of the command's start-up time.
            let matches = definition.try_get_matches_from_mut(line)?;
            // `ArgMatches` panics in debug builds if an argument is not defined, so this closure searches the
            // definition.
            let array_subcommand = |name: &str| {
                let command = definition.find_subcommand(name);
                command
                    .filter(|command| command.get_arguments().any(|arg| arg.get_id() == "explain"))
            };
            let subcommand = matches.subcommand();
            let output_options = match subcommand
                .and_then(|(name, matches)| Some((array_subcommand(name)?, matches)))
            {
                Some((command, matches)) => {
                    let mut output_options = OutputOptions::from_arg_matches(matches)?;
                    let first_positional = command.get_positionals().next();
                    let input = first_positional
                        .and_then(|arg| matches.get_raw(arg.get_id().as_str())?.next());
                    output_options
                        .name_after_input(&input.unwrap_or_default().to_owned().into())?;
                    output_options
                }
                None => OutputOptions::default(),
            };
            let Self { global, command } = Self::from_arg_matches(&matches)?;
            Ok(Invocation {
                global,
                command,
                output_options,
            })
        };
        lines.into_iter().map(parse).collect()
    }
}

/// One run of a subcommand.
#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) global: Global,
    pub(crate) command: Command,
    /// The options of the output, if the subcommand makes an array.
    pub(crate) output_options: OutputOptions,
}

#[derive(Clone, Debug, ArgGroup)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// The device to use: auto (a hardware GPU if the machine has one and it is estimated to be faster,
    /// else the CPU), gpu (which may be a software adapter; fails without one), cpu, or for verify and
    /// bench all (the CPU and every adapter that fits) [default: auto; for verify and bench: all]
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "DEVICE",
        hide_possible_values = true
    )]
    pub(crate) device: Option<DeviceChoice>,
    /// Use the adapter with NAME in its name, even a software adapter; implies --device gpu
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) adapter: Option<String>,
    /// Use an adapter through this graphics API; implies --device gpu
    #[arg(long, global = true, value_enum, value_name = "API")]
    pub(crate) backend: Option<Api>,
    /// Use at most N threads for an operation on the CPU [default: one for each core]
    #[arg(long, global = true, value_name = "N", value_parser = parse_number::<NonZero<usize>>)]
    pub(crate) threads: Option<NonZero<usize>>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Also print the device, the reason for choosing it, and the time of each stage
    #[arg(short, long, global = true, conflicts_with_all = ["json", "quiet"])]
    pub(crate) verbose: bool,
    /// Print only errors and the requested output
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeviceChoice {
    /// A hardware GPU if the machine has one and it is estimated to be faster, else the CPU
    Auto,
    /// A GPU, which may be a software adapter; fails without one
    Gpu,
    /// The CPU
    Cpu,
    /// The CPU and every adapter that fits; for verify and bench
    All,
}

/// The graphics APIs that a user can choose. wgpu's `noop` is not one of them: it computes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Api {
    Vulkan,
    Metal,
    Dx12,
    Gl,
}

// The output options of a command that makes an array. This is not a doc comment, because clap would show it as the
// command's description.
#[derive(Clone, Debug, Default, ArgGroup)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputOptions {
    #[arg(short, long, value_name = "OUT", help = format!("The file to write: {WRITTEN_FORMATS}, or - for standard \
        output. .npz#NAME and .safetensors#NAME add to an existing file. The target of a symbolic link is replaced \
        [default: the values are printed, as by NumPy]"))]
    pub(crate) output: Option<PathBuf>,
    /// Write to this folder, under the input's name. Accepts many inputs: IN... SPEC --to DIR, and names with a star:
    /// model.safetensors#layer.*. A result that the input's format cannot hold becomes .npy or .safetensors
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    pub(crate) to: Option<PathBuf>,
    /// The format to write [default: from the extension of OUT; on standard output, the input's format, but
    /// png for .jpg]
    #[arg(long, value_parser = ["npy", "npz", "png", "safetensors"])]
    format: Option<String>,
    /// Fail instead of replacing a file
    #[arg(short, long)]
    pub(crate) no_clobber: bool,
    /// Print all values of a large array
    #[arg(long, conflicts_with_all = ["output", "to"])]
    pub(crate) all: bool,
    /// Describe the work without doing it; with -v, also print the library's plan
    #[arg(long)]
    pub(crate) explain: bool,
}

impl OutputOptions {
    /// Returns the format that the user chose.
    pub(crate) fn chosen_format(&self) -> Option<Format> {
        Format::with_name(self.format.as_deref()?)
    }

    pub(crate) fn is_stdout(&self) -> bool {
        self.output.as_deref() == Some(Path::new("-"))
    }

    /// Returns the output's path for an array of this element type and shape, or `None` to print its values. If the
    /// output is named after the input and the input's format cannot hold the array, the extension changes.
    pub(crate) fn path_for(&self, element: Element, shape: &[usize]) -> Option<PathBuf> {
        let mut path = self.output.clone()?;
        if self.to.is_some()
            && self.format.is_none()
            && let Some(named_format) = Format::from_path(&path)
        {
            let format = named_format.that_holds(element, shape);
            if format != named_format {
                path.set_extension(format.name());
            }
        }
        Some(path)
    }

    /// If there is an output folder, names the output in it after the input. Fails if the input is standard input.
    fn name_after_input(&mut self, input: &Source) -> Result<(), clap::Error> {
        let Some(folder) = &self.to else {
            return Ok(());
        };
        let Some(name) = input.path().file_name().filter(|_| !input.is_stdin()) else {
            let problem = "--to names the result after its input file, but standard input has no name: use -o\n";
            return Err(clap::Error::raw(ErrorKind::ValueValidation, problem));
        };
        let mut path = folder.join(name);
        if let Some(array_name) = input.array_name() {
            // Each array gets its own file: `layer/0.bias` of model.npz becomes model-layer-0.bias.npz.
            let mut name = path.file_stem().unwrap_or_default().to_owned();
            name.push("-");
            name.push(array_name.replace(std::path::is_separator, "-"));
            if let Some(extension) = path.extension() {
                name.push(".");
                name.push(extension);
            }
            path.set_file_name(name);
        }
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        let named_format = Format::with_name(&extension.to_lowercase());
        let format = self
            .chosen_format()
            .or(named_format.map(Format::for_results));
        if let Some(format) = format.filter(|_| format != named_format) {
            path.set_extension(format.name());
        }
        self.output = Some(path);
        Ok(())
    }
}

/// The option for the axis of an operation.
#[derive(Debug, ArgGroup)]
pub(crate) struct AxisOption {
    /// The axis; negative ones count from the end
    #[arg(
        long,
        value_name = "AXIS", value_parser = parse_number::<isize>,
        default_value_t = 0,
        allow_hyphen_values = true,
        help_heading = None::<&'static str>
    )]
    pub(crate) axis: isize,
}

/// The options for the meaning of indices.
#[derive(Debug, ArgGroup)]
pub(crate) struct IndexPolicy {
    /// The policy for an index tuple out of range: ignore (its slice becomes zeros, or is not scattered,
    /// with a warning), error (the command fails and writes nothing) or clamp (the indices move to the
    /// nearest end of their dimensions)
    #[arg(long, value_enum, default_value_t = Policy::Ignore, value_name = "POLICY", hide_possible_values = true)]
    pub(crate) out_of_range: Policy,
    /// The meaning of a negative index: out-of-range, as in TensorFlow, or wrap (it counts from the end, as in
    /// NumPy and ONNX)
    #[arg(long, value_enum, default_value_t = NegativeIndex::OutOfRange, value_name = "MEANING", hide_possible_values = true)]
    negative: NegativeIndex,
}

impl IndexPolicy {
    pub(crate) fn negative_index_policy(&self) -> options::NegativeIndex {
        match self.negative {
            NegativeIndex::OutOfRange => options::NegativeIndex::Invalid,
            NegativeIndex::Wrap => options::NegativeIndex::Wrap,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Policy {
    /// Its slice becomes zeros, or is not scattered, with a warning
    #[value(alias = "zero")]
    Ignore,
    /// The command fails and writes nothing
    Error,
    /// Its indices move to the nearest end of their dimensions
    Clamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NegativeIndex {
    /// It is out of range, as in TensorFlow
    OutOfRange,
    /// It counts from the end, as in NumPy and ONNX
    Wrap,
}

impl From<Policy> for OutOfRange {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Ignore => Self::Ignore,
            Policy::Error => Self::Error,
            Policy::Clamp => Self::Clamp,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Args::command_definition().debug_assert();
    }

    /// Every subcommand in `WITHOUT_OUTPUT` exists, and all other subcommands have the options of an output.
    #[test]
    fn only_subcommands_that_make_an_array_have_an_output() {
        let definition = Args::command_definition();
        let has_output =
            |command: &clap::Command| command.get_arguments().any(|arg| arg.get_id() == "explain");
        let without_output = definition
            .get_subcommands()
            .filter(|command| !has_output(command));
        let names: Vec<&str> = without_output.map(clap::Command::get_name).collect();
        let is_compiled = |name: &&str| cfg!(feature = "verify") || *name != "verify";
        assert_eq!(
            names.len(),
            WITHOUT_OUTPUT
                .iter()
                .filter(|name| is_compiled(name))
                .count(),
            "{names:?}"
        );
    }
}
