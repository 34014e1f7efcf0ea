//! Appends lines of JSON to a file: one for each device, and one for each workload and mode as soon as its times are
//! known. Other programs in a comparison write their times in the same form.

use super::{
    devices::Described,
    measured::{Failed, Measured, Quantity},
};
use crate::failure::Failure;
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

/// The file that lines are appended to, with its path. `None` if the user names no file.
#[derive(Debug)]
pub(crate) struct Lines(Option<(PathBuf, File)>);

impl Lines {
    pub(crate) fn append_to(path: Option<&Path>) -> Result<Self, Failure> {
        let open = |path: &Path| {
            let opened = File::options().append(true).create(true).open(path);
            let ready = opened.and_then(|mut file| {
                if is_within_a_line(path)? {
                    file.write_all(b"\n")?;
                }
                Ok(file)
            });
            match ready {
                Ok(file) => Ok((path.to_owned(), file)),
                Err(error) => Err(cannot_append(path, &error)),
            }
        };
        path.map(open).transpose().map(Self)
    }

    /// Appends a line with the version of the program and the name of the device.
    pub(crate) fn version(&mut self, device: &Described) -> Result<(), Failure> {
        self.put([json!({
            "peer": device.peer,
            "workload": "version",
            "version": format!("wgslice {}", env!("CARGO_PKG_VERSION")),
            "adapter": device.name,
        })])
    }

    pub(crate) fn measured(&mut self, measured: &Measured) -> Result<(), Failure> {
        let modes = measured.seconds.iter();
        let modes = modes.filter(|(quantity, _)| quantity.is_mode());
        self.put(modes.map(|(quantity, times)| {
            json!({
                "peer": measured.peer,
                "workload": measured.workload,
                "mode": quantity.name(),
                "times": times.each(),
                "checksum": measured.checksum,
                "out_bytes": measured.bytes / 2,
            })
        }))
    }

    pub(crate) fn failed(&mut self, failed: &Failed) -> Result<(), Failure> {
        self.put([json!({
            "peer": failed.peer,
            "workload": failed.workload,
            "mode": Quantity::Resident.name(),
            "error": failed.error,
        })])
    }

    /// Appends whole lines, so that other programs may append to the same file.
    fn put(&mut self, lines: impl IntoIterator<Item = Value>) -> Result<(), Failure> {
        let Some((path, file)) = &mut self.0 else {
            return Ok(());
        };
        let lines: String = lines.into_iter().map(|line| format!("{line}\n")).collect();
        let outcome = file.write_all(lines.as_bytes());
        outcome.map_err(|error| cannot_append(path, &error))
    }
}

/// Returns whether the file ends within a line, as when its writer was killed or the file was edited by hand.
fn is_within_a_line(path: &Path) -> io::Result<bool> {
    let metadata = fs::metadata(path)?;
    // A device or a pipe has no end to seek to.
    if !metadata.is_file() || metadata.len() == 0 {
        return Ok(false);
    }
    let mut file = File::open(path)?;
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

fn cannot_append(path: &Path, error: &io::Error) -> Failure {
    Failure::usage(format_args!("cannot append to {}: {error}", path.display()))
}
