//! Checks that the imports between files of each folder of `src` have no cycle, so that files can be read and changed
//! one at a time.
//!
//! A `mod.rs` needs the files of its folder, and these files may use its items. Tests may use anything.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

type ModulePath = Vec<String>;

fn module_path(path: &str) -> ModulePath {
    path.split("::").map(str::to_owned).collect()
}

/// Adds the sources of the files below a folder to `found`, with the paths of their modules as keys. A `mod.rs` has an
/// empty source.
fn modules(folder: &Path, at: &ModulePath, found: &mut BTreeMap<ModulePath, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy();
        let inner = [at.as_slice(), &[name.to_string()]].concat();
        if path.is_dir() {
            modules(&path, &inner, found);
        } else if path.extension().is_none_or(|ending| ending != "rs") {
            // This file is a page of the guide and has no code.
        } else if name == "mod" {
            found.insert(at.clone(), String::new());
        } else {
            found.insert(inner, fs::read_to_string(&path).unwrap());
        }
    }
}

/// Returns the code of a file without comments and without its test module.
fn code_of(source: &str) -> String {
    let source = match source.find("#[cfg(test)]\nmod tests {") {
        Some(end) => &source[..end],
        None => source,
    };
    let lines = source.lines();
    lines
        .map(|line| line.split("//").next().unwrap())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Adds the paths of a tree of imports, such as `super::{a::b, c}`, to `found`.
fn add_branches(prefix: &str, tree: &str, found: &mut Vec<String>) {
    let (mut depth, mut begin) = (0, 0);
    for (at, letter) in tree.char_indices().chain([(tree.len(), ',')]) {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let branch = tree[begin..at].trim();
                begin = at + 1;
                match branch.split_once('{') {
                    Some((stem, rest)) => {
                        let inner = rest.strip_suffix('}').unwrap_or(rest);
                        add_branches(&format!("{prefix}{}", stem.trim()), inner, found);
                    }
                    None => found.push(format!("{prefix}{branch}")),
                }
            }
            _ => {}
        }
    }
}

/// Returns the modules that a file's code names.
fn needed_modules(
    module: &ModulePath,
    source: &str,
    all: &BTreeMap<ModulePath, String>,
) -> BTreeSet<ModulePath> {
    let code = code_of(source);
    let (mut paths, mut rest) = (Vec::new(), String::new());
    for (number, part) in code.split(" use ").enumerate() {
        match part.split_once(';').filter(|_| number > 0) {
            Some((tree, after)) => {
                add_branches("", tree, &mut paths);
                rest += after;
            }
            None => rest += part,
        }
    }
    let is_of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = rest.split(|c: char| !is_of_path(c));
    paths.extend(words.filter(|word| word.contains("::")).map(str::to_owned));
    let targets = paths.iter().filter_map(|path| {
        let mut segments = path.split("::").peekable();
        let mut at = match *segments.peek()? {
            "crate" => Vec::new(),
            "super" | "self" => module.clone(),
            first => {
                let inner = [module.as_slice(), &[first.to_owned()]].concat();
                all.contains_key(&inner).then(|| module.clone())?
            }
        };
        for segment in segments {
            match segment {
                "crate" | "self" => {}
                "super" => drop(at.pop()),
                name => {
                    at.push(name.to_owned());
                    if !all.contains_key(&at) && !all.keys().any(|key| key.starts_with(&at)) {
                        at.pop();
                        break;
                    }
                }
            }
        }
        (at != *module && all.contains_key(&at)).then_some(at)
    });
    targets.collect()
}

/// Returns the files of a folder that are in a cycle or need a file in a cycle, or `None` if there is no cycle.
fn find_cycle(folder: &ModulePath, all: &BTreeMap<ModulePath, String>) -> Option<Vec<ModulePath>> {
    let files = all
        .iter()
        .filter(|(name, source)| name.starts_with(folder) && !source.is_empty());
    let mut needs: BTreeMap<&ModulePath, BTreeSet<ModulePath>> = files
        .map(|(name, source)| (name, needed_modules(name, source, all)))
        .collect();
    // A file that needs no other remaining file is in no cycle.
    loop {
        let remaining: BTreeSet<ModulePath> = needs.keys().map(|name| (*name).clone()).collect();
        needs.retain(|_, needs| needs.iter().any(|name| remaining.contains(name)));
        if needs.len() == remaining.len() {
            let remaining: Vec<ModulePath> = remaining.into_iter().collect();
            return (!remaining.is_empty()).then_some(remaining);
        }
    }
}

#[test]
fn imports_have_no_cycle() {
    let mut all = BTreeMap::new();
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    modules(&src, &Vec::new(), &mut all);
    let mut folders = 0;
    for entry in fs::read_dir(src).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_dir() {
            folders += 1;
            let folder = vec![entry.file_name().to_string_lossy().into_owned()];
            assert_eq!(find_cycle(&folder, &all), None, "in src/{}", folder[0]);
        }
    }
    assert!(folders > 8, "{folders}");
    let slice = needed_modules(
        &module_path("cpu::slice"),
        &all[&module_path("cpu::slice")],
        &all,
    );
    assert!(slice.contains(&module_path("cpu::transpose")), "{slice:?}");
}

#[test]
fn a_cycle_is_found() {
    let file = |path: &str, source: &str| (module_path(path), source.to_owned());
    let all = |last: &str| {
        BTreeMap::from([
            file("x", ""),
            file("x::a", "\n use super::{b::{B, C}, c}; // super::d"),
            file("x::b", "\n fn b() { crate::x::c::d() }"),
            file("x::c", last),
        ])
    };
    assert_eq!(find_cycle(&module_path("x"), &all("fn d() {}")), None);
    let tests = "fn d() {}\n#[cfg(test)]\nmod tests {\n use super::super::a; }";
    assert_eq!(find_cycle(&module_path("x"), &all(tests)), None);
    let found = find_cycle(&module_path("x"), &all("\npub use crate::{x::a::A, y};")).unwrap();
    assert_eq!(found, ["x::a", "x::b", "x::c"].map(module_path));
}
