//! Requests for single objects of a store.

use super::{
    client::{StartedRequests, connect_for_start, start, to_io_error, wait},
    received::{LONG_ANSWER_BYTES, receive},
};
use crate::zarr::{Error, JOB_RECORD};
use object_store::{
    Attribute, Attributes, Error as StoreError, GetOptions, GetRange, ObjectStore, PutMode,
    PutOptions, PutPayload, UpdateVersion, path::Path,
};
use std::{borrow::Cow, io, sync::Arc};
use url::Url;
use zarrs::storage::Bytes;

/// A prefix of keys in an object store.
///
/// An object of a job is marked with the job's id, so no other job mistakes the object for its own. A job puts an
/// object only if none exists, or if it replaces another job's object that has not changed since the job saw it. So a
/// slow task whose job has ended cannot replace an object of the next job.
#[derive(Clone, Debug)]
pub(crate) struct Objects {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) prefix: Path,
    pub(super) url: Url,
}

/// The bytes that were read, and the size of the whole object in bytes.
pub(super) type ReadAnswer = io::Result<object_store::Result<(Bytes, u64)>>;

/// The metadata key under which an object stores the id of its job.
const JOB_MARK: Attribute = Attribute::Metadata(Cow::Borrowed("wgslice"));

/// The properties of an object that are known without reading its bytes.
pub(super) struct Head {
    pub(super) size: u64,
    pub(super) job_id: Option<String>,
    pub(super) version: UpdateVersion,
}

pub(super) async fn head(
    store: &dyn ObjectStore,
    path: &Path,
) -> object_store::Result<Option<Head>> {
    let options = GetOptions {
        head: true,
        ..GetOptions::default()
    };
    match store.get_opts(path, options).await {
        Ok(object) => Ok(Some(Head {
            size: object.meta.size,
            job_id: object.attributes.get(&JOB_MARK).map(|id| id.to_string()),
            version: UpdateVersion {
                e_tag: object.meta.e_tag,
                version: object.meta.version,
            },
        })),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Objects {
    pub(in crate::zarr) fn open(url: &Url) -> Result<Self, Error> {
        let (store, prefix) = connect_for_start(url)?;
        Ok(Self {
            store,
            prefix,
            url: url.clone(),
        })
    }

    pub(super) fn path(&self, key: &str) -> Path {
        let key = Path::from(key);
        self.prefix.parts().chain(key.parts()).collect()
    }

    pub(super) fn head(&self, key: &str) -> io::Result<Option<Head>> {
        let (store, path) = (self.store.clone(), self.path(key));
        let outcome = wait(async move { head(&*store, &path).await })?;
        outcome.map_err(|error| to_io_error(&error))
    }

    /// Reads a range of an object, or all of it. Returns the bytes that were read, and the size of the whole object in
    /// bytes.
    pub(super) fn get(&self, key: &str, range: Option<GetRange>) -> ReadAnswer {
        self.start(key, range)?.wait()
    }

    /// Begins to read, like [`Objects::get`].
    pub(super) fn start(
        &self,
        key: &str,
        range: Option<GetRange>,
    ) -> io::Result<StartedRequests<(Bytes, u64)>> {
        let (store, path) = (self.store.clone(), self.path(key));
        start(async move {
            let options = GetOptions {
                range,
                ..GetOptions::default()
            };
            let object = store.get_opts(&path, options).await?;
            let size = object.meta.size;
            let bytes = object.range.end - object.range.start;
            let answer = match usize::try_from(bytes) {
                Ok(length) if bytes >= LONG_ANSWER_BYTES => {
                    receive(object.into_stream(), length).await?
                }
                _ => object.bytes().await?,
            };
            Ok((answer, size))
        })
    }

    pub(super) fn put(
        &self,
        key: &str,
        value: &[u8],
        mode: PutMode,
        job_id: Option<&str>,
    ) -> io::Result<object_store::Result<()>> {
        let (store, path) = (self.store.clone(), self.path(key));
        let payload = PutPayload::from(Bytes::copy_from_slice(value));
        let mut options = PutOptions::from(mode);
        if let Some(job_id) = job_id {
            options.attributes = Attributes::from_iter([(JOB_MARK, job_id.to_owned())]);
        }
        wait(async move { store.put_opts(&path, payload, options).await.map(drop) })
    }

    /// Returns an error if the job is over, or if its record cannot be read.
    pub(super) fn check_running(&self, job_id: &str) -> io::Result<()> {
        let record = match self.get(JOB_RECORD, None)? {
            Ok((record, _)) => record,
            Err(StoreError::NotFound { .. }) => Bytes::new(),
            Err(error) => return Err(to_io_error(&error)),
        };
        let record: serde_json::Value = serde_json::from_slice(&record).unwrap_or_default();
        if record["id"] == job_id {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::NotFound,
            "its job is over: it is done, or another one was begun in its place",
        ))
    }
}

/// Returns the prefix for a listing, or `None` if it is empty, so that the whole bucket is listed.
pub(super) fn listing_prefix(prefix: &Path) -> Option<&Path> {
    (!prefix.as_ref().is_empty()).then_some(prefix)
}
