//! Command lines that people type. Each does what the user means, or the error shows what to type.

use crate::support::{Folder, bytes, devices, read_i32, wgslice};
use serde_json::json;
use std::{fs, io::Write};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

const PHOTO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/astronaut.png");

/// Checks that a command fails, and that its message has all of `message_parts` and none of `absent_parts`.
fn check_refused(args: &[&str], message_parts: &[&str], absent_parts: &[&str]) {
    let outcome = wgslice(args);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    for part in message_parts {
        assert!(
            outcome.stderr.contains(part),
            "{part:?} in {}",
            outcome.stderr
        );
    }
    for part in absent_parts {
        assert!(
            !outcome.stderr.contains(part),
            "{part:?} in {}",
            outcome.stderr
        );
    }
}

/// Writes a picture of 4 × 5 pixels of 3 channels, with the values 0, 1, 2, … Returns its path.
fn write_picture(folder: &Folder, name: &str) -> String {
    let pixels: Vec<u8> = (0..4 * 5 * 3).collect();
    let npy = folder.npy("picture.npy", "|u1", &[4, 5, 3], &pixels);
    let path = folder.path(name);
    wgslice(&["slice", &npy, "...", "-o", &path]).ok();
    fs::remove_file(npy).expect("the file");
    path
}

fn read_floats(path: &str, count: usize) -> Vec<f32> {
    let file = fs::read(path).expect("the output");
    let begin = file.len() - 4 * count;
    let values = file[begin..].as_chunks().0.iter();
    values.map(|&value| f32::from_le_bytes(value)).collect()
}

#[test]
fn a_format_changes_without_a_type_or_a_slice() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2, 3]);
    for (operation, output) in [("convert", "out.safetensors"), ("slice", "out.npz")] {
        let output = folder.path(output);
        wgslice(&[operation, &input, "-o", &output]).ok();
        let equal = wgslice(&["compare", &input, &output]).ok();
        assert!(equal.stdout.starts_with("equal: 2 × 3 int32"), "{equal:?}");
    }
    // Without a type, a conversion is a slice in pieces, as for a file larger than memory.
    let json = wgslice(&["convert", &input, "1", "--json"]).ok().json();
    assert_eq!(
        (&json["values"], &json["pieces"]),
        (&json!([3, 4, 5]), &json!(1))
    );
}

/// In an output folder, a result that the input's format cannot hold gets another format.
#[test]
fn results_in_a_folder_have_a_format_that_holds_them() {
    let folder = Folder::new();
    let inputs = [
        write_picture(&folder, "a.png"),
        write_picture(&folder, "b.png"),
    ];
    let output_folder = folder.path("to");
    let run = |options: &[&str]| {
        wgslice(
            &[
                &["convert", &inputs[0], &inputs[1]],
                options,
                &["--to", &output_folder],
            ]
            .concat(),
        )
    };
    let outcome = run(&[
        "--as",
        "float32",
        "--scale",
        "1/255",
        "--transpose",
        "2,0,1",
    ])
    .ok();
    assert!(
        outcome
            .stderr
            .contains("note: the format of the input does not hold"),
        "{outcome:?}"
    );
    assert_eq!(outcome.stderr.matches("note").count(), 1, "{outcome:?}");
    let info = wgslice(&["info", &format!("{output_folder}/a.npy")])
        .ok()
        .stdout;
    assert!(info.contains("3 × 4 × 5  float32"), "{info}");
    assert_eq!(
        read_floats(&format!("{output_folder}/b.npy"), 60)[1],
        3.0 * (1.0 / 255.0)
    );
    // A file in the place of SPEC is an input, and so is the last file of a transpose.
    run(&[]).ok();
    assert!(fs::exists(format!("{output_folder}/b.png")).expect("a folder"));
    let json = wgslice(&[
        "transpose",
        &inputs[0],
        &inputs[1],
        "--to",
        &output_folder,
        "--json",
    ])
    .ok();
    assert!(
        json.stdout.contains("a.png") && json.stdout.contains("b.png"),
        "{json:?}"
    );
    // `.npy` has no name for bfloat16, so the format changes.
    run(&["--as", "bfloat16"]).ok();
    assert!(fs::exists(format!("{output_folder}/a.safetensors")).expect("a folder"));
    // A format that the user asks for is kept.
    let png_outcome = run(&["--as", "float32", "--format", "png"]);
    assert!(
        png_outcome.code == Some(2) && png_outcome.stderr.contains("--format npy"),
        "{png_outcome:?}"
    );
    // A result must not replace another result.
    let npy = folder.path("a.npy");
    wgslice(&["slice", &inputs[0], "...", "-o", &npy]).ok();
    let clash = wgslice(&[
        "convert",
        &npy,
        &inputs[0],
        "--as",
        "float32",
        "--to",
        &output_folder,
    ]);
    assert!(
        clash.code == Some(2) && clash.stderr.contains("two inputs would both become"),
        "{clash:?}"
    );
}

