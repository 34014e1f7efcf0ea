//! Checks the documents. No line of a paragraph is rendered as a list or a heading, and numbers agree in all documents.

use std::{
    fs,
    path::{Path, PathBuf},
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read_document(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// Adds the paths of all files below `folder` with one of these endings to `paths`, except in hidden folders and in
/// folders of built or downloaded files.
fn add_files(folder: &Path, endings: &[&str], paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && !["target", "node_modules", "dist"].contains(&&*name) {
                add_files(&path, endings, paths);
            }
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            paths.push(path);
        }
    }
}

/// Returns the Markdown of a source file: the text of its doc comments, and an empty line for each line of code.
fn doc_comments(source: &str) -> String {
    let text = |line: &str| {
        let line = line.trim_start();
        let text = line.strip_prefix("//!").or(line.strip_prefix("///"))?;
        Some(text.strip_prefix(' ').unwrap_or(text).to_owned())
    };
    let lines: Vec<String> = source
        .lines()
        .map(|line| text(line).unwrap_or_default())
        .collect();
    lines.join("\n")
}

/// Returns the marker that makes a line an item of a list, a heading or a quotation, or `None` for other lines.
fn block_marker(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let (first_word, text_after) = line.split_once(' ').unwrap_or((line, ""));
    let number = first_word.strip_suffix(['.', ')']).unwrap_or_default();
    let is_numbered =
        !number.is_empty() && number.len() < 10 && number.bytes().all(|b| b.is_ascii_digit());
    let is_heading =
        (1..=6).contains(&first_word.len()) && first_word.bytes().all(|byte| byte == b'#');
    let is_bullet_or_quotation =
        matches!(first_word, "-" | "*" | "+" | ">") && !text_after.is_empty();
    (is_numbered || is_heading || is_bullet_or_quotation).then_some(first_word)
}

/// Returns the lines in the middle of a paragraph that Markdown mistakes for items, headings or quotations, with their
/// line numbers, counted from 1.
fn broken_paragraphs(text: &str) -> Vec<(usize, &str)> {
    let (mut broken_lines, mut in_fence) = (Vec::new(), false);
    // The previous line of the same paragraph, and whether the paragraph began as a list.
    let (mut previous, mut in_list) = (None::<&str>, false);
    for (line_number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
            previous = None;
            continue;
        }
        if in_fence || line.trim().is_empty() {
            previous = None;
            continue;
        }
        let Some(previous_line) = previous.replace(line) else {
            // A paragraph that is indented belongs to an item.
            in_list = block_marker(line).is_some() || line.starts_with(' ');
            continue;
        };
        let Some(marker) = block_marker(line) else {
            continue;
        };
        let is_numbered = marker.starts_with(|c: char| c.is_ascii_digit());
        // A list can follow the line that introduces it, and an item can follow the previous item.
        let is_introduced =
            previous_line.trim_end().ends_with(':') || previous_line.starts_with('#');
        let is_allowed = match (in_list, is_numbered) {
            (false, _) => is_introduced,
            (true, false) => true,
            (true, true) => is_introduced || is_next_number(text, line_number, line, marker),
        };
        match is_allowed {
            true => in_list = true,
            false => broken_lines.push((line_number, line)),
        }
    }
    broken_lines
}

/// Returns whether the last numbered line before this line, with the same indentation, has the previous number.
fn is_next_number(text: &str, line_number: usize, line: &str, line_marker: &str) -> bool {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let marker_number = |marker: &str| marker[..marker.len() - 1].parse::<u64>().ok();
    let items = text.lines().take(line_number - 1);
    let previous_number = items
        .filter(|earlier_line| indent(earlier_line) == indent(line))
        .filter_map(block_marker)
        .filter_map(marker_number)
        .last();
    previous_number.map(|previous_number| previous_number + 1) == marker_number(line_marker)
}

#[test]
fn paragraphs_are_not_taken_for_lists() {
    let mut documents = Vec::new();
    add_files(root(), &[".md", ".rs"], &mut documents);
    assert!(documents.contains(&root().join("README.md")));
    let mut broken_lines = Vec::new();
    for path in documents {
        let mut text = fs::read_to_string(&path).unwrap();
        if path.extension().is_some_and(|ending| ending == "rs") {
            text = doc_comments(&text);
        }
        let lines = broken_paragraphs(&text).into_iter();
        broken_lines
            .extend(lines.map(|(number, line)| format!("{}:{number}: {line}", path.display())));
    }
    assert!(
        broken_lines.is_empty(),
        "Markdown breaks these paragraphs:\n{}",
        broken_lines.join("\n")
    );
}

