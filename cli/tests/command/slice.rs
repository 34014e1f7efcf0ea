//! `wgslice slice`: the result is correct on every device, for every notation of a slice.

use crate::support::{Folder, devices, read_i32, safetensors, wgslice};
use std::fs;

const PHOTO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/astronaut.png");

#[test]
fn a_spec_slices_on_every_device() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2, 3, 4]);
    let output = folder.path("out.npy");
    for device in devices() {
        wgslice(&[
            "slice",
            &input,
            "1, ::-2, None, 1:3",
            "-o",
            &output,
            "--device",
            device,
        ])
        .ok();
        let expected = (vec![2, 1, 2], vec![21, 22, 13, 14]);
        assert_eq!(read_i32(&output), expected, "{device}");
    }
}

#[test]
fn a_spec_can_begin_with_a_minus() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2, 3]);
    let output = folder.path("out.npy");
    for (spec, expected) in [
        ("-1", vec![3, 4, 5]),
        ("-2:, -1", vec![2, 5]),
        ("-1, -2", vec![4]),
    ] {
        wgslice(&["slice", &input, spec, "-o", &output]).ok();
        assert_eq!(read_i32(&output).1, expected, "{spec}");
    }
}

#[test]
fn specs_and_masks_agree() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2, 3, 4]);
    let (spec_output, masks_output) = (folder.path("spec.npy"), folder.path("masks.npy"));
    let rows: [(&str, &[&str]); 4] = [
        (
            ":1, ::-1",
            &[
                "--begin",
                "0,0",
                "--end",
                "1,0",
                "--strides",
                "1,-1",
                "--begin-mask",
                "0b11",
                "--end-mask",
                "0x2",
            ],
        ),
        (
            "..., None, -1",
            &[
                "--begin",
                "0,0,-1",
                "--end=0,0,0",
                "--ellipsis-mask",
                "1",
                "--new-axis-mask",
                "2",
                "--shrink-axis-mask",
                "4",
            ],
        ),
        ("-2:-1", &["--begin=-2", "--end", "-1"]),
        ("", &["--begin", "", "--end", ""]),
    ];
    for device in devices() {
        for (spec, masks) in rows {
            let options = ["-o", &spec_output, "--device", device];
            wgslice(&[&["slice", &input, spec][..], &options].concat()).ok();
            let options = ["-o", &masks_output, "--device", device];
            wgslice(&[&["slice", &input], masks, &options].concat()).ok();
            let [spec_file, masks_file] =
                [&spec_output, &masks_output].map(|path| fs::read(path).unwrap());
            assert!(spec_file == masks_file, "{spec:?} on {device}");
        }
    }
}

#[test]
fn a_photo_stays_a_photo() {
    let folder = Folder::new();
    let spec = "32:288:2, 400:100:-2, :";
    let [png, from_png, npy] = ["out.png", "out.npy", "straight.npy"].map(|name| folder.path(name));
    for device in devices() {
        wgslice(&["slice", PHOTO, spec, "-o", &png, "--device", device]).ok();
        assert!(fs::read(&png).unwrap().starts_with(b"\x89PNG\r\n\x1a\n"));
        wgslice(&["slice", &png, "...", "-o", &from_png]).ok();
        let outcome = wgslice(&["slice", PHOTO, spec, "-o", &npy, "--device", device]).ok();
        let message = "straight.npy  128 × 150 × 3 uint8, 56.2 KiB, ";
        assert!(outcome.stdout.contains(message), "{outcome:?}");
        assert!(
            fs::read(&from_png).unwrap() == fs::read(&npy).unwrap(),
            "{device}"
        );
    }
}

#[test]
fn a_tensor_of_a_safetensors_file_is_named_after_a_hash() {
    let folder = Folder::new();
    let values: Vec<u8> = [5i32, 6, 7, 8]
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    folder.write(
        "model.safetensors",
        safetensors("wte.weight", "I32", &[2, 2], &values),
    );
    let input = format!("{}#wte.weight", folder.path("model.safetensors"));
    let output = folder.path("out.npy");
    for device in devices() {
        wgslice(&["slice", &input, ":, 1", "-o", &output, "--device", device]).ok();
        assert_eq!(read_i32(&output), (vec![2], vec![6, 8]), "{device}");
    }
}

