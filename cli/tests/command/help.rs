//! `--help` explains commands with examples, and fits a terminal.

use crate::support::wgslice;

#[test]
fn every_command_has_examples() {
    let all = wgslice(&["--help"]).ok().stdout;
    // Long lines are folded.
    let all = all.split_whitespace().collect::<Vec<_>>().join(" ");
    for command in [
        "slice",
        "gather-nd",
        "gather",
        "gather-elements",
        "crop",
        "scatter-nd",
        "scatter-elements",
        "slice-update",
        "grad",
        "concat",
        "stack",
        "pad",
        "roll",
        "tile",
        "repeat",
        "info",
        "verify",
        "bench",
    ] {
        let help = wgslice(&[command, "--help"]).ok().stdout;
        let about = help.lines().next().expect("a line");
        assert!(all.contains(about), "{command}: {about}");
        let examples = help.split("Examples:").nth(1).expect(command);
        let count = examples.matches(&format!("wgslice {command}")).count();
        assert!((1..=6).contains(&count), "{command}: {count} examples");
        let widest = help.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(100), "{command}: {widest:?} columns");
    }
}

#[test]
fn exit_codes_are_documented() {
    let help = wgslice(&["--help"]).ok().stdout;
    for code in [
        "0  done",
        "1  verify",
        "2  bad usage or bad input",
        "3  no such device",
        "129, 130, 131, 143  ended by",
    ] {
        assert!(help.contains(code), "{code} in {help}");
    }
    assert!(wgslice(&["--version"]).ok().stdout.starts_with("wgslice "));
}
