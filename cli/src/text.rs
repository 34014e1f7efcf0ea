//! Reads text files: workloads for `bench`, and cases for `verify`.

use std::{fs, io::ErrorKind, path::Path};

/// Reads a text file. The error is a text that does not name the file.
pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => "it is not text in UTF-8".into(),
        _ => error.to_string(),
    })
}
