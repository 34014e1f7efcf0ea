//! Bad input is rejected with exit code 2 and a message that names the input. No output file remains.

use crate::support::{Folder, bytes, npy, safetensors, wgslice};
use std::fs;

const PHOTO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/astronaut.png");

/// Checks that a command fails with a message that contains all of `message_parts`, and that it leaves the folder
/// unchanged.
fn check_refused(folder: &Folder, args: &[&str], message_parts: &[&str]) {
    let before = folder.names();
    let output = folder.path("out.npy");
    let outcome = wgslice(&[args, &["-o", &output, "--device", "cpu"]].concat());
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.starts_with("error: "), "{outcome:?}");
    assert_eq!(outcome.stdout, "", "{outcome:?}");
    for part in message_parts {
        assert!(
            outcome.stderr.contains(part),
            "{part:?} in {}",
            outcome.stderr
        );
    }
    assert_eq!(folder.names(), before);
}

#[test]
fn damaged_files_are_rejected() {
    let folder = Folder::new();
    let whole_file = npy("<i4", &[2, 3], &[0; 24]);
    let photo = fs::read(PHOTO).expect("the photo");
    let model = safetensors("x", "F32", &[2], &[0; 8]);
    let mut damaged_photo = photo.clone();
    damaged_photo[photo.len() / 2] ^= 0xff;
    let rows: [(&str, Vec<u8>, &str); 11] = [
        ("short.npy", whole_file[..whole_file.len() - 1].into(), ""),
        ("header.npy", whole_file[..40].into(), ""),
        ("magic.npy", [b"NUMPX", &whole_file[5..]].concat(), ""),
        ("object.npy", npy("|O", &[2], &[0; 16]), "object"),
        ("text.npy", npy("<U3", &[2], &[0; 23]), "<U3"),
        (
            "huge.npy",
            npy("<i4", &[1 << 40, 1 << 40], &[]),
            "1099511627776",
        ),
        ("short.png", photo[..photo.len() / 2].into(), ""),
        ("damaged.png", damaged_photo, ""),
        ("short.safetensors#x", model[..model.len() - 1].into(), ""),
        (
            "header.safetensors#x",
            [&[0xff; 8], &model[8..]].concat(),
            "",
        ),
        ("empty.npy", Vec::new(), ""),
    ];
    for (name, content, message_part) in rows {
        let file = name.split('#').next().expect("a name");
        folder.write(file, content);
        check_refused(
            &folder,
            &["slice", &folder.path(name), "0"],
            &[file, message_part],
        );
    }
}

#[test]
fn absent_files_and_arrays_are_rejected() {
    let folder = Folder::new();
    folder.write("model.safetensors", safetensors("x", "F32", &[2], &[0; 8]));
    check_refused(
        &folder,
        &["slice", &folder.path("absent.npy"), "0"],
        &["absent.npy"],
    );
    let absent = folder.path("model.safetensors#wte");
    check_refused(
        &folder,
        &["slice", &absent, "0"],
        &["model.safetensors", "wte"],
    );
    folder.write("table.csv", "1,2");
    check_refused(
        &folder,
        &["slice", &folder.path("table.csv"), "0"],
        &["table.csv", ".npy"],
    );
}

#[test]
fn wrong_specs_are_rejected() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2, 3]);
    let rows: [(&str, &[&str]); 7] = [
        ("1, x", &["'x'", "\n  1, x\n     ^"]),
        ("[0", &["not closed", "\n  [0\n  ^"]),
        ("0, 0, 0", &["in.npy (2 × 3)", "3 dimensions", "only 2"]),
        ("::0", &["in.npy", "the stride of dimension 0 is 0"]),
        ("..., ...", &["more than one ellipsis"]),
        ("0, 3", &["in.npy", "index 3 of dimension 1"]),
        ("99999999999999999999", &["64"]),
    ];
    for (spec, message_parts) in rows {
        check_refused(&folder, &["slice", &input, spec], message_parts);
    }
}

