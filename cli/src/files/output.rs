//! Writes output files. A file appears as a whole or not at all.
//!
//! Output goes to an unnamed file, which gets its name when it is complete. So a command that fails or is killed leaves
//! no file behind. If the system or the file system has no unnamed files, output goes to a temporary file `.wgslice-…`
//! next to the output's path. An error removes this file. If the command is interrupted, the signal handler removes all
//! temporary files, whose paths are on a list.
//!
//! If the path is a symbolic link, its target is replaced. Only regular files that this user may write to are replaced.
//! The new file has the mode of the old one and, if the system permits, its owner and group.

use std::{
    fs::{self, File, Metadata},
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    process,
    sync::{Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use tempfile::NamedTempFile;

use super::{error::Problem, signals};
use crate::print;

/// The paths of the temporary files that are not renamed yet.
static UNFINISHED_PATHS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished_paths() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED_PATHS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

/// Starts to watch for signals that end the command. When such a signal arrives, the unfinished files are removed.
pub(crate) fn watch_for_signals() {
    signals::watch(|code, failure| {
        // The list stays locked until the process ends, so that no more files are created.
        let unfinished = unfinished_paths();
        for path in unfinished.iter() {
            // The file might already be gone, and there is nowhere to report an error.
            let _ = fs::remove_file(path);
        }
        if let Some(failure) = failure {
            print::print_line_to_stderr(format_args!("error: {failure}"));
        }
        process::exit(code)
    });
}

/// Keeps a path on the list of unfinished files until it is dropped.
#[derive(Debug)]
struct ListedPath(PathBuf);

/// A file that is not complete yet.
#[derive(Debug)]
enum IncompleteFile {
    Nameless(File),
    /// A temporary file, which is removed on drop.
    Named(NamedTempFile, ListedPath),
}

/// The prefix of the names of temporary files.
const TEMPORARY_PREFIX: &str = ".wgslice-";

impl IncompleteFile {
    /// Creates a file in the folder. If it is going to replace another file, only this user can access it until it is
    /// complete.
    fn create(folder: &Path, old_metadata: Option<&Metadata>) -> io::Result<Self> {
        // A new file has mode 0666 minus the umask. The file that it replaces can be private, so a replacement stays
        // private until it is complete.
        let mode = if old_metadata.is_some() { 0o600 } else { 0o666 };
        match create_nameless(folder, mode)? {
            Some(file) => Ok(Self::Nameless(file)),
            None => Self::create_named(folder, mode),
        }
    }

    #[cfg_attr(not(unix), expect(unused_variables, reason = "only Unix has modes"))]
    fn create_named(folder: &Path, mode: u32) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(TEMPORARY_PREFIX);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(mode));
        }
        let mut unfinished = unfinished_paths();
        let file = builder.tempfile_in(folder)?;
        unfinished.push(file.path().to_owned());
        let listed_path = ListedPath(file.path().to_owned());
        Ok(Self::Named(file, listed_path))
    }

    fn file(&self) -> &File {
        match self {
            Self::Nameless(file) => file,
            Self::Named(file, _) => file.as_file(),
        }
    }

    /// Gives the complete file its name. With `keeps_file`, fails if a file of this name exists.
    fn name(self, path: &Path, folder: &Path, keeps_file: bool) -> io::Result<()> {
        match self {
            Self::Named(file, _listed) if keeps_file => file.persist_noclobber(path).map(drop)?,
            Self::Named(file, _listed) => file.persist(path).map(drop)?,
            Self::Nameless(file) => match link(&file, path) {
                // Only a rename can replace a file. The lock makes the signal handler wait until the rename is done.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !keeps_file => {
                    let _unfinished = unfinished_paths();
                    let mut builder = tempfile::Builder::new();
                    builder.prefix(TEMPORARY_PREFIX);
                    let linked_file =
                        builder.make_in(folder, |temporary_path| link(&file, temporary_path))?;
                    linked_file.into_temp_path().persist(path)?;
                }
                outcome => outcome?,
            },
        }
        Ok(())
    }
}

