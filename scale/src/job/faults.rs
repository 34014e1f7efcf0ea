//! Faults on purpose, for tests with tasks that fail and processes that die. Without the environment
//! variable `WGSLICE_SCALE_FAULTS`, nothing happens.
//!
//! The variable names a folder that all processes of a test can write to. A task that computes a shard looks
//! there for files:
//!
//! | file | effect |
//! |---|---|
//! | `sleep` | each task sleeps before it reads, for as many milliseconds as the file says |
//! | `sleep-after` | each task sleeps after its shard is written, for as many milliseconds as the file says |
//! | `io-error-…` | one task fails with an error of the system, before it reads. The task removes the file, so each file causes one failure in all processes together |
//! | `started` | when a task begins, it appends a line with its process and its shard to this file, if it exists |

use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process,
    sync::LazyLock,
    thread,
    time::Duration,
};

/// The variable that names the folder of faults.
pub const VARIABLE: &str = "WGSLICE_SCALE_FAULTS";

static FOLDER: LazyLock<Option<PathBuf>> =
    LazyLock::new(|| env::var_os(VARIABLE).map(PathBuf::from));

/// Causes the faults that come before a task reads.
pub(super) fn before(shard: u64) -> io::Result<()> {
    let Some(folder) = &*FOLDER else {
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
        // If several processes try, only one removes the file.
        if is_error && fs::remove_file(entry.path()).is_ok() {
            return Err(io::Error::other("an error on purpose"));
        }
    }
    Ok(())
}

/// Causes the faults that come after a task has written its shard.
pub(super) fn after() {
    if let Some(folder) = &*FOLDER {
        sleep(folder, "sleep-after");
    }
}

fn sleep(folder: &Path, name: &str) {
    let milliseconds = fs::read_to_string(folder.join(name)).ok();
    let milliseconds = milliseconds.and_then(|text| text.trim().parse().ok());
    thread::sleep(Duration::from_millis(milliseconds.unwrap_or(0)));
}
