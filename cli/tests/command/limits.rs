//! Limits of the system, as errors.

use crate::support::{Folder, Ran};
use std::process::Command;

const WGSLICE: &str = env!("CARGO_BIN_EXE_wgslice");

/// Runs the command in a shell that sets a limit.
fn limited(limit: &str, command: &str) -> Ran {
    let script = format!("{limit} && exec {WGSLICE} {command}");
    let ran = Command::new("bash").args(["-c", &script]).output();
    ran.expect("the shell starts").into()
}

/// By default the system ends a program whose file grows beyond the limit, and leaves the file.
#[test]
fn an_output_beyond_the_limit_of_files_is_an_error() {
    let folder = Folder::new();
    let noise = (0..1_u32 << 20).map(|n| (n.wrapping_mul(n) >> 7).to_le_bytes()[0]);
    let input = folder.npy("in.npy", "|u1", &[1024, 1024], &noise.collect::<Vec<_>>());
    for output in ["out.npy", "out.png"] {
        let output = folder.path(output);
        let command = format!("slice {input} ::-1 -o {output} --device cpu");
        // In units of 1024 bytes.
        let ran = limited("ulimit -f 100", &command);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        for said in ["cannot write", &output, "File too large"] {
            assert!(ran.stderr.contains(said), "{ran:?}");
        }
        assert_eq!(folder.names(), ["in.npy"]);
    }
}
