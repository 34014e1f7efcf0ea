//! Injects faults. Tests use them to make tasks fail and to end processes while tasks run. Without the environment
//! variable `WGSLICE_SCALE_FAULTS`, nothing happens.
//!
//! The variable names a folder that all processes of a test can write to. Whenever a task is tried, it looks for these
//! files in the folder:
//!
//! | file | effect |
//! |---|---|
//! | `sleep` | each task sleeps before it reads, for the number of milliseconds in the file |
//! | `sleep-after` | each task sleeps after it has written its shard, for the number of milliseconds in the file |
//! | `io-error-…` | one task fails with an I/O error before it reads. The task removes the file, so each file causes one failure, whichever process runs the task |
//! | `started` | if this file exists, each task appends a line to it before it reads: the ID of its process and the number of its shard |

use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process,
    sync::LazyLock,
    thread,
    time::Duration,
};

/// The environment variable with the folder of faults.
pub const VARIABLE: &str = "WGSLICE_SCALE_FAULTS";

static FAULTS_FOLDER: LazyLock<Option<PathBuf>> =
    LazyLock::new(|| env::var_os(VARIABLE).map(PathBuf::from));

/// Causes the faults of a task before it reads. `shard` is the number of the task's shard.
pub(super) fn inject_before_read(shard: u64) -> io::Result<()> {
    let Some(folder) = &*FAULTS_FOLDER else {
        return Ok(());
    };
    if let Ok(mut log) = fs::OpenOptions::new()
        .append(true)
        .open(folder.join("started"))
    {
        log.write_all(format!("{} {shard}\n", process::id()).as_bytes())?;
    }
    sleep(folder, "sleep");
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_error = entry.file_name().to_string_lossy().starts_with("io-error");
        // If several tasks try to remove the file, only one succeeds, and only that task fails.
        if is_error && fs::remove_file(entry.path()).is_ok() {
            return Err(io::Error::other("an error on purpose"));
        }
    }
    Ok(())
}

/// Causes the faults of a task after it has written its shard.
pub(super) fn inject_after_write() {
    if let Some(folder) = &*FAULTS_FOLDER {
        sleep(folder, "sleep-after");
    }
}

fn sleep(folder: &Path, name: &str) {
    let milliseconds = fs::read_to_string(folder.join(name)).ok();
    let milliseconds = milliseconds.and_then(|text| text.trim().parse().ok());
    thread::sleep(Duration::from_millis(milliseconds.unwrap_or(0)));
}
