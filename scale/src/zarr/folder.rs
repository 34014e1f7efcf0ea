//! A folder as a store.

use super::Error;
use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    process,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use zarrs::storage::{
    Bytes, MaybeBytesIterator, ReadableStorageTraits, StorageError, StoreKey,
    byte_range::{ByteRange, ByteRangeIterator, InvalidByteRangeError},
};

/// A folder whose files are values, as Zarr's specification says.
///
/// A file that cannot be read is an error, never a missing value: a missing chunk stands for the fill value.
#[derive(Debug)]
pub(crate) struct Folder {
    root: PathBuf,
    delivered: AtomicU64,
    failure: Mutex<Option<io::Error>>,
}

impl Folder {
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            delivered: AtomicU64::new(0),
            failure: Mutex::default(),
        }
    }

    /// The bytes that have been read.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// The system's last error, which may have come through a codec that says nothing of it.
    pub(crate) fn take_failure(&self) -> Option<io::Error> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take()
    }

    pub(crate) fn path(&self, key: &StoreKey) -> PathBuf {
        self.root.join(key.as_str())
    }

    fn open(&self, key: &StoreKey) -> io::Result<Option<(File, u64)>> {
        match File::open(self.path(key)) {
            Ok(file) => {
                let length = file.metadata()?.len();
                Ok(Some((file, length)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn noted<T>(&self, outcome: io::Result<T>) -> Result<T, StorageError> {
        outcome.map_err(|error| {
            let copy = io::Error::new(error.kind(), error.to_string());
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            copy.into()
        })
    }

    fn read(&self, file: &mut File, start: u64, length: u64) -> io::Result<Bytes> {
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::with_capacity(usize::try_from(length).map_err(io::Error::other)?);
        file.take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.delivered.fetch_add(length, Ordering::Relaxed);
        Ok(bytes.into())
    }
}

impl ReadableStorageTraits for Folder {
    fn get_partial_many<'a>(
        &'a self,
        key: &StoreKey,
        ranges: ByteRangeIterator<'a>,
    ) -> Result<MaybeBytesIterator<'a>, StorageError> {
        let Some((mut file, size)) = self.noted(self.open(key))? else {
            return Ok(None);
        };
        let values = ranges.map(move |range| {
            let invalid = || StorageError::from(InvalidByteRangeError::new(range, size));
            let (start, length) = match range {
                ByteRange::FromStart(start, Some(length)) => (start, length),
                ByteRange::FromStart(start, None) => {
                    (start, size.checked_sub(start).ok_or_else(invalid)?)
                }
                ByteRange::Suffix(length) => {
                    (size.checked_sub(length).ok_or_else(invalid)?, length)
                }
            };
            match start.checked_add(length) {
                Some(end) if end <= size => self.noted(self.read(&mut file, start, length)),
                _ => Err(invalid()),
            }
        });
        Ok(Some(Box::new(values)))
    }

    fn size_key(&self, key: &StoreKey) -> Result<Option<u64>, StorageError> {
        Ok(self.noted(self.open(key))?.map(|(_, size)| size))
    }

    fn supports_get_partial(&self) -> bool {
        true
    }
}

/// Writes a file beside others under a name that nobody reads, and brings it to the disk.
pub(crate) fn write_new(folder: &Path, parts: &[&[u8]]) -> Result<PathBuf, Error> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!("{}-{number}.new", process::id()));
    let write = || {
        let mut file = File::create(&path)?;
        for part in parts {
            file.write_all(part)?;
        }
        file.sync_data()
    };
    match write() {
        Ok(()) => Ok(path),
        Err(error) => {
            // What is left of it has a name that nobody reads.
            let _ = fs::remove_file(&path);
            Err(Error::io(
                format_args!("cannot write {}", path.display()),
                &error,
            ))
        }
    }
}

/// Writes a file whole or not at all. `staging` is a folder on the same disk, for the file while it is incomplete.
pub(crate) fn replace(path: &Path, bytes: &[u8], staging: &Path) -> Result<(), Error> {
    let new = write_new(staging, &[bytes])?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let place = || {
        fs::create_dir_all(folder)?;
        fs::rename(&new, path)
    };
    place().map_err(|error| {
        let _ = fs::remove_file(&new);
        Error::io(format_args!("cannot write {}", path.display()), &error)
    })
}