#[test]
fn a_broken_paragraph_is_found() {
    let broken = |text| {
        broken_paragraphs(text)
            .into_iter()
            .map(|(line, _)| line)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        broken("On an older EPYC (model\n1) reversed rows are slower"),
        [2]
    );
    assert_eq!(broken("a sum of\n- 1 and\n# 2"), [2, 3]);
    assert_eq!(
        broken("1. one\n   of\n2. two\n   1) three\n\ntext:\n- item\n- item"),
        [4]
    );
    assert!(broken("```\ntext\n- code\n```\n\n- item\n  more\n- item").is_empty());
}

/// The first command of README, on one line so that people can copy it. `bash tests/run readme` runs it.
const FIRST_COMMAND: &str =
    "cargo run --release -- slice tests/data/astronaut.png '32:288:2, 400:100:-2' -o flipped.png";

/// Returns the lines in code blocks of `text` that have more than 88 columns, each with its line number,
/// counted from 1.
fn wide_code(text: &str) -> Vec<(usize, &str)> {
    let mut in_fence = false;
    let mut wide_lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        } else if in_fence && line.chars().count() > 88 {
            wide_lines.push((number, line));
        }
    }
    wide_lines
}

/// A page on GitHub shows 88 columns of code without scrolling.
#[test]
fn code_of_the_readme_fits_a_page() {
    let readme = read_document("README.md");
    assert_eq!(readme.matches("```").count() % 2, 0);
    assert!(readme.contains(&format!("\n{FIRST_COMMAND}\n")));
    assert!(
        read_document("tests/scripts/checks.sh")
            .contains(FIRST_COMMAND.split(" -o ").next().unwrap())
    );
    let mut wide_lines = wide_code(&readme);
    wide_lines.retain(|&(_, line)| line != FIRST_COMMAND);
    assert!(
        wide_lines.is_empty(),
        "README has code beyond 88 columns: {wide_lines:?}"
    );
}

/// Counts the words of a document, without blocks of code, tables and the addresses of links.
fn word_count(text: &str) -> usize {
    let mut in_fence = false;
    let prose = text.lines().filter(|line| {
        let fence = line.starts_with("```");
        in_fence ^= fence;
        !(in_fence || fence || line.starts_with('|'))
    });
    let prose: Vec<&str> = prose.collect();
    let prose = prose.join(" ");
    let without_addresses = prose.split("](").enumerate().map(|(at, part)| match at {
        0 => part,
        _ => part.split_once(')').map_or("", |(_, rest)| rest),
    });
    let text: Vec<&str> = without_addresses.collect();
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    text.concat().split_whitespace().filter(is_word).count()
}

#[test]
fn the_readme_is_short() {
    let count = word_count(&read_document("README.md"));
    assert!(count <= 650, "{count} words");
    let text = "# One\n\n[two three](docs/a b.md), `four`\n```\nno\n```\n| no |\n- five";
    assert_eq!(word_count(text), 5);
}

#[test]
fn wide_code_is_found() {
    let (fits, wide) = ("x".repeat(88), "x".repeat(89));
    let text = format!("{wide}\n```\n{fits}\n{wide}\n```\n{wide}\n  ```sh\n{wide}\n  ```");
    let found: Vec<usize> = wide_code(&text).into_iter().map(|(line, _)| line).collect();
    assert_eq!(found, [4, 8]);
}

/// `tests/python/mutants.py` writes the count of faults into one document. No other document repeats it.
#[test]
fn the_count_of_faults_is_in_one_document() {
    let testing = read_document("docs/TESTING.md");
    let (_, rest) = testing.split_once("<!-- mutants -->\n").unwrap();
    let (counts, _) = rest.split_once("<!-- end of mutants -->\n").unwrap();
    let words: Vec<&str> = counts.split(' ').collect();
    let [noticed, total] = [words[0], words[2]].map(|word| word.parse::<usize>().unwrap());
    assert_eq!([words[1], words[3]], ["of", "faults"]);
    assert!(noticed <= total, "{counts}");
    let mut documents = Vec::new();
    add_files(root(), &[".md"], &mut documents);
    let texts = documents
        .iter()
        .map(|path| fs::read_to_string(path).unwrap());
    let mentions = texts.map(|text| text.matches(&format!("of {total} ")).count());
    assert_eq!(mentions.sum::<usize>(), 1);
}

