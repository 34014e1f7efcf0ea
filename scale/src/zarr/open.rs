//! Opens arrays, or says why a name does not name an array.

use super::{Error, JOB_RECORD, Store, place};
use std::{fmt::Display, path::Path, sync::Arc};
use zarrs::{
    array::{Array, ArrayCreateError},
    storage::{ReadableStorageTraits, StorageError, StoreKey},
};

/// The keys of an array's metadata, in Zarr V3 and in Zarr V2.
const METADATA: [&str; 2] = ["zarr.json", ".zarray"];

/// Opens an array. Also returns a checksum of its metadata.
pub(super) fn open(path: &Path) -> Result<(Array<Store>, u32), Error> {
    let problem = |problem: &dyn Display| {
        Error::usage(format_args!("cannot open {}: {problem}", path.display()))
    };
    let store = Arc::new(Store::new(place(path)?));
    if let Some(missing) = store.place().missing() {
        return Err(problem(&missing));
    }
    let failed = |failure| Error::io(format_args!("cannot open {}", path.display()), &failure);
    let unread = |error: StorageError| match store.take_failure() {
        Some(failure) => failed(failure),
        None => problem(&error),
    };
    let read = |key: &str| {
        let key = StoreKey::new(key).map_err(|error| problem(&error))?;
        store.get(&key).map_err(unread)
    };
    store.bring(&METADATA).map_err(unread)?;
    let array = Array::open(store.clone(), "/");
    let array = array.map_err(|error| {
        if let Some(failure) = store.take_failure() {
            return failed(failure);
        }
        if !matches!(error, ArrayCreateError::MissingMetadata) {
            return problem(&error);
        }
        let is_there = |key| Ok::<_, Error>(read(key)?.is_some());
        let explained = || {
            Ok::<_, Error>(if is_there(JOB_RECORD)? {
                "it is the unfinished result of a job; finish it by running the same command again"
            } else if is_there("zarr.json")? || is_there(".zgroup")? {
                "it is a group; name an array in it"
            } else {
                "it has neither zarr.json nor .zarray; name a Zarr array"
            })
        };
        match explained() {
            Ok(explained) => problem(&explained),
            Err(error) => error,
        }
    })?;
    let mut checksum = 0;
    for key in METADATA {
        if let Some(text) = read(key)? {
            checksum = crc32c::crc32c_append(checksum, &text);
        }
    }
    Ok((array, checksum))
}
