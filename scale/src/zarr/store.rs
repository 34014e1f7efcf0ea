//! Stores: values under keys, in a folder or in an object store.

#[cfg(feature = "object-stores")]
use super::objects::Objects;
use super::{Error, Folder, Location};
use std::{
    collections::HashMap,
    fmt::Debug,
    io,
    ops::Range,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use zarrs::storage::{
    Bytes, MaybeBytesIterator, ReadableStorageTraits, StorageError, StoreKey,
    byte_range::{ByteRange, ByteRangeIterator, InvalidByteRangeError},
};

/// The prefix of the keys under which an unfinished job stores values next to its result.
pub(crate) const JOB_FOLDER: &str = ".wgslice";
/// The key of the record of an unfinished job: JSON whose field `id` is the job's id.
pub(crate) const JOB_RECORD: &str = ".wgslice/job.json";

/// The bytes of a value, or `None` if the value does not exist.
pub(crate) type Value = Option<Bytes>;

/// A request in progress.
pub(crate) struct BegunRequest {
    /// True if the answer to the request has arrived.
    pub(crate) has_arrived: Arc<AtomicBool>,
    /// Waits for the answer.
    pub(crate) wait: Box<dyn FnOnce() -> Result<Value, Unread> + Send>,
}

/// The place of a store's values. A value that cannot be read is an error, never a missing value, because a missing
/// chunk means the fill value.
///
/// A job that writes a result has an id. Late tasks of an earlier job, which do not know yet that their job is over,
/// may try to write to the same place. So a place rejects writes of a job that is over, and records which values belong
/// to a job.
pub(crate) trait Place: Debug + Send + Sync {
    /// Returns the path or URL of a key's value, for messages and for engines, which open it. The empty key is the
    /// whole store.
    fn name(&self, key: &str) -> String;

    /// Returns why there can be no array in this place, or `None` if only reading a value would show it.
    fn missing_reason(&self) -> Option<&'static str>;

    /// Reads a piece of a value. `None` if there is no such value.
    fn read(&self, key: &str, piece: Piece) -> Result<Option<Bytes>, Unread>;

    /// Begins to read like [`Place::read`], without waiting. `None` if the request cannot begin or would save no time,
    /// as for files.
    fn begin(&self, _key: &str, _piece: Piece) -> Option<BegunRequest> {
        None
    }

    /// Reads parts of a piece of a value to `dest`, in order. Returns whether the value exists.
    fn read_to(
        &self,
        key: &str,
        piece: Piece,
        parts: Parts,
        dest: &mut [u8],
    ) -> Result<bool, Unread> {
        let Some(bytes) = self.read(key, piece)? else {
            return Ok(false);
        };
        if !parts.can_fill(dest, bytes.len()) {
            return Err(InvalidByteRangeError::new(piece.range, bytes.len() as u64).into());
        }
        for (number, dest) in dest.chunks_exact_mut(parts.length).enumerate() {
            dest.copy_from_slice(&bytes[number * parts.distance..][..parts.length]);
        }
        Ok(true)
    }

    /// Returns the length of a value in bytes, or `None` if there is no such value.
    fn size(&self, key: &str) -> io::Result<Option<u64>>;

    /// Returns whether there are no values except in the [`JOB_FOLDER`]. If a file is at the store's path, the error
    /// has the kind [`io::ErrorKind::NotADirectory`].
    fn is_free(&self) -> io::Result<bool>;

    /// Makes the folders that a job needs in order to write, if any.
    fn enter(&self, job_id: &str) -> io::Result<()>;

    /// Writes a value as a whole or not at all. Fails if the job is over. If the job has already written a value for
    /// the key, that value can stay instead.
    fn write(&self, key: &str, value: &[u8], job_id: &str) -> io::Result<()>;

    /// Writes a value that is only read during this run. After an error, a part of it can remain.
    #[cfg(feature = "cluster")]
    fn write_note(&self, key: &str, value: &[u8]) -> io::Result<()>;

    /// Returns, for each key, whether the job has written its value.
    fn written_by(&self, keys: &[String], job_id: &str) -> io::Result<Vec<bool>>;

    /// Removes the value of a key, and all values whose keys begin with this key and a slash. The empty key removes
    /// all.
    fn remove(&self, key: &str) -> io::Result<()>;
}

/// A piece of a value: a range of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) range: ByteRange,
    /// The required length of the whole value in bytes, if there is one.
    ///
    /// A part of an uncompressed chunk is read without the rest, so only the length of the value can show that the
    /// value is not a chunk of this array. Every place gets the length together with the bytes.
    pub(crate) required_length: Option<u64>,
}