/// An error is shorter than 1000 bytes, no matter how long the input is.
#[test]
fn errors_quote_little() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2, 3]);
    let output = folder.path("out.npy");
    let long_text = |part: &str| part.repeat(100_000 / part.len());
    let specs = [
        long_text(","),
        long_text("9"),
        long_text("1,"),
        long_text("-"),
        long_text("é"),
        long_text("1,") + "x",
        "[".to_owned() + &long_text("0,"),
        long_text("...,"),
    ];
    let header = format!("{{\"{}\":{{\"dtype\":\"U8\"}}}}", long_text("x"));
    let length = u64::try_from(header.len()).expect("a length").to_le_bytes();
    folder.write("x.safetensors", [&length, header.as_bytes()].concat());
    let model = folder.path("x.safetensors#") + &long_text("y");
    let begin = long_text("0,") + "x";
    let mut runs: Vec<Vec<&str>> = specs
        .iter()
        .map(|spec| vec!["slice", &input, spec])
        .collect();
    runs.push(vec!["slice", &input, "--begin", &begin, "--end", "1"]);
    runs.push(vec!["slice", &input, "0", "--begin-mask", &specs[1]]);
    runs.push(vec!["slice", &input, "0", "--device", &specs[1]]);
    runs.push(vec!["slice", &model, "0"]);
    runs.push(vec!["slice", &specs[1], "0"]);
    runs.push(vec![&specs[2]]);
    for args in runs {
        let outcome = wgslice(&[&args[..], &["-o", &output]].concat());
        let start: String = outcome.stderr.chars().take(2000).collect();
        assert_eq!(outcome.code, Some(2), "{start}");
        assert!(outcome.stderr.starts_with("error: "), "{start}");
        assert!(
            outcome.stderr.len() < 1000,
            "{} bytes: {start}",
            outcome.stderr.len()
        );
    }
}

#[test]
fn wrong_vectors_and_masks_are_rejected() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2, 3]);
    let rows: [(&[&str], &[&str]); 8] = [
        (&["--begin", "0", "--end", "1,2"], &["lengths 1, 2 and 1"]),
        (
            &["--begin", "0", "--end", "1", "--strides", "1,1"],
            &["lengths 1, 1 and 2"],
        ),
        (
            &["--begin", "0", "--end", "1", "--strides", "0"],
            &["the stride of dimension 0 is 0"],
        ),
        (
            &["--begin", "0", "--end", "1", "--end-mask", "4294967296"],
            &["--end-mask", "4294967296 does not fit"],
        ),
        (
            &["--begin", "0,0", "--end", "1,1", "--ellipsis-mask", "3"],
            &["more than one ellipsis"],
        ),
        (&["--begin", "0,a", "--end", "1,1"], &["--begin", "\"a\""]),
        (&["--begin", "0"], &["--end"]),
        (&["0", "--begin", "0", "--end", "1"], &["SPEC", "--begin"]),
    ];
    for (options, message_parts) in rows {
        check_refused(
            &folder,
            &[&["slice", &input], options].concat(),
            message_parts,
        );
    }
}

#[test]
fn wrong_params_and_indices_are_rejected() {
    let folder = Folder::new();
    let params = folder.write_arange("params.npy", &[2, 3]);
    let scalar = folder.write_arange("scalar.npy", &[]);
    let zeros = |name: &str, shape: &[usize]| {
        let count = shape.iter().product();
        folder.npy(name, "<i4", shape, &bytes(&vec![0; count]))
    };
    let floats = folder.npy("floats.npy", "<f4", &[1, 1], &[0; 4]);
    let deep = zeros("deep.npy", &[1, 3]);
    let three = zeros("three.npy", &[3, 1]);
    let one = zeros("one.npy", &[1]);
    let rows: [(&[&str], &[&str]); 7] = [
        (&[&params, &floats], &["floats.npy", "float32"]),
        (
            &[&params, &deep],
            &["deep.npy (1 × 3)", "tuples of 3", "2 dimensions"],
        ),
        (
            &[&params, &three, "--batch-dims", "1"],
            &["params.npy (2 × 3)", "3 × 1", "differ"],
        ),
        (
            &[&params, &three, "--batch-dims", "2"],
            &["--batch-dims is 2"],
        ),
        (&[&scalar, &one], &["scalar.npy", "scalar.npy is a scalar"]),
        (&[&params, &scalar], &["scalar.npy", "indices is a scalar"]),
        (
            &[&params, &one, "--batch-dims", "-1"],
            &["--batch-dims", "-1"],
        ),
    ];
    for (args, message_parts) in rows {
        check_refused(&folder, &[&["gather-nd"], args].concat(), message_parts);
    }
}

