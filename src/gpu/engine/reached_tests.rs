//! Compares the programs that tests compiled on devices with all that the library can ask for.

use super::{
    program::Kernel,
    shader_formats::{Text, texts},
    uniforms::{MOST_COORDINATES, MOST_DIMS},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
};

type Setting = BTreeMap<String, u32>;

/// The value of a constant, or the one that `values` of `shader_formats` has for all like it.
fn class(kernel: Kernel, name: &str, value: u32) -> u32 {
    let [most_dims, most_coordinates] =
        [MOST_DIMS, MOST_COORDINATES].map(|most| u32::try_from(most).unwrap());
    match name {
        "DIMS" if kernel == Kernel::MaskRows && value > 1 => most_dims,
        "DIMS" if kernel != Kernel::MaskRows && value < most_dims => 0,
        "COORDINATES" if (1..most_coordinates).contains(&value) => 1,
        _ => value,
    }
}

/// The values that constants have in a text if a program sets none.
fn defaults(text: &Text) -> Setting {
    let default = |line: &str| {
        let (name, rest) = line.strip_prefix("override ")?.split_once(": ")?;
        let (_, value) = rest.strip_suffix(';')?.split_once(" = ")?;
        let value = match value {
            "false" => 0,
            "true" => 1,
            number => number.strip_suffix('u')?.parse().ok()?,
        };
        Some((name.to_owned(), value))
    };
    text.source.lines().filter_map(default).collect()
}

/// Every setting of each text that a line of `programs` has: see `reached::record`.
fn reached(programs: &str) -> BTreeMap<String, Vec<Setting>> {
    let mut all = BTreeMap::<_, Vec<Setting>>::new();
    let lines: BTreeSet<&str> = programs.lines().collect();
    for line in lines {
        let mut words = line.splitn(4, ' ');
        let text = [(); 3].map(|()| words.next().unwrap()).join(" ");
        let constant = |word: &str| {
            let (name, value) = word.split_once('=').unwrap();
            (name.to_owned(), value.parse().unwrap())
        };
        let constants = words.next().unwrap_or_default().split_whitespace();
        all.entry(text)
            .or_default()
            .push(constants.map(constant).collect());
    }
    all
}

/// Prints for each text how many settings tests have compiled, and fails if they never compiled the text or never gave a
/// constant a value that the library gives it, or gave it another.
#[test]
#[ignore = "reads what other tests have compiled: bash tests/run variants"]
fn every_variant_is_reached() {
    let file = env::var_os("WGSLICE_PROGRAMS").expect("WGSLICE_PROGRAMS names a file");
    let programs = fs::read_to_string(file).unwrap();
    let reached = reached(&programs);
    let mut wrong = Vec::new();
    println!("{:44} {:>8} {:>8}", "text", "settings", "compiled");
    for text in texts() {
        let kernel = text.program.kernel;
        let name = format!(
            "{} {:?} {:?}",
            kernel.name(),
            text.program.prelude,
            text.space
        );
        let defaults = defaults(&text);
        let mut settings = BTreeSet::new();
        for found in reached.get(&name).into_iter().flatten() {
            let names = text.settings.first().into_iter().flatten();
            let value = |name: &str| found.get(name).or(defaults.get(name)).copied();
            settings.insert(Vec::from_iter(names.map(|(constant, _)| {
                let name = constant.name();
                let value =
                    value(name).unwrap_or_else(|| panic!("no value of {name} in {kernel:?}"));
                (name, class(kernel, name, value))
            })));
        }
        println!("{name:44} {:8} {:8}", text.settings.len(), settings.len());
        if settings.is_empty() {
            wrong.push(format!("{name}: never"));
        }
        let wanted = text.settings.iter().flatten();
        let wanted: BTreeSet<_> = wanted
            .map(|(constant, value)| (constant.name(), *value))
            .collect();
        let found: BTreeSet<_> = settings.iter().flatten().copied().collect();
        let list = |what: &str, pairs: BTreeSet<&(&str, u32)>| {
            let pairs = pairs.iter().map(|(name, value)| format!(" {name}={value}"));
            format!("{name}: {what}{}", pairs.collect::<String>())
        };
        let never: BTreeSet<_> = wanted.difference(&found).collect();
        let unknown: BTreeSet<_> = found.difference(&wanted).collect();
        if !never.is_empty() && !found.is_empty() {
            wrong.push(list("never", never));
        }
        if !unknown.is_empty() {
            wrong.push(list("not among the settings of shader_formats:", unknown));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
