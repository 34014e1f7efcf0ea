//! A new array that is written shard by shard.

use super::{Codec, Error, Place, Store, grid, place, product, source::chunk_shape};
use serde_json::{Map, Value, json};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use wgslice::DType;
use zarrs::array::{
    Array, ArrayBytes, ArrayMetadata, ArrayToBytesCodecTraits, ChunkShape, CodecOptions,
    CodecSpecificOptions,
    codec::{ShardingCodecOptions, SubchunkWriteOrder},
};

/// The form of a new array.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The type of the elements.
    pub dtype: DType,
    /// The shape of the array.
    pub shape: Vec<usize>,
    /// The shape of a shard. Multiples of the chunk's.
    pub shard: Vec<usize>,
    /// The shape of a chunk. If it is that of a shard, the array has no shards.
    pub chunk: Vec<usize>,
    /// How chunks are compressed.
    pub codec: Codec,
    /// The value of missing elements, as Zarr's JSON has it.
    pub fill: Value,
}

impl Layout {
    /// The content of the array's `zarr.json`.
    pub fn metadata(&self, attributes: &Map<String, Value>) -> Value {
        let inner = self.codec.metadata(self.dtype);
        let codecs = if self.shard == self.chunk {
            inner
        } else {
            let index = json!([
                {"name": "bytes", "configuration": {"endian": "little"}},
                {"name": "crc32c"}
            ]);
            vec![json!({"name": "sharding_indexed", "configuration": {
                "chunk_shape": self.chunk, "codecs": inner,
                "index_codecs": index, "index_location": "end"
            }})]
        };
        json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": self.shape,
            "data_type": self.dtype.name(),
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": self.shard}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": self.fill,
            "codecs": codecs,
            "attributes": attributes,
        })
    }
}

/// An array that is being written.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    dtype: DType,
    shape: Vec<usize>,
    shard: Vec<usize>,
    encoded_shape: ChunkShape,
    array: Array<Store>,
}

impl Target {
    /// The array in the folder `path`, or at this URL, that this `zarr.json` describes. Writes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the description cannot be that of an array.
    pub fn new(path: &Path, metadata: &Value) -> Result<Self, Error> {
        let unfit = |problem: String| {
            Error::usage(format_args!("cannot make {}: {problem}", path.display()))
        };
        let parsed: ArrayMetadata =
            serde_json::from_value(metadata.clone()).map_err(|error| unfit(error.to_string()))?;
        let array = Array::new_with_metadata(Arc::new(Store::new(place(path)?)), "/", parsed);
        let array = array.map_err(|error| unfit(error.to_string()))?;
        // The same shard has the same bytes, also if several threads encode it.
        let order =
            ShardingCodecOptions::default().with_subchunk_write_order(SubchunkWriteOrder::C);
        let array =
            array.with_codec_specific_options(&CodecSpecificOptions::default().with_option(order));
        let sizes = |value: &Value| -> Result<Vec<usize>, Error> {
            serde_json::from_value(value.clone()).map_err(|error| unfit(error.to_string()))
        };
        let shape = sizes(&metadata["shape"])?;
        let shard = sizes(&metadata["chunk_grid"]["configuration"]["chunk_shape"])?;
        let dtype = metadata["data_type"].as_str().unwrap_or_default();
        Ok(Self {
            path: path.to_owned(),
            dtype: super::dtype::of_name(dtype, path)?,
            encoded_shape: chunk_shape(&shard)?,
            shape,
            shard,
            array,
        })
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape of the array.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The shape of a shard, also where it reaches over the array's end.
    pub fn shard(&self) -> &[usize] {
        &self.shard
    }

    /// The size of a decoded shard in bytes.
    pub fn shard_bytes(&self) -> usize {
        product(&self.shard) * self.dtype.size()
    }

    /// The number of shards in each dimension.
    pub fn grid(&self) -> Vec<usize> {
        grid(&self.shape, &self.shard)
    }

    /// The value of elements beyond the array's end.
    pub(crate) fn fill(&self) -> &[u8] {
        self.array.fill_value().as_ne_bytes()
    }

    pub(crate) fn place(&self) -> Arc<dyn Place> {
        self.array.storage().place().clone()
    }

    /// The key of the shard at these coordinates of the grid.
    pub fn key(&self, at: &[usize]) -> String {
        let at: Vec<u64> = at.iter().map(|&at| at as u64).collect();
        self.array.chunk_key(&at).as_str().to_owned()
    }

    /// The elements of a shard as they are stored, on up to `threads` threads.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] if the codec fails.
    pub fn encode(&self, shard: Vec<u8>, threads: usize) -> Result<Vec<u8>, Error> {
        let encoded = self.array.codecs().encode(
            ArrayBytes::from(shard),
            &self.encoded_shape,
            self.array.data_type(),
            self.array.fill_value(),
            &CodecOptions::default().with_concurrent_target(threads),
        );
        encoded.map(|bytes| bytes.into_owned()).map_err(|error| {
            Error::data(format_args!(
                "cannot encode a shard of {}: {error}",
                self.path.display()
            ))
        })
    }

    /// Whether the job with this id has written a shard.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn stands(&self, at: &[usize], job: &str) -> Result<bool, Error> {
        let key = self.key(at);
        let standing = self.place().standing(std::slice::from_ref(&key), job);
        let standing = standing.map_err(|error| {
            Error::io(
                format_args!("cannot read {}", self.place().name(&key)),
                &error,
            )
        })?;
        Ok(standing == [true])
    }

    /// Writes an encoded shard of the job with this id whole or not at all.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], also if the job is over.
    pub fn write(&self, at: &[usize], encoded: &[u8], job: &str) -> Result<(), Error> {
        let key = self.key(at);
        self.place().write(&key, encoded, job).map_err(|error| {
            Error::io(
                format_args!("cannot write {}", self.place().name(&key)),
                &error,
            )
        })
    }
}