#[test]
fn arrays_are_joined_and_converted() {
    let folder = Folder::new();
    let (a, b) = (write_picture(&folder, "a.png"), folder.path("b.npy"));
    wgslice(&["slice", &a, "::-1", "-o", &b]).ok();
    let output = folder.path("out.npy");
    for device in devices() {
        let args = [
            "stack", &a, &b, "--as", "float32", "--scale", "2", "--device", device,
        ];
        wgslice(&[&args[..], &["-o", &output]].concat()).ok();
        let floats = read_floats(&output, 120);
        assert_eq!((floats[1], floats[61]), (2.0, 92.0), "{device}");
        // The arrays have different types.
        let halves = folder.path("halves.npy");
        wgslice(&["convert", &b, "--as", "float16", "-o", &halves]).ok();
        wgslice(&[
            "concat", &a, &halves, "--as", "float32", "--device", device, "-o", &output,
        ])
        .ok();
        let floats = read_floats(&output, 120);
        assert_eq!((floats[1], floats[61]), (1.0, 46.0), "{device}");
    }
    check_refused(
        &["stack", &a, &folder.write_arange("in.npy", &[4, 5, 3])],
        &["holds int32", "holds uint8", "wgslice convert --as uint8"],
        &[],
    );
}

/// Converts float64 and int64, which are NumPy's default types, and then 0 and 1 from each of 12 types to each of them.
#[test]
fn all_numbers_are_converted() {
    let folder = Folder::new();
    let doubles = [-1.5f64, 0.25, 300.7, 2.5].map(f64::to_le_bytes).concat();
    let doubles = folder.npy("f8.npy", "<f8", &[4], &doubles);
    let longs = [-1i64, 0, 300, i64::MAX].map(i64::to_le_bytes).concat();
    let longs = folder.npy("i8.npy", "<i8", &[4], &longs);
    for (input, dtype, options, expected) in [
        (
            &doubles,
            "float32",
            &[][..],
            json!([-1.5, 0.25, 300.7, 2.5]),
        ),
        (&doubles, "uint8", &[], json!([0, 0, 255, 2])),
        (
            &doubles,
            "int64",
            &["--cast", "nearest"],
            json!([-2, 0, 301, 2]),
        ),
        (
            &doubles,
            "int64",
            &["--cast", "numpy"],
            json!([-1, 0, 300, 2]),
        ),
        (
            &doubles,
            "int16",
            &["--scale", "1/2", "--bias", "1"],
            json!([0, 1, 151, 2]),
        ),
        (&longs, "int32", &[], json!([-1, 0, 300, i32::MAX])),
        (
            &longs,
            "uint8",
            &["--cast", "numpy"],
            json!([255, 0, 44, 255]),
        ),
        (&longs, "uint64", &[], json!([0, 0, 300, i64::MAX])),
        (
            &longs,
            "bool",
            &["--cast", "numpy"],
            json!([true, false, true, true]),
        ),
        (
            &longs,
            "float64",
            &["--scale", "0.5"],
            json!([-0.5, 0.0, 150.0, 4_611_686_018_427_387_904.0]),
        ),
    ] {
        let args = ["convert", input, "--as", dtype, "--json"];
        let json = wgslice(&[&args[..], options].concat()).ok().json();
        assert_eq!(json["values"], expected, "{input} as {dtype} {options:?}");
        assert_eq!(json["dtype"], dtype);
    }
    let types = [
        "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
        "float16", "float32", "float64",
    ];
    for from_type in types {
        let input = folder.path("from.npy");
        wgslice(&["convert", "true,false", "--as", from_type, "-o", &input]).ok();
        for to_type in types {
            let json = wgslice(&["convert", &input, "--as", to_type, "--json"])
                .ok()
                .json();
            let number =
                |value: &serde_json::Value| value.as_f64().or(value.as_bool().map(f64::from));
            let values: Vec<_> = json["values"]
                .as_array()
                .expect("values")
                .iter()
                .map(number)
                .collect();
            assert_eq!(values, [Some(1.0), Some(0.0)], "{from_type} to {to_type}");
        }
    }
    // The shaders do not convert float64, and the error names this type. Above, `auto` used the CPU.
    for device in devices() {
        let outcome = wgslice(&["convert", &doubles, "--as", "float32", "--device", device]);
        match *device {
            "cpu" => assert_eq!(outcome.code, Some(0), "{outcome:?}"),
            _ => assert!(
                outcome.code == Some(3) && outcome.stderr.contains("float64"),
                "{outcome:?}"
            ),
        }
    }
    check_refused(
        &[
            "convert", "1", "--as", "int8", "--cast", "numpy", "--scale", "2",
        ],
        &["--cast"],
        &[],
    );
    let complex = folder.npy("c8.npy", "<c8", &[1], &[0; 8]);
    check_refused(&["convert", &complex, "--as", "float32"], &["complex"], &[]);
}