#[test]
fn an_empty_result_and_a_scalar_are_written() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2, 3]);
    let output = folder.path("out.npy");
    for device in devices() {
        wgslice(&[
            "slice", &input, "5:, ::-1", "-o", &output, "--device", device,
        ])
        .ok();
        assert_eq!(read_i32(&output), (vec![0, 3], vec![]), "{device}");
        wgslice(&["slice", &input, "1, 2", "-o", &output, "--device", device]).ok();
        assert_eq!(read_i32(&output), (vec![], vec![5]), "{device}");
    }
}

/// The line about the output has at most 79 columns, whatever the path's length and characters.
#[test]
fn one_line_of_79_columns_names_the_output() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2, 3]);
    for name in ["out.npy", &("x".repeat(200) + ".npy"), "a\nb\u{1b}[31m.npy"] {
        let output = folder.path(name);
        let args = ["slice", &input, "::-1", "-o", &output];
        let outcome = wgslice(&args).ok();
        let line = outcome.stdout.strip_suffix('\n').expect("a line");
        assert!(line.chars().count() <= 79, "{line}");
        assert!(!line.contains(char::is_control), "{line:?}");
        let (path, rest) = line.split_once("  ").expect("a path");
        assert!(path.ends_with(".npy"), "{line}");
        assert!(rest.starts_with("2 × 3 int32, 24 bytes, "), "{line}");
        assert!(rest.ends_with(" (CPU)"), "{line}");
    }
}

#[test]
fn verbose_and_quiet_change_the_output() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2, 3]);
    let output = folder.path("out.npy");
    let run = |more: &[&str]| wgslice(&[&["slice", &input, "::-1", "-o", &output], more].concat());
    let verbose = run(&["-v", "--device", "cpu"]).ok().stdout;
    for part in [
        "(CPU)\n",
        "on CPU: the CPU was asked for",
        "in.npy (2 × 3)",
        "read ",
        ", upload ",
        ", dispatch ",
        ", readback ",
        ", write ",
        "in 1 piece\n",
    ] {
        assert!(verbose.contains(part), "{part} in {verbose}");
    }
    let quiet = run(&["-q"]).ok();
    assert_eq!((&*quiet.stdout, &*quiet.stderr), ("", ""));
    // `--quiet` suppresses neither the requested output nor errors.
    assert!(!run(&["-q", "--json"]).ok().stdout.is_empty());
    assert!(!run(&["-q", "--explain"]).ok().stdout.is_empty());
    assert_eq!(run(&["-q", "-v"]).code, Some(2));
    let failed = wgslice(&["slice", &input, "7", "-o", &output, "-q"]);
    assert!(failed.stderr.starts_with("error: "), "{failed:?}");
    let out_of_range = folder.npy("beyond.npy", "<i4", &[1], &9i32.to_le_bytes());
    let gather = ["gather", &input, &out_of_range, "-o", &output];
    assert!(wgslice(&gather).ok().stderr.starts_with("warning: "));
    assert_eq!(wgslice(&[&gather[..], &["-q"]].concat()).ok().stderr, "");
}

#[test]
fn json_has_the_same_content() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2, 3]);
    let output = folder.path("out.npy");
    for device in devices() {
        let args = [
            "slice", &input, "0", "-o", &output, "--device", device, "--json",
        ];
        let run = wgslice(&args).ok().json();
        assert_eq!(
            run["inputs"],
            serde_json::json!([{"path": input, "shape": [2, 3]}])
        );
        assert_eq!(
            run["output"],
            serde_json::json!({"path": output, "shape": [3]})
        );
        assert_eq!(run["dtype"], "int32");
        assert_eq!(run["device"] == "CPU", *device == "cpu");
        assert!(
            run["reason"]
                .as_str()
                .is_some_and(|reason| !reason.is_empty())
        );
        for stage in ["read", "upload", "dispatch", "readback", "write"] {
            assert!(
                run["seconds"][stage]
                    .as_f64()
                    .is_some_and(|time| time >= 0.0),
                "{run}"
            );
        }
    }
}