#[test]
fn gathers_with_unaddressable_results_are_rejected() {
    let folder = Folder::new();
    // Neither this array nor its result has elements, but the shape of the result cannot be addressed.
    let params = folder.npy("params.npy", "<i4", &[0, 1 << 40], &[]);
    let indices = folder.npy("indices.npy", "<i4", &[1 << 40, 0], &[]);
    check_refused(
        &folder,
        &["gather-nd", &params, &indices],
        &["1099511627776"],
    );
}

#[test]
fn outputs_that_cannot_be_written_are_rejected() {
    let folder = Folder::new();
    let input = folder.npy("in.npy", "<f4", &[2, 3], &[0; 24]);
    let rows = [
        ("absent/out.npy", "absent"),
        ("out.tiff", "out.tiff"),
        ("out", "out"),
        // PNG cannot hold floats.
        ("out.png", "float32"),
    ];
    for (output, message_part) in rows {
        let outcome = wgslice(&["slice", &input, ":", "-o", &folder.path(output)]);
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(
            outcome.stderr.starts_with("error: ") && outcome.stderr.contains(message_part),
            "{outcome:?}"
        );
        assert_eq!(folder.names(), ["in.npy"]);
    }
}

/// The gather would also fail because of its indices, so the message shows which problem was found first.
#[test]
fn an_output_that_cannot_be_written_is_refused_before_the_work() {
    let folder = Folder::new();
    let params = folder.npy("params.npy", "<f4", &[2, 3], &[0; 24]);
    let indices = folder.npy("indices.npy", "<i4", &[1], &bytes(&[7]));
    let rows = [
        ("out.npy", "out of range"),
        ("absent/out.npy", "absent"),
        ("out.txt", "out.txt"),
        // PNG cannot hold floats.
        ("out.png", "float32"),
    ];
    for (output, message_part) in rows {
        let output = folder.path(output);
        let options = ["--out-of-range", "error", "-o", &output, "--device", "cpu"];
        let outcome = wgslice(&[&["gather", &params, &indices], &options[..]].concat());
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(
            outcome.stderr.contains(message_part),
            "{message_part} in {outcome:?}"
        );
        assert_eq!(folder.names(), ["indices.npy", "params.npy"]);
    }
}

#[test]
fn a_superfluous_word_gets_a_tip() {
    let folder = Folder::new();
    let [a, b] = ["a.npy", "b.npy"].map(|name| folder.write_arange(name, &[2]));
    for (args, tip) in [
        (
            &["slice", &a, "0,", "1"][..],
            "tip: put a slice into quotes",
        ),
        (
            &["slice", &a, "..., ", "None"],
            "tip: put a slice into quotes",
        ),
        (&["slice", &a, &b, "0"], "tip: many inputs need a folder"),
        (&["slice", &a, "0", &b], "tip: many inputs need a folder"),
    ] {
        let outcome = wgslice(args);
        assert!(
            outcome.code == Some(2) && outcome.stderr.contains(tip),
            "{outcome:?}"
        );
    }
    let outcome = wgslice(&["slice", &a, "0", "what"]);
    assert!(!outcome.stderr.contains("tip"), "{outcome:?}");
    // The tip suggests only the most similar name.
    let outcome = wgslice(&["slise", &a, "0"]);
    let tip = "tip: did you mean `wgslice slice`?\n";
    assert!(outcome.stderr.contains(tip), "{outcome:?}");
    // The error lists what can replace the missing argument.
    for (args, alternative) in [
        (&["verify"][..], "wgslice verify [OPTIONS] --random <N>"),
        (&["crop", &a, "--size", "1"], "--at <N,M,...> <IN>"),
    ] {
        let outcome = wgslice(args);
        assert!(
            outcome.code == Some(2) && outcome.stderr.contains(alternative),
            "{outcome:?}"
        );
    }
}