#[test]
fn pictures_are_normalized() {
    let folder = Folder::new();
    let input = write_picture(&folder, "a.png");
    let output = folder.path("out.npy");
    wgslice(&["convert", &input, "--normalize", "imagenet", "-o", &output]).ok();
    let floats = read_floats(&output, 60);
    let (mean, deviation) = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]);
    for (at, float) in (0u8..).zip(floats) {
        let channel = usize::from(at % 3);
        let expected = (f64::from(at) / 255.0 - mean[channel]) / deviation[channel];
        assert!(
            (f64::from(float) - expected).abs() < 1e-6,
            "{at}: {float} and {expected}"
        );
    }
    let numbers = folder.write_arange("in.npy", &[2, 3]);
    check_refused(
        &["convert", &numbers, "--normalize", "imagenet"],
        &["--normalize is for pictures", "not int32", "--scale"],
        &[],
    );
}

#[test]
fn a_patch_is_pasted_at_a_place() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[3, 4]);
    let patch = folder.npy("patch.npy", "<i4", &[1, 2], &bytes(&[70, 80]));
    let output = folder.path("out.npy");
    for device in devices() {
        let paste_at = |at: &str, more: &[&str]| {
            let args = ["paste", &input, &patch, "--at", at, "--device", device];
            wgslice(&[&args[..], &["-o", &output], more].concat())
        };
        let outcome = paste_at("1,2", &[]).ok();
        assert_eq!(outcome.stderr, "");
        let expected = vec![0, 1, 2, 3, 4, 5, 70, 80, 8, 9, 10, 11];
        assert_eq!(read_i32(&output), (vec![3, 4], expected), "{device}");
        let outcome = paste_at("2,3", &[]).ok();
        assert!(
            outcome.stderr.contains("the box extends outside and is not written there, which begins at [2, 3] of in.npy (3 × 4)"),
            "{outcome:?}"
        );
        assert_eq!(read_i32(&output).1[11], 70, "{device}");
        paste_at("2,3", &["--out-of-range", "clamp"]).ok();
        assert_eq!(read_i32(&output).1[10..], [70, 80], "{device}");
        let outcome = paste_at("1", &[]);
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
    }
}

