//! Passes bytes to the command's file readers, as a file with the extension of its format.

use crate::files;
use std::{fs, path::PathBuf, sync::LazyLock};

/// Reads the bytes as a file with this extension. An array that is read must have the number of bytes that its shape
/// requires.
///
/// The file is in shared memory if the system has any, because writing a file to disk in each run would wear out the
/// disk.
pub fn read(bytes: &[u8], extension: &str) {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let memory = PathBuf::from("/dev/shm");
        if memory.is_dir() {
            memory
        } else {
            std::env::temp_dir()
        }
    });
    let name = format!("wgslice-fuzz-{}.{extension}", std::process::id());
    let path = FOLDER.join(name);
    fs::write(&path, bytes).expect("the file is written");
    let outcome = files::read_array(&path.clone().into_os_string().into());
    // The file is removed immediately, because the process can end at any time.
    let _ = fs::remove_file(&path);
    match outcome {
        Ok(array) => {
            let elements: usize = array.shape().iter().product();
            assert_eq!(array.bytes().len(), elements * array.dtype().size());
            // Arrays in files can also be used as indices.
            let _ = files::to_indices(&array);
        }
        Err(error) => {
            let message = error.to_string();
            assert!(message.len() < 4000, "{} bytes of error", message.len());
        }
    }
}
