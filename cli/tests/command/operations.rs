//! Tests the operations other than plain slices on every device, and `--explain`.

use crate::support::{CommandRun, Folder, bytes, devices, read_i32, wgslice};
use serde_json::json;
use std::path::Path;

/// Runs a command on every device. Passes its outcome, and the shape and the values of its output, to `check`.
fn check_on_devices(
    folder: &Folder,
    args: &[&str],
    check: impl Fn(CommandRun, (Vec<usize>, Vec<i32>)),
) {
    let output = folder.path("out.npy");
    for device in devices() {
        let options = ["-o", &output, "--device", device, "--json"];
        let outcome = wgslice(&[args, &options].concat()).ok();
        check(outcome, read_i32(&output));
    }
}

#[test]
fn gather_takes_an_axis_and_batch_dims() {
    let folder = Folder::new();
    let params = folder.write_arange("params.npy", &[3, 4]);
    let columns = folder.npy("columns.npy", "<i4", &[2], &bytes(&[2, 0]));
    let columns_of_rows = folder.npy("picked.npy", "<i4", &[3], &bytes(&[0, -1, 2]));
    check_on_devices(
        &folder,
        &["gather", &params, &columns, "--axis", "-1"],
        |_, out| assert_eq!(out, (vec![3, 2], vec![2, 0, 6, 4, 10, 8])),
    );
    check_on_devices(
        &folder,
        &[
            "gather",
            &params,
            &columns_of_rows,
            "--batch-dims",
            "1",
            "--negative",
            "wrap",
        ],
        |outcome, out| {
            assert_eq!(out, (vec![3], vec![0, 7, 10]));
            assert_eq!(outcome.json()["out_of_range"]["bad"], 0);
        },
    );
    check_on_devices(
        &folder,
        &["gather", &params, &columns_of_rows, "--batch-dims", "1"],
        |outcome, out| {
            assert_eq!(out, (vec![3], vec![0, 0, 10]));
            assert!(
                outcome.stderr.contains("1 of 3 indices are out of range"),
                "{outcome:?}"
            );
        },
    );
}

#[test]
fn gather_elements_takes_an_axis() {
    let folder = Folder::new();
    let params = folder.write_arange("params.npy", &[2, 3]);
    let places = folder.npy("places.npy", "<i4", &[2, 2], &bytes(&[2, 0, -1, 1]));
    check_on_devices(
        &folder,
        &[
            "gather-elements",
            &params,
            &places,
            "--axis",
            "-1",
            "--negative",
            "wrap",
        ],
        |outcome, out| {
            assert_eq!(out, (vec![2, 2], vec![2, 0, 5, 4]));
            assert_eq!(outcome.json()["out_of_range"]["bad"], 0);
        },
    );
}

#[test]
fn crop_takes_boxes_of_items() {
    let folder = Folder::new();
    let lines = folder.write_arange("lines.npy", &[2, 4]);
    let begins = folder.npy("begins.npy", "<i4", &[3, 1], &bytes(&[0, 1, 3]));
    // The integer type of the box indices differs from the type of the start indices.
    let items = folder.npy("items.npy", "|u1", &[3], &[1, 0, 1]);
    let flips = folder.npy("flips.npy", "|b1", &[3, 1], &[0, 1, 0]);
    let crop = [
        "crop",
        &lines,
        &begins,
        "--box-indices",
        &items,
        "--size",
        "2",
    ];
    check_on_devices(
        &folder,
        &[&crop[..], &["--flips", &flips]].concat(),
        |outcome, out| {
            assert_eq!(out, (vec![3, 2], vec![4, 5, 2, 1, 7, 0]));
            let warning = "1 of 3 boxes extend outside and are zeros there";
            assert!(outcome.stderr.contains(warning), "{outcome:?}");
            assert_eq!(
                outcome.json()["out_of_range"]["first"]["index"],
                json!([1, 3])
            );
        },
    );
    let options = ["--strides", "-1", "--out-of-range", "clamp"];
    check_on_devices(&folder, &[&crop[..], &options].concat(), |_, out| {
        assert_eq!(out, (vec![3, 2], vec![5, 4, 1, 0, 7, 6]));
    });
    let output = folder.path("none.npy");
    let outcome = wgslice(&[&crop[..], &["--out-of-range", "error", "-o", &output]].concat());
    let error = "1 of 3 boxes extend beyond lines.npy (2 × 4), the first, with its item, at begins.npy[2] = [1, 3]";
    assert!(
        outcome.stderr.contains(error) && !Path::new(&output).exists(),
        "{outcome:?}"
    );
}

