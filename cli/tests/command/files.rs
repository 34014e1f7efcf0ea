//! Unusual files: links, full disks, two writers of one output, and binary files in place of text files.

use crate::support::{CommandRun, Folder, command, read_i32, wgslice};
use std::{
    fs,
    os::unix::fs::symlink,
    process::{Command, Stdio},
};

fn check_message(outcome: &CommandRun, names: &[&str]) {
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    for name in names {
        assert!(outcome.stderr.contains(name), "{name:?} in {outcome:?}");
    }
    assert!(
        outcome.stderr.len() < 1000,
        "{} bytes",
        outcome.stderr.len()
    );
}

#[test]
fn links_are_followed() {
    let folder = Folder::new();
    folder.write_arange("in.npy", &[4]);
    let output = folder.path("out.npy");
    symlink("in.npy", folder.path("link.npy")).expect("a link");
    symlink("link.npy", folder.path("again.npy")).expect("a link");
    let slice = |name: &str| wgslice(&["slice", &folder.path(name), "::-1", "-o", &output]);
    slice("again.npy").ok();
    assert_eq!(read_i32(&output), (vec![4], vec![3, 2, 1, 0]));
    // The output can be the input, even through a link.
    let link = folder.path("link.npy");
    wgslice(&["slice", &folder.path("in.npy"), "1:", "-o", &link]).ok();
    assert_eq!(read_i32(&folder.path("in.npy")), (vec![3], vec![1, 2, 3]));
    assert!(fs::symlink_metadata(&link).expect("the link").is_symlink());

    symlink("nowhere.npy", folder.path("dangling.npy")).expect("a link");
    symlink("circle.npy", folder.path("circle.npy")).expect("a link");
    symlink(".", folder.path("folder.npy")).expect("a link");
    symlink("/dev/zero", folder.path("device.npy")).expect("a link");
    let refused = [
        ("dangling.npy", "No such file"),
        ("circle.npy", "symbolic links"),
        ("folder.npy", "not a regular file"),
        ("device.npy", "not a regular file"),
    ];
    fs::remove_file(&output).expect("the output");
    let before = folder.names();
    for (name, message) in refused {
        check_message(&slice(name), &["cannot read", name, message]);
    }
    assert_eq!(folder.names(), before);
}

/// Runs as an unprivileged user, if the test can become one. A file that this user may not write to is not replaced. A
/// file whose group cannot be kept is not opened to another group.
#[test]
fn a_file_that_this_user_must_not_write_is_kept() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[4]);
    let [locked, shared] = ["locked.npy", "shared.npy"].map(|name| folder.write(name, "before"));
    let set_mode = |path: &str, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    set_mode(&locked, 0o444).expect("the mode");
    set_mode(&shared, 0o664).expect("the mode");
    set_mode(&folder.path("."), 0o777).expect("the mode");
    let is_privileged = chown(&shared, Some(65534), Some(4321)).is_ok();
    let run = |args: &[&str]| -> CommandRun {
        let mut command = match is_privileged {
            true => Command::new("setpriv"),
            false => command(&[]),
        };
        if is_privileged {
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
            command.arg(env!("CARGO_BIN_EXE_wgslice"));
        }
        command.args(args).output().expect("it starts").into()
    };
    if run(&["slice", &input, "0", "--explain"]).code != Some(0) {
        eprintln!("other users may not read the folder of the tests: nothing is tested");
        return;
    }
    let slice = |output| run(&["slice", &input, "::-1", "-o", output, "--device", "cpu"]);
    let outcome = slice(&locked);
    check_message(
        &outcome,
        &["cannot write", "locked.npy", "Permission denied"],
    );
    assert_eq!(fs::read(&locked).expect("the file"), b"before");
    slice(&shared).ok();
    let mode = fs::metadata(&shared).expect("the file").mode() & 0o7777;
    assert_eq!(mode, if is_privileged { 0o644 } else { 0o664 }, "{mode:o}");
    assert_eq!(folder.names(), ["in.npy", "locked.npy", "shared.npy"]);
}