impl Piece {
    /// All bytes of a value of any length.
    pub(crate) const ALL: Self = Self {
        range: ByteRange::FromStart(0, None),
        required_length: None,
    };

    /// Returns the piece with these bytes, for a value of any length.
    pub(super) fn of_any(range: ByteRange) -> Self {
        Self {
            range,
            required_length: None,
        }
    }

    /// Returns the part of this piece with these bytes, or the whole piece if it is counted from the value's end.
    pub(super) fn part(self, bytes: &Range<usize>) -> Self {
        let begin = match self.range {
            ByteRange::FromStart(begin, _) => begin,
            ByteRange::Suffix(_) => return self,
        };
        let (begin, length) = (begin.saturating_add(bytes.start as u64), bytes.len() as u64);
        Self {
            range: ByteRange::FromStart(begin, Some(length)),
            ..self
        }
    }

    /// Returns the range of the piece in a value of this length in bytes.
    pub(super) fn within(self, length: u64) -> Result<Range<u64>, Unread> {
        if let Some(expected) = self.required_length.filter(|&expected| expected != length) {
            return Err(Unread::Value(wrong_length(length, expected)));
        }
        let range = match self.range {
            ByteRange::FromStart(begin, None) => Some(begin..length),
            ByteRange::FromStart(begin, Some(count)) => {
                begin.checked_add(count).map(|end| begin..end)
            }
            ByteRange::Suffix(count) => length.checked_sub(count).map(|begin| begin..length),
        };
        let range = range.filter(|range| range.start <= range.end && range.end <= length);
        range.ok_or_else(|| InvalidByteRangeError::new(self.range, length).into())
    }
}

/// Equally spaced parts of a range of bytes. The range begins with the first part and ends with the last part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// The length of each part in bytes, at least 1.
    pub(crate) length: usize,
    /// The distance between the starts of neighbouring parts, in bytes.
    pub(crate) distance: usize,
}

impl Parts {
    /// Returns whether the parts of a range of this length fill `dest` exactly.
    pub(super) fn can_fill(self, dest: &[u8], length: usize) -> bool {
        let Self {
            length: part_length,
            distance,
        } = self;
        let count = dest.len() / part_length;
        count > 0
            && dest.len() == count * part_length
            && length == (count - 1) * distance + part_length
    }
}

/// Why bytes were not read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// The value has no such piece, for this reason.
    Value(String),
    System(io::Error),
}

impl From<InvalidByteRangeError> for Unread {
    fn from(error: InvalidByteRangeError) -> Self {
        Self::Value(format!("invalid byte range {error}"))
    }
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// Returns the error for an uncompressed chunk with a wrong length. Both lengths are in bytes.
pub(super) fn wrong_length(length: u64, expected: u64) -> String {
    format!("it has {length} bytes, and its shape needs {expected}")
}

/// Opens the place with this name, a folder or a URL.
pub(crate) fn place(name: &Path) -> Result<Arc<dyn Place>, Error> {
    Ok(match Location::new(name)? {
        Location::Folder(_) => Arc::new(Folder::new(name)),
        #[cfg(feature = "object-stores")]
        Location::Url(url) => Arc::new(Objects::open(&url)?),
    })
}

/// A store from which `zarrs` reads. Counts the bytes that it delivers.
#[derive(Debug)]
pub(crate) struct Store {
    place: Arc<dyn Place>,
    delivered_bytes: AtomicU64,
    failure: Mutex<Option<io::Error>>,
    /// Values that have been read in advance, by their keys.
    prefetched: Mutex<HashMap<String, Value>>,
}

impl Store {
    pub(crate) fn new(place: Arc<dyn Place>) -> Self {
        Self {
            place,
            delivered_bytes: AtomicU64::new(0),
            failure: Mutex::default(),
            prefetched: Mutex::default(),
        }
    }