/// tests/vectors/README.md is the only document that counts the golden vectors.
#[test]
fn counts_of_golden_vectors_are_those_of_the_files() {
    let readme = read_document("tests/vectors/README.md");
    let rows = readme.lines().filter_map(|line| {
        let (file, rest) = line.strip_prefix("| `")?.split_once(".jsonl` | ")?;
        let count = rest.split(' ').next()?.replace(',', "").parse().ok()?;
        Some((format!("{file}.jsonl"), count))
    });
    let listed_counts: Vec<(String, usize)> = rows.collect();
    let mut files = Vec::new();
    add_files(&root().join("tests/vectors"), &[".jsonl"], &mut files);
    assert_eq!(listed_counts.len(), files.len(), "{listed_counts:?}");
    for (file, count) in listed_counts {
        let cases = read_document(&format!("tests/vectors/{file}"));
        assert_eq!(cases.lines().count(), count, "{file}");
    }
}

/// Returns the ratios of a row in the tables of docs/PERFORMANCE.md: the other program's time ÷ wgslice's time.
fn ratios_of_row(row_name: &str) -> Vec<f64> {
    let performance = read_document("docs/PERFORMANCE.md");
    let row = performance
        .lines()
        .find_map(|line| line.strip_prefix(&format!("| {row_name} |")))
        .unwrap();
    row.split('|')
        .filter_map(|cell| cell.trim().trim_matches('*').parse().ok())
        .collect()
}

/// README compares wgslice with the fastest other program by the figures of the table in docs/PERFORMANCE.md.
#[test]
fn speed_in_the_readme_is_that_of_the_table() {
    let readme = read_document("README.md");
    let output_ratios = ratios_of_row("EPYC-17, new output");
    let slower_count = output_ratios.iter().filter(|&&ratio| ratio < 1.0).count();
    let max_slowdown = output_ratios.iter().fold(1.0, |max_slowdown: f64, ratio| {
        max_slowdown.max(1.0 / ratio)
    });
    let words = readme.split_whitespace().collect::<Vec<_>>().join(" ");
    let claim = format!(
        "on {slower_count} of the {} workloads, by up to {max_slowdown:.1} times",
        output_ratios.len()
    );
    assert!(words.contains(&claim), "README lacks: {claim}");
    let tensor_ratios = ratios_of_row("EPYC-17, new tensor");
    assert!(
        tensor_ratios.iter().all(|&ratio| ratio > 1.0),
        "{tensor_ratios:?}"
    );
    let claim = format!("the fastest on all {} workloads", tensor_ratios.len());
    assert!(words.contains(&claim), "README lacks: {claim}");
}

/// Words that people search for, and the methods that they find on docs.rs.
const SEARCH_WORDS: [(&str, &[&str]); 18] = [
    ("strided_slice", &["slice"]),
    ("flip", &["slice"]),
    ("reverse", &["slice"]),
    ("take", &["gather"]),
    ("index_select", &["gather"]),
    ("embedding", &["gather"]),
    ("take_along_axis", &["gather_elements"]),
    ("random_crop", &["crop"]),
    ("dynamic_slice", &["crop"]),
    ("dynamic_update_slice", &["paste"]),
    ("kv_cache", &["paste"]),
    ("append", &["paste"]),
    ("TensorScatter", &["paste"]),
    ("argwhere", &["nonzero"]),
    ("where", &["nonzero", "select"]),
    ("concatenate", &["concat"]),
    ("scatter_add", &["tensor_scatter_nd", "scatter_elements"]),
    ("index_put", &["index_update", "tensor_scatter_nd"]),
];

/// Returns the name of the method that a line of source declares, and the line before it if that is an attribute with
/// an alias. Returns `None` if the line declares no method.
fn declared_method<'s>(
    previous_line: &'s str,
    line: &'s str,
) -> Option<(&'s str, Option<&'s str>)> {
    let line = line.trim_start();
    let rest = line.strip_prefix("pub fn ").or(line.strip_prefix("fn "))?;
    let name = rest.split(['(', '<']).next()?;
    let previous_line = previous_line.trim_start();
    Some((
        name,
        previous_line
            .starts_with("#[doc(alias")
            .then_some(previous_line),
    ))
}

