//! Slices of files that are processed in pieces.

use crate::support::{Folder, bytes, command, devices, npy, wgslice};
use std::{fs, process::Stdio, thread, time::Duration};

#[test]
fn the_file_does_not_depend_on_the_pieces() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[40, 100, 300]);
    for spec in ["::-1, 3:, ::2", "1::2", "...", "::3, ::-1, 5"] {
        let mut files = Vec::new();
        for device in devices() {
            for memory in ["1M", "3MiB", "1G"] {
                let output = folder.path("out.npy");
                let args = ["slice", &input, spec, "-o", &output, "--json"];
                let more = ["--device", device, "--memory", memory];
                let run = wgslice(&[args.as_slice(), &more].concat()).ok().json();
                let pieces = run["pieces"].as_u64().expect("a number");
                let is_one_piece = pieces == 1;
                assert!(is_one_piece || memory != "1G", "{spec} {device}: {run}");
                assert!(!is_one_piece || memory != "1M", "{spec} {device}: {run}");
                assert_eq!(run["fallback"], serde_json::Value::Null);
                files.push(fs::read(&output).expect("the output"));
            }
        }
        assert!(files.windows(2).all(|pair| pair[0] == pair[1]), "{spec}");
    }
}

/// Writes an array of 0, 1, 2, … to three files: big-endian, in Fortran order, and both.
fn write_in_other_orders(folder: &Folder, shape: &[usize]) -> Vec<String> {
    let count: usize = shape.iter().product();
    let values: Vec<i32> = (0..).take(count).collect();
    let row_major_position = |mut flat: usize| {
        let mut at = vec![0; shape.len()];
        for (at, size) in at.iter_mut().zip(shape) {
            (*at, flat) = (flat % size, flat / size);
        }
        at.iter()
            .zip(shape)
            .fold(0, |flat, (at, size)| flat * size + at)
    };
    let fortran: Vec<i32> = (0..count)
        .map(|flat| values[row_major_position(flat)])
        .collect();
    let big_endian_bytes = |values: &[i32]| {
        values
            .iter()
            .flat_map(|value| value.to_be_bytes())
            .collect::<Vec<_>>()
    };
    let mut paths = vec![folder.npy("big.npy", ">i4", shape, &big_endian_bytes(&values))];
    for (name, descr, data) in [
        ("f.npy", "<i4", bytes(&fortran)),
        ("g.npy", ">i4", big_endian_bytes(&fortran)),
    ] {
        let file = npy(descr, shape, &data);
        let at = file
            .windows(6)
            .position(|word| word == b"False,")
            .expect("the order");
        paths.push(folder.write(name, [&file[..at], b"True ,", &file[at + 6..]].concat()));
    }
    paths
}

/// A slice of a file in Fortran order or a big-endian file has the values of the same slice of a plain file, in one
/// piece or several, and as `.npy` or `.safetensors`.
#[test]
fn files_in_other_orders_are_sliced_in_pieces() {
    let folder = Folder::new();
    let shape = [40, 60, 70];
    let plain = folder.write_arange("in.npy", &shape);
    let (expected, out) = (folder.path("expected.npy"), folder.path("out.npy"));
    let tensor = folder.path("out.safetensors");
    for input in write_in_other_orders(&folder, &shape) {
        for spec in [
            "::-1, 3:, ::2",
            "1::2",
            "...",
            "::3, ::-1, 5",
            "5, :9",
            "..., 3",
            "None, 1, ..., 2:4",
            "3:1",
            "1, 2, 3",
        ] {
            wgslice(&["slice", &plain, spec, "-o", &expected]).ok();
            let values = wgslice(&["slice", &plain, spec, "-q"]).ok().stdout;
            for (device, memory) in devices()
                .iter()
                .flat_map(|&device| ["1M", "1G"].map(|memory| (device, memory)))
            {
                let options = ["--device", device, "--memory", memory];
                let shown = wgslice(&[&["slice", &input, spec, "-q"], &options[..]].concat())
                    .ok()
                    .stdout;
                assert_eq!(shown, values, "{input} {spec} {device}");
                for output in [&out, &tensor] {
                    wgslice(&[&["slice", &input, spec, "-o", output], &options[..]].concat()).ok();
                    wgslice(&["compare", output, &expected]).ok();
                }
            }
        }
        // `gather` also reads files in these orders.
        wgslice(&["gather", &input, "3,1", "--axis", "1", "-o", &out]).ok();
        wgslice(&["gather", &plain, "3,1", "--axis", "1", "-o", &expected]).ok();
        wgslice(&["compare", &out, &expected]).ok();
    }
}

/// The result of slicing a file in Fortran order keeps this order if the output's format supports it, so that the
/// result can be written piece by piece.
#[test]
fn fortran_order_is_kept_if_the_format_supports_it() {
    let folder = Folder::new();
    let inputs = write_in_other_orders(&folder, &[20, 30]);
    let order_of_output = |args: &[&str]| {
        wgslice(&[args, &["-q"]].concat()).ok();
        let json = wgslice(&["info", args[args.len() - 1], "--json"])
            .ok()
            .json();
        json["files"][0]["arrays"][0]["order"].clone()
    };
    for (output, expected) in [
        ("out.npy", "Fortran"),
        ("out.npz#x", "Fortran"),
        ("out.safetensors", "C"),
    ] {
        let output = folder.path(output);
        assert_eq!(
            order_of_output(&["slice", &inputs[1], "1:, ::2", "-o", &output]),
            expected
        );
        assert_eq!(
            order_of_output(&["slice", &inputs[1], "1", "-o", &output]),
            "C",
            "one dimension"
        );
        assert_eq!(
            order_of_output(&["slice", &inputs[0], "1:", "-o", &output]),
            "C"
        );
    }
}

#[test]
fn the_verbose_output_has_the_number_of_pieces() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[1000, 1000]);
    let output = folder.path("out.npy");
    let args = ["slice", &input, "::-1", "-o", &output, "--device", "cpu"];
    let outcome = wgslice(&[args.as_slice(), &["--memory", "1M", "-v"]].concat()).ok();
    assert!(outcome.stdout.trim_end().ends_with("pieces"), "{outcome:?}");
    assert!(!wgslice(&args).ok().stdout.contains("piece"));
}

#[test]
fn too_little_memory_is_refused() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2]);
    let output = folder.path("out.npy");
    for memory in ["1000", "0", "lots"] {
        let outcome = wgslice(&["slice", &input, "0", "-o", &output, "--memory", memory]);
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains("--memory"), "{outcome:?}");
    }
}

/// A signal while the command writes leaves neither the output nor a temporary file.
#[cfg(unix)]
#[test]
fn an_interrupted_slice_leaves_no_file() {
    let bytes = 8 << 30;
    for device in devices() {
        for (signal, code) in [("-HUP", 129), ("-INT", 130), ("-QUIT", 131), ("-TERM", 143)] {
            if crate::support::is_ignored(code - 128) {
                continue;
            }
            let folder = Folder::new();
            let input = folder.write_sparse("in.npy", "<f4", &[bytes / 4096, 1024], bytes as u64);
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
            let status = std::process::Command::new("kill")
                .args([signal, &running.id().to_string()])
                .status();
            assert!(status.expect("kill runs").success());
            let status = running.wait().expect("it ends");
            assert_eq!(status.code(), Some(code), "{device} {signal}: {status}");
            assert_eq!(folder.names(), ["in.npy"], "{device} {signal}");
        }
    }
}
