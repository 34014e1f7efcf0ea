//! The source of an array: a file, an array in a file, or standard input.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::{error::Problem, names};

/// The file of a source, and the name of an array or a field in it. A path can have any bytes.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    text: OsString,
    pub(super) path: PathBuf,
    pub(super) array_name: Option<String>,
}

impl From<OsString> for Source {
    /// Splits the text into the file's path and the name of an array. The name can contain any character, even `#`, so
    /// the first `.safetensors#`, `.npz#` or `.npy#` separates path and name.
    fn from(text: OsString) -> Self {
        let (path, array_name) = split_name(&text);
        Self {
            path: path.into(),
            array_name: array_name.map(|name| name.to_string_lossy().into_owned()),
            text,
        }
    }
}

impl From<&str> for Source {
    fn from(text: &str) -> Self {
        OsString::from(text).into()
    }
}

fn split_name(text: &OsStr) -> (&OsStr, Option<&OsStr>) {
    const NAMED_EXTENSIONS: [&[u8]; 3] = [b".safetensors", b".npz", b".npy"];
    let bytes = text.as_encoded_bytes();
    for at in (0..bytes.len()).filter(|&at| bytes[at] == b'#') {
        let (path, name) = (&bytes[..at], &bytes[at + 1..]);
        let path_ends_with = |extension: &&[u8]| {
            let begin = path.len().checked_sub(extension.len());
            begin.is_some_and(|begin| path[begin..].eq_ignore_ascii_case(extension))
        };
        if NAMED_EXTENSIONS.iter().any(path_ends_with)
            && let (Some(path), Some(name)) = (os_str(path), os_str(name))
        {
            return (path, Some(name));
        }
    }
    (text, None)
}

#[cfg(unix)]
fn os_str(bytes: &[u8]) -> Option<&OsStr> {
    Some(std::os::unix::ffi::OsStrExt::from_bytes(bytes))
}

/// On other systems, a path that is not Unicode cannot be split.
#[cfg(not(unix))]
fn os_str(bytes: &[u8]) -> Option<&OsStr> {
    str::from_utf8(bytes).ok().map(OsStr::new)
}

impl Source {
    pub(crate) fn is_stdin(&self) -> bool {
        self.path == Path::new("-")
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of the file, without folders, and the name of the array in it.
    pub(crate) fn name(&self) -> String {
        let file = self.path.file_name().unwrap_or_default();
        let file = file.to_string_lossy();
        match &self.array_name {
            Some(array_name) => format!("{file}#{array_name}"),
            None => file.into_owned(),
        }
    }

    /// Returns the name of the array or of the field.
    pub(crate) fn array_name(&self) -> Option<&str> {
        self.array_name.as_deref()
    }

    /// Returns the sources of all arrays that match, in natural order, if the name has a `*`. Otherwise, or if an array
    /// has exactly this name or none matches, returns only this source.
    pub(crate) fn matching_sources(self) -> Vec<OsString> {
        let Some(pattern) = self.array_name.as_deref().filter(|name| name.contains('*')) else {
            return vec![self.text];
        };
        let file = Self {
            array_name: None,
            ..self.clone()
        };
        // If the file cannot be read, the run reports the error.
        let arrays =
            super::list_arrays(&file).map_or_else(|_| Vec::new(), |listing| listing.arrays);
        let mut names: Vec<String> = arrays.into_iter().filter_map(|entry| entry.name).collect();
        if names.iter().any(|name| name == pattern) {
            return vec![self.text];
        }
        names.retain(|name| names::matches_pattern(name, pattern));
        names.sort_by(|a, b| names::compare_naturally(a, b));
        if names.is_empty() {
            return vec![self.text];
        }
        let source = |name: String| {
            let mut text = self.path.clone().into_os_string();
            text.push("#");
            text.push(name);
            text
        };
        names.into_iter().map(source).collect()
    }

    /// Returns the source as the user wrote it.
    pub(crate) fn text(&self) -> &OsStr {
        &self.text
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.display().fmt(f)
    }
}

/// Returns an unnamed file with all of standard input. The file can be read several times. The system deletes it when
/// the process ends.
pub(super) fn spool_stdin() -> Result<File, Problem> {
    static SPOOLED_STDIN: Mutex<Option<File>> = Mutex::new(None);
    let mut spooled_stdin = SPOOLED_STDIN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut file = match &*spooled_stdin {
        Some(file) => file.try_clone()?,
        None => {
            let mut file = tempfile::tempfile()?;
            io::copy(&mut io::stdin().lock(), &mut file)?;
            *spooled_stdin = Some(file.try_clone()?);
            file
        }
    };
    file.rewind()?;
    Ok(file)
}
