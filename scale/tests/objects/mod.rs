//! Arrays in a bucket: jobs read and write them like arrays in folders, with the same results.

#[cfg(feature = "sql")]
mod queries;
mod results;
pub(crate) mod server;
mod sources;

use crate::zarr::files;
use serde_json::Value;
use server::{BUCKET, Server};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;
use wgslice_scale::job::faults;

/// A command must end within this time, even if no server answers.
const LIMIT: Duration = Duration::from_secs(60);

/// A folder for results, and a bucket with a server for it.
struct Fixture {
    folder: TempDir,
    bucket: TempDir,
    server: Server,
}

/// The exit code and the output of a run of the command.
#[derive(Debug)]
struct RunResult {
    code: i32,
    output: String,
    errors: String,
}

impl RunResult {
    /// Returns the summary that a successful run with `--json` has printed.
    fn summary(&self) -> Value {
        assert_eq!(self.code, 0, "{self:?}");
        serde_json::from_str(self.output.lines().last().unwrap()).unwrap()
    }
}

impl Fixture {
    fn new() -> Self {
        let bucket = TempDir::new().unwrap();
        Self {
            folder: TempDir::new().unwrap(),
            server: Server::start(bucket.path()),
            bucket,
        }
    }

    /// Returns the path of the file with a key's value in the bucket.
    fn key_path(&self, key: &str) -> PathBuf {
        self.bucket.path().join(key)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn path_text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wgslice-scale"));
        command
            .args(arguments)
            .env_remove(faults::VARIABLE)
            .envs(self.server.environment())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> RunResult {
        run_to_end(&mut self.command(arguments))
    }
}

fn run_to_end(command: &mut Command) -> RunResult {
    let start = Instant::now();
    let output = command.output().unwrap();
    assert!(start.elapsed() < LIMIT, "{command:?}: {output:?}");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    RunResult {
        code: output.status.code().unwrap(),
        output: text(output.stdout),
        errors: text(output.stderr),
    }
}

fn url(key: &str) -> String {
    format!("s3://{BUCKET}/{key}")
}

/// Returns the files of a store, without the attributes that name its source and its indices.
fn content(store: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut content = files(store);
    let metadata = content.get_mut(Path::new("zarr.json")).unwrap();
    let mut json: Value = serde_json::from_slice(metadata).unwrap();
    let provenance = &mut json["attributes"]["wgslice"];
    assert!(provenance["source"].is_string(), "{provenance}");
    provenance["source"] = Value::Null;
    provenance["operation"]["indices"] = Value::Null;
    *metadata = json.to_string().into_bytes();
    content
}

/// Returns a shape as the text of an option.
fn shape_text(sizes: impl Iterator<Item = usize>) -> String {
    let sizes: Vec<_> = sizes.map(|size| size.to_string()).collect();
    sizes.join(",")
}
