//! Whenever a signal arrives, the output file has the whole old content or the whole new content, and no temporary file
//! remains. The exit code is the code that shells use for the signal.

use crate::support::{Folder, bytes, command, read_i32};
use std::{
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The numbers of HUP, INT, QUIT and TERM.
const SIGNALS: [i32; 4] = [1, 2, 3, 15];

fn send_signal(running: &Child, signal: i32) {
    let signal = format!("-{signal}");
    let status = Command::new("kill")
        .args([&signal, &running.id().to_string()])
        .stderr(Stdio::null())
        .status();
    status.expect("kill runs");
}

/// Marsaglia's xorshift generator.
fn next_random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Sends 60 signals, or 2000 with `WGSLICE_SIGNALS=2000`.
#[test]
fn a_signal_at_any_moment_leaves_the_old_output_or_the_new_one() {
    let runs = std::env::var("WGSLICE_SIGNALS").map_or(60, |text| text.parse().expect("a number"));
    let folder = Folder::new();
    let shape = [1000, 250];
    let input = folder.write_arange("in.npy", &shape);
    let (output, old_values) = (folder.path("out.npy"), [1, 2, 3]);
    let slice = || {
        let mut command = command(&["slice", &input, "::-1", "-o", &output, "--device", "cpu"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("the command starts")
    };
    // Takes the fastest of several runs, because other work can slow some of them down.
    let usual_time = (0..5).map(|_| {
        let begin = Instant::now();
        assert!(slice().wait().expect("it ends").success());
        begin.elapsed()
    });
    let usual_time = usual_time.min().expect("several runs");
    let new_output = read_i32(&output);
    let mut random_state = 0x9e37_79b9_7f4a_7c15;
    let (mut interrupted_count, mut kept_count, mut replaced_count) = (0, 0, 0);
    for run in 0..runs {
        folder.npy("out.npy", "<i4", &[3], &bytes(&old_values));
        let signal = SIGNALS[run % SIGNALS.len()];
        let mut running = slice();
        thread::sleep(usual_time.mul_f64((next_random(&mut random_state) % 1200) as f64 / 1000.0));
        send_signal(&running, signal);
        let status = running.wait().expect("it ends");
        let result = read_i32(&output);
        let is_old = result == (vec![3], old_values.to_vec());
        assert!(is_old || result == new_output, "run {run}: {status}");
        assert_eq!(folder.names(), ["in.npy", "out.npy"], "run {run}: {status}");
        kept_count += usize::from(is_old);
        replaced_count += usize::from(!is_old);
        if status.code() == Some(0) {
            assert!(!is_old, "run {run}");
            continue;
        }
        // Before the command watches for signals, a signal ends it as it ends any other program.
        use std::os::unix::process::ExitStatusExt;
        assert!(
            status.code() == Some(128 + signal) || status.signal() == Some(signal) && is_old,
            "run {run}, signal {signal}: {status}"
        );
        interrupted_count += usize::from(status.code() == Some(128 + signal));
    }
    assert!(
        interrupted_count > 0 && kept_count > 0 && replaced_count > 0,
        "{interrupted_count} interrupted, {kept_count} kept and {replaced_count} replaced of {runs}"
    );
}

/// SIGKILL, which no program can catch, leaves no file behind if the file system has unnamed files.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_command_leaves_no_file() {
    use std::os::unix::fs::OpenOptionsExt;
    let folder = Folder::new();
    let mut options = std::fs::OpenOptions::new();
    options.write(true).custom_flags(libc::O_TMPFILE);
    if let Err(error) = options.open(folder.path("")) {
        eprintln!("not tested: files without names: {error}");
        return;
    }
    let input = folder.write_arange("in.npy", &[1000, 250]);
    let output = folder.path("out.npy");
    let args = ["slice", &input, "::-1", "-o", &output, "--device", "cpu"];
    let slice = || {
        let mut command = command(&args);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("the command starts")
    };
    let begin = Instant::now();
    assert!(slice().wait().expect("it ends").success());
    let (usual_time, new_output) = (begin.elapsed(), read_i32(&output));
    let mut killed_count = 0;
    for run in 0..20 {
        std::fs::remove_file(&output).ok();
        let mut running = slice();
        thread::sleep(usual_time.mul_f64(f64::from(run) / 20.0));
        send_signal(&running, 9);
        let status = running.wait().expect("it ends");
        match folder.names().len() {
            1 => assert_eq!(folder.names(), ["in.npy"], "run {run}: {status}"),
            _ => assert_eq!(read_i32(&output), new_output, "run {run}: {status}"),
        }
        assert!(folder.names().len() <= 2, "run {run}: {:?}", folder.names());
        killed_count += usize::from(!status.success());
    }
    assert!(killed_count > 0, "no run was killed before its end");
}

/// `nohup` makes a command ignore HUP, and a script makes its background jobs ignore INT and QUIT.
#[test]
fn an_ignored_signal_stays_ignored() {
    let folder = Folder::new();
    let len = 1 << 30;
    let input = folder.write_sparse("in.npy", "<f4", &[len / 4096, 1024], len as u64);
    for (signal, trap) in [(1, "HUP"), (2, "INT"), (3, "QUIT"), (15, "TERM")] {
        let output = folder.path("out.npy");
        let script = format!("trap '' {trap}; exec \"$@\"");
        let wgslice = env!("CARGO_BIN_EXE_wgslice");
        let mut running = Command::new("sh")
            .args(["-c", &script, "sh", wgslice, "slice", &input, ":, ::-16"])
            .args(["-o", &output, "--device", "cpu"])
            .stdout(Stdio::null())
            .spawn()
            .expect("the shell starts");
        // When the command writes, it already watches for signals.
        while !folder.is_written_by(&running) {
            assert_eq!(running.try_wait().expect("its state"), None, "{trap}");
            thread::sleep(Duration::from_millis(1));
        }
        send_signal(&running, signal);
        let status = running.wait().expect("it ends");
        assert_eq!(status.code(), Some(0), "{trap}: {status}");
        assert_eq!(folder.names(), ["in.npy", "out.npy"], "{trap}");
        std::fs::remove_file(&output).expect("the output");
    }
}
