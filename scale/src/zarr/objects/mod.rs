//! An object store as a place for values.
//!
//! | module | content |
//! |---|---|
//! | `client` | connections, the threads on which requests run, and errors |
//! | `requests` | requests for single objects |
//! | `received` | the memory of answers |

mod client;
mod received;
mod requests;

#[cfg(feature = "sql")]
pub(crate) use client::connect;
pub(crate) use requests::Objects;

use super::store::{BegunRequest, JOB_FOLDER, JOB_RECORD, Piece, Place, Unread};
use client::{is_unanswered, to_io_error, wait};
use futures::{StreamExt, TryStreamExt, stream};
use object_store::{
    Error as StoreError, GetRange, ObjectStore, ObjectStoreExt, PutMode, path::Path,
};
use requests::{ReadAnswer, head, listing_prefix};
use std::{collections::HashSet, io, pin::pin};
use zarrs::storage::{
    Bytes,
    byte_range::{ByteRange, InvalidByteRangeError},
};

/// The number of objects whose metadata is requested in parallel.
const HEADS_IN_PARALLEL: usize = 32;

/// Returns whether a range is empty. There is no request for an empty range.
fn is_empty(range: ByteRange) -> bool {
    matches!(
        range,
        ByteRange::FromStart(_, Some(0)) | ByteRange::Suffix(0)
    )
}

/// Returns the range for a request, or `None` if it is the whole object.
fn request_range(range: ByteRange) -> Option<GetRange> {
    match range {
        ByteRange::FromStart(0, None) => None,
        ByteRange::FromStart(start, None) => Some(GetRange::Offset(start)),
        ByteRange::FromStart(start, Some(length)) => {
            Some(GetRange::Bounded(start..start.saturating_add(length)))
        }
        ByteRange::Suffix(length) => Some(GetRange::Suffix(length)),
    }
}

impl Objects {
    /// Returns the bytes of a piece from the answer to its request. The answer's header `Content-Range` or
    /// `Content-Length` also has the size of the whole object, so the size is checked without another request.
    fn bytes_of_answer(
        &self,
        key: &str,
        piece: Piece,
        answer: ReadAnswer,
    ) -> Result<Option<Bytes>, Unread> {
        let range = piece.range;
        let is_part = request_range(range).is_some();
        match (answer?, range) {
            (Ok((bytes, size)), _) => {
                let piece_range = piece.within(size)?;
                if piece_range.end - piece_range.start != bytes.len() as u64 {
                    return Err(InvalidByteRangeError::new(range, size).into());
                }
                Ok(Some(bytes))
            }
            (Err(StoreError::NotFound { .. }), _) => Ok(None),
            // Azure only supports ranges that are counted from the start.
            (Err(StoreError::NotSupported { .. }), ByteRange::Suffix(length)) => {
                let Some(size) = self.size(key)? else {
                    return Ok(None);
                };
                let piece_range = piece.within(size)?;
                let range = ByteRange::FromStart(piece_range.start, Some(length));
                self.read(key, Piece { range, ..piece })
            }
            (Err(error), _) if is_part && !is_unanswered(&error) => {
                // If an object is shorter than the range, servers answer with different errors, so the object's size is
                // requested.
                if let Ok(Some(size)) = self.size(key) {
                    piece.within(size)?;
                }
                Err(to_io_error(&error).into())
            }
            (Err(error), _) => Err(to_io_error(&error).into()),
        }
    }
}

impl Place for Objects {
    fn name(&self, key: &str) -> String {
        let url = self.url.as_str().trim_end_matches('/');
        if key.is_empty() {
            return url.to_owned();
        }
        format!("{url}/{key}")
    }

