//! A folder as a store.

use super::store::{JOB_FOLDER, Parts, Piece, Place, Unread};
use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
};
use zarrs::storage::{Bytes, byte_range::InvalidByteRangeError};

/// A folder in which each file is the value of a key.
///
/// A job writes each file of its result in a folder for this job, and moves the file to its place when the file is
/// complete. When the job is over, this folder is removed, so a late task of the job cannot write into a later job's
/// result.
#[derive(Debug)]
pub(crate) struct Folder {
    root: PathBuf,
}

impl Folder {
    pub(crate) fn new(root: &Path) -> Self {
        let root = root.to_owned();
        Self { root }
    }

    fn path(&self, key: &str) -> PathBuf {
        if key.is_empty() {
            return self.root.clone();
        }
        self.root.join(key)
    }

    /// Returns the folder for a job's files that are not complete. It is below the root, and therefore on the same
    /// disk, so that files can be renamed to their final paths.
    fn staging_folder(&self, job_id: &str) -> PathBuf {
        self.path(JOB_FOLDER).join(format!("new-{job_id}"))
    }

    fn open(&self, key: &str) -> io::Result<Option<(File, u64)>> {
        match File::open(self.path(key)) {
            Ok(file) => {
                let metadata = file.metadata()?;
                // A folder can also be opened and has a length, but it has no bytes.
                if metadata.is_dir() {
                    return Err(io::ErrorKind::IsADirectory.into());
                }
                Ok(Some((file, metadata.len())))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens a file at the start of a piece. Also returns the piece's length.
    fn open_piece(&self, key: &str, piece: Piece) -> Result<Option<(File, u64)>, Unread> {
        let Some((mut file, size)) = self.open(key)? else {
            return Ok(None);
        };
        let range = piece.within(size)?;
        if range.start > 0 {
            file.seek(SeekFrom::Start(range.start))?;
        }
        Ok(Some((file, range.end - range.start)))
    }
}

impl Place for Folder {
    fn name(&self, key: &str) -> String {
        self.path(key).display().to_string()
    }

    fn missing_reason(&self) -> Option<&'static str> {
        let exists = self.root.is_dir();
        (!exists).then_some("there is no such folder; name the folder of a Zarr array")
    }

    fn read(&self, key: &str, piece: Piece) -> Result<Option<Bytes>, Unread> {
        let Some((file, length)) = self.open_piece(key, piece)? else {
            return Ok(None);
        };
        let mut bytes = Vec::with_capacity(usize::try_from(length).map_err(io::Error::other)?);
        file.take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != length {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        Ok(Some(bytes.into()))
    }

    fn read_to(
        &self,
        key: &str,
        piece: Piece,
        parts: Parts,
        dest: &mut [u8],
    ) -> Result<bool, Unread> {
        let Some((mut file, length)) = self.open_piece(key, piece)? else {
            return Ok(false);
        };
        if !usize::try_from(length).is_ok_and(|length| parts.can_fill(dest, length)) {
            return Err(InvalidByteRangeError::new(piece.range, length).into());
        }
        let gap = parts.distance as i64 - parts.length as i64;
        for (number, dest) in dest.chunks_exact_mut(parts.length).enumerate() {
            if number > 0 {
                file.seek_relative(gap)?;
            }
            file.read_exact(dest)?;
        }
        Ok(true)
    }

    fn size(&self, key: &str) -> io::Result<Option<u64>> {
        Ok(self.open(key)?.map(|(_, size)| size))
    }

    fn is_free(&self) -> io::Result<bool> {
        let entries = match fs::read_dir(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            entries => entries?,
        };
        for entry in entries {
            if entry?.file_name() != JOB_FOLDER {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn enter(&self, job_id: &str) -> io::Result<()> {
        fs::create_dir_all(self.staging_folder(job_id))
    }

    fn write(&self, key: &str, value: &[u8], job_id: &str) -> io::Result<()> {
        static NEXT_FILE_NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NEXT_FILE_NUMBER.fetch_add(1, Ordering::Relaxed);
        let new_file = self
            .staging_folder(job_id)
            .join(format!("{}-{number}.new", process::id()));
        let path = self.path(key);
        let write = || {
            let mut file = File::create(&new_file)?;
            file.write_all(value)?;
            file.sync_data()?;
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::rename(&new_file, &path)
        };
        write().inspect_err(|_| {
            // If the file cannot be removed, it stays under a name that nothing reads.
            let _ = fs::remove_file(&new_file);
        })
    }

    #[cfg(feature = "cluster")]
    fn write_note(&self, key: &str, value: &[u8]) -> io::Result<()> {
        let path = self.path(key);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, value)
    }

    fn written_by(&self, keys: &[String], _: &str) -> io::Result<Vec<bool>> {
        // Files of other jobs were removed before this job began, so every file belongs to this job.
        keys.iter().map(|key| self.path(key).try_exists()).collect()
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        let path = self.path(key);
        let outcome = if path.is_dir() {
            fs::remove_dir_all(path)
        } else {
            fs::remove_file(path)
        };
        match outcome {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            outcome => outcome,
        }
    }
}
