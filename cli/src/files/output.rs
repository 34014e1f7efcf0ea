//! Output files appear whole or not at all.
//!
//! Output is written to a temporary file beside its path, `.wgslice-…`, which is renamed when it is complete. If the
//! path is a symbolic link, its target is replaced. Only regular files are replaced, and only those that this user may
//! write to. The new file has the mode of the old one and, where the system permits, its owner and group.
//!
//! The temporary file is removed after an error. It is also removed when the command is interrupted, because its name
//! is on a list for the signal handler. Only a process that is killed outright leaves its temporary file behind.

use std::{
    fs::{self, File, Metadata},
    io::{self, IsTerminal, Write},
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

/// Returns the file at `path`, if there is one. Refuses a file that this user may not write to, although its folder
/// would allow to replace it.
fn existing(path: &Path) -> Result<Option<Metadata>, Problem> {
    match File::options().write(true).open(path) {
        Ok(file) => Ok(Some(file.metadata()?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Gives a new file the mode of the file that it replaces and, where the system permits, its owner and group.
#[cfg(unix)]
fn keep_access(file: &File, replaced: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let mut mode = replaced.mode() & 0o7777;
    // Only a privileged user may give a file away, but every user may give it to a group of theirs.
    let owned = fchown(file, Some(replaced.uid()), Some(replaced.gid())).is_ok();
    if !owned && fchown(file, None, Some(replaced.gid())).is_err() {
        // Another group than before gets no more than everyone else.
        mode = (mode & 0o707) | ((mode >> 3) & mode & 0o007) << 3;
    }
    if !owned {
        // The set-user-ID bits would lend another user's rights than before.
        mode &= 0o777;
    }
    // After the change of the owner, which clears bits of the mode.
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn keep_access(file: &File, replaced: &Metadata) -> io::Result<()> {
    file.set_permissions(replaced.permissions())
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

/// Where the bytes of an output go.
#[derive(Debug)]
pub(super) enum Output {
    File(Box<Unfinished>),
    /// Standard output, which has what was written even if the command fails.
    Stdout,
}

impl Output {
    /// Creates a temporary file beside `path`, or writes to standard output if the path is `-`. With `keep`, a file at
    /// `path` is an error, now and at the end.
    pub(super) fn create(path: &Path, keep: bool) -> Result<Self, Problem> {
        if path != Path::new("-") {
            return Ok(Self::File(Box::new(Unfinished::create(path, keep)?)));
        }
        if io::stdout().is_terminal() {
            return Err(Problem::invalid(
                "standard output is a terminal; redirect it, or leave out -o to see the values",
            ));
        }
        Ok(Self::Stdout)
    }

    /// Completes the output.
    pub(super) fn finish(self) -> Result<(), Problem> {
        match self {
            Self::File(file) => file.finish(),
            Self::Stdout => Ok(io::stdout().flush()?),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.file.as_file_mut().write(bytes),
            Self::Stdout => io::stdout().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.file.as_file_mut().flush(),
            Self::Stdout => io::stdout().flush(),
        }
    }
}

/// A temporary file that becomes the output.
#[derive(Debug)]
pub(super) struct Unfinished {
    /// The temporary file, which is removed when this field is dropped.
    file: NamedTempFile,
    listed: Listed,
    path: PathBuf,
    /// The file that is replaced, if there is one.
    replaced: Option<Metadata>,
    /// Whether a file that is there at the end is kept.
    keep: bool,
}

fn kept() -> Problem {
    Problem::invalid("the file exists, and --no-clobber keeps it")
}

impl Unfinished {
    /// Creates a temporary file beside `path`.
    ///
    /// Until the output is finished, an existing file at `path` is kept. If `path` is a symbolic link, the file that it
    /// points to is replaced.
    fn create(path: &Path, keep: bool) -> Result<Self, Problem> {
        let path = replaceable(path)?;
        if keep && path.exists() {
            return Err(kept());
        }
        let replaced = existing(&path)?;
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".wgslice-");
        #[cfg(unix)]
        {
            // New files have mode 0666, less what the umask forbids. What replaces a file may be as private as that file,
            // and is, until it is complete.
            use std::os::unix::fs::PermissionsExt;
            let mode = if replaced.is_some() { 0o600 } else { 0o666 };
            builder.permissions(fs::Permissions::from_mode(mode));
        }
        let mut unfinished = unfinished();
        let file = builder.tempfile_in(folder).map_err(|error| {
            Problem::invalid(format!(
                "cannot create a file in the folder {}: {}; choose a folder that exists and \
                 can be written to",
                folder.display(),
                // Without the path of the temporary file, which nobody knows.
                error
                    .to_string()
                    .split(" at path ")
                    .next()
                    .unwrap_or_default()
            ))
        })?;
        unfinished.push(file.path().to_owned());
        Ok(Self {
            listed: Listed(file.path().to_owned()),
            file,
            path,
            replaced,
            keep,
        })
    }

    /// Renames the complete file to its final path.
    fn finish(self) -> Result<(), Problem> {
        if let Some(replaced) = &self.replaced {
            keep_access(self.file.as_file(), replaced)?;
        }
        match self.keep {
            true => self.file.persist_noclobber(&self.path).map_err(|error| {
                match error.error.kind() {
                    io::ErrorKind::AlreadyExists => kept(),
                    _ => error.error.into(),
                }
            })?,
            false => self.file.persist(&self.path).map_err(|error| error.error)?,
        };
        drop(self.listed);
        Ok(())
    }
}