/// Opens a file without a name, for [`link`]. Returns `None` if the system or the folder's file system has no unnamed
/// files.
#[cfg(target_os = "linux")]
fn create_nameless(folder: &Path, mode: u32) -> io::Result<Option<File>> {
    use rustix::{fs, io::Errno};
    // An unprivileged process can give an unnamed file a name only through this folder.
    if !Path::new(OPEN_FILES_FOLDER).exists() {
        return Ok(None);
    }
    let flags = fs::OFlags::TMPFILE | fs::OFlags::WRONLY | fs::OFlags::CLOEXEC;
    match fs::open(folder, flags, fs::Mode::from_raw_mode(mode)) {
        Ok(file) => Ok(Some(file.into())),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn create_nameless(_: &Path, _: u32) -> io::Result<Option<File>> {
    Ok(None)
}

/// The folder with this process's open files, by descriptor.
#[cfg(target_os = "linux")]
const OPEN_FILES_FOLDER: &str = "/proc/self/fd";

/// Gives an unnamed file this name, which must not exist.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    use std::os::fd::AsRawFd;
    let open_path = format!("{OPEN_FILES_FOLDER}/{}", file.as_raw_fd());
    Ok(linkat(CWD, open_path, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Drop for ListedPath {
    fn drop(&mut self) {
        unfinished_paths().retain(|path| *path != self.0);
    }
}

/// Returns the path to replace: the target if `path` is a link. Rejects anything that is not a regular file, such as a
/// folder or a device.
fn path_to_replace(path: &Path) -> Result<PathBuf, Problem> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            Err(Problem::invalid("it is a folder; name a file in it"))
        }
        Ok(metadata) if !metadata.is_file() => Err(Problem::invalid(
            "it is a device, a pipe or a socket, which a file would replace; name a file",
        )),
        // The path, or the target of the link, might not exist yet.
        _ => Ok(follow_links(path)?),
    }
}

/// Returns the metadata of the file at `path`, if it exists. Rejects a file that this user may not write to, even if
/// the folder permits replacing it.
fn existing_metadata(path: &Path) -> Result<Option<Metadata>, Problem> {
    match File::options().write(true).open(path) {
        Ok(file) => Ok(Some(file.metadata()?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns values that change when another program writes or replaces the file.
fn change_marker(file: &Metadata) -> (u64, Option<SystemTime>, u64) {
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(file);
    #[cfg(not(unix))]
    let inode = 0;
    (file.len(), file.modified().ok(), inode)
}

/// Gives a new file the mode of the file that it replaces and, where the system permits, its owner and group.
#[cfg(unix)]
fn keep_access(file: &File, old_metadata: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let mut mode = old_metadata.mode() & 0o7777;
    // Only a privileged user can change the owner, but every user can choose one of their groups.
    let is_owner_set = fchown(file, Some(old_metadata.uid()), Some(old_metadata.gid())).is_ok();
    if !is_owner_set && fchown(file, None, Some(old_metadata.gid())).is_err() {
        // The group could not be kept, so members of the new file's group get no more rights than everyone else.
        mode = (mode & 0o707) | ((mode >> 3) & mode & 0o007) << 3;
    }
    if !is_owner_set {
        // The set-user-ID and set-group-ID bits would grant the rights of the new owner instead of the old one.
        mode &= 0o777;
    }
    // The mode is set last, because changing the owner clears bits of it.
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn keep_access(file: &File, old_metadata: &Metadata) -> io::Result<()> {
    file.set_permissions(old_metadata.permissions())
}

/// Follows symbolic links from `path` to a path that is not a link.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    /// The maximum number of links to follow, as in Linux.
    const MAX_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            // A relative target is relative to the link's folder.
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("its symbolic links lead in a circle"))
}

/// The destination of an output's bytes.
#[derive(Debug)]
pub(super) enum Output {
    File(Box<Unfinished>),
    /// Standard output. Bytes that are written to it stay, even if the command fails.
    Stdout,
}

impl Output {
    /// Creates a file that becomes `path`, or writes to standard output if the path is `-`. With `keeps_file`,
    /// fails if a file exists at `path`, immediately or in `finish`.
    pub(super) fn create(path: &Path, keeps_file: bool) -> Result<Self, Problem> {
        if path != Path::new("-") {
            return Ok(Self::File(Box::new(Unfinished::create(path, keeps_file)?)));
        }
        if io::stdout().is_terminal() {
            return Err(Problem::invalid(
                "standard output is a terminal; redirect it, or leave out -o to see the values",
            ));
        }
        Ok(Self::Stdout)
    }

    /// Makes `finish` fail if the file at the path changes or appears before the output is complete, because an
    /// addition to a file must not undo another program's addition.
    pub(super) fn adds_to(mut self, old_metadata: Option<Metadata>) -> Self {
        if let Self::File(file) = &mut self {
            file.adds_to = Some(old_metadata);
        }
        self
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
            Self::File(file) => file.incomplete_file.file().write(bytes),
            Self::Stdout => io::stdout().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.incomplete_file.file().flush(),
            Self::Stdout => io::stdout().flush(),
        }
    }
}

/// A file that is going to become the output.
#[derive(Debug)]
pub(super) struct Unfinished {
    incomplete_file: IncompleteFile,
    path: PathBuf,
    /// The metadata of the file that is replaced, if there is one.
    old_metadata: Option<Metadata>,
    /// True if `finish` fails instead of replacing a file.
    keeps_file: bool,
    /// The metadata of the file that the output adds to, or `Some(None)` if no file existed. `finish` fails if another
    /// program has changed or created the file. `None` if the output adds to no file.
    adds_to: Option<Option<Metadata>>,
}

/// Returns the folder of a file.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

fn kept_file_error() -> Problem {
    Problem::invalid("the file exists, and --no-clobber keeps it")
}

impl Unfinished {
    /// Creates the file that becomes `path`.
    ///
    /// Until the output is finished, an existing file at `path` is kept. If `path` is a symbolic link, the file that it
    /// points to is replaced.
    fn create(path: &Path, keeps_file: bool) -> Result<Self, Problem> {
        let path = path_to_replace(path)?;
        if keeps_file && path.exists() {
            return Err(kept_file_error());
        }
        let old_metadata = existing_metadata(&path)?;
        let folder = folder_of(&path);
        let incomplete_file = IncompleteFile::create(folder, old_metadata.as_ref()).map_err(|error| {
            // The user did not choose the path of the temporary file, so the message omits it.
            let error = error.to_string();
            let reason = error.split(" at path ").next().unwrap_or_default();
            let folder = folder.display();
            Problem::invalid(format!(
                "cannot create a file in the folder {folder}: {reason}; choose a folder that exists and \
                 can be written to"
            ))
        })?;
        Ok(Self {
            incomplete_file,
            path,
            old_metadata,
            keeps_file,
            adds_to: None,
        })
    }

    /// Gives the complete file its final name.
    fn finish(self) -> Result<(), Problem> {
        if let Some(old_metadata) = &self.adds_to
            && old_metadata.as_ref().map(change_marker)
                != fs::metadata(&self.path).ok().as_ref().map(change_marker)
        {
            return Err(Problem::invalid(
                "another program changed the file during the run; run the command again",
            ));
        }
        if let Some(old_metadata) = &self.old_metadata {
            keep_access(self.incomplete_file.file(), old_metadata)?;
        }
        let named_file =
            self.incomplete_file
                .name(&self.path, folder_of(&self.path), self.keeps_file);
        named_file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists if self.keeps_file => kept_file_error(),
            _ => error.into(),
        })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// Returns two incomplete files: an unnamed one, if the file system has unnamed files, and a named one.
    fn both_kinds(folder: &Path, old_metadata: Option<&Metadata>) -> Vec<IncompleteFile> {
        let mode = if old_metadata.is_some() { 0o600 } else { 0o666 };
        vec![
            IncompleteFile::create(folder, old_metadata).unwrap(),
            IncompleteFile::create_named(folder, mode).unwrap(),
        ]
    }

    fn names_in(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let name_of = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string();
        let mut names: Vec<String> = entries.map(|entry| name_of(entry).unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_complete_file_gets_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, path) = (folder.path(), folder.path().join("x"));
        for (incomplete, content) in both_kinds(folder, None)
            .into_iter()
            .zip(["new", "replaced"])
        {
            incomplete.file().write_all(content.as_bytes()).unwrap();
            incomplete.name(&path, folder, false).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        for incomplete in both_kinds(folder, None) {
            incomplete.file().write_all(&[7]).unwrap();
            incomplete.name(&path, folder, false).unwrap();
            assert_eq!(fs::read(&path).unwrap(), [7]);
            fs::write(&path, "other").unwrap();
        }
        for incomplete in both_kinds(folder, None) {
            let error = incomplete.name(&path, folder, true).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read(&path).unwrap(), b"other");
        }
        drop(both_kinds(folder, None));
        assert_eq!(names_in(folder), ["x"]);
    }

    #[test]
    fn a_replacement_is_private_until_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let metadata = folder.path().metadata().unwrap();
        for incomplete in both_kinds(folder.path(), Some(&metadata)) {
            let mode = incomplete.file().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o600, "{incomplete:?}");
        }
    }

    /// An addition to a file must not undo another program's addition.
    #[test]
    fn a_file_that_another_program_changes_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let add_array = |before: Option<Metadata>| {
            let mut output = Output::create(&path, false).unwrap().adds_to(before);
            output.write_all(b"added").unwrap();
            output
        };
        let (first, second) = (add_array(None), add_array(None));
        first.finish().unwrap();
        let error = second.finish().unwrap_err().to_string();
        assert!(error.contains("another program changed"), "{error}");
        let current_metadata = || Some(fs::metadata(&path).unwrap());
        let (first, second) = (add_array(current_metadata()), add_array(current_metadata()));
        first.finish().unwrap();
        second.finish().unwrap_err();
        add_array(current_metadata()).finish().unwrap();
        assert_eq!(names_in(folder.path()), ["x"]);
    }
}
