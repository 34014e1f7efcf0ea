//! Standard input and output, many files, and values on the command line.

use crate::support::{CommandRun, Folder, bytes, command, devices, npy, read_i32, wgslice};
use serde_json::json;
use std::{
    fs,
    io::Write,
    process::{Output, Stdio},
};

const PHOTO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/astronaut.png");

/// Runs the command with this standard input.
fn run_piped(args: &[&str], input: &[u8]) -> Output {
    let mut command = command(args);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut running = command.spawn().expect("the command starts");
    let mut stdin = running.stdin.take().expect("its input");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = running.wait_with_output().expect("it ends");
    // This fails if the command has stopped reading.
    let _ = writer.join().expect("no panic");
    output
}

#[test]
fn files_go_through_pipes() {
    let folder = Folder::new();
    let array = npy("<i4", &[2, 2], &bytes(&[1, 2, 3, 4]));
    let output = run_piped(&["slice", "-", "::-1", "-o", "-"], &array);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let path = folder.write("out.npy", &output.stdout);
    assert_eq!(read_i32(&path), (vec![2, 2], vec![3, 4, 1, 2]));
    let line = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(line.starts_with("-  2 × 2 int32, 16 bytes"), "{line}");

    // The output has the format of the input, unless another format is chosen.
    let photo = fs::read(PHOTO).expect("the photo");
    let png = run_piped(&["slice", "-", ":9, :7", "-o", "-", "-q"], &photo);
    assert_eq!((png.status.code(), &*png.stderr), (Some(0), &b""[..]));
    let info = CommandRun::from(run_piped(&["info", "-"], &png.stdout))
        .ok()
        .stdout;
    assert!(info.contains("9 × 7 × 3") && info.contains("PNG"), "{info}");
    let npy = run_piped(
        &["pad", "-", "1,1,0", "-o", "-", "--format", "npy", "--json"],
        &photo,
    );
    let info = CommandRun::from(run_piped(&["info", "-"], &npy.stdout))
        .ok()
        .stdout;
    assert!(
        info.contains("514 × 514 × 3") && info.contains("NPY"),
        "{info}"
    );
    let run: serde_json::Value = serde_json::from_slice(&npy.stderr).expect("JSON");
    assert_eq!(run["output"], json!({"path": "-", "shape": [514, 514, 3]}));

    for (input, message) in [(&b"text"[..], "no known format"), (b"", "no known format")] {
        let outcome = CommandRun::from(run_piped(&["slice", "-", "0"], input));
        assert!(
            outcome.code == Some(2) && outcome.stderr.contains(message),
            "{outcome:?}"
        );
    }
    let cut = CommandRun::from(run_piped(&["slice", "-", "0"], &array[..array.len() - 1]));
    assert!(cut.stderr.contains("cut short"), "{cut:?}");
}

/// The exit code is the same as for a program that SIGPIPE ends. There is no message.
#[cfg(unix)]
#[test]
fn a_result_that_is_not_read_is_an_error() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[1000, 1000]);
    let mut command = command(&["slice", &input, "::-1", "-o", "-", "--device", "cpu"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().expect("the command starts");
    drop(running.stdout.take());
    let outcome: CommandRun = running.wait_with_output().expect("it ends").into();
    assert_eq!((outcome.code, &*outcome.stderr), (Some(141), ""));
}

/// `script` runs the command in a terminal.
#[cfg(target_os = "linux")]
#[test]
fn no_array_goes_to_a_terminal() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2]);
    let line = format!("{} slice {input} ... -o -", env!("CARGO_BIN_EXE_wgslice"));
    let script = std::process::Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .stdin(Stdio::null())
        .output();
    let Ok(output) = script else {
        eprintln!("no `script`: nothing is tested");
        return;
    };
    let screen = String::from_utf8_lossy(&output.stdout);
    assert!(screen.contains("standard output is a terminal"), "{screen}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn many_files_go_to_a_folder() {
    let folder = Folder::new();
    let inputs: Vec<String> = (2..12)
        .map(|rows| folder.write_arange(&format!("{rows}.npy"), &[rows, 3]))
        .collect();
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let out = folder.path("deep/out");
    for device in devices() {
        let args = [&["slice"], &inputs[..], &["-1, ::-1", "--to", &out]].concat();
        let outcome = wgslice(&[&args[..], &["--device", device]].concat()).ok();
        assert!(
            outcome.stdout.contains("out  10 files, 120 bytes, "),
            "{outcome:?}"
        );
        for rows in 2..12 {
            let last = (rows - 1) * 3;
            let expected = (vec![3], vec![last + 2, last + 1, last]);
            assert_eq!(read_i32(&format!("{out}/{rows}.npy")), expected);
        }
        fs::remove_dir_all(&out).expect("the folder");
    }
    // Options can be anywhere, a slice can have TensorFlow's form, and the extension can change.
    let to = format!("--to={out}");
    let line = [
        &["slice", "-v", &to, "--begin", "-1", "--end", "0"],
        &inputs[..],
        &["--shrink-axis-mask", "1", "--device=cpu"],
    ];
    let outcome = wgslice(&line.concat()).ok();
    assert_eq!(outcome.stdout.matches("(CPU)").count(), 10, "{outcome:?}");
    assert_eq!(read_i32(&format!("{out}/2.npy")).1, [3, 4, 5]);
    let photos = ["a.png", "b.png"].map(|name| folder.write(name, fs::read(PHOTO).expect("it")));
    let [a, b] = &photos;
    let args = ["crop", a, b, "--at", "5,6", "--size", "7,8", "--to", &out];
    let args = [&args[..], &["--format", "npy", "--json"]].concat();
    let outcome = wgslice(&args).ok();
    assert_eq!(outcome.stdout.lines().count(), 2, "{outcome:?}");
    let info = wgslice(&["info", &format!("{out}/b.npy")]).ok().stdout;
    assert!(info.contains("7 × 8 × 3"), "{info}");
    let update = [
        "slice-update",
        inputs[0],
        inputs[1],
        "0",
        "-7",
        "--to",
        &out,
        "-q",
    ];
    assert_eq!(wgslice(&update).ok().stdout, "");
    assert_eq!(read_i32(&format!("{out}/3.npy")).1[..4], [-7, -7, -7, 3]);
}