/// People copy slices from Python, where an array's name precedes the brackets.
#[test]
fn a_name_can_precede_the_brackets() {
    let folder = Folder::new();
    let x = folder.write_arange("x.npy", &[3, 4]);
    for args in [
        ["slice", &x, "x[1:, newaxis]"],
        ["slice", &x, "1:, np.newaxis"],
        ["index", &x, "my_x2[[1, 2], np.newaxis]"],
    ] {
        let outcome = wgslice(&args).ok();
        assert!(outcome.stdout.contains("[[ 4  5  6  7]]"), "{outcome:?}");
    }
    for spec in ["2[1]", "x[1", "x(1)", "x[1][2]", "x[[1:, 2]]"] {
        let outcome = wgslice(&["slice", &x, spec]);
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(
            outcome.stderr.contains(&format!("\n  {spec}\n")),
            "{outcome:?}"
        );
    }
}

/// NumPy selects several rows by a list, so the command must not take it as a single index.
#[test]
fn a_list_of_positions_is_not_a_slice() {
    let folder = Folder::new();
    let x = folder.write_arange("x.npy", &[3, 4]);
    for spec in ["[0, 2]", "[0]", "x[[0]]", "x[[0, 2]]", "1:, [0, 2]", "[]"] {
        for args in [
            &["slice", &x, spec][..],
            &["convert", &x, spec, "--as", "int16"],
            &["slice-update", &x, spec, "0"],
            &["grad", &x, spec, "--shape", "3,4"],
        ] {
            let outcome = wgslice(args);
            assert_eq!(outcome.code, Some(2), "{outcome:?}");
            assert!(
                outcome.stderr.contains("`wgslice index` takes them"),
                "{outcome:?}"
            );
        }
    }
    let outcome = wgslice(&["index", &x, "[0, 2]"]).ok();
    assert_eq!(
        outcome.stdout.lines().next(),
        Some("[[ 0  1  2  3]"),
        "{outcome:?}"
    );
    // Brackets around the whole text are not a list.
    for spec in ["[1:, 2]", "x[1:, 2]", "1:, 2"] {
        let outcome = wgslice(&["slice", &x, spec]).ok();
        assert_eq!(
            outcome.stdout.lines().next(),
            Some("[ 6 10]"),
            "{outcome:?}"
        );
    }
}