/// Sentinels such as the largest uint64 are out of range like any other large index.
#[test]
fn indices_beyond_i64_obey_the_policy() {
    let folder = Folder::new();
    let x = folder.npy("x.npy", "<i4", &[3], &bytes(&[5, 6, 7]));
    let indices: Vec<u8> = [1, u64::MAX]
        .iter()
        .flat_map(|index| index.to_le_bytes())
        .collect();
    let indices = folder.npy("i.npy", "<u8", &[2], &indices);
    for (policy, values) in [
        ("ignore", "[6 0]\n"),
        ("zero", "[6 0]\n"),
        ("clamp", "[6 7]\n"),
    ] {
        let outcome = wgslice(&["gather", &x, &indices, "--out-of-range", policy]).ok();
        assert_eq!(outcome.stdout, values, "{outcome:?}");
    }
    assert_eq!(
        wgslice(&["gather", &x, &indices, "--out-of-range", "error"]).code,
        Some(2)
    );
}

/// The scale of a conversion can be written as a quotient.
#[test]
fn scales_are_quotients() {
    let folder = Folder::new();
    let x = folder.npy("x.npy", "|u1", &[3], &[0, 51, 255]);
    let values = |scale: &str| {
        let args = ["convert", &x, "--as", "float32", "--scale", scale, "-q"];
        wgslice(&args).ok().stdout
    };
    assert_eq!(values("1/255"), values("0.00392156862745098"));
    assert_eq!(values("3/2"), "[  0.   76.5 382.5]\n");
}

/// As uint8, floats in [0, 1] make a black picture, and numbers above 255 make a white picture.
#[test]
fn a_conversion_that_loses_all_differences_warns() {
    let folder = Folder::new();
    let floats = |name: &str, values: &[f32]| {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        folder.npy(name, "<f4", &[values.len()], &bytes)
    };
    let unit = floats("unit.npy", &[0.0, 0.25, f32::NAN, 0.75]);
    let signed = floats("signed.npy", &[-1.0, 0.25, 0.75]);
    let large = floats("large.npy", &[1.0, 1000.0, 2550.0]);
    let mask = floats("mask.npy", &[0.0, 1.0, 1.0]);
    let full = floats("full.npy", &[0.0, 255.0, 255.0]);
    let deep = folder.npy("deep.npy", "<u2", &[3], &[0, 0x10, 0, 0x20, 0xff, 0xff]);
    for (input, dtype, message) in [
        (
            &unit,
            "uint8",
            "warning: unit.npy holds numbers from 0 to 0.75, which are 0 or 1 as uint8: pass --scale 255",
        ),
        (&unit, "uint16", "pass --scale 65535"),
        (
            &signed,
            "int8",
            "from -1 to 0.75, which are 0 or ±1 as int8: pass --scale 127",
        ),
        (
            &large,
            "uint8",
            "from 1 to 2550, 2 of them beyond the 0 to 255 of uint8: pass --scale 0.1",
        ),
        (&deep, "uint8", "3 of them beyond the 0 to 255 of uint8"),
    ] {
        for args in [
            &["convert", input][..],
            &["slice", input, "..."],
            &["gather", input, "0,1,2"],
        ] {
            let outcome = wgslice(&[args, &["--as", dtype]].concat()).ok();
            assert!(outcome.stderr.contains(message), "{outcome:?}");
            let quiet = wgslice(&[args, &["--as", dtype, "-q"]].concat()).ok();
            assert_eq!(quiet.stderr, "");
        }
    }
    for (input, dtype) in [
        (&mask, "uint8"),
        (&full, "uint8"),
        (&unit, "float16"),
        (&deep, "uint16"),
    ] {
        let outcome = wgslice(&["convert", input, "--as", dtype]).ok();
        assert!(!outcome.stderr.contains("warning"), "{outcome:?}");
    }
}