/// In the place of an optional last argument, an existing file is an input.
#[test]
fn the_last_of_many_files_is_an_input() {
    let folder = Folder::new();
    let inputs: Vec<String> = (0..3)
        .map(|at| folder.write_arange(&format!("{at}.npy"), &[2, 3]))
        .collect();
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let out = folder.path("out");
    for args in [
        &[&["transpose"], &inputs[..], &["--to", &out]].concat()[..],
        &[&["transpose"], &inputs[..], &["1,0", "--to", &out]].concat(),
        &[&["convert"], &inputs[..], &["--as", "int16", "--to", &out]].concat(),
        &[
            &["convert"],
            &inputs[..],
            &["...", "--as", "int16", "--to", &out],
        ]
        .concat(),
    ] {
        let outcome = wgslice(args).ok();
        assert!(
            !outcome.stderr.contains("SPEC") && !outcome.stderr.contains("AXIS"),
            "{outcome:?}"
        );
    }
    let mut names: Vec<_> = fs::read_dir(&out)
        .expect("the folder")
        .map(|entry| entry.expect("a file").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["0.npy", "1.npy", "2.npy"]);
    // A last word that looks like a slice is the slice, and `--at` replaces the last argument.
    let one = folder.path("one");
    wgslice(&["slice", inputs[0], "1", "--to", &one]).ok();
    let crop = [
        "crop", inputs[0], inputs[1], "--at", "0,0", "--size", "1,1", "--to", &one,
    ];
    assert!(wgslice(&crop).ok().stdout.contains("2 files"));
}

#[test]
fn one_of_many_files_that_fails_does_not_end_the_others() {
    let folder = Folder::new();
    let [a, b] = ["a.npy", "b.npy"].map(|name| folder.write_arange(name, &[2, 3]));
    let damaged = folder.write("damaged.npy", "no array");
    let out = folder.path("out");
    let outcome = wgslice(&["slice", &a, &damaged, &b, "1", "--to", &out]);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert_eq!(outcome.stderr.matches("error: ").count(), 1, "{outcome:?}");
    assert!(outcome.stderr.contains("damaged.npy"), "{outcome:?}");
    for name in ["a.npy", "b.npy"] {
        assert_eq!(read_i32(&format!("{out}/{name}")).1, [3, 4, 5]);
    }
    fs::create_dir(folder.path("other")).expect("a folder");
    let same = folder.write_arange("other/a.npy", &[2, 3]);
    for (args, message) in [
        (&["slice", &a, &same, "0", "--to", &out][..], "two inputs"),
        (&["slice", &a, &b, "0"], "unexpected argument"),
        (&["slice", "-", "0", "--to", &out], "--to names the result"),
        (
            &["slice", &a, "0", "--to", &out, "-o", &b],
            "cannot be used with",
        ),
        (
            &["slice", &a, "0", "--to", &damaged],
            "is a file, but --to names a folder",
        ),
    ] {
        let outcome = wgslice(args);
        assert!(
            outcome.code == Some(2) && outcome.stderr.contains(message),
            "{outcome:?}"
        );
    }
}