#[test]
fn searches_find_the_methods() {
    let mut sources = Vec::new();
    add_files(&root().join("src"), &[".rs"], &mut sources);
    let sources = sources.iter().map(|path| fs::read_to_string(path).unwrap());
    let source = sources.collect::<String>();
    let lines: Vec<&str> = source.lines().collect();
    let declared = lines.windows(2);
    let methods: Vec<_> = declared
        .filter_map(|two| declared_method(two[0], two[1]))
        .collect();
    for (word, names) in SEARCH_WORDS {
        for name in names {
            let quoted = format!("\"{word}\"");
            let found = methods.iter().filter(|(method, alias)| {
                method == name && alias.is_some_and(|alias| alias.contains(&quoted))
            });
            // These are methods of `Backend`, `Tensor` and `Plan`, and for slices also of `View`.
            assert!(
                found.count() >= 3,
                "{word} does not find {name} on three types"
            );
        }
    }
}

/// The front page of the documentation leads to each task of the table in docs/DEVELOPING.md by one link.
#[test]
fn the_front_page_answers_tasks() {
    let (front, developing) = (
        read_document("src/front.md"),
        read_document("docs/DEVELOPING.md"),
    );
    let (_, table) = developing.split_once("## Documentation by task\n").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| "));
    let rows: Vec<Vec<&str>> = rows.map(|row| row.split(" | ").collect()).collect();
    assert!(rows.len() > 5, "{rows:?}");
    for row in &rows[1..] {
        let (task, link) = (row[0].trim_start_matches("| "), format!("[{}]", row[1]));
        let mut task_rows = front
            .lines()
            .filter(|line| line.starts_with('|') && line.contains(task));
        assert!(task_rows.any(|row| row.contains(&link)), "{task}: {link}");
    }
    assert!(front.contains("\n# Record into your own encoder\n"));
}

/// docs/DEVELOPING.md lists the crates that a release publishes in an order that crates.io accepts: each after the
/// crates that it needs, even for optional features only.
#[test]
fn the_page_on_releases_names_the_crates_in_order() {
    let script = read_document(".github/release");
    let (_, list) = script.split_once("\ncrates=(").unwrap();
    let (list, _) = list.split_once(')').unwrap();
    let published: Vec<&str> = list.split(' ').collect();
    let developing = read_document("docs/DEVELOPING.md");
    let (_, section) = developing.split_once("## Releases\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let named: Vec<&str> = rows.map(|row| row.split_once('`').unwrap().0).collect();
    assert_eq!(named, published);

    let workspace = read_document("Cargo.toml");
    let (_, members) = workspace.split_once("\nmembers = [").unwrap();
    let (members, _) = members.split_once("]\n").unwrap();
    let (_, version) = workspace
        .split_once("[workspace.package]\nversion = ")
        .unwrap();
    let version = format!("version = {}", version.lines().next().unwrap());
    let members = members.split(", ").map(|member| member.trim_matches('"'));
    let mut published_count = 0;
    for folder in ["."].into_iter().chain(members) {
        let manifest = read_document(&format!("{folder}/Cargo.toml"));
        let name = manifest
            .lines()
            .find_map(|line| line.strip_prefix("name = "));
        let name = name.unwrap().trim_matches('"');
        if manifest.contains("\npublish = false\n") {
            assert!(!published.contains(&name), "{name}");
            continue;
        }
        let position = published.iter().position(|crate_name| *crate_name == name);
        let position =
            position.unwrap_or_else(|| panic!("{name} is neither published nor kept back"));
        published_count += 1;
        let mut heading = "";
        for line in manifest.lines() {
            if line.starts_with('[') {
                heading = line;
            }
            let Some((needed_name, source)) = line.split_once(" = {") else {
                continue;
            };
            if !heading.ends_with("dependencies]") || !source.contains("path = ") {
                continue;
            }
            // Cargo leaves dev-dependencies without a version out of the package.
            let is_packed = heading != "[dev-dependencies]";
            assert_eq!(source.contains(&version), is_packed, "{name}: {line}");
            let is_earlier = published[..position].contains(&needed_name);
            assert!(
                is_earlier || !is_packed,
                "{name} needs {needed_name} before it"
            );
        }
    }
    assert_eq!(published_count, published.len());
}
