//! `wgslice gather-nd`: rows, batches, and tuples that are out of range.

use crate::support::{CommandRun, Folder, bytes, devices, read_i32, wgslice};
use serde_json::json;

/// Runs the command with these options on the files of params, indices and output.
fn gather_nd([params, indices, output]: [&str; 3], device: &str, options: &[&str]) -> CommandRun {
    let args = [
        "gather-nd",
        params,
        indices,
        "-o",
        output,
        "--device",
        device,
    ];
    wgslice(&[&args[..], options].concat())
}

#[test]
fn rows_are_gathered_by_every_integer_type() {
    let folder = Folder::new();
    let params = folder.write_arange("params.npy", &[3, 2]);
    let output = folder.path("out.npy");
    for (descr, width) in [("|u1", 1), ("<i2", 2), ("<i4", 4), ("<i8", 8), ("<u8", 8)] {
        let index = |value: u64| value.to_le_bytes()[..width].to_vec();
        let tuples = [index(2), index(0), index(2)].concat();
        let indices = folder.npy("indices.npy", descr, &[3, 1], &tuples);
        for device in devices() {
            let outcome = gather_nd([&params, &indices, &output], device, &[]).ok();
            assert_eq!(
                read_i32(&output),
                (vec![3, 2], vec![4, 5, 0, 1, 4, 5]),
                "{descr}"
            );
            let message = "out.npy  3 × 2 int32, 24 bytes, ";
            assert!(outcome.stdout.contains(message), "{outcome:?}");
            assert!(!outcome.stderr.contains("warning"), "{outcome:?}");
        }
    }
}

#[test]
fn batches_are_gathered_one_to_one() {
    let folder = Folder::new();
    let params = folder.write_arange("params.npy", &[2, 3]);
    let indices = folder.npy("indices.npy", "<i4", &[2, 1], &bytes(&[2, 0]));
    let output = folder.path("out.npy");
    for device in devices() {
        gather_nd([&params, &indices, &output], device, &["--batch-dims", "1"]).ok();
        assert_eq!(read_i32(&output), (vec![2], vec![2, 3]), "{device}");
    }
}

#[test]
fn rows_out_of_range_become_zeros_with_a_warning() {
    let folder = Folder::new();
    let params = folder.write_arange("params.npy", &[2, 3]);
    let indices = folder.npy(
        "indices.npy",
        "<i4",
        &[2, 2, 2],
        &bytes(&[1, 0, 1, 3, 0, 2, -1, 0]),
    );
    let output = folder.path("out.npy");
    for device in devices() {
        let outcome = gather_nd([&params, &indices, &output], device, &["--json"]).ok();
        assert_eq!(
            read_i32(&output),
            (vec![2, 2], vec![3, 0, 2, 0]),
            "{device}"
        );
        let warning = "warning: 2 of 4 index tuples are out of range and became zeros, \
                       the first at indices.npy[0,1] = [1, 3] of params.npy (2 × 3)";
        assert!(
            outcome.stderr.lines().any(|line| line == warning),
            "{outcome:?}"
        );
        let first = json!({"row": 1, "position": [0, 1], "index": [1, 3]});
        let expected = json!({"rows": 4, "bad": 2, "first": first});
        assert_eq!(outcome.json()["out_of_range"], expected, "{device}");
    }
}

#[test]
fn indices_wrap_and_are_clamped_on_demand() {
    let folder = Folder::new();
    let params = folder.write_arange("params.npy", &[3]);
    let indices = folder.npy("indices.npy", "<i4", &[4, 1], &bytes(&[-1, -4, 7, 1]));
    let output = folder.path("out.npy");
    for device in devices() {
        for (options, expected) in [
            (&["--negative", "wrap"][..], [2, 0, 0, 1]),
            (&["--out-of-range", "clamp"], [0, 0, 2, 1]),
            (
                &["--negative", "wrap", "--out-of-range", "clamp"],
                [2, 0, 2, 1],
            ),
        ] {
            gather_nd([&params, &indices, &output], device, options).ok();
            assert_eq!(
                read_i32(&output),
                (vec![4], expected.to_vec()),
                "{device} {options:?}"
            );
        }
    }
}

#[test]
fn rows_out_of_range_are_an_error_on_demand() {
    let folder = Folder::new();
    let params = folder.write_arange("params.npy", &[2, 3]);
    let indices = folder.npy("indices.npy", "<i4", &[1, 2], &bytes(&[0, 3]));
    let output = folder.path("out.npy");
    for device in devices() {
        let outcome = gather_nd(
            [&params, &indices, &output],
            device,
            &["--out-of-range", "error"],
        );
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(
            outcome
                .stderr
                .contains("indices.npy[0] = [0, 3] of params.npy (2 × 3)"),
            "{outcome:?}"
        );
        assert!(
            outcome.stderr.contains("--out-of-range ignore"),
            "{outcome:?}"
        );
        assert_eq!(folder.names(), ["indices.npy", "params.npy"], "{device}");
    }
}
