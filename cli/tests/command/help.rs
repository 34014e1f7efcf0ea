//! `--help` explains every command with examples and fits a terminal.

use crate::support::wgslice;

#[test]
fn every_command_has_examples() {
    let full_help = wgslice(&["--help"]).ok().stdout;
    // Long lines are wrapped, so all whitespace is normalized.
    let full_help = full_help.split_whitespace().collect::<Vec<_>>().join(" ");
    for command in [
        "slice",
        "convert",
        "split",
        "masked-scatter",
        "compare",
        "gather-nd",
        "gather",
        "gather-elements",
        "crop",
        "paste",
        "scatter-nd",
        "scatter-elements",
        "slice-update",
        "grad",
        "transpose",
        "index",
        "index-update",
        "nonzero",
        "boolean-mask",
        "compress",
        "where",
        "concat",
        "stack",
        "pad",
        "roll",
        "tile",
        "repeat",
        "windows",
        "info",
        "verify",
        "bench",
        "completions",
        "man",
        "help",
    ] {
        let help = wgslice(&[command, "--help"]).ok().stdout;
        let about = help.lines().next().expect("a line");
        assert!(full_help.contains(about), "{command}: {about}");
        let examples = help.split("Examples:").nth(1).expect(command);
        let count = examples.matches(&format!("wgslice {command}")).count();
        assert!((1..=6).contains(&count), "{command}: {count} examples");
        let widest = help.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(100), "{command}: {widest:?} columns");
        // The options that all subcommands share take few lines.
        assert!(help.lines().count() <= 80, "{command}: {help}");
        assert!(!help.contains("--adapter <NAME>"), "{command}: {help}");
        assert_eq!(wgslice(&["help", command]).ok().stdout, help);
        assert_eq!(wgslice(&[command, "-h"]).ok().stdout, help);
    }
}

#[test]
fn completions_and_manual_pages_are_printed() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = wgslice(&["completions", shell]).ok().stdout;
        for word in ["scatter-elements", "no-clobber"] {
            assert!(script.contains(word), "{word} for {shell}");
        }
    }
    assert!(wgslice(&["man"]).ok().stdout.contains(".TH wgslice 1"));
    let page = wgslice(&["man", "slice"]).ok().stdout;
    assert!(
        page.contains(".TH wgslice-slice 1") && page.contains("memory"),
        "{page}"
    );
    assert_eq!(wgslice(&["man", "slide"]).code, Some(2));
}

#[test]
fn topics_are_explained() {
    let options = wgslice(&["help", "options"]).ok().stdout;
    for option in [
        "--device",
        "--adapter",
        "--threads",
        "--output",
        "--to",
        "--no-clobber",
    ] {
        assert!(
            options.contains(&format!("{option} ")) || options.contains(&format!("{option}\n")),
            "{option} in {options}"
        );
    }
    let files = wgslice(&["help", "files"]).ok().stdout;
    assert!(
        files
            .lines()
            .chain(options.lines())
            .all(|line| line.chars().count() <= 100)
    );
    let unknown = wgslice(&["help", "xyzzy"]);
    assert!(
        unknown.code == Some(2) && unknown.stderr.contains("`wgslice help`"),
        "{unknown:?}"
    );
    let help = wgslice(&["help"]).ok().stdout;
    assert_eq!(wgslice(&["--help"]).ok().stdout, help);
    // Without a subcommand, the command prints its help as an error.
    let outcome = wgslice(&[]);
    assert!(
        outcome.code == Some(2) && outcome.stderr == help,
        "{outcome:?}"
    );
}

#[test]
fn the_help_begins_with_examples() {
    let help = wgslice(&["--help"]).ok().stdout;
    assert!(help.matches("\n  wgslice ").count() >= 5, "{help}");
    assert!(
        help.lines().all(|line| line.chars().count() <= 90),
        "{help}"
    );
}

#[test]
fn exit_codes_are_documented() {
    let help = wgslice(&["--help"]).ok().stdout;
    for code in [
        "0  done",
        "1  compare found a difference; verify",
        "2  bad usage, bad input",
        "3  the device does not exist",
        "129, 130, 131, 143  ended by",
    ] {
        assert!(help.contains(code), "{code} in {help}");
    }
    assert!(wgslice(&["--version"]).ok().stdout.starts_with("wgslice "));
}