#[test]
fn arrays_are_split() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2, 6]);
    let part = folder.path("part.npy");
    wgslice(&["split", &input, "3", "--axis", "-1", "-o", &part]).ok();
    for (at, expected) in [[0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 11]]
        .iter()
        .enumerate()
    {
        let part_array = read_i32(&folder.path(&format!("part-{at}.npy")));
        assert_eq!(part_array, (vec![2, 2], expected.to_vec()));
    }
    let archive = folder.path("parts.npz#p");
    wgslice(&["split", &input, "1,5", "--axis", "1", "-o", &archive]).ok();
    let json = wgslice(&["slice", &format!("{archive}-1"), "1", "--json"])
        .ok()
        .json();
    assert_eq!(json["values"], json!([7, 8, 9, 10, 11]));
    let shown = wgslice(&["split", &input, "2", "-q"]).ok();
    assert_eq!(shown.stdout, "[[0 1 2 3 4 5]]\n[[ 6  7  8  9 10 11]]\n");
    check_refused(
        &["split", &input, "4", "--axis", "1"],
        &["6 positions", "as in 3,3"],
        &[],
    );
    check_refused(
        &["split", &input, "1,2", "--axis", "1"],
        &["[1,2] must add up to 6"],
        &[],
    );
    check_refused(
        &["split", &input, "2", "--axis", "7"],
        &["--axis is 7", "in.npy has 2 dimensions"],
        &[],
    );
    check_refused(&["split", &input, "0"], &["at least 1"], &[]);
    check_refused(
        &["split", &input, "2", "-o", "-"],
        &["several arrays", "part.npy"],
        &[],
    );
}

#[test]
fn values_are_written_where_a_mask_is_true() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2, 3]);
    let mask = folder.npy("mask.npy", "|b1", &[2, 3], &[0, 1, 0, 1, 1, 0]);
    let output = folder.path("out.npy");
    for device in devices() {
        let run = |mask: &str, values: &str| {
            let args = ["masked-scatter", &input, mask, values, "-o", &output];
            wgslice(&[&args[..], &["--device", device]].concat())
        };
        run(&mask, "70,80,90").ok();
        assert_eq!(read_i32(&output).1, [0, 70, 2, 80, 90, 5], "{device}");
        run("false,true", "[[7, 8, 9]]").ok();
        assert_eq!(read_i32(&output).1, [0, 1, 2, 7, 8, 9], "{device}");
        let more = run(&mask, "1,2,3,4").ok();
        assert!(
            more.stderr
                .contains("the mask has 3 true elements, but 1,2,3,4 has 4 rows"),
            "{more:?}"
        );
        let fewer = run(&mask, "1,2");
        assert!(
            fewer.code == Some(2) && fewer.stderr.contains("give one for each"),
            "{fewer:?}"
        );
    }
}

/// Parses what Python prints for keys and arrays.
#[test]
fn printed_keys_of_python_are_parsed() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[3, 4]);
    for (operation, key, expected) in [
        ("index", "(1, [0, 2])", json!([4, 6])),
        (
            "index",
            "(array([0, 2]), slice(None, 1, None))",
            json!([[0], [8]]),
        ),
        (
            "index",
            "(array([2, 0], dtype=int32), np.array([1, 1]))",
            json!([9, 1]),
        ),
        (
            "index",
            "array([True, False, True])",
            json!([[0, 1, 2, 3], [8, 9, 10, 11]]),
        ),
        ("slice", "slice(0, 1)", json!([[0, 1, 2, 3]])),
        ("slice", "(0, 3)", json!(3)),
        ("index", "(0, 3)", json!(3)),
        (
            "gather",
            "array([2, 0])",
            json!([[8, 9, 10, 11], [0, 1, 2, 3]]),
        ),
    ] {
        let json = wgslice(&[operation, &input, key, "--json"]).ok().json();
        assert_eq!(json["values"], expected, "{operation} {key}");
    }
    // Arrays without elements have a shape and a type.
    for (args, shape) in [
        (
            &["index", &input, "array([], shape=(0, 2), dtype=int64)"][..],
            [0, 2, 4].as_slice(),
        ),
        (
            &["where", "array([], shape=(0, 3), dtype=bool)", "1", "0"],
            &[0, 3],
        ),
        (
            &["slice", "array([], shape=(0, 3), dtype=float32)", ":, 1:"],
            &[0, 2],
        ),
    ] {
        let json = wgslice(&[args, &["--json"]].concat()).ok().json();
        assert_eq!(json["output"]["shape"], json!(shape), "{args:?}");
    }
    let json = wgslice(&["slice", "array([], shape=(0, 3), dtype=float32)", "--json"])
        .ok()
        .json();
    assert_eq!(json["dtype"], "float32");
    check_refused(
        &["index", &input, "array([1.5])"],
        &["an index must be an integer"],
        &[],
    );
    check_refused(
        &["pad", &input, "-1,0"],
        &["-1 would remove positions", "wgslice slice"],
        &[],
    );
}