/// A conversion scales each number by the scale of its position in the input, even if a gather or a crop moves it.
#[test]
fn slices_gathers_and_crops_convert() {
    let folder = Folder::new();
    let input = folder.npy("x.npy", "|u1", &[2, 2, 2], &[1, 2, 3, 4, 5, 6, 7, 200]);
    let begins = folder.npy("begins.npy", "<i4", &[3, 1], &bytes(&[0, 1, -1]));
    let flips = folder.npy("flips.npy", "|u1", &[3, 1], &[0, 0, 2]);
    // Numbers at position 1 of the last axis are doubled, and 100 is added to numbers at position 0.
    let scaled = [
        "--as",
        "int16",
        "--scale",
        "1,2",
        "--bias",
        "100,0",
        "--scale-axis",
        "2",
    ];
    let boxes = ["--box-indices", "0,1,4294967296", "--flips", &flips];
    for (args, expected) in [
        (&["slice", &input, "1, ::-1"][..], &[107, 400, 105, 12][..]),
        (&["convert", &input, "1, ::-1"], &[107, 400, 105, 12]),
        (
            &["slice", &input, "1", "--transpose", "1,0"],
            &[105, 107, 12, 400],
        ),
        (&["gather", &input, "1,7"], &[105, 12, 107, 400, 0, 0, 0, 0]),
        (&["gather-nd", &input, "[[1, 1]]"], &[107, 400]),
        (&["gather-elements", &input, "[[[1, 0]]]"], &[105, 4]),
        // A box has zeros where it extends beyond its item, and the bias is not added to them. An item's index that
        // does not fit 32 bits is out of range.
        (
            &[&["crop", &input, &begins, "--size", "1"], &boxes[..]].concat(),
            &[101, 4, 107, 400, 0, 0],
        ),
        (
            &["crop", &input, "--at", "0,1", "--size", "1,2"],
            &[103, 8, 0, 0],
        ),
    ] {
        let output = folder.path("out.npy");
        for device in devices() {
            let args = [args, &scaled, &["-o", &output, "--device", device]].concat();
            let outcome = wgslice(&args).ok();
            assert!(outcome.stdout.contains("int16"), "{outcome:?}");
            let file = std::fs::read(&output).expect("the output");
            let (_, elements) = file.split_at(file.len() - 2 * expected.len());
            let found = elements
                .as_chunks()
                .0
                .iter()
                .map(|&two| i16::from_le_bytes(two));
            assert_eq!(found.collect::<Vec<_>>(), expected, "{device} {args:?}");
        }
    }
    let plain = wgslice(&["slice", &input, "1, 1", "--as", "float32"]).ok();
    assert!(plain.stdout.contains("[  7. 200.]"), "{plain:?}");
    let many = folder.path("many");
    wgslice(&["slice", &input, &flips, "0", "--as", "uint8", "--to", &many]).ok();
    assert_eq!(std::fs::read_dir(many).expect("a folder").count(), 2);
    let scale = ["slice", &input, "0", "--scale", "2"];
    for (args, message) in [
        (&scale[..], "--as"),
        (
            &["slice", &begins, "0", "--as", "complex64"],
            "is complex64, and complex numbers are not converted",
        ),
        (
            &["gather", &input, "0", "--as", "int8", "--scale", "1,2,3"],
            "for 3 positions, but axis -1 of x.npy (2 × 2 × 2) has 2",
        ),
        (
            &[
                "crop",
                &input,
                "[[0],[1]]",
                "--size",
                "1",
                "--as",
                "int8",
                "--flips",
                "1",
            ],
            "--flips is int64, but goes into an array of uint8",
        ),
        (
            &["slice", &input, "0", "--as", "int8", "--memory", "2G"],
            "cannot be used with",
        ),
        (&["slice", &input, "0", "--transpose", "0,-9"], "[0, -9]"),
    ] {
        let outcome = wgslice(args);
        assert!(
            outcome.code == Some(2) && outcome.stderr.contains(message),
            "{outcome:?}"
        );
    }
}

