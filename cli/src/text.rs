//! Reads text files: workloads and cases.

use std::{fs, io::ErrorKind, path::Path};

/// Reads a text file.
pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => "it is not text in UTF-8".into(),
        _ => error.to_string(),
    })
}
