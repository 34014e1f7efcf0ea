//! `wgslice info FILE…`: lists the arrays in files by reading the headers.

use crate::{
    args::Global,
    failure::Failure,
    files::{self, Source},
    print, units,
};
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) fn run(global: &Global, sources: &[Source]) -> Result<ExitCode, Failure> {
    // If a file cannot be read, the other files are still listed. The last error is returned, and the errors before it
    // are printed.
    let mut last_failure = None;
    let (mut lines, mut json_files) = (Vec::new(), Vec::new());
    for source in sources {
        match files::list_arrays(source) {
            Ok(listing) if global.json => json_files.push(json_object(source, &listing)),
            Ok(listing) => lines.extend(table_lines(source, &listing)),
            Err(error) => {
                if let Some(previous_failure) = last_failure.replace(Failure::from(error)) {
                    print::print_error(&previous_failure);
                }
            }
        }
    }
    if global.json {
        print::print_json(&json!({ "files": json_files }))?;
    }
    print_table(&lines);
    last_failure.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// A line of the table.
enum TableLine {
    /// The name of a file with several arrays, and a summary of its contents.
    Head(String, String),
    Row([String; 5]),
    /// A note on the line above.
    Note(String),
}

/// Returns the lines for a file. If its only array has no name, they are the lines of this array. Otherwise they are a
/// line for the file and the lines of each array.
fn table_lines(source: &Source, listing: &files::Listing) -> Vec<TableLine> {
    let format = listing.format.name();
    match &listing.arrays[..] {
        [array] if array.name.is_none() => array_lines(
            to_printable(&source.to_string()),
            array,
            &format.to_uppercase(),
        ),
        arrays => {
            let bytes = usize::try_from(listing.bytes).unwrap_or(usize::MAX);
            let noun = match listing.format {
                files::Format::Safetensors => "tensor",
                _ => "array",
            };
            let (count, bytes) = (
                units::format_count(arrays.len(), noun),
                units::format_bytes(bytes),
            );
            let total = format!("{count}: {bytes} {}", format.to_uppercase());
            let head_line = TableLine::Head(to_printable(&source.to_string()), total);
            let to_lines = |entry: &files::Entry| {
                let name = entry.name.as_deref().unwrap_or_default();
                array_lines(format!("  {}", to_printable(name)), entry, "")
            };
            let damage = listing.damaged.as_ref();
            let note = damage.map(|why| TableLine::Note(format!("damaged: {why}")));
            let rows = arrays.iter().flat_map(to_lines);
            [head_line].into_iter().chain(note).chain(rows).collect()
        }
    }
}

/// Returns the line for an array, and a note if the array is damaged or cannot be sliced.
fn array_lines(name: String, entry: &files::Entry, format: &str) -> Vec<TableLine> {
    let unknown_text = || "?".to_owned();
    let damage = entry.damaged.as_ref().map(|why| ("damaged", why));
    let note_parts = damage.or(entry
        .unsupported
        .as_ref()
        .map(|reason| ("not sliceable", reason)));
    let note = note_parts.map(|(label, reason)| TableLine::Note(format!("{label}: {reason}")));
    let mut remarks = vec![format];
    if entry.column_major {
        remarks.push("Fortran order");
    }
    if entry.big_endian {
        remarks.push("big-endian");
    }
    remarks.retain(|remark| !remark.is_empty());
    let row = TableLine::Row([
        name,
        entry
            .shape
            .as_deref()
            .map_or_else(unknown_text, units::format_dims),
        entry
            .dtype
            .as_deref()
            .map_or_else(unknown_text, shorten_type),
        units::format_bytes(usize::try_from(entry.bytes).unwrap_or(usize::MAX)),
        remarks.join(", "),
    ]);
    [row].into_iter().chain(note).collect()
}

/// Shortens the name of an element type, which can be long because of its fields.
fn shorten_type(dtype: &str) -> String {
    const COLUMNS: usize = 24;
    let dtype = to_printable(dtype);
    match dtype.char_indices().nth(COLUMNS) {
        None => dtype,
        Some(_) => dtype.chars().take(COLUMNS - 1).chain(['…']).collect(),
    }
}

/// Replaces characters that could move the cursor.
fn to_printable(name: &str) -> String {
    let shown = |c: char| if c.is_control() { '?' } else { c };
    name.chars().map(shown).collect()
}

/// Prints the lines. The cells of the rows are aligned in columns, and notes are wrapped.
fn print_table(lines: &[TableLine]) {
    let rows = || {
        lines.iter().filter_map(|line| match line {
            TableLine::Row(row) => Some(row),
            TableLine::Head(..) | TableLine::Note(_) => None,
        })
    };
    let width = |at: usize| rows().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let [name_width, shape_width, dtype_width, bytes_width] = [0, 1, 2, 3].map(width);
    for line in lines {
        match line {
            TableLine::Row([a, b, c, d, e]) => {
                let line = format!(
                    "{a:name_width$}  {b:shape_width$}  {c:dtype_width$}  {d:>bytes_width$}  {e}"
                );
                print::print_line(line.trim_end());
            }
            TableLine::Head(path, total) => print::print_line(format_args!("{path}  {total}")),
            TableLine::Note(text) => wrap_text(text).iter().for_each(print::print_line),
        }
    }
}

/// Returns the lines of an indented text, wrapped to the width of a terminal.
fn wrap_text(text: &str) -> Vec<String> {
    const COLUMNS: usize = 79;
    const INDENT: &str = "    ";
    let mut lines = vec![INDENT.to_owned()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line == INDENT => *line += word,
            Some(line) if line.chars().count() + 1 + word.chars().count() <= COLUMNS => {
                *line += " ";
                *line += word;
            }
            _ => lines.push(format!("{INDENT}{word}")),
        }
    }
    lines
}

fn json_object(source: &Source, listing: &files::Listing) -> Value {
    let array_json = |entry: &files::Entry| {
        let mut array = json!({
            "name": entry.name,
            "shape": entry.shape,
            "dtype": entry.dtype,
            "bytes": entry.bytes,
            "order": if entry.column_major { "Fortran" } else { "C" },
            "byte_order": if entry.big_endian { "big" } else { "little" },
        });
        for (key, why) in [
            ("damaged", &entry.damaged),
            ("unsupported", &entry.unsupported),
        ] {
            if let Some(why) = why {
                array[key] = why.as_str().into();
            }
        }
        array
    };
    let arrays: Vec<Value> = listing.arrays.iter().map(array_json).collect();
    let mut file = json!({
        "path": source.to_string(),
        "format": listing.format.name(),
        "bytes": listing.bytes,
        "arrays": arrays,
    });
    if let Some(why) = &listing.damaged {
        file["damaged"] = why.as_str().into();
    }
    file
}