#[test]
fn paste_writes_boxes_into_items() {
    let folder = Folder::new();
    let lines = folder.write_arange("lines.npy", &[2, 4]);
    let patches = folder.npy(
        "patches.npy",
        "<i4",
        &[3, 2],
        &bytes(&[10, 20, 30, 40, 50, 60]),
    );
    let begins = folder.npy("begins.npy", "<i4", &[3, 1], &bytes(&[0, 1, 3]));
    let items = folder.npy("items.npy", "|u1", &[3], &[1, 0, 1]);
    let flips = folder.npy("flips.npy", "|b1", &[3, 1], &[0, 1, 0]);
    let paste = [
        "paste",
        &lines,
        &patches,
        &begins,
        "--box-indices",
        &items,
        "--flips",
        &flips,
    ];
    check_on_devices(&folder, &paste, |outcome, out| {
        assert_eq!(out, (vec![2, 4], vec![0, 40, 30, 3, 10, 20, 6, 50]));
        let warning = "1 of 3 boxes extend outside and were not written there";
        assert!(outcome.stderr.contains(warning), "{outcome:?}");
    });
    let circular_args = [&paste[..], &["--circular"]].concat();
    check_on_devices(&folder, &circular_args, |_, out| {
        assert_eq!(out, (vec![2, 4], vec![0, 40, 30, 3, 60, 20, 6, 50]));
    });
    let clamp_args = [&paste[..], &["--out-of-range", "clamp"]].concat();
    check_on_devices(&folder, &clamp_args, |_, out| {
        assert_eq!(out, (vec![2, 4], vec![0, 40, 30, 3, 10, 20, 50, 60]));
    });
}

#[test]
fn scatter_elements_takes_an_axis_and_combines() {
    let folder = Folder::new();
    let data = folder.write_arange("data.npy", &[2, 3]);
    let places = folder.npy("places.npy", "<i4", &[2, 2], &bytes(&[2, 0, 1, 1]));
    let updates = folder.npy("updates.npy", "<i4", &[2, 2], &bytes(&[10, 20, 30, 40]));
    for (combine, expected) in [
        ("add", [20, 1, 12, 3, 74, 5]),
        ("update", [20, 1, 10, 3, 40, 5]),
    ] {
        check_on_devices(
            &folder,
            &[
                "scatter-elements",
                &data,
                &places,
                &updates,
                "--axis",
                "1",
                "--combine",
                combine,
            ],
            |_, out| assert_eq!(out, (vec![2, 3], expected.to_vec())),
        );
    }
}

#[test]
fn scatter_nd_adds_into_zeros_and_updates_arrays() {
    let folder = Folder::new();
    let rows = folder.npy("rows.npy", "<i4", &[3, 1], &bytes(&[1, 4, 1]));
    let updates = folder.npy("updates.npy", "<i4", &[3], &bytes(&[5, 100, 7]));
    let array = folder.write_arange("array.npy", &[5]);
    let scatter = ["scatter-nd", &rows, &updates];
    for (options, expected) in [
        (&["--shape", "5"][..], [0, 12, 0, 0, 100]),
        (&["--shape", "5", "--combine", "update"], [0, 7, 0, 0, 100]),
        (&["--into", &array], [0, 7, 2, 3, 100]),
        (&["--into", &array, "--combine", "add"], [0, 13, 2, 3, 104]),
        (&["--into", &array, "--combine", "sub"], [0, -11, 2, 3, -96]),
        (&["--into", &array, "--combine", "mul"], [0, 35, 2, 3, 400]),
        (&["--into", &array, "--combine", "min"], [0, 1, 2, 3, 4]),
        (&["--into", &array, "--combine", "max"], [0, 7, 2, 3, 100]),
    ] {
        check_on_devices(&folder, &[&scatter, options].concat(), |_, out| {
            assert_eq!(out, (vec![5], expected.to_vec()), "{options:?}");
        });
    }
    check_on_devices(
        &folder,
        &[&scatter[..], &["--shape", "3"]].concat(),
        |outcome, out| {
            assert_eq!(out, (vec![3], vec![0, 12, 0]));
            assert!(outcome.stderr.contains("and were dropped"), "{outcome:?}");
            assert_eq!(outcome.json()["out_of_range"]["first"]["index"], json!([4]));
        },
    );
    let output = folder.path("none.npy");
    let options = ["--shape", "3", "--out-of-range", "error", "-o", &output];
    let outcome = wgslice(&[&scatter[..], &options].concat());
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(!Path::new(&output).exists());
}

