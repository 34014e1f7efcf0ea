//! Exceeding a limit of the system is an error of the command.

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
    let ran = Command::new("bash").args(["-c", &script]).output();
    ran.expect("the shell starts").into()
}

/// By default, the system ends a program whose file exceeds the limit, and leaves the file.
#[test]
fn an_output_beyond_the_limit_of_files_is_an_error() {
    let folder = Folder::new();
    let noise = (0..1_u32 << 20).map(|n| (n.wrapping_mul(n) >> 7).to_le_bytes()[0]);
    let input = folder.npy("in.npy", "|u1", &[1024, 1024], &noise.collect::<Vec<_>>());
    for output in ["out.npy", "out.png"] {
        let output = folder.path(output);
        let command = format!("slice {input} ::-1 -o {output} --device cpu");
        // `ulimit -f` counts units of 1024 bytes.
        let ran = run_limited("ulimit -f 100", &command);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        for said in ["cannot write", &output, "File too large"] {
            assert!(ran.stderr.contains(said), "{ran:?}");
        }
        assert_eq!(folder.names(), ["in.npy"]);
    }
}

/// By default, SIGBUS ends a program that accesses a mapped file after its new end.
#[test]
fn an_input_that_becomes_shorter_is_an_error() {
    let bytes: usize = 8 << 30;
    let mut cut_while_mapped = false;
    for patience in [1, 5, 20, 50, 100, 200] {
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
        thread::sleep(Duration::from_millis(patience));
        let file = File::options().write(true).open(&input).expect("the input");
        file.set_len(5000).expect("a shorter input");
        let ran: CommandRun = running.wait_with_output().expect("it ends").into();
        assert_eq!(ran.code, Some(2), "after {patience} ms: {ran:?}");
        assert!(ran.stderr.starts_with("error: "), "{ran:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
        assert_eq!(folder.names(), ["in.npy"], "after {patience} ms");
        cut_while_mapped |= ran.stderr.contains("became shorter while it was read");
    }
    assert!(cut_while_mapped);
}