/// Messages mention options and files, in the command's terms.
#[test]
fn messages_need_no_knowledge_of_rust() {
    let folder = Folder::new();
    let a = folder.write_arange("a.npy", &[2]);
    let row = folder.write_arange("row.npy", &[1, 2]);
    let fake_png = folder.write("a.png", "no picture");
    let png_as_npy = folder.write("x.npy", b"\x89PNG\r\n\x1a\n");
    let absent = folder.path("absent/x.npy");
    let binary = folder.write("bytes", [0xff, 0xfe]);
    let store = folder.path("store.zarr");
    fs::create_dir(&store).expect("a folder");
    for (args, message) in [
        (
            &["slice", &a, "0", "--threads", "0"][..],
            "it must be at least 1",
        ),
        (
            &["repeat", &a, "99999999999999999999"],
            "does not fit 64 bits",
        ),
        (
            &["gather", &a, "0", "--axis", "x"],
            "\"x\" is not an integer",
        ),
        (&["gather", &a, "0", "--batch-dims", "9"], "--batch-dims"),
        (
            &["slice", &a, "0", "-o", &absent],
            "No such file or directory",
        ),
        (&["slice", &fake_png, "0"], "not a PNG file"),
        (&["slice", &png_as_npy, "0"], "begins as .png"),
        (
            &["slice", &a, "0", "-o", &a, "--no-clobber"],
            "--no-clobber keeps it",
        ),
        (&["slice", &a, "::0"], "the stride of dimension 0 is 0"),
        (&["slice", &a, "0", "--memory", "x"], "such as 500M or 2G"),
        (
            &["slice", &a, "--begin", "0,0", "--end", "1"],
            "--begin, --end and --strides have lengths",
        ),
        (&["slice", &store, "0"], "Zarr stores are for wgslice-scale"),
        (
            &["gather", &a, "0", "--axis", "7"],
            "--axis is 7, but a.npy has",
        ),
        (
            &["gather", &a, "0,5", "--out-of-range", "error"],
            "1 of 2 indices are out of range, the first at indices[1] = [5] of a.npy (2)",
        ),
        (
            &["gather-elements", &a, "0"],
            "as many dimensions as a.npy (2)",
        ),
        (
            &["crop", &row, "[[0]]", "--size", "1", "--box-indices", "0"],
            "--box-indices is a scalar",
        ),
        (
            &["crop", &a, "[[0]]", "--size", ""],
            "or --at for a single item such as a picture",
        ),
        (
            &[
                "crop",
                &a,
                "--at",
                "9",
                "--size",
                "1",
                "--out-of-range",
                "error",
            ],
            "the box extends beyond a.npy (2), which begins at [9]: correct it",
        ),
        (&["transpose", &a, "-7"], "the permutation [-7]"),
        (&["tile", &a, "-1"], "-1 is below zero"),
        (&["repeat", &a, "-1"], "-1 is below zero"),
        (
            &["convert", &a, "--as", "complex64"],
            "complex numbers are not converted",
        ),
        (
            &["convert", &a, "--as", "int8", "--scale", "x"],
            "\"x\" is not a number",
        ),
        (&["roll", &a, "1", "9"], "an axis is 9, but a.npy has"),
        (&["verify", &binary], "it is not text"),
    ] {
        let outcome = wgslice(args);
        assert!(
            outcome.code == Some(2) && outcome.stderr.contains(message),
            "{outcome:?}"
        );
        for word in [
            "target type",
            "non-zero type",
            "at path",
            ".wgslice",
            "Backend::",
            "OutOfRange::",
            "os error",
            "params",
            "box_indices",
            "float literal",
            "ByteSize",
            "f64",
        ] {
            assert!(!outcome.stderr.contains(word), "{word} in {outcome:?}");
        }
    }
    assert_eq!(
        folder.names(),
        ["a.npy", "a.png", "bytes", "row.npy", "store.zarr", "x.npy"]
    );
    let new_path = folder.path("new.npy");
    wgslice(&["slice", &a, "0", "-o", &new_path, "--no-clobber"]).ok();
}

#[test]
fn errors_have_the_colours_of_the_parser() {
    let run = |force: bool| {
        let mut command = crate::support::command(&["slice", "absent.npy", "0"]);
        if force {
            command.env("CLICOLOR_FORCE", "1");
        }
        let output = command.env_remove("NO_COLOR").output().expect("it");
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    assert!(run(true).starts_with("\u{1b}[1m\u{1b}[31merror:\u{1b}[0m cannot read"));
    assert!(run(false).starts_with("error: cannot read"));
}

#[test]
fn a_failure_keeps_the_output_of_an_earlier_run() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2, 3]);
    let output = folder.write("out.npy", "from before");
    let outcome = wgslice(&["slice", &input, "7", "-o", &output]);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert_eq!(fs::read(output).expect("it is still there"), b"from before");
}