#[test]
fn slices_are_updated_and_gradients_spread() {
    let folder = Folder::new();
    let array = folder.write_arange("array.npy", &[2, 3]);
    let value = folder.npy("value.npy", "<i4", &[2], &bytes(&[10, 20]));
    check_on_devices(
        &folder,
        &["slice-update", &array, ":, ::-2", &value],
        |_, out| assert_eq!(out, (vec![2, 3], vec![20, 1, 10, 20, 4, 10])),
    );
    check_on_devices(
        &folder,
        &["grad", &value, "::-2", "--shape", "4"],
        |_, out| assert_eq!(out, (vec![4], vec![0, 20, 0, 10])),
    );
    let uint8_array = folder.npy("small.npy", "|u1", &[2], &[1, 2]);
    let outcome = wgslice(&[
        "slice-update",
        &array,
        ":, :2",
        &uint8_array,
        "-o",
        &folder.path("x.npy"),
    ]);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("holds uint8, but"), "{outcome:?}");
}

#[test]
fn arrays_are_joined_padded_and_repeated() {
    let folder = Folder::new();
    let a = folder.write_arange("a.npy", &[2, 2]);
    let b = folder.write_arange("b.npy", &[2, 1]);
    for (args, shape, values) in [
        (
            &["concat", &a, &b, "--axis", "1"][..],
            vec![2, 3],
            vec![0, 1, 0, 2, 3, 1],
        ),
        (
            &["stack", &a, &a, "--axis", "-1"],
            vec![2, 2, 2],
            vec![0, 0, 1, 1, 2, 2, 3, 3],
        ),
        (
            &["pad", &b, "0,1:2"],
            vec![2, 4],
            vec![0, 0, 0, 0, 0, 1, 0, 0],
        ),
        (
            &["pad", &a, "0:1,0", "--mode", "edge"],
            vec![3, 2],
            vec![0, 1, 2, 3, 2, 3],
        ),
        (
            &["pad", &b, "0,1", "--value", "-7"],
            vec![2, 3],
            vec![-7, 0, -7, -7, 1, -7],
        ),
        (&["roll", &a, "-1", "1"], vec![2, 2], vec![1, 0, 3, 2]),
        (
            &["index", &a, "[1, 0, 1], [0, -1, 1]"],
            vec![3],
            vec![2, 1, 3],
        ),
        (
            &["index", &a, "[1, 0], [True, True]", "--outer"],
            vec![2, 2],
            vec![2, 3, 0, 1],
        ),
        (
            &["index-update", &a, "[0, 1], [1, 0]", "[7, 8]"],
            vec![2, 2],
            vec![0, 7, 8, 3],
        ),
        (
            &["index-update", &a, "[1, 1]", "10", "--combine", "add"],
            vec![2, 2],
            vec![0, 1, 22, 23],
        ),
        (&["tile", &b, "1,3"], vec![2, 3], vec![0, 0, 0, 1, 1, 1]),
        (&["repeat", &b, "2"], vec![4, 1], vec![0, 0, 1, 1]),
    ] {
        check_on_devices(&folder, args, |_, out| {
            assert_eq!(out, (shape.clone(), values.clone()), "{args:?}");
        });
        let explained = wgslice(&[args, &["--explain", "-v"]].concat()).ok().stdout;
        assert!(explained.contains("\nplan 0: "), "{explained}");
    }
    for (args, message) in [
        (
            &["concat", &a, &b][..],
            "b.npy is 2 × 1, but a.npy is 2 × 2",
        ),
        (
            &["pad", &a, "1"],
            "N,N:M,... has 1 number, but a.npy has 2 dimensions",
        ),
        (&["pad", &a, "x,1"], "is not a number of positions"),
        (&["roll", &a, "1", "2"], "axis is 2"),
        (&["index", &a, "[0, 2]"], "item 0 has position 2"),
        (&["index", &a, "[0, 2"], "this bracket is not closed"),
        (
            &["index-update", &a, "[0, 2]", "1"],
            "item 0 has position 2",
        ),
        (
            &["index-update", &a, "[0]", "[1, 2, 3]"],
            "shape 3 cannot be broadcast",
        ),
        (&["concat"], "required arguments were not provided"),
    ] {
        let outcome = wgslice(&[args, &["-o", &folder.path("none.npy")]].concat());
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains(message), "{outcome:?}");
    }
}