/// Tests indices of uint64 above the maximum of int64. The largest uint64 often marks a missing index.
#[test]
fn large_unsigned_indices_are_out_of_range() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[3]);
    let data = [1, u64::MAX, 2, 1 << 63].map(u64::to_le_bytes).concat();
    let indices = folder.npy("i.npy", "<u8", &[4], &data);
    for device in devices() {
        let run = |policy: &str| {
            wgslice(&[
                "gather",
                &input,
                &indices,
                "--out-of-range",
                policy,
                "--json",
                "--device",
                device,
            ])
        };
        let zero = run("zero").ok();
        assert_eq!(zero.json()["values"], json!([1, 0, 2, 0]), "{device}");
        let first = &zero.json()["out_of_range"]["first"];
        assert_eq!(first["index"], json!([u64::MAX]), "{device}");
        let message = "i.npy[1] = [18446744073709551615] of in.npy (3)";
        assert!(zero.stderr.contains(message), "{zero:?}");
        assert_eq!(
            run("clamp").ok().json()["values"],
            json!([1, 2, 2, 2]),
            "{device}"
        );
        let error = run("error");
        assert!(
            error.code == Some(2) && error.stderr.contains(message),
            "{error:?}"
        );
    }
    // In the report of a crop, the item's number precedes the start of the box.
    let lines = folder.write_arange("lines.npy", &[2, 3]);
    let data = [0, u64::MAX].map(u64::to_le_bytes).concat();
    let begins = folder.npy("begins.npy", "<u8", &[2, 1], &data);
    let items = folder.npy("items.npy", "|u1", &[2], &[1, 1]);
    let args = [
        "crop",
        &lines,
        &begins,
        "--size",
        "2",
        "--box-indices",
        &items,
        "--json",
    ];
    let json = wgslice(&args).ok().json();
    assert_eq!(json["out_of_range"]["first"]["index"], json!([1, u64::MAX]));
}

/// Every message and report shows a uint64 index as the file holds it, whichever column of the tuple it is in.
#[test]
fn large_unsigned_indices_are_shown_as_they_are() {
    let folder = Folder::new();
    const BIG: u64 = u64::MAX - 3;
    const HALF: u64 = 1 << 63;
    let unsigned = |name: &str, shape: &[usize], numbers: &[u64]| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        folder.npy(name, "<u8", shape, &bytes)
    };
    let table = &folder.write_arange("table.npy", &[2, 3])[..];
    let pair = &folder.write_arange("pair.npy", &[2])[..];
    let line = &unsigned("line.npy", &[2], &[1, BIG])[..];
    let rows = &unsigned("rows.npy", &[2, 2], &[1, 0, 1, HALF])[..];
    let firsts = &unsigned("firsts.npy", &[2, 2], &[1, 0, BIG, HALF])[..];
    let column = &unsigned("column.npy", &[2, 1], &[0, BIG])[..];
    let begins = &folder.npy("begins.npy", "<i4", &[2, 1], &bytes(&[1, 1]))[..];
    let longs = &unsigned("longs.npy", &[2, 1], &[1, HALF])[..];
    let patches = &folder.write_arange("patches.npy", &[2, 1])[..];
    let cases: [(&[&str], &str, &[u64]); 13] = [
        (&["gather", table, line], "line.npy[1]", &[BIG]),
        (
            &["gather", table, line, "--axis", "1"],
            "line.npy[1]",
            &[BIG],
        ),
        (
            &["gather", table, rows, "--batch-dims", "1"],
            "rows.npy[1,1]",
            &[HALF],
        ),
        (&["gather-nd", table, rows], "rows.npy[1]", &[1, HALF]),
        (&["gather-nd", table, firsts], "firsts.npy[1]", &[BIG, HALF]),
        (
            &["gather-elements", table, rows, "--axis", "1"],
            "rows.npy[1,1]",
            &[HALF],
        ),
        (
            &["scatter-nd", rows, pair, "--into", table],
            "rows.npy[1]",
            &[1, HALF],
        ),
        (
            &["scatter-nd", firsts, pair, "--shape", "2,3"],
            "firsts.npy[1]",
            &[BIG, HALF],
        ),
        (
            &["scatter-elements", table, column, patches, "--axis", "0"],
            "column.npy[1,0]",
            &[BIG],
        ),
        (
            &["crop", table, begins, "--size", "2", "--box-indices", line],
            "begins.npy[1]",
            &[BIG, 1],
        ),
        (
            &["crop", table, longs, "--size", "2", "--box-indices", line],
            "longs.npy[1]",
            &[BIG, HALF],
        ),
        (
            &["paste", table, patches, begins, "--box-indices", line],
            "begins.npy[1]",
            &[BIG, 1],
        ),
        (
            &["paste", table, patches, longs, "--box-indices", line],
            "longs.npy[1]",
            &[BIG, HALF],
        ),
    ];
    for (args, place, index) in cases {
        let message = format!("{place} = {index:?}");
        let outcome = wgslice(&[args, &["--json"]].concat()).ok();
        assert_eq!(
            outcome.json()["out_of_range"]["first"]["index"],
            json!(index)
        );
        assert!(outcome.stderr.contains(&message), "{message}: {outcome:?}");
        let outcome = wgslice(&[args, &["--out-of-range", "error"]].concat());
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains(&message), "{message}: {outcome:?}");
    }
}