/// Each message tells what to type instead.
#[test]
fn messages_have_a_remedy() {
    let folder = Folder::new();
    let a = folder.write_arange("a.npy", &[3, 4]);
    let odd = folder.write_arange("odd.npy", &[3, 5]);
    let half_folder = folder.path("half");
    fs::create_dir(&half_folder).expect("a folder");
    let header = serde_json::json!({
        "layer.10": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
        "layer.2": {"dtype": "U8", "shape": [1], "data_offsets": [1, 2]},
        "wte": {"dtype": "U8", "shape": [1], "data_offsets": [2, 3]},
    });
    let header = header.to_string();
    let length = (header.len() as u64).to_le_bytes();
    let model = folder.write(
        "m.safetensors",
        [&length[..], header.as_bytes(), &[1, 2, 3]].concat(),
    );
    let png = folder.path("o.png");
    let bmp = folder.path("o.bmp");
    let misspelled_source = format!("{model}#wt");
    let begins_as_png = folder.write("x.safetensors", b"\x89PNG\r\n\x1a\n");
    for (args, message) in [
        (
            &["stack", &a, &a, &odd][..],
            "odd.npy is 3 × 5, but a.npy is 3 × 4",
        ),
        (
            &["slice", &misspelled_source, ":"],
            "did you mean \"wte\"? it holds \"layer.2\", \"layer.10\", \"wte\"",
        ),
        (&["info", &misspelled_source], "did you mean \"wte\"?"),
        (
            &["pad", &a, "-1,0"],
            "-1 would remove positions: use `wgslice slice`",
        ),
        (
            &["tile", &a, "2"],
            "N,... has 1 number, but a.npy has 2 dimensions: give one for each",
        ),
        (
            &["slice", &a, "0", "-o", &bmp],
            "pictures are written as .png",
        ),
        (
            &["slice", &a, "0", "-o", &half_folder],
            "it is a folder; give it by --to",
        ),
        (&["slice", &a, "0", "-o", &png], "(--format npy)"),
        (
            &["slice", &begins_as_png, "0"],
            "not a .safetensors file: it begins as .png",
        ),
        (&[&a, "::2"], "did you mean `wgslice slice "),
        (
            &["convert", &a, "--as", "float32", "--scale", "1/x"],
            "such as 0.5 or 1/255",
        ),
    ] {
        let outcome = wgslice(args);
        assert!(
            outcome.code == Some(2) && outcome.stderr.contains(message),
            "{outcome:?}"
        );
    }
    let outcome = wgslice(&["gather", &a, "0,-1"]).ok();
    assert!(
        outcome
            .stderr
            .contains("; --negative wrap counts negative ones from the end"),
        "{outcome:?}"
    );
    let outcome = wgslice(&["gather", &a, "0,7"]).ok();
    assert!(!outcome.stderr.contains("--negative"), "{outcome:?}");
    let outcome = wgslice(&["slice", &a, "0", "--explain"]).ok();
    assert!(
        outcome.stdout.ends_with(" plus reading and writing\n"),
        "{outcome:?}"
    );
    let names = wgslice(&["info", &model]).ok().stdout;
    let order: Vec<&str> = names
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(order, ["layer.2", "layer.10", "wte"]);
}

/// Bytes after the last tensor count as damage, but do not hide the tensors.
#[test]
fn surplus_bytes_do_not_hide_tensors() {
    let folder = Folder::new();
    let file = safetensors("x", "U8", &[2], &[1, 2]);
    let path = folder.write("x.safetensors", [&file[..], &[0; 5]].concat());
    let listing = wgslice(&["info", &path]).ok().stdout;
    assert!(
        listing.contains("damaged: the header describes 2 bytes of data, but 7 follow")
            && listing.contains("  x  "),
        "{listing}"
    );
    let json = wgslice(&["info", &path, "--json"]).ok().json();
    assert!(
        json["files"][0]["damaged"].is_string() && json["files"][0]["arrays"][0]["name"] == "x",
        "{json}"
    );
    assert_eq!(wgslice(&["slice", &path, ":"]).code, Some(2));
}
