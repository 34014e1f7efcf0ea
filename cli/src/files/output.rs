//! Output files appear whole or not at all.
//!
//! What is written goes to a file beside the output, `.wgslice-…`, which is renamed when it is complete.
//! It is removed when something fails, and when the command is interrupted: until then its name is on
//! a list for the handler. Only a process that is killed outright can leave one behind.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process,
    sync::{Mutex, MutexGuard, Once, PoisonError},
};

use tempfile::NamedTempFile;

use super::error::Problem;

/// Files that are not complete.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What shells give a command that Ctrl-C ended: 128 and the number of SIGINT.
const INTERRUPTED: i32 = 130;

fn watch_for_interrupts() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let handler = || {
            // Held to the end, so that no file is created any more.
            let unfinished = unfinished();
            for path in unfinished.iter() {
                // It may be gone already; there is nobody left to tell.
                let _ = fs::remove_file(path);
            }
            process::exit(INTERRUPTED)
        };
        // Where no handler can be set the command is ended at once, as it would be without one.
        let _ = ctrlc::set_handler(handler);
    });
}

/// A name that is on the list.
#[derive(Debug)]
struct Listed(PathBuf);

impl Drop for Listed {
    fn drop(&mut self) {
        unfinished().retain(|path| *path != self.0);
    }
}

/// A file on its way to its name.
#[derive(Debug)]
pub(super) struct Output {
    /// Removes itself when it is dropped.
    file: NamedTempFile,
    listed: Listed,
    path: PathBuf,
}

impl Output {
    /// Creates a file beside `path`.
    ///
    /// Until it is finished, whatever is at `path` stays as it is. A symbolic link at `path` is
    /// replaced, not followed.
    pub(super) fn create(path: &Path) -> Result<Self, Problem> {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".wgslice-");
        #[cfg(unix)]
        {
            // What any new file gets: all that the umask allows, not the 0600 of a private temporary.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        watch_for_interrupts();
        let mut unfinished = unfinished();
        let file = builder.tempfile_in(folder).map_err(|error| {
            Problem::invalid(format!(
                "cannot create a file in the folder {}: {error}; choose a folder that exists and \
                 can be written to",
                folder.display()
            ))
        })?;
        unfinished.push(file.path().to_owned());
        Ok(Self {
            listed: Listed(file.path().to_owned()),
            file,
            path: path.to_owned(),
        })
    }

    /// The file to write to.
    pub(super) fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Gives the complete file its name.
    pub(super) fn finish(self) -> Result<(), Problem> {
        self.file.persist(&self.path).map_err(|error| error.error)?;
        drop(self.listed);
        Ok(())
    }
}