    /// Reads whole values of a remote store in parallel, so that they are available when they are read in order.
    pub(crate) fn prefetch(&self, keys: &[&str]) -> Result<(), StorageError> {
        let requests = keys.iter();
        let requests = requests.map(|key| (*key, self.place.begin(key, Piece::ALL)));
        let requests: Vec<_> = requests.collect();
        for (key, request) in requests {
            if let Some(request) = request {
                let value = self.received((request.wait)().map(|value| (value, true)))?;
                let mut prefetched = self
                    .prefetched
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                prefetched.insert(key.to_owned(), value);
            }
        }
        Ok(())
    }

    pub(crate) fn place(&self) -> &Arc<dyn Place> {
        &self.place
    }

    /// Returns the number of bytes that have been read.
    pub(crate) fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes.load(Ordering::Relaxed)
    }

    /// Takes the last I/O error out of the store. The store keeps the error, because a codec might pass it on without
    /// its message.
    pub(crate) fn take_failure(&self) -> Option<io::Error> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take()
    }

    fn record_failure<T>(&self, outcome: io::Result<T>) -> Result<T, StorageError> {
        outcome.map_err(|error| {
            let copy = io::Error::new(error.kind(), error.to_string());
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            copy.into()
        })
    }

    /// Reads a piece of a value with [`Place::read`], and counts its bytes.
    pub(crate) fn read(&self, key: &StoreKey, piece: Piece) -> Result<Value, StorageError> {
        if piece == Piece::ALL {
            let prefetched = self
                .prefetched
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if let Some(value) = prefetched.get(key.as_str()) {
                return Ok(value.clone());
            }
        }
        let bytes = self.storage_result(self.place.read(key.as_str(), piece))?;
        let length = bytes.as_ref().map_or(0, Bytes::len);
        self.delivered_bytes
            .fetch_add(length as u64, Ordering::Relaxed);
        Ok(bytes)
    }

    /// Reads parts of a piece of a value with [`Place::read_to`], and counts their bytes.
    pub(crate) fn read_to(
        &self,
        key: &StoreKey,
        piece: Piece,
        parts: Parts,
        dest: &mut [u8],
    ) -> Result<bool, StorageError> {
        let exists = self.storage_result(self.place.read_to(key.as_str(), piece, parts, dest))?;
        let length = if exists { dest.len() } else { 0 };
        self.delivered_bytes
            .fetch_add(length as u64, Ordering::Relaxed);
        Ok(exists)
    }

    /// Counts the bytes of an answer to an early request at the answer's first use. Records an error as for a direct
    /// read.
    pub(crate) fn received(
        &self,
        answer: Result<(Value, bool), Unread>,
    ) -> Result<Value, StorageError> {
        let (value, is_first_use) = self.storage_result(answer)?;
        if let Some(bytes) = value.as_ref().filter(|_| is_first_use) {
            self.delivered_bytes
                .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        }
        Ok(value)
    }

    fn storage_result<T>(&self, read: Result<T, Unread>) -> Result<T, StorageError> {
        match read {
            Err(Unread::Value(problem)) => Err(StorageError::Other(problem)),
            Err(Unread::System(error)) => self.record_failure(Err(error)),
            Ok(read) => Ok(read),
        }
    }
}

impl ReadableStorageTraits for Store {
    fn get_partial_many<'a>(
        &'a self,
        key: &StoreKey,
        ranges: ByteRangeIterator<'a>,
    ) -> Result<MaybeBytesIterator<'a>, StorageError> {
        let mut values = Vec::new();
        for range in ranges {
            match self.read(key, Piece::of_any(range))? {
                Some(bytes) => values.push(Ok(bytes)),
                None => return Ok(None),
            }
        }
        Ok(Some(Box::new(values.into_iter())))
    }

    fn size_key(&self, key: &StoreKey) -> Result<Option<u64>, StorageError> {
        self.record_failure(self.place.size(key.as_str()))
    }

    fn supports_get_partial(&self) -> bool {
        true
    }
}
