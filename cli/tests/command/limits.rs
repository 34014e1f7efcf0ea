//! If the command exceeds a limit of the system, it fails with an error.

use crate::support::{CommandRun, Folder, command};
use std::{
    fs::File,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

const WGSLICE: &str = env!("CARGO_BIN_EXE_wgslice");

/// Runs the command in a shell that sets a limit.
fn run_limited(limit: &str, command: &str) -> CommandRun {
    let script = format!("{limit} && exec {WGSLICE} {command}");
    let outcome = Command::new("bash").args(["-c", &script]).output();
    outcome.expect("the shell starts").into()
}

/// By default, the system ends a program that exceeds the limit on the size of files, and leaves the incomplete file.
#[test]
fn an_output_beyond_the_limit_of_files_is_an_error() {
    let folder = Folder::new();
    let noise = (0..1_u32 << 20).map(|n| (n.wrapping_mul(n) >> 7).to_le_bytes()[0]);
    let input = folder.npy("in.npy", "|u1", &[1024, 1024], &noise.collect::<Vec<_>>());
    for output in ["out.npy", "out.png"] {
        let output = folder.path(output);
        let command = format!("slice {input} ::-1 -o {output} --device cpu");
        // `ulimit -f` counts units of 1024 bytes.
        let outcome = run_limited("ulimit -f 100", &command);
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        for message_part in ["cannot write", &output, "File too large"] {
            assert!(outcome.stderr.contains(message_part), "{outcome:?}");
        }
        assert_eq!(folder.names(), ["in.npy"]);
    }
}

/// If a mapped file becomes shorter, an access after its new end causes SIGBUS, which ends the program by default.
#[test]
fn an_input_that_becomes_shorter_is_an_error() {
    let bytes: usize = 8 << 30;
    let mut was_cut_while_mapped = false;
    for delay_ms in [1, 5, 20, 50, 100, 200] {
        let folder = Folder::new();
        // The slice touches every page of the file, and its result is small enough for one piece.
        let input = folder.write_sparse("in.npy", "<f4", &[bytes / 4096, 1024], bytes as u64);
        let output = folder.path("out.npy");
        let mut running = command(&["slice", &input, ":, 5", "-o", &output, "--device", "cpu"]);
        running.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut running = running.spawn().expect("the command starts");
        while !folder.is_written_by(&running) {
            assert_eq!(
                running.try_wait().expect("its state"),
                None,
                "it ended too early"
            );
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(delay_ms));
        let file = File::options().write(true).open(&input).expect("the input");
        file.set_len(5000).expect("a shorter input");
        let outcome: CommandRun = running.wait_with_output().expect("it ends").into();
        assert_eq!(outcome.code, Some(2), "after {delay_ms} ms: {outcome:?}");
        assert!(outcome.stderr.starts_with("error: "), "{outcome:?}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
        assert_eq!(folder.names(), ["in.npy"], "after {delay_ms} ms");
        was_cut_while_mapped |= outcome.stderr.contains("became shorter while it was read");
    }
    assert!(was_cut_while_mapped);
}
