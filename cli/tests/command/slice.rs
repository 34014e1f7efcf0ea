//! `wgslice slice`: the result is correct on every device, for every notation of a slice.

use crate::support::{Folder, devices, read_i32, safetensors, wgslice};
use std::fs;

const PHOTO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/astronaut.png");

#[test]
fn a_spec_slices_on_every_device() {
    let folder = Folder::new();
    let input = folder.arange("in.npy", &[2, 3, 4]);
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
fn a_spec_may_begin_with_a_minus() {
    let folder = Folder::new();
    let input = folder.arange("in.npy", &[2, 3]);
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
    let input = folder.arange("in.npy", &[2, 3, 4]);
    let (by_spec, by_masks) = (folder.path("spec.npy"), folder.path("masks.npy"));
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
            let rest = ["-o", &by_spec, "--device", device];
            wgslice(&[&["slice", &input, spec][..], &rest].concat()).ok();
            let rest = ["-o", &by_masks, "--device", device];
            wgslice(&[&["slice", &input], masks, &rest].concat()).ok();
            let [spec_file, masks_file] = [&by_spec, &by_masks].map(|path| fs::read(path).unwrap());
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
        let ran = wgslice(&["slice", PHOTO, spec, "-o", &npy, "--device", device]).ok();
        assert!(
            ran.stdout
                .starts_with("[512,512,3] -> [128,150,3] uint8 on "),
            "{ran:?}"
        );
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
    let input = folder.arange("in.npy", &[2, 3]);
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

#[test]
fn one_line_says_shapes_dtype_device_reason_and_times() {
    let folder = Folder::new();
    let input = folder.arange("in.npy", &[2, 3]);
    let output = folder.path("out.npy");
    let ran = wgslice(&["slice", &input, "::-1", "-o", &output, "--device", "cpu"]).ok();
    assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
    let begin = "[2,3] -> [2,3] int32 on CPU (the CPU was asked for): read ";
    assert!(ran.stdout.starts_with(begin), "{ran:?}");
    for stage in ["upload ", "dispatch ", "readback ", "write "] {
        assert!(ran.stdout.contains(stage), "{stage} in {ran:?}");
    }
}

#[test]
fn json_says_the_same() {
    let folder = Folder::new();
    let input = folder.arange("in.npy", &[2, 3]);
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
