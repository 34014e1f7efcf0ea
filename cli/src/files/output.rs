//! Output files appear whole or not at all.

use std::fs::File;
use std::path::Path;

use super::error::Problem;

/// Runs `fill` on a new file beside `path` and renames that file to `path` when it is complete.
///
/// On failure the new file is removed and whatever was at `path` stays as it was. A symbolic link at
/// `path` is replaced, not followed. A process that is
/// killed midway may leave a `.wgslice-…` file behind, but never a partial `path`.
pub(super) fn whole(
    path: &Path,
    fill: impl FnOnce(&mut File) -> Result<(), Problem>,
) -> Result<(), Problem> {
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
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder).map_err(|error| {
        Problem::invalid(format!(
            "cannot create a file in the folder {}: {error}; choose a folder that exists and can \
             be written to",
            folder.display()
        ))
    })?;
    fill(file.as_file_mut())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