    fn missing_reason(&self) -> Option<&'static str> {
        None
    }

    fn read(&self, key: &str, piece: Piece) -> Result<Option<Bytes>, Unread> {
        if is_empty(piece.range) {
            let Some(size) = self.size(key)? else {
                return Ok(None);
            };
            piece.within(size)?;
            return Ok(Some(Bytes::new()));
        }
        self.bytes_of_answer(key, piece, self.get(key, request_range(piece.range)))
    }

    fn begin(&self, key: &str, piece: Piece) -> Option<BegunRequest> {
        if is_empty(piece.range) {
            return None;
        }
        let started = self.start(key, request_range(piece.range)).ok()?;
        let (objects, key) = (self.clone(), key.to_owned());
        Some(BegunRequest {
            has_arrived: started.has_arrived.clone(),
            wait: Box::new(move || objects.bytes_of_answer(&key, piece, started.wait())),
        })
    }

    fn size(&self, key: &str) -> io::Result<Option<u64>> {
        Ok(self.head(key)?.map(|head| head.size))
    }

    fn is_free(&self) -> io::Result<bool> {
        let (store, prefix, record) = (
            self.store.clone(),
            self.prefix.clone(),
            self.path(JOB_FOLDER),
        );
        let first_other = wait(async move {
            let others = store.list(listing_prefix(&prefix)).try_filter(|object| {
                let is_other = !object.location.prefix_matches(&record);
                async move { is_other }
            });
            let mut others = pin!(others);
            others.try_next().await
        })?;
        Ok(first_other.map_err(|error| to_io_error(&error))?.is_none())
    }

    fn enter(&self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, key: &str, value: &[u8], job_id: &str) -> io::Result<()> {
        /// The maximum number of times that a put is tried. A put can fail because another task of this job, or a
        /// late task of an earlier job, puts the same object at the same time.
        const ATTEMPTS: usize = 8;
        let mut mode = PutMode::Create;
        let mut has_failed = false;
        for _ in 0..ATTEMPTS {
            if key != JOB_RECORD {
                self.check_running(job_id)?;
            }
            match self.put(key, value, mode, Some(job_id))? {
                Ok(()) => return Ok(()),
                Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => {}
                Err(error) if has_failed => return Err(to_io_error(&error)),
                // The object may have been written although the request failed.
                Err(_) => has_failed = true,
            }
            mode = match self.head(key)? {
                None => PutMode::Create,
                Some(head) if head.job_id.as_deref() == Some(job_id) => return Ok(()),
                Some(_) if key == JOB_RECORD => break,
                Some(head) => PutMode::Update(head.version),
            };
        }
        Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "another run writes there at the same time: run the command again",
        ))
    }

    #[cfg(feature = "cluster")]
    fn write_note(&self, key: &str, value: &[u8]) -> io::Result<()> {
        let outcome = self.put(key, value, PutMode::Overwrite, None)?;
        outcome.map_err(|error| to_io_error(&error))
    }

    fn written_by(&self, keys: &[String], job_id: &str) -> io::Result<Vec<bool>> {
        let store = self.store.clone();
        let paths: Vec<Path> = keys.iter().map(|key| self.path(key)).collect();
        let (prefix, job_id) = (self.prefix.clone(), job_id.to_owned());
        let is_written = wait(async move {
            // A listing shows which objects exist, but not which job put them.
            let mut listed: HashSet<Path> = paths.iter().take(1).cloned().collect();
            if paths.len() > 1 {
                let all = store.list(listing_prefix(&prefix));
                listed = all.map_ok(|object| object.location).try_collect().await?;
            }
            let checks = paths.into_iter().map(|path| {
                let (store, job_id, is_listed) = (&store, &job_id, listed.contains(&path));
                async move {
                    if !is_listed {
                        return Ok(false);
                    }
                    let head = head(&**store, &path).await?;
                    Ok(head.is_some_and(|head| head.job_id.as_ref() == Some(job_id)))
                }
            });
            stream::iter(checks)
                .buffered(HEADS_IN_PARALLEL)
                .try_collect()
                .await
        })?;
        is_written.map_err(|error: StoreError| to_io_error(&error))
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        let (store, path) = (self.store.clone(), self.path(key));
        let is_whole_store = key.is_empty();
        let removed = wait(async move {
            if !is_whole_store {
                match store.delete(&path).await {
                    Ok(()) | Err(StoreError::NotFound { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            let listed = store
                .list(listing_prefix(&path))
                .map_ok(|object| object.location);
            let mut removed = store.delete_stream(listed.boxed());
            while let Some(outcome) = removed.next().await {
                match outcome {
                    Ok(_) | Err(StoreError::NotFound { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        })?;
        removed.map_err(|error| to_io_error(&error))
    }
}
