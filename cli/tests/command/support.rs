//! Runs the command, and writes and reads its files.

use std::{
    env, fs,
    io::Write,
    path::PathBuf,
    process::{Child, Command, Output},
    sync::{
        LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
};

/// The exit code and the output of a run of the command. `code` is `None` if a signal ended the run.
#[derive(Debug)]
pub(crate) struct CommandRun {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for CommandRun {
    fn from(output: Output) -> Self {
        let outcome = Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("UTF-8 on stdout"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8 on stderr"),
        };
        assert!(!outcome.stderr.contains("panicked"), "{outcome:?}");
        outcome
    }
}

impl CommandRun {
    /// Checks that the run succeeded.
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// Returns standard output as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).expect("one JSON value on stdout")
    }
}

pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgslice"));
    command.args(args);
    command
}

pub(crate) fn wgslice(args: &[&str]) -> CommandRun {
    command(args).output().expect("the command starts").into()
}

/// Returns the devices to test: the CPU, and a GPU if there is an adapter. Panics if `WGSLICE_REQUIRE_GPU` is 1 and
/// there is no adapter. A command without the feature `gpu` needs no adapter.
pub(crate) fn devices() -> &'static [&'static str] {
    if !cfg!(feature = "gpu") {
        return &["cpu"];
    }
    static GPU: LazyLock<bool> = LazyLock::new(|| {
        let info = wgslice(&["info", "--device", "gpu"]);
        if info.code == Some(0) {
            return true;
        }
        let is_required = env::var("WGSLICE_REQUIRE_GPU").is_ok_and(|value| value == "1");
        assert!(!is_required, "WGSLICE_REQUIRE_GPU=1, but: {}", info.stderr);
        // Bypasses the test runner, which would capture the message.
        let _ = writeln!(std::io::stderr(), "no adapter: the GPU is not tested");
        false
    });
    if *GPU { &["cpu", "gpu"] } else { &["cpu"] }
}

/// Returns whether this process ignores a signal. Commands that it starts then also ignore it. A script that runs the
/// tests in the background makes them ignore INT and QUIT.
#[cfg(unix)]
pub(crate) fn is_ignored(signal: i32) -> bool {
    // Only Linux reports which signals are ignored. On other systems no signal counts as ignored, because the tests do
    // not run in the background.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// A folder for a test, which is removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("command-{}-{count}", std::process::id());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).expect("a folder for the test");
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a UTF-8 path").to_owned()
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, bytes).expect("the file is written");
        path
    }

    /// Writes an array as .npy of version 1 and returns the path.
    pub(crate) fn npy(&self, name: &str, descr: &str, shape: &[usize], bytes: &[u8]) -> String {
        self.write(name, npy(descr, shape, bytes))
    }

    /// Writes an array of zeros as .npy, in a sparse file with `len` bytes of data. Returns the path.
    pub(crate) fn write_sparse(
        &self,
        name: &str,
        descr: &str,
        shape: &[usize],
        len: u64,
    ) -> String {
        let path = self.npy(name, descr, shape, &[]);
        let file = fs::File::options().append(true).open(&path);
        let header = fs::metadata(&path).expect("the file").len();
        let outcome = file.and_then(|file| file.set_len(header + len));
        outcome.expect("a sparse file");
        path
    }

    /// Writes an array of 0, 1, 2, … as int32 and returns the path.
    pub(crate) fn write_arange(&self, name: &str, shape: &[usize]) -> String {
        let count: usize = shape.iter().product();
        let values: Vec<i32> = (0..).take(count).collect();
        self.npy(name, "<i4", shape, &bytes(&values))
    }

    /// Returns whether a running command has an incomplete output in the folder. On Linux such a file has no name.
    pub(crate) fn is_written_by(&self, running: &Child) -> bool {
        let open_files = fs::read_dir(format!("/proc/{}/fd", running.id()));
        let is_nameless_output = |entry: std::io::Result<fs::DirEntry>| {
            let target = entry.and_then(|entry| fs::read_link(entry.path()));
            target.is_ok_and(|path| {
                path.starts_with(&self.0) && path.to_string_lossy().ends_with(" (deleted)")
            })
        };
        let is_temporary = |name: &String| name.starts_with(".wgslice-");
        open_files.is_ok_and(|mut open_files| open_files.any(is_nameless_output))
            || self.names().iter().any(is_temporary)
    }

    /// Returns the names in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("the folder");
        let mut names: Vec<String> = entries
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .into_string()
                    .expect("UTF-8")
            })
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn npy(descr: &str, shape: &[usize], bytes: &[u8]) -> Vec<u8> {
    let shape: String = shape.iter().map(|dim| format!("{dim}, ")).collect();
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let length = u16::try_from(header.len())
        .expect("a short header")
        .to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), bytes].concat()
}

/// Returns a .safetensors file with one tensor.
pub(crate) fn safetensors(name: &str, dtype: &str, shape: &[usize], bytes: &[u8]) -> Vec<u8> {
    let header = serde_json::json!({
        name: {"dtype": dtype, "shape": shape, "data_offsets": [0, bytes.len()]}
    })
    .to_string();
    let length = u64::try_from(header.len()).expect("a length").to_le_bytes();
    [&length[..], header.as_bytes(), bytes].concat()
}

pub(crate) fn bytes(values: &[i32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// Reads the shape and the values of an int32 .npy file.
pub(crate) fn read_i32(path: &str) -> (Vec<usize>, Vec<i32>) {
    let file = fs::read(path).expect("the output");
    let length = usize::from(u16::from_le_bytes([file[8], file[9]]));
    let header = std::str::from_utf8(&file[10..10 + length]).expect("a header");
    assert!(
        header.contains("'<i4'") && header.contains("False"),
        "{header}"
    );
    let shape = header.split(['(', ')']).nth(1).expect("a shape");
    let shape = shape
        .split(',')
        .map(str::trim)
        .filter(|dim| !dim.is_empty())
        .map(|dim| dim.parse().expect("a dimension"))
        .collect();
    let values = file[10 + length..]
        .chunks_exact(4)
        .map(|value| i32::from_le_bytes(value.try_into().expect("four bytes")))
        .collect();
    (shape, values)
}
