//! Writes `wgslice help` and `--help`: the subcommands in groups, and a summary of the options that all of them share.

use crate::{
    args::{Args, Global, OutputOptions},
    failure::Failure,
    files::{READ_FORMATS, WRITTEN_FORMATS},
};
use clap::{Args as _, Command};
use std::ffi::OsString;

/// The subcommands by purpose. A build without the feature `verify` lacks that subcommand.
const SUBCOMMAND_GROUPS: [(&str, &[&str]); 5] = [
    ("Look at files", &["info", "compare"]),
    (
        "Select",
        &[
            "slice",
            "index",
            "windows",
            "gather",
            "gather-nd",
            "gather-elements",
            "crop",
            "boolean-mask",
            "compress",
            "nonzero",
            "where",
        ],
    ),
    (
        "Write into a copy",
        &[
            "slice-update",
            "index-update",
            "masked-scatter",
            "scatter-nd",
            "scatter-elements",
            "paste",
            "grad",
        ],
    ),
    (
        "Convert, join and rearrange",
        &[
            "convert",
            "concat",
            "stack",
            "split",
            "transpose",
            "pad",
            "roll",
            "tile",
            "repeat",
        ],
    ),
    (
        "Check and help",
        &["verify", "bench", "completions", "man", "help"],
    ),
];

/// Other programs' names for operations, each with the arguments that `wgslice` suggests instead.
const SYNONYMS: [(&str, &str); 24] = [
    ("argwhere", "nonzero"),
    ("astype", "convert"),
    ("cast", "convert"),
    ("cat", "concat"),
    ("chunk", "split"),
    ("concatenate", "concat"),
    ("dump", "slice"),
    ("flip", "slice IN '::-1'"),
    ("head", "slice IN ':10'"),
    ("join", "concat"),
    ("ls", "info"),
    ("mask", "boolean-mask"),
    ("merge", "concat"),
    ("permute", "transpose"),
    ("print", "slice"),
    ("resize", "slice IN '::2, ::2'"),
    ("reverse", "slice IN '::-1'"),
    ("rotate", "transpose"),
    ("show", "info"),
    ("sliding-window-view", "windows"),
    ("take", "gather"),
    ("unfold", "windows"),
    ("update", "slice-update"),
    ("view", "info"),
];

/// A summary of the options of subcommands that make an array.
const OUTPUT_OPTIONS: &str = "\
Output (wgslice help options):
  -o OUT (--output), or --to DIR for many inputs; without them the values are printed
  --format FORMAT, -n (--no-clobber), --all, --explain";

/// A summary of the options of all subcommands.
const GLOBAL_OPTIONS: &str = "\
Global options (wgslice help options):
  --device auto|gpu|cpu, --adapter NAME, --backend API, --threads N
  --json, -v (--verbose), -q (--quiet), -h (--help)";

/// Returns the help for the command, for a subcommand, or on a topic.
pub(crate) fn text_for(topic: Option<&str>) -> Result<String, Failure> {
    match topic {
        None => Ok(full_help()),
        Some("files") => Ok(files_help()),
        Some("options") => Ok(all_options_help()),
        Some(name) => subcommand_help(name).ok_or_else(|| {
            let suggestion =
                suggest_subcommand(name).map_or_else(String::new, |suggestion| format!("; {suggestion}"));
            Failure::usage(format_args!(
                "{name:?} is neither a subcommand nor a topic: `wgslice help` lists them{suggestion}"
            ))
        }),
    }
}

/// Returns the first word of a command line if it names a subcommand.
pub(crate) fn help_topic(line: &[OsString]) -> Option<String> {
    let name = Args::first_word(line)?;
    Args::command_definition()
        .find_subcommand(&name)
        .map(|_| name)
}

/// Suggests a subcommand for an unknown word, as a question. Returns `None` if no name or synonym fits.
pub(crate) fn suggest_subcommand(word: &str) -> Option<String> {
    const MIN_SIMILARITY: f64 = 0.8;
    let synonym = SYNONYMS.iter().find(|(name, _)| *name == word);
    let definition = Args::command_definition();
    let names = definition.get_subcommands().map(Command::get_name);
    let similar_names = names.map(|name| (strsim::jaro_winkler(name, word), name));
    let similar_names = similar_names.filter(|(similarity, _)| *similarity >= MIN_SIMILARITY);
    // Among equally similar names, the first is taken.
    let most_similar = similar_names.reduce(|a, b| if b.0 > a.0 { b } else { a });
    let arguments = synonym
        .map(|(_, arguments)| *arguments)
        .or(most_similar.map(|(_, name)| name))?;
    Some(format!("did you mean `wgslice {arguments}`?"))
}

