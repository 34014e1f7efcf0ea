//! Output files appear whole or not at all.
//!
//! Output is written to a temporary file beside its path, `.wgslice-…`, which is renamed when it is complete. If the
//! path is a symbolic link, its target is replaced. Only regular files are replaced.
//!
//! The temporary file is removed after an error. It is also removed when the command is interrupted, because its name
//! is on a list for the signal handler. Only a process that is killed outright leaves its temporary file behind.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tempfile::NamedTempFile;

use super::{error::Problem, signals};
use crate::print;

/// The paths of the temporary files that are not renamed yet.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Watches for signals that end the command, and removes unfinished files when one does.
pub(crate) fn watch_for_signals() {
    signals::watch(|code, failure| {
        // The list stays locked to the end of the process, so that no more files are created.
        let unfinished = unfinished();
        for path in unfinished.iter() {
            // The file may already be gone, and there is nowhere to report an error.
            let _ = fs::remove_file(path);
        }
        if let Some(failure) = failure {
            print::line_to_stderr(format_args!("error: {failure}"));
        }
        process::exit(code)
    });
}

/// A path on the list of unfinished files, until it is dropped.
#[derive(Debug)]
struct Listed(PathBuf);

impl Drop for Listed {
    fn drop(&mut self) {
        unfinished().retain(|path| *path != self.0);
    }
}

/// Returns the path that the temporary file is renamed to: the target if `path` is a link. Refuses folders, devices and
/// the like.
fn replaceable(path: &Path) -> Result<PathBuf, Problem> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(Problem::invalid("it is a folder; name a file in it")),
        Ok(found) if !found.is_file() => Err(Problem::invalid(
            "it is a device, a pipe or a socket, which a file would replace; name a file",
        )),
        // The file need not exist yet, even if a link points to it.
        _ => Ok(followed(path)?),
    }
}

/// Follows symbolic links, beginning with `path`, to a path that is not a link.
fn followed(path: &Path) -> io::Result<PathBuf> {
    /// The most links that are followed one after the other: as many as Linux follows.
    const LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            // A relative target is relative to the link's folder.
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("its symbolic links lead in a circle"))
}

/// A temporary file that becomes the output.
#[derive(Debug)]
pub(super) struct Output {
    /// The temporary file, which is removed when this field is dropped.
    file: NamedTempFile,
    listed: Listed,
    path: PathBuf,
}

impl Output {
    /// Creates a temporary file beside `path`.
    ///
    /// Until the output is finished, an existing file at `path` is kept. If `path` is a symbolic link, the file that it
    /// points to is replaced.
    pub(super) fn create(path: &Path) -> Result<Self, Problem> {
        let path = replaceable(path)?;
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".wgslice-");
        #[cfg(unix)]
        {
            // New files have this mode, less what the umask forbids. Temporary files would have 0600 by default, which
            // is private.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
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
            path,
        })
    }

    /// Returns the file to write to.
    pub(super) fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Renames the complete file to its final path.
    pub(super) fn finish(self) -> Result<(), Problem> {
        self.file.persist(&self.path).map_err(|error| error.error)?;
        drop(self.listed);
        Ok(())
    }
}
