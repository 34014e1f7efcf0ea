//! `wgslice info FILE…`: lists the contents of files by their headers.

use crate::{
    args::Global,
    failure::Failure,
    files::{self, Source},
    print, units,
};
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) fn run(global: &Global, sources: &[Source]) -> Result<ExitCode, Failure> {
    // A file that cannot be read does not hide the others. The command returns the last problem.
    let mut problem = None;
    let (mut rows, mut listed) = (Vec::new(), Vec::new());
    for source in sources {
        match files::list(source) {
            Ok(listing) if global.json => listed.push(object(source, &listing)),
            Ok(listing) => rows.extend(lines(source, &listing)),
            Err(error) => {
                if let Some(before) = problem.replace(Failure::from(error)) {
                    print::error(&before);
                }
            }
        }
    }
    if global.json {
        print::json(&json!({ "files": listed }))?;
    }
    print_table(&rows);
    problem.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// A line of the table.
enum Line {
    /// The name of a file with several arrays, and a summary of its contents.
    Head(String, String),
    Row([String; 5]),
    /// A remark on the line above.
    Note(String),
}

/// Returns a file's lines: only the array's, or one for the file and one for each array.
fn lines(source: &Source, listing: &files::Listing) -> Vec<Line> {
    let format = listing.format.name();
    match &listing.arrays[..] {
        [only] if only.name.is_none() => {
            described(printable(&source.to_string()), only, &format.to_uppercase())
        }
        arrays => {
            let bytes = usize::try_from(listing.bytes).unwrap_or(usize::MAX);
            let kind = match listing.format {
                files::Format::Safetensors => "tensor",
                _ => "array",
            };
            let (count, bytes) = (units::counted(arrays.len(), kind), units::bytes(bytes));
            let total = format!("{count}: {bytes} {}", format.to_uppercase());
            let head = Line::Head(printable(&source.to_string()), total);
            let entry = |entry: &files::Entry| {
                let name = entry.name.as_deref().unwrap_or_default();
                described(format!("  {}", printable(name)), entry, "")
            };
            let damaged = listing.damaged.as_ref();
            let note = damaged.map(|why| Line::Note(format!("damaged: {why}")));
            let rows = arrays.iter().flat_map(entry);
            [head].into_iter().chain(note).chain(rows).collect()
        }
    }
}

/// Returns the line for an array, and notes on what cannot be done with it.
fn described(name: String, entry: &files::Entry, format: &str) -> Vec<Line> {
    let unknown = || "?".to_owned();
    let damaged = entry.damaged.as_ref().map(|why| ("damaged", why));
    let why = damaged.or(entry.unsupported.as_ref().map(|why| ("not sliceable", why)));
    let note = why.map(|(what, why)| Line::Note(format!("{what}: {why}")));
    let mut remarks = vec![format];
    if entry.column_major {
        remarks.push("Fortran order");
    }
    if entry.big_endian {
        remarks.push("big-endian");
    }
    remarks.retain(|remark| !remark.is_empty());
    let row = Line::Row([
        name,
        entry.shape.as_deref().map_or_else(unknown, units::dims),
        entry.dtype.as_deref().map_or_else(unknown, shortened),
        units::bytes(usize::try_from(entry.bytes).unwrap_or(usize::MAX)),
        remarks.join(", "),
    ]);
    [row].into_iter().chain(note).collect()
}

/// Shortens the name of an element type, which can be long because of its fields.
fn shortened(dtype: &str) -> String {
    const COLUMNS: usize = 24;
    let dtype = printable(dtype);
    match dtype.char_indices().nth(COLUMNS) {
        None => dtype,
        Some(_) => dtype.chars().take(COLUMNS - 1).chain(['…']).collect(),
    }
}

/// Replaces characters that could move the cursor.
fn printable(name: &str) -> String {
    let shown = |c: char| if c.is_control() { '?' } else { c };
    name.chars().map(shown).collect()
}

/// Prints the cells in columns, and the remarks below them.
fn print_table(lines: &[Line]) {
    let rows = || {
        lines.iter().filter_map(|line| match line {
            Line::Row(row) => Some(row),
            Line::Head(..) | Line::Note(_) => None,
        })
    };
    let width = |at: usize| rows().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let [name, shape, dtype, bytes] = [0, 1, 2, 3].map(width);
    for line in lines {
        match line {
            Line::Row([a, b, c, d, e]) => {
                let line = format!("{a:name$}  {b:shape$}  {c:dtype$}  {d:>bytes$}  {e}");
                print::line(line.trim_end());
            }
            Line::Head(path, total) => print::line(format_args!("{path}  {total}")),
            Line::Note(text) => wrapped(text).iter().for_each(print::line),
        }
    }
}

/// Returns the lines of an indented text, wrapped to the width of a terminal.
fn wrapped(text: &str) -> Vec<String> {
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

fn object(source: &Source, listing: &files::Listing) -> Value {
    let array = |entry: &files::Entry| {
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
    let arrays: Vec<Value> = listing.arrays.iter().map(array).collect();
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