#[test]
fn archives_are_shown_by_field_and_by_compression() {
    let folder = Folder::new();
    let types = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/types.npz");
    let field = wgslice(&["info", &format!("{types}#aligned#b"), "--json"])
        .ok()
        .json();
    let array = &field["files"][0]["arrays"][0];
    assert_eq!(
        (&array["name"], &array["dtype"]),
        (&json!("aligned#b"), &json!("float64"))
    );
    check_refused(
        &["info", &format!("{types}#aligned#c")],
        &["no field named \"c\""],
        &[],
    );
    check_refused(
        &["info", &format!("{types}#nothing")],
        &["no array named \"nothing\""],
        &["tensor"],
    );

    // An archive records the compression method of each member twice: before its data, and in the list at the end.
    let mut archive = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    archive.start_file("x.npy", options).expect("a member");
    let npy = fs::read(folder.write_arange("x.npy", &[2])).expect("the array");
    archive.write_all(&npy).expect("the member");
    let mut packed = archive.finish().expect("the archive").into_inner();
    packed[8] = 12;
    let list_start = packed
        .windows(4)
        .position(|start| start == b"PK\x01\x02")
        .expect("the list");
    packed[list_start + 10] = 12;
    let path = folder.write("bzip2.npz", packed);
    let message = ["array \"x\" is packed by Bzip2", "numpy.savez"];
    check_refused(&["slice", &path, "0"], &message, &["damaged"]);
    let info = wgslice(&["info", &path, "--json"]).ok().json();
    let array = &info["files"][0]["arrays"][0];
    assert!(
        array["unsupported"].is_string() && array["damaged"].is_null(),
        "{info}"
    );
    assert!(wgslice(&["info", types]).ok().stdout.contains("arrays: "));
}

