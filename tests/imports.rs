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

/// Adds the sources of the files below a folder to `sources`, with the paths of their modules as keys. A `mod.rs` has
/// an empty source.
fn add_sources(
    folder: &Path,
    folder_module: &ModulePath,
    sources: &mut BTreeMap<ModulePath, String>,
) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy();
        let module = [folder_module.as_slice(), &[name.to_string()]].concat();
        if path.is_dir() {
            add_sources(&path, &module, sources);
        } else if path.extension().is_none_or(|ending| ending != "rs") {
            // This file is a page of the guide and has no code.
        } else if name == "mod" {
            sources.insert(folder_module.clone(), String::new());
        } else {
            sources.insert(module, fs::read_to_string(&path).unwrap());
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

/// Adds the paths of a tree of imports, such as `super::{a::b, c}`, to `paths`.
fn add_branches(prefix: &str, tree: &str, paths: &mut Vec<String>) {
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
                        add_branches(&format!("{prefix}{}", stem.trim()), inner, paths);
                    }
                    None => paths.push(format!("{prefix}{branch}")),
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
    sources: &BTreeMap<ModulePath, String>,
) -> BTreeSet<ModulePath> {
    let code = code_of(source);
    let (mut paths, mut other_code) = (Vec::new(), String::new());
    for (number, part) in code.split(" use ").enumerate() {
        match part.split_once(';').filter(|_| number > 0) {
            Some((tree, after)) => {
                add_branches("", tree, &mut paths);
                other_code += after;
            }
            None => other_code += part,
        }
    }
    let is_of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = other_code.split(|c: char| !is_of_path(c));
    paths.extend(words.filter(|word| word.contains("::")).map(str::to_owned));
    let targets = paths.iter().filter_map(|path| {
        let mut segments = path.split("::").peekable();
        let mut target = match *segments.peek()? {
            "crate" => Vec::new(),
            "super" | "self" => module.clone(),
            first_segment => {
                let inner = [module.as_slice(), &[first_segment.to_owned()]].concat();
                sources.contains_key(&inner).then(|| module.clone())?
            }
        };
        for segment in segments {
            match segment {
                "crate" | "self" => {}
                "super" => drop(target.pop()),
                name => {
                    target.push(name.to_owned());
                    if !sources.contains_key(&target)
                        && !sources.keys().any(|key| key.starts_with(&target))
                    {
                        target.pop();
                        break;
                    }
                }
            }
        }
        (target != *module && sources.contains_key(&target)).then_some(target)
    });
    targets.collect()
}

/// Returns the files of a folder that are in a cycle or need a file in a cycle, or `None` if there is no cycle.
fn find_cycle(
    folder: &ModulePath,
    sources: &BTreeMap<ModulePath, String>,
) -> Option<Vec<ModulePath>> {
    let files = sources
        .iter()
        .filter(|(name, source)| name.starts_with(folder) && !source.is_empty());
    let mut needs: BTreeMap<&ModulePath, BTreeSet<ModulePath>> = files
        .map(|(name, source)| (name, needed_modules(name, source, sources)))
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
    let mut sources = BTreeMap::new();
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    add_sources(&src, &Vec::new(), &mut sources);
    let mut folder_count = 0;
    for entry in fs::read_dir(src).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_dir() {
            folder_count += 1;
            let folder = vec![entry.file_name().to_string_lossy().into_owned()];
            assert_eq!(find_cycle(&folder, &sources), None, "in src/{}", folder[0]);
        }
    }
    assert!(folder_count > 8, "{folder_count}");
    let needed_by_slice = needed_modules(
        &module_path("cpu::slice"),
        &sources[&module_path("cpu::slice")],
        &sources,
    );
    assert!(
        needed_by_slice.contains(&module_path("cpu::transpose")),
        "{needed_by_slice:?}"
    );
}

#[test]
fn a_cycle_is_found() {
    let file = |path: &str, source: &str| (module_path(path), source.to_owned());
    let sources = |last_source: &str| {
        BTreeMap::from([
            file("x", ""),
            file("x::a", "\n use super::{b::{B, C}, c}; // super::d"),
            file("x::b", "\n fn b() { crate::x::c::d() }"),
            file("x::c", last_source),
        ])
    };
    assert_eq!(find_cycle(&module_path("x"), &sources("fn d() {}")), None);
    let tests = "fn d() {}\n#[cfg(test)]\nmod tests {\n use super::super::a; }";
    assert_eq!(find_cycle(&module_path("x"), &sources(tests)), None);
    let cycle = find_cycle(
        &module_path("x"),
        &sources("\npub use crate::{x::a::A, y};"),
    )
    .unwrap();
    assert_eq!(cycle, ["x::a", "x::b", "x::c"].map(module_path));
}
