//! Handles many inputs on one command line: `IN… --to DIR`, and names with a `*`, as in `model.safetensors#layer.*`.

use crate::files::Source;
use clap::{Arg, Command};
use std::{
    any::TypeId,
    ffi::{OsStr, OsString},
    path::Path,
};

/// Expands patterns. Then, if an operation on one input is given `--to` and several inputs, splits the command line
/// into a line for each input. The inputs are the first words after the subcommand that are not part of an option.
pub(super) fn split_by_input(definition: &Command, line: Vec<OsString>) -> Vec<Vec<OsString>> {
    let line = expand_patterns(definition, line);
    match input_positions(definition, &line) {
        None => vec![line],
        Some(positions) => {
            let line_for_input = |own_position: &usize| {
                let words = line.iter().enumerate();
                let is_kept =
                    |position: &usize| position == own_position || !positions.contains(position);
                words
                    .filter(|(position, _)| is_kept(position))
                    .map(|(_, word)| word.clone())
                    .collect()
            };
            positions.iter().map(line_for_input).collect()
        }
    }
}

/// Replaces each word with a `*`, such as `model.safetensors#layer.*`, by one word for each array that matches.
/// Replaces words only if the subcommand takes many arrays, or if `--to` runs it once for each array.
fn expand_patterns(definition: &Command, line: Vec<OsString>) -> Vec<OsString> {
    let (free_positions, _) = word_positions(definition, &line, 1);
    let Some(command) = free_positions
        .first()
        .and_then(|&name_at| definition.find_subcommand(&line[name_at]))
    else {
        return line;
    };
    let (positions, option_names) = word_positions(command, &line, free_positions[0] + 1);
    if !option_names.contains(&"to") && !command.get_positionals().any(takes_many) {
        return line;
    }
    let numbered_words = line.into_iter().enumerate();
    numbered_words
        .flat_map(|(position, word)| match positions.contains(&position) {
            true => Source::from(word).matching_sources(),
            false => vec![word],
        })
        .collect()
}

fn takes_many(argument: &Arg) -> bool {
    argument
        .get_num_args()
        .is_some_and(|range| range.max_values() > 1)
}

/// Returns the first argument of the line that is not part of one of the command's options, if there is one.
pub(super) fn first_free_word(definition: &Command, line: &[OsString]) -> Option<String> {
    let (free_positions, _) = word_positions(definition, line, 1);
    Some(
        line[*free_positions.first()?]
            .to_string_lossy()
            .into_owned(),
    )
}

/// Returns the positions of the inputs in the line. Returns `None` if the line has no `--to` or only one input, or if a
/// single run takes all inputs.
fn input_positions(definition: &Command, line: &[OsString]) -> Option<Vec<usize>> {
    let (free_positions, _) = word_positions(definition, line, 1);
    let &name_at = free_positions.first()?;
    let command = definition.find_subcommand(&line[name_at])?;
    if command.get_positionals().any(takes_many) {
        return None;
    }
    // The global options can also follow the subcommand.
    let command = command.clone().args(
        definition
            .get_arguments()
            .filter(|arg| !arg.is_positional())
            .cloned(),
    );
    let (mut positions, option_names) = word_positions(&command, line, name_at + 1);
    let has_option = |name: &str| option_names.contains(&name);
    if !has_option("to") {
        return None;
    }
    // `--begin` and `--at` replace the last argument.
    let replaced_count = usize::from(has_option("begin") || has_option("at"));
    let mut argument_count = command
        .get_positionals()
        .count()
        .checked_sub(replaced_count)?;
    // If the last argument is optional and the last word is a file, that word is an input.
    let last_positional = command.get_positionals().last()?;
    let is_input = |&position: &usize| {
        let word = line[position].to_string_lossy();
        Path::new(&line[position]).is_file()
            && !word.chars().all(|c| "0123456789,:.-+ ".contains(c))
    };
    if argument_count > 1
        && is_optional_non_file(last_positional)
        && positions.last().is_some_and(is_input)
    {
        argument_count -= 1;
    }
    let input_count = (positions.len() + 1)
        .checked_sub(argument_count)
        .filter(|&input_count| input_count > 1)?;
    positions.truncate(input_count);
    Some(positions)
}

/// Returns whether a positional argument is optional and takes no file.
fn is_optional_non_file(argument: &Arg) -> bool {
    let takes_files = argument.get_value_parser().type_id() == TypeId::of::<Source>();
    !argument.is_required_set() && !takes_files
}

/// Returns the positions of the words from `begin` on that are neither options nor option values, and the names of the
/// options.
fn word_positions<'a>(
    command: &'a Command,
    line: &[OsString],
    begin: usize,
) -> (Vec<usize>, Vec<&'a str>) {
    let (mut positions, mut option_names) = (Vec::new(), Vec::new());
    let mut later_words = line.iter().enumerate().skip(begin);
    while let Some((position, word)) = later_words.next() {
        if word == "--" {
            positions.extend(later_words.map(|(position, _)| position));
            break;
        }
        let Some((option, has_value)) = option_of_word(command, word) else {
            positions.push(position);
            continue;
        };
        option_names.extend(option.get_long());
        if option.get_action().takes_values() && !has_value {
            later_words.next();
        }
    }
    (positions, option_names)
}

/// Returns the option that a word names, if it names one, and whether the word also contains the option's value.
fn option_of_word<'a>(command: &'a Command, word: &OsStr) -> Option<(&'a Arg, bool)> {
    let word = word.to_string_lossy();
    let mut arguments = command.get_arguments();
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long
            .split_once('=')
            .map_or((long, None), |(name, value)| (name, Some(value)));
        let arg = arguments.find(|arg| arg.get_long() == Some(name))?;
        return Some((arg, value.is_some()));
    }
    let mut letters = word.strip_prefix('-')?.chars();
    let name = letters.next()?;
    let arg = arguments.find(|arg| arg.get_short() == Some(name))?;
    Some((arg, letters.next().is_some()))
}
