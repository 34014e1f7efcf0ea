//! The names of files that are not complete yet. Such a file is written beside its place and renamed, so that it appears
//! whole or not at all.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process,
    sync::LazyLock,
    time::{SystemTime, UNIX_EPOCH},
};

/// Returns the name under which this process writes the file `path` until it is complete, in the same folder. It is the
/// same name for every call. No other process has it: in a container, where processes often have the same ID, one that
/// was killed may have left its file, or one of another container may be writing to the same folder.
pub fn beside(path: &Path) -> PathBuf {
    static PROCESS: LazyLock<String> = LazyLock::new(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default().as_nanos();
        format!("{:x}-{now:x}", process::id())
    });
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.partial", *PROCESS));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_file_is_hidden_and_in_the_same_folder() {
        let path = Path::new("folder/a.npy");
        let beside = beside(path);
        assert_eq!(beside.parent(), path.parent());
        let name = beside.file_name().unwrap().to_str().unwrap();
        assert!(
            name.starts_with(".a.npy.") && name.ends_with(".partial"),
            "{name}"
        );
        assert_eq!(beside, super::beside(path));
        assert_ne!(beside, super::beside(Path::new("folder/b.npy")));
    }
}