/// The test mounts a file system of 64 KiB. It is skipped if the kernel does not allow this.
#[test]
fn a_full_disk_is_an_error_and_keeps_the_old_output() {
    let folder = Folder::new();
    let input = folder.write_arange("in.npy", &[1000, 250]);
    let disk = folder.path("disk");
    fs::create_dir(&disk).expect("a folder");
    let script = "mount -t tmpfs -o size=64k tmpfs \"$1\" || exit 77
        cp \"$2\" \"$1/out.$3\" && \"$0\" slice \"$4\" ::-1 -o \"$1/out.$3\" --device cpu
        code=$?; cmp \"$2\" \"$1/out.$3\" && ls -A \"$1\" && exit $code";
    let old = folder.write("old", "before");
    for format in ["npy", "png"] {
        let input = match format {
            "npy" => input.clone(),
            _ => {
                let noise = (0..1_u32 << 18).map(|n| (n.wrapping_mul(n) >> 7).to_le_bytes()[0]);
                folder.npy("noise.npy", "|u1", &[512, 512], &noise.collect::<Vec<_>>())
            }
        };
        let outcome: CommandRun = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
            .args([env!("CARGO_BIN_EXE_wgslice"), &disk, &old, format, &input])
            .output()
            .expect("unshare starts")
            .into();
        if outcome.code == Some(77) || outcome.stderr.contains("unshare") {
            eprintln!(
                "no file system of its own: a full disk is not tested: {}",
                outcome.stderr
            );
            return;
        }
        check_message(
            &outcome,
            &["cannot write", "out.", "No space left on device"],
        );
        assert_eq!(
            outcome.stdout.trim(),
            format!("out.{format}"),
            "{outcome:?}"
        );
    }
}

/// Both runs succeed, and the file holds the whole output of one of them.
#[test]
fn two_runs_that_write_one_output_leave_one_whole() {
    let folder = Folder::new();
    let inputs = [2, 3].map(|rows| folder.write_arange(&format!("in{rows}.npy"), &[rows, 50_000]));
    let output = folder.path("out.npy");
    for _ in 0..6 {
        let running = inputs.each_ref().map(|input| {
            command(&["slice", input, ":, ::-1", "-o", &output, "--device", "cpu"])
                .stdout(Stdio::null())
                .spawn()
                .expect("the command starts")
        });
        for mut running in running {
            assert!(running.wait().expect("it ends").success());
        }
        let (shape, values) = read_i32(&output);
        assert!(shape == [2, 50_000] || shape == [3, 50_000], "{shape:?}");
        let row: Vec<i32> = (0..50_000).rev().collect();
        assert_eq!(values.len(), shape[0] * 50_000);
        assert_eq!(values[..50_000], row);
        assert_eq!(folder.names(), ["in2.npy", "in3.npy", "out.npy"]);
    }
}

#[test]
fn errors_name_a_file_without_cases_or_workloads() {
    let folder = Folder::new();
    fs::create_dir(folder.path("folder")).expect("a folder");
    folder.write("empty", "");
    folder.write("binary", [0x93, b'N', 0xff, 0xfe, 0]);
    folder.write("nul", [0; 4096]);
    // This is valid JSON, but neither a case nor a set of workloads.
    let name = "x".repeat(64 << 20);
    folder.write(
        "long",
        format!("{{\"op\":\"{name}\",\"dtype\":\"int32\",\"tensors\":{{}},\"args\":{{}}}}"),
    );
    let deep = "[".repeat(1 << 20);
    folder.write("deep", format!("{{\"expected\":{{\"data\":{deep}"));
    let rows = [
        ("folder", "directory"),
        ("empty", ""),
        ("binary", "UTF-8"),
        ("nul", "expected value"),
        ("long", ""),
        ("deep", "recursion limit"),
    ];
    for (file, message) in rows {
        let path = folder.path(file);
        let verify = wgslice(&["verify", &path, "--device", "cpu"]);
        check_message(&verify, &[file, message]);
        let workloads = wgslice(&["bench", "--workloads", &path, "--device", "cpu"]);
        check_message(&workloads, &[file]);
    }
    let html = folder.path("folder");
    let outcome = wgslice(&["bench", "--only", "W1", "--device", "cpu", "--html", &html]);
    check_message(&outcome, &["cannot write", "folder"]);
}
