//! Names files that are not complete yet. Such a file is written under a temporary name in the same folder and then
//! renamed. So it appears as a whole or not at all.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process,
    sync::LazyLock,
    time::{SystemTime, UNIX_EPOCH},
};

/// Returns the path, in the same folder, at which this process writes the file `path` until the file is complete. Every
/// call for the same file returns the same path, and no other process uses it. The process ID is not enough for this:
/// processes in different containers often have the same ID, and one of them may have left its file or may be writing
/// to the same folder.
pub fn beside(path: &Path) -> PathBuf {
    static UNIQUE_ID: LazyLock<String> = LazyLock::new(|| {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanoseconds = since_1970.unwrap_or_default().as_nanos();
        format!("{:x}-{nanoseconds:x}", process::id())
    });
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.partial", *UNIQUE_ID));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_file_is_hidden_and_in_the_same_folder() {
        let path = Path::new("folder/a.npy");
        let partial_path = beside(path);
        assert_eq!(partial_path.parent(), path.parent());
        let name = partial_path.file_name().unwrap().to_str().unwrap();
        assert!(
            name.starts_with(".a.npy.") && name.ends_with(".partial"),
            "{name}"
        );
        assert_eq!(partial_path, super::beside(path));
        assert_ne!(partial_path, super::beside(Path::new("folder/b.npy")));
    }
}
