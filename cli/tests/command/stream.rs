//! Slices of files that are processed in pieces.

use crate::support::{Folder, command, devices, wgslice};
use std::{fs, process::Stdio, thread, time::Duration};

#[test]
fn pieces_make_the_same_file() {
    let folder = Folder::new();
    let input = folder.arange("in.npy", &[40, 100, 300]);
    for spec in ["::-1, 3:, ::2", "1::2", "...", "::3, ::-1, 5"] {
        let mut files = Vec::new();
        for device in devices() {
            for memory in ["1M", "3MiB", "1G"] {
                let output = folder.path("out.npy");
                let args = ["slice", &input, spec, "-o", &output, "--json"];
                let more = ["--device", device, "--memory", memory];
                let run = wgslice(&[args.as_slice(), &more].concat()).ok().json();
                let pieces = run["pieces"].as_u64().expect("a number");
                let one = pieces == 1;
                assert!(one || memory != "1G", "{spec} {device}: {run}");
                assert!(!one || memory != "1M", "{spec} {device}: {run}");
                assert_eq!(run["fallback"], serde_json::Value::Null);
                files.push(fs::read(&output).expect("the output"));
            }
        }
        assert!(files.windows(2).all(|pair| pair[0] == pair[1]), "{spec}");
    }
}

#[test]
fn the_line_says_how_many_pieces() {
    let folder = Folder::new();
    let input = folder.arange("in.npy", &[1000, 1000]);
    let output = folder.path("out.npy");
    let args = ["slice", &input, "::-1", "-o", &output, "--device", "cpu"];
    let ran = wgslice(&[args.as_slice(), &["--memory", "1M", "-v"]].concat()).ok();
    assert!(ran.stdout.trim_end().ends_with("pieces"), "{ran:?}");
    assert!(!wgslice(&args).ok().stdout.contains("piece"));
}

#[test]
fn too_little_memory_is_refused() {
    let folder = Folder::new();
    let input = folder.arange("in.npy", &[2]);
    let output = folder.path("out.npy");
    for memory in ["1000", "0", "lots"] {
        let ran = wgslice(&["slice", &input, "0", "-o", &output, "--memory", memory]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("--memory"), "{ran:?}");
    }
}

/// A signal while the command writes leaves neither the output nor a temporary file.
#[cfg(unix)]
#[test]
fn an_interrupted_slice_leaves_nothing() {
    let bytes = 8 << 30;
    for device in devices() {
        for (signal, code) in [("-HUP", 129), ("-INT", 130), ("-QUIT", 131), ("-TERM", 143)] {
            if crate::support::ignores(code - 128) {
                continue;
            }
            let folder = Folder::new();
            let input = folder.sparse("in.npy", "<f4", &[bytes / 4096, 1024], bytes as u64);
            let output = folder.path("out.npy");
            let mut running =
                command(&["slice", &input, "::-1", "-o", &output, "--device", device])
                    .stdout(Stdio::null())
                    .spawn()
                    .expect("the command starts");
            while !folder.is_written_by(&running) {
                assert_eq!(
                    running.try_wait().expect("its state"),
                    None,
                    "it ended too early"
                );
                thread::sleep(Duration::from_millis(5));
            }
            let killed = std::process::Command::new("kill")
                .args([signal, &running.id().to_string()])
                .status();
            assert!(killed.expect("kill runs").success());
            let status = running.wait().expect("it ends");
            assert_eq!(status.code(), Some(code), "{device} {signal}: {status}");
            assert_eq!(folder.names(), ["in.npy"], "{device} {signal}");
        }
    }
}