#[test]
fn axes_are_put_in_another_order() {
    let folder = Folder::new();
    let x = folder.write_arange("x.npy", &[1, 2, 3]);
    for (args, shape, values) in [
        (
            &["transpose", &x][..],
            vec![3, 2, 1],
            vec![0, 3, 1, 4, 2, 5],
        ),
        (
            &["transpose", &x, "2,0,1"],
            vec![3, 1, 2],
            vec![0, 3, 1, 4, 2, 5],
        ),
        (
            &["transpose", &x, "-2,-3,-1"],
            vec![2, 1, 3],
            vec![0, 1, 2, 3, 4, 5],
        ),
    ] {
        check_on_devices(&folder, args, |_, out| {
            assert_eq!(out, (shape.clone(), values.clone()), "{args:?}");
        });
    }
    for axes in ["0,1", "0,0,1", "0,1,3", "-4,0,1"] {
        let outcome = wgslice(&["transpose", &x, axes]);
        assert!(
            outcome.code == Some(2) && outcome.stderr.contains("x.npy (1 × 2 × 3)"),
            "{outcome:?}"
        );
    }
    let outcome = wgslice(&["pad", &x, "0,0,0", "--value", "1", "--mode", "edge"]);
    assert!(
        outcome.stderr.contains("cannot be used with"),
        "{outcome:?}"
    );
    let outcome = wgslice(&["pad", &x, "0,0,1", "--value", "1,2"]);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
}

#[test]
fn windows_slide_along_an_axis() {
    let folder = Folder::new();
    let x = folder.write_arange("x.npy", &[7]);
    let m = folder.write_arange("m.npy", &[3, 2]);
    for (args, shape, values) in [
        (
            &["windows", &x, "3", "--step", "2"][..],
            vec![3, 3],
            vec![0, 1, 2, 2, 3, 4, 4, 5, 6],
        ),
        (
            &["windows", &x, "6"],
            vec![2, 6],
            (0..6).chain(1..7).collect(),
        ),
        (
            &["windows", &m, "2", "--axis", "-2"],
            vec![2, 2, 2],
            vec![0, 2, 1, 3, 2, 4, 3, 5],
        ),
    ] {
        check_on_devices(&folder, args, |_, out| {
            assert_eq!(out, (shape.clone(), values.clone()), "{args:?}");
        });
    }
    for (args, message) in [
        (&["windows", &x, "8"][..], "the size must be from 1 to 7"),
        (
            &["windows", &x, "0"],
            "windows of size 0 and step 1 do not fit axis 0 of (7)",
        ),
        (
            &["windows", &x, "2", "--step", "0"],
            "the step must be 1 or more",
        ),
        (&["windows", &x, "-1"], "-1 is below zero"),
        (&["windows", &x, "2", "--axis", "1"], "x.npy (7)"),
    ] {
        let outcome = wgslice(args);
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains(message), "{outcome:?}");
    }
}