#[test]
fn small_arrays_are_written_on_the_command_line() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[2, 3]);
    for (args, expected) in [
        (
            &["gather", &input, "2,0", "--axis", "1"][..],
            "[[2 0]\n [5 3]]\n",
        ),
        (&["gather", &input, "-1", "--negative", "wrap"], "[3 4 5]\n"),
        (&["gather-nd", &input, "[[1,1],[0,2]]"], "[4 2]\n"),
        (
            &["slice-update", &input, ":, 1", "-7"],
            "[[ 0 -7  2]\n [ 3 -7  5]]\n",
        ),
        (
            &["slice-update", &input, "0", "[7,8,9]"],
            "[[7 8 9]\n [3 4 5]]\n",
        ),
        (
            &["crop", &input, "--at", "1,1", "--size", "1,2"],
            "[[4 5]]\n",
        ),
        (
            &["crop", &input, "[[2],[0]]", "--size", "1"],
            "[[2]\n [3]]\n",
        ),
        (
            &[
                "crop",
                &input,
                "--at",
                "0,1",
                "--size",
                "2,2",
                "--flips",
                "[false,true]",
            ],
            "[[2 1]\n [5 4]]\n",
        ),
        (
            &["scatter-nd", "[[1],[3]]", "5,-6", "--shape", "4"],
            "[ 0  5  0 -6]\n",
        ),
        (&["grad", "1.5,2", "::2", "--shape", "3"], "[1.5 0.  2. ]\n"),
        (&["slice", "[[1,2],[3,4]]", ":, 0"], "[1 3]\n"),
    ] {
        for device in devices() {
            let outcome = wgslice(&[args, &["-q", "--device", device]].concat());
            assert_eq!(outcome.stdout, expected, "{args:?}: {outcome:?}");
        }
    }
    // The argument 0 is a literal, unless a file is called 0.
    let outcome = command(&["gather", "in.npy", "0", "-q"])
        .current_dir(folder.path("."))
        .output();
    assert_eq!(
        CommandRun::from(outcome.expect("it")).ok().stdout,
        "[0 1 2]\n"
    );
    fs::rename(
        folder.npy("0.npy", "<i4", &[1], &bytes(&[1])),
        folder.path("0"),
    )
    .expect("it");
    let outcome = command(&["gather", "in.npy", "0", "-q"])
        .current_dir(folder.path("."))
        .output();
    assert_eq!(
        CommandRun::from(outcome.expect("it")).ok().stdout,
        "[[3 4 5]]\n"
    );
    for (args, message) in [
        (
            &["slice-update", &input, "0", "1.5"][..],
            "not an array of int32",
        ),
        (&["gather", &input, "0.5"], "must be integers"),
        (&["gather", &input, "1,x"], "cannot read 1,x"),
        (
            &["crop", &input, "0", "--at", "0,0", "--size", "1,1"],
            "cannot be used with",
        ),
    ] {
        let outcome = wgslice(args);
        assert!(
            outcome.code == Some(2) && outcome.stderr.contains(message),
            "{outcome:?}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn paths_can_have_any_bytes() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let array = npy("<i4", &[2], &bytes(&[1, 2]));
    let path = |name: &[u8]| {
        std::path::Path::new(&folder.path(".")).join(std::ffi::OsStr::from_bytes(name))
    };
    fs::write(path(b"\xff.npy"), array).expect("the file");
    let mut slice = command(&["slice"]);
    slice
        .arg(path(b"\xff.npy"))
        .args(["::-1", "-o"])
        .arg(path(b"\xfe.npy"));
    CommandRun::from(slice.output().expect("it")).ok();
    fs::rename(path(b"\xfe.npy"), folder.path("out.npy")).expect("the output");
    assert_eq!(read_i32(&folder.path("out.npy")).1, [2, 1]);
    let mut info = command(&["info"]);
    let outcome = CommandRun::from(info.arg(path(b"\xff.npy")).output().expect("it")).ok();
    assert!(outcome.stdout.contains("\u{fffd}.npy"), "{outcome:?}");
}

/// With `--to`, a name with a star stands for every array that matches, and each gets its own file. When arrays are
/// joined, they are ordered by the numbers in their names.
#[test]
fn names_with_a_star_are_many_inputs() {
    let folder = Folder::new();
    let model = folder.path("model.npz");
    for (name, value) in [("h.10/w", 10), ("h.2/w", 2), ("h.2/b", 3), ("star*", 4)] {
        let x = folder.npy("x.npy", "<i4", &[1], &bytes(&[value]));
        wgslice(&["slice", &x, "...", "-o", &format!("{model}#{name}")]).ok();
    }
    let out = folder.path("out");
    let pattern = format!("{model}#h.*/w");
    wgslice(&["slice", &pattern, "...", "--format", "npy", "--to", &out]).ok();
    let mut names = fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect::<Vec<_>>();
    names.sort();
    assert_eq!(names, ["model-h.10-w.npy", "model-h.2-w.npy"]);

    let output = folder.path("both.npy");
    wgslice(&["concat", &pattern, "-o", &output]).ok();
    assert_eq!(read_i32(&output), (vec![2], vec![2, 10]));
    // The name of this array contains a star.
    wgslice(&["concat", &format!("{model}#star*"), "-o", &output]).ok();
    assert_eq!(read_i32(&output), (vec![1], vec![4]));
    // Without `--to`, `slice` takes a single array, so a star stands for itself. With `--to`, some array must match.
    for args in [
        &["slice", &pattern, "..."][..],
        &["slice", &format!("{model}#x.*"), "...", "--to", &out],
    ] {
        let outcome = wgslice(args);
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains("no array named"), "{outcome:?}");
    }
}
