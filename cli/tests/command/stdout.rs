//! Standard output that cannot be written, on Linux: `/dev/full` behaves like a full disk.

use crate::bench::small_workloads;
use crate::support::{CommandRun, Folder, command, read_i32};
use std::{
    fs::File,
    process::{Child, Stdio},
};

fn run_with_full_stdout(args: &[&str]) -> CommandRun {
    let full_device = File::options().write(true).open("/dev/full");
    let mut command = command(args);
    command.stdout(full_device.expect("/dev/full"));
    command.output().expect("the command starts").into()
}

#[test]
fn a_stdout_that_cannot_be_written_is_an_error() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2, 3]);
    let output = folder.path("out.npy");
    let slice = ["slice", &input, "1", "-o", &output, "--device", "cpu"];
    let workloads = folder.write("workloads.json", small_workloads().to_string());
    let bench = ["bench", "--workloads", &workloads, "--device", "cpu"];
    let runs: [&[&str]; 10] = [
        &slice,
        &[&slice[..], &["--json"]].concat(),
        &["slice", &input, "1", "--explain", "--device", "cpu"],
        &["info", "--device", "cpu"],
        &["info", "--device", "cpu", "--json"],
        &["verify", "--random", "1", "--device", "cpu"],
        &[&bench[..], &["--json"]].concat(),
        &bench,
        &["--help"],
        &["--version"],
    ];
    for args in runs {
        let outcome = run_with_full_stdout(args);
        assert_eq!(outcome.code, Some(2), "{args:?}: {outcome:?}");
        assert_eq!(
            outcome.stderr, "error: cannot write to standard output: No space left on device\n",
            "{args:?}"
        );
    }
    // The slice was written to its file although standard output failed.
    assert_eq!(read_i32(&output), (vec![3], vec![3, 4, 5]));
}

/// If the command fails and its output cannot be written, the exit code is the code of the command's own error.
#[test]
fn a_device_error_decides_the_exit_code() {
    let outcome = run_with_full_stdout(&["info", "--adapter", "none of this name"]);
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    assert_eq!(outcome.stderr.matches("error: ").count(), 2, "{outcome:?}");
}

#[test]
fn a_reader_that_stops_reading_is_not_an_error() {
    let mut command = command(&["verify", "--random", "1", "--device", "cpu"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running: Child = command.spawn().expect("the command starts");
    drop(running.stdout.take());
    let outcome: CommandRun = running.wait_with_output().expect("it ends").into();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
}