#[test]
fn plans_are_explained_and_nothing_is_done() {
    let folder = Folder::new();
    let array = folder.write_arange("array.npy", &[40, 30]);
    let rows = folder.npy("rows.npy", "<i4", &[3, 1], &bytes(&[1, 4, 1]));
    let names = folder.names();
    for device in devices() {
        for (args, plan_text) in [
            (
                &["slice", &array, "::2, 1:"][..],
                "from unit 1 to unit 0: 20*60>29, 29*1>1",
            ),
            (&["gather-nd", &array, &rows], "by tuples of 40*"),
            (
                &["grad", &array, ":, ::2", "--shape", "40,60"],
                "0 to unit 0: 1200*1>2",
            ),
        ] {
            let args = [args, &["--explain", "--device", device]].concat();
            let outcome = wgslice(&[&args[..], &["-v"]].concat()).ok();
            assert!(outcome.stdout.contains(plan_text), "{outcome:?}");
            assert!(outcome.stdout.contains("  bytes  ") && outcome.stdout.contains("  on     "));
            let short = wgslice(&args).ok().stdout;
            assert_eq!(short.lines().count(), 2, "{short}");
            let json = wgslice(&[&args[..], &["--json"]].concat()).ok().json();
            let time = json["estimated_seconds"].as_f64();
            assert!(time > Some(0.0) || !cfg!(feature = "gpu"), "{json}");
            assert!(
                outcome
                    .stdout
                    .contains(json["plans"][0].as_str().expect("a plan"))
            );
        }
    }
    assert_eq!(folder.names(), names);
    let outcome = wgslice(&["slice", &array, ":20:2", "--explain", "--device", "cpu"]).ok();
    let line = "10 × 30 int32: reads 1.17 KiB of 4.69 KiB, writes 1.17 KiB\n";
    assert!(outcome.stdout.starts_with(line), "{outcome:?}");
}

#[test]
fn masks_select() {
    let folder = Folder::new();
    let x = folder.write_arange("x.npy", &[2, 3]);
    let y = folder.write_arange("y.npy", &[1]);
    let rows = folder.npy("rows.npy", "|b1", &[2], &[0, 1]);
    let columns = folder.npy("columns.npy", "|u1", &[3], &[7, 0, 1]);
    let none = folder.npy("none.npy", "|b1", &[2, 3], &[0; 6]);
    for (args, shape, values) in [
        (&["boolean-mask", &x, &rows][..], vec![1, 3], vec![3, 4, 5]),
        (
            &["boolean-mask", &x, &columns, "--axis", "1"],
            vec![2, 2],
            vec![0, 2, 3, 5],
        ),
        (&["boolean-mask", &x, &none], vec![0], vec![]),
        (
            &["compress", &x, &rows, "--axis", "-1"],
            vec![2, 1],
            vec![1, 4],
        ),
        (&["compress", &x, &columns], vec![2], vec![0, 2]),
        (
            &["where", &columns, &x, &y],
            vec![2, 3],
            vec![0, 0, 2, 3, 0, 5],
        ),
    ] {
        check_on_devices(&folder, args, |_, out| {
            assert_eq!(out, (shape.clone(), values.clone()), "{args:?}");
        });
        let explained = wgslice(&[args, &["--explain", "-v"]].concat()).ok().stdout;
        assert!(explained.contains("plan"), "{explained}");
    }
    let out = folder.path("positions.npy");
    for (mask, shape, positions) in [(&columns, "(2, 1)", &[0i64, 2][..]), (&none, "(0, 2)", &[])] {
        wgslice(&["nonzero", mask, "-o", &out]).ok();
        let file = std::fs::read(&out).unwrap();
        let header = String::from_utf8_lossy(&file[10..128]).into_owned();
        assert!(
            header.contains("'<i8'") && header.contains(shape),
            "{header}"
        );
        let positions: Vec<u8> = positions.iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(file[128..], positions);
    }
    let printed = wgslice(&["where", "true,false", "7", "1,2"]).ok().stdout;
    assert_eq!(printed, "[7 2]\n");
    for (args, message) in [
        (
            &["boolean-mask", &x, &columns][..],
            "the mask has shape 3, but must have the dimensions of x.npy (2 × 3)",
        ),
        (
            &["compress", &x, &columns, "--axis", "0"],
            "the condition has 3 elements: it must have at most 2",
        ),
        (&["where", &rows, &x, &x], "cannot be broadcast"),
        (&["nonzero", &x], "but a mask is bool or uint8"),
    ] {
        let outcome = wgslice(&[args, &["-o", &folder.path("none.npy")]].concat());
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains(message), "{outcome:?}");
    }
}