/// Returns the help of the command, with the subcommands in groups.
fn full_help() -> String {
    let definition = Args::command_definition();
    let format_group = |(title, names): (&str, &[&str])| {
        let format_line = |name: &&str| {
            let command = definition.find_subcommand(name)?;
            Some(format!("  {name:<16}  {}\n", first_sentence(command)))
        };
        format!(
            "{title}:\n{}",
            names.iter().filter_map(format_line).collect::<String>()
        )
    };
    let groups: Vec<String> = SUBCOMMAND_GROUPS.into_iter().map(format_group).collect();
    let usage = definition
        .clone()
        .help_template("{about}\n\n{usage-heading} {usage}")
        .render_help()
        .ansi()
        .to_string();
    format!(
        "{}\n\n{}\n`wgslice help SUBCOMMAND` explains one. See also `help files` and `help options`.\n\n{GLOBAL_OPTIONS}\n\n{}",
        usage.trim_end(),
        groups.join("\n"),
        crate::args::AFTER_HELP
    )
}

/// Returns the first sentence of a subcommand's help.
fn first_sentence(command: &Command) -> String {
    command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// Returns the help of a subcommand: its own options in full, and a summary of the shared options. Returns `None` if
/// the subcommand does not exist.
fn subcommand_help(name: &str) -> Option<String> {
    let shared_options = Global::augment_args(OutputOptions::augment_args(Command::new("")));
    let shared_options: Vec<_> = shared_options
        .get_arguments()
        .map(|arg| arg.get_id().clone())
        .collect();
    let mut definition = Args::command_definition().mut_args(|arg| arg.hide(true));
    definition.build();
    let command = definition.find_subcommand(name)?.clone();
    let makes_array = command.get_arguments().any(|arg| arg.get_id() == "explain");
    let takes_global_options = !["completions", "man", "help"].contains(&name);
    let is_shared =
        |arg: &clap::Arg| shared_options.contains(arg.get_id()) || arg.get_id() == "help";
    let about_text = command.get_long_about().or(command.get_about()).cloned();
    let after_help = command
        .get_after_help()
        .map(|after_help| after_help.ansi().to_string());
    let help_sections = [
        makes_array.then(|| {
            format!(
                "Arrays are files ({READ_FORMATS}) or small literals,\nas in 0,5,7: wgslice help files"
            )
        }),
        makes_array.then(|| OUTPUT_OPTIONS.into()),
        takes_global_options.then(|| GLOBAL_OPTIONS.into()),
        after_help,
    ];
    let after_help: Vec<String> = help_sections.into_iter().flatten().collect();
    let mut command = command
        .mut_args(|arg| if is_shared(&arg) { arg.hide(true) } else { arg })
        .max_term_width(90)
        .after_help(after_help.join("\n\n"));
    if let Some(about_text) = about_text {
        command = command.about(about_text);
    }
    Some(command.render_help().ansi().to_string())
}

/// Returns the options that subcommands share, in full.
fn all_options_help() -> String {
    let options = OutputOptions::augment_args(Global::augment_args(Command::new("wgslice")));
    let mut options = options
        .disable_help_flag(true)
        .max_term_width(90)
        .help_template("{all-args}");
    options.render_help().ansi().to_string()
}

fn files_help() -> String {
    format!(
        "\
Files:
  {READ_FORMATS} are read, {WRITTEN_FORMATS} written.
  x.npz#name, x.safetensors#name
                     an array of a file. You can leave out the name of an only array. As an
                     output the array is added to the file, or replaces the array of this name
  x.npy#field        a field of structured elements, and x.npz#name#field
  x.png, x.jpg       height × width × channels; JPEG differs from other decoders by up to 4, CMYK
                     becomes RGB. A grey picture is read as height × width × 1
  -                  standard input or output; the first bytes of the input show the format

Arrays on the command line, in place of a file:
  7                  one number          0,5,7           several
  '[[0, 1], [2, 3]]' nested lists        true,false,nan  and inf
  'array([], shape=(0, 3), dtype=int32)'                 as NumPy prints an array

Many files:
  wgslice slice *.png '::2' --to half    a result for each, under its name"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The summaries name every option of the full help.
    #[test]
    fn the_short_forms_name_all_options() {
        let options_help = [OUTPUT_OPTIONS, GLOBAL_OPTIONS].concat();
        let command = OutputOptions::augment_args(Global::augment_args(Command::new("")));
        for option in command.get_arguments() {
            let name = format!("--{}", option.get_long().unwrap());
            assert!(options_help.contains(&name), "{name}");
        }
    }

    #[test]
    fn each_subcommand_is_in_a_group() {
        let definition = Args::command_definition();
        let grouped_names: Vec<&str> = SUBCOMMAND_GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        for command in definition.get_subcommands() {
            let name = command.get_name();
            let count = grouped_names
                .iter()
                .filter(|grouped| **grouped == name)
                .count();
            assert_eq!(count, 1, "{name}");
        }
        for (_, arguments) in SYNONYMS {
            let name = arguments.split(' ').next().unwrap();
            assert!(definition.find_subcommand(name).is_some(), "{name}");
        }
    }
}