/// Messages mention files, write shapes in one notation, and omit the library's terms.
#[test]
fn messages_mention_files_instead_of_library_terms() {
    let folder = Folder::new();
    let a = folder.write_arange("a.npy", &[3, 4]);
    let inputs: Vec<String> = (0..5)
        .map(|at| folder.write_arange(&format!("p{at}.npy"), &[8, 6]))
        .collect();
    let inputs: Vec<&str> = inputs.iter().map(|input| &input[..]).collect();
    let odd = folder.write_arange("odd.npy", &[5, 5]);
    check_refused(
        &[&["stack"], &inputs[..], &[&odd[..]]].concat(),
        &["p1.npy (8 × 6) and 4 more: odd.npy is 5 × 5, but p0.npy is 8 × 6"],
        &["[8,6]"],
    );
    let scalar = folder.write_arange("scalar.npy", &[]);
    let library_terms = ["entries", "paddings", "multiples", "params", "has shape"];
    check_refused(
        &["tile", &scalar, "2"],
        &["scalar.npy has 0 dimensions"],
        &library_terms,
    );
    check_refused(
        &["pad", &a, "1"],
        &["a.npy (3 × 4)", "a.npy has 2 dimensions"],
        &library_terms,
    );
    check_refused(
        &["gather", &a, "[[[9]]]", "--batch-dims", "2"],
        &["a.npy (3 × 4)"],
        &library_terms,
    );
    check_refused(
        &["slice", &a, "0, 0, 0"],
        &["a.npy (3 × 4): the slice indexes 3 dimensions"],
        &library_terms,
    );
    check_refused(
        &["slice-update", &a, "0", "1,2"],
        &["shape 2 cannot be broadcast to 4"],
        &library_terms,
    );
    check_refused(
        &["boolean-mask", &a, "true,false"],
        &["the mask has shape 2, but must have"],
        &["[2]"],
    );
    check_refused(
        &["slice", &a, "-o", &folder.path("o.png")],
        &["PNG holds uint8 or uint16, not int32"],
        &[],
    );
    let picture = write_picture(&folder, "a.png");
    check_refused(
        &["slice", &picture, "0, 0", "-o", &folder.path("o.png")],
        &["PNG holds height × width", "not 3; write to .npy"],
        &["[3]"],
    );
}

/// Tips suggest only what the user probably meant.
#[test]
fn tips_suggest_what_the_user_meant() {
    let folder = Folder::new();
    let a = folder.write_arange("a.npy", &[3, 4]);
    let quotes_tip = "put a slice into quotes";
    let many_tip = "many inputs need a folder";
    let commas_tip = "with commas and without spaces, as in 5,1,7";
    for (args, tip) in [
        (&["slice", &a, "0", "0"][..], quotes_tip),
        (&["slice", &a, &a, "0"], many_tip),
        (&["slice", &a, &a], many_tip),
        (&["pad", &a, "1", &a], many_tip),
        (&["gather", &a, "2", "1", "0"], commas_tip),
        (&["tile", &a, "2", "2"], commas_tip),
        (&["cat", &a, &a], "did you mean `wgslice concat`?"),
        (&["flip", &a], "did you mean `wgslice slice IN '::-1'`?"),
        (&["compre", &a, &a], "did you mean `wgslice compare`?"),
        (&["help", "gathr"], "did you mean `wgslice gather`?"),
    ] {
        let other_tips: Vec<&str> = [quotes_tip, many_tip, commas_tip]
            .into_iter()
            .filter(|&other| other != tip)
            .collect();
        check_refused(args, &[tip], &other_tips);
    }
    let suggestion = format!("did you mean `wgslice slice {a} '::2, 1:'`?");
    check_refused(&[&a, "::2, 1:"], &[&suggestion], &[]);
    check_refused(
        &["stack", &a, &a, "--flips", "1"],
        &["unexpected argument '--flips'"],
        &[many_tip, quotes_tip],
    );
    check_refused(
        &["xyzzy"],
        &["unrecognized subcommand"],
        &["did you mean", "similar"],
    );
}

#[test]
fn the_help_describes_pictures_correctly() {
    // The help tells that a grey picture has one channel, and which formats can be read.
    let folder = Folder::new();
    let grey = folder.npy("grey.npy", "|u1", &[2, 3], &[0; 6]);
    let output = folder.path("grey.png");
    wgslice(&["slice", &grey, "-o", &output]).ok();
    let info = wgslice(&["info", &output]).ok().stdout;
    assert!(info.contains("2 × 3 × 1"), "{info}");
    let files = wgslice(&["help", "files"]).ok().stdout;
    for text in [
        "height × width × 1",
        ".npy, .npz, .png, .jpg and .safetensors",
        "CMYK",
    ] {
        assert!(files.contains(text), "{text} in {files}");
    }
    assert!(
        wgslice(&["info", PHOTO])
            .ok()
            .stdout
            .contains("512 × 512 × 3")
    );
}
