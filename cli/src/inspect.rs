//! `wgslice info FILE…`: what files hold, by their headers.

use crate::{
    args::Global,
    failure::Failure,
    files::{self, Source},
    print, units,
};
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) fn run(global: &Global, sources: &[Source]) -> Result<ExitCode, Failure> {
    // A file that cannot be read does not hide the others. The last problem is the command's.
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

/// The cells of a file's lines: those of a file with one array, or a line for the file and one for each tensor.
fn lines(source: &Source, listing: &files::Listing) -> Vec<[String; 5]> {
    let format = listing.format.name().to_uppercase();
    let line = |name: String, entry: &files::Entry, format: &str| {
        [
            name,
            units::dims(&entry.shape),
            entry.dtype.clone(),
            units::bytes(usize::try_from(entry.bytes).unwrap_or(usize::MAX)),
            format.to_owned() + &order(entry),
        ]
    };
    match &listing.arrays[..] {
        [only] if only.name.is_none() => vec![line(printable(&source.to_string()), only, &format)],
        arrays => {
            let bytes = usize::try_from(listing.bytes).unwrap_or(usize::MAX);
            let total = format!("{}:", units::counted(arrays.len(), "tensor"));
            let head = [
                printable(&source.to_string()),
                total,
                String::new(),
                units::bytes(bytes),
                listing.format.name().to_owned(),
            ];
            let entry = |entry: &files::Entry| {
                let name = entry.name.as_deref().unwrap_or_default();
                let why = entry.damaged.as_ref();
                let damage = why.map_or_else(String::new, |why| format!("damaged: {why}"));
                line(format!("  {}", printable(name)), entry, &damage)
            };
            [head].into_iter().chain(arrays.iter().map(entry)).collect()
        }
    }
}

/// What differs from the order of elements that is usual.
fn order(entry: &files::Entry) -> String {
    let layout = if entry.column_major {
        ", Fortran order"
    } else {
        ""
    };
    let bytes = match entry.big_endian {
        true => ", big-endian",
        false => "",
    };
    format!("{layout}{bytes}")
}

/// No character of a name moves the cursor.
fn printable(name: &str) -> String {
    let shown = |c: char| if c.is_control() { '?' } else { c };
    name.chars().map(shown).collect()
}

/// Prints the cells in columns.
fn print_table(rows: &[[String; 5]]) {
    let width = |at: usize| {
        let cells = rows.iter().map(|row| row[at].chars().count());
        cells.max().unwrap_or(0)
    };
    let [name, shape, dtype, bytes] = [0, 1, 2, 3].map(width);
    for [a, b, c, d, e] in rows {
        let line = format!("{a:name$}  {b:shape$}  {c:dtype$}  {d:>bytes$}  {e}");
        print::line(line.trim_end());
    }
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
        if let Some(why) = &entry.damaged {
            array["damaged"] = why.as_str().into();
        }
        array
    };
    let arrays: Vec<Value> = listing.arrays.iter().map(array).collect();
    json!({
        "path": source.to_string(),
        "format": listing.format.name(),
        "bytes": listing.bytes,
        "arrays": arrays,
    })
}
