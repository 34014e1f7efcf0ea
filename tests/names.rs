//! Checks that no two types in `src` have the same name, so that a reader who finds a type by its name has found the
//! right one.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Names that are declared several times, with the reason.
const ALLOWED_DUPLICATES: [(&str, &str); 4] = [
    ("Kernel", "a loop over rows on the CPU, a shader on a GPU"),
    ("Prepare", "a public trait, and its private methods"),
    ("Recorder", "a public trait, and its private methods"),
    ("Shuffle", "with the standard library, and without it"),
];

/// Returns the name of the type that a line of code declares, if it declares one. Associated types do not count, so an
/// alias counts only at the left margin.
fn declared_type(line: &str) -> Option<&str> {
    let is_at_margin = !line.starts_with(' ');
    let mut rest = line.trim_start();
    if let Some(public) = rest.strip_prefix("pub") {
        rest = match public.strip_prefix('(') {
            Some(limit) => limit.split_once(") ")?.1,
            None => public.strip_prefix(' ')?,
        };
    }
    let (keyword, rest) = rest.split_once(' ')?;
    let is_declaration = match keyword {
        "struct" | "enum" | "trait" | "union" => true,
        "type" => is_at_margin,
        _ => false,
    };
    let name = rest
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()?;
    (is_declaration && !name.is_empty()).then_some(name)
}

/// Adds the locations of each type that is declared below a folder to `locations`.
fn add_locations(folder: &Path, locations: &mut BTreeMap<String, Vec<String>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_locations(&path, locations);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let source = fs::read_to_string(&path).unwrap();
            for (line, number) in source.lines().zip(1..) {
                if let Some(name) = declared_type(line) {
                    let location = format!("{}:{number}", path.display());
                    locations.entry(name.to_owned()).or_default().push(location);
                }
            }
        }
    }
}

#[test]
fn no_two_types_have_the_same_name() {
    let mut locations = BTreeMap::new();
    add_locations(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut locations,
    );
    assert!(locations.contains_key("Walk") && locations.contains_key("Backend"));
    locations.retain(|_, type_locations| type_locations.len() > 1);
    let duplicates: BTreeSet<&str> = locations.keys().map(String::as_str).collect();
    let allowed: BTreeSet<&str> = ALLOWED_DUPLICATES.iter().map(|(name, _)| *name).collect();
    assert_eq!(duplicates, allowed, "{locations:#?}");
}

#[test]
fn declarations_are_found() {
    for (line, name) in [
        ("struct Walk {", Some("Walk")),
        ("    pub(in crate::gpu) enum Kernel {", Some("Kernel")),
        ("pub trait Element: Copy {", Some("Element")),
        ("pub(super) type Kept = Mutex<u8>;", Some("Kept")),
        ("    type Target = u8;", None),
        ("/// The struct Walk {", None),
        ("pub fn walk() {", None),
    ] {
        assert_eq!(declared_type(line), name, "{line}");
    }
}
