//! Opens arrays, or explains why a name does not name an array.

use super::{Error, JOB_RECORD, Store, dtype, metadata, place};
use serde_json::Value;
use std::{fmt::Display, path::Path, sync::Arc};
use wgslice::DType;
use zarrs::{
    array::{Array, ArrayMetadata, ArrayMetadataV3},
    storage::{ReadableStorageTraits, StorageError, StoreKey},
};

/// The keys of an array's metadata, in Zarr V3 and in Zarr V2.
const METADATA_KEYS: [&str; 2] = ["zarr.json", ".zarray"];
/// The key of an array's attributes in Zarr V2.
const ATTRIBUTES_KEY: &str = ".zattrs";

/// An opened array, with the properties that `zarrs` does not provide.
pub(super) struct Opened {
    pub(super) array: Array<Store>,
    pub(super) dtype: DType,
    /// The name of the element type in Zarr V3.
    pub(super) data_type: String,
    /// The fill value, as in Zarr's JSON.
    pub(super) fill: Value,
    /// A checksum of the array's metadata.
    pub(super) checksum: u32,
}

/// Opens the array with this path or URL.
pub(super) fn open(path: &Path) -> Result<Opened, Error> {
    let unfit = |problem: &dyn Display| {
        Error::usage(format_args!("cannot open {}: {problem}", path.display()))
    };
    let store = Arc::new(Store::new(place(path)?));
    if let Some(reason) = store.place().missing_reason() {
        return Err(unfit(&reason));
    }
    let failed = |failure| Error::io(format_args!("cannot open {}", path.display()), &failure);
    let unread = |error: StorageError| match store.take_failure() {
        Some(failure) => failed(failure),
        None => unfit(&error),
    };
    let read = |key: &str| {
        let key = StoreKey::new(key).map_err(|error| unfit(&error))?;
        store.get(&key).map_err(unread)
    };
    store.prefetch(&METADATA_KEYS).map_err(unread)?;
    let mut checksum = 0;
    let mut texts = Vec::new();
    for key in METADATA_KEYS {
        let text = read(key)?;
        if let Some(text) = &text {
            checksum = crc32c::crc32c_append(checksum, text);
        }
        texts.push(text);
    }
    let json = |key: &str, text: &[u8]| {
        metadata::json(text).map_err(|error| unfit(&format_args!("its {key} is not JSON: {error}")))
    };
    let metadata = match &texts[..] {
        [Some(text), ..] => metadata::v3(json(METADATA_KEYS[0], text)?),
        [_, Some(text)] => {
            let array = json(METADATA_KEYS[1], text)?;
            let attributes = read(ATTRIBUTES_KEY)?;
            let attributes = attributes
                .map(|text| json(ATTRIBUTES_KEY, &text))
                .transpose()?;
            metadata::v2(array, attributes)
        }
        _ => {
            let exists = |key| Ok::<_, Error>(read(key)?.is_some());
            return Err(unfit(&if exists(JOB_RECORD)? {
                "it is the unfinished result of a job; finish it by running the same command again"
            } else if exists(".zgroup")? {
                metadata::GROUP
            } else {
                "it has neither zarr.json nor .zarray; name a Zarr array"
            }));
        }
    };
    let mut metadata = metadata.map_err(|error| unfit(&error))?;
    let fill = metadata["fill_value"].clone();
    let data_type = metadata::replace_float8(&mut metadata).map_err(|error| unfit(&error))?;
    let dtype = dtype::of_name(&data_type, path)?;
    let metadata: ArrayMetadataV3 =
        serde_json::from_value(metadata).map_err(|error| unfit(&error))?;
    for (name, field) in &metadata.additional_fields {
        if field.must_understand() {
            return Err(unfit(&format_args!(
                "its metadata has {name}, which is not known here but says that it must be: write the array anew \
                 without it"
            )));
        }
    }
    let metadata = ArrayMetadata::V3(metadata);
    let array = Array::new_with_metadata(store, "/", metadata).map_err(|error| unfit(&error))?;
    Ok(Opened {
        array,
        dtype,
        // Types other than 8-bit floats can have several names, so the library's name is used.
        data_type: match dtype::is_float8(&data_type) {
            true => data_type,
            false => dtype.name().to_owned(),
        },
        fill,
        checksum,
    })
}
