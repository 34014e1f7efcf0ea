//! A new array that is written shard by shard.

use super::{
    Codec, Error, Place, Source, Store, codec, dtype, grid, metadata, place, product,
    source::chunk_shape,
};
use serde_json::{Map, Value, json};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use wgslice::DType;
use zarrs::array::{Array, ArrayMetadata, ChunkShape, CodecChain};

/// The form of a new array.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The type of the elements.
    pub dtype: DType,
    /// The name of the element type in Zarr V3. It differs from the name of `dtype` if elements can only be moved.
    pub data_type: String,
    /// The shape of the array.
    pub shape: Vec<usize>,
    /// The shape of a shard. In each dimension, its size is a multiple of the chunk's size.
    pub shard: Vec<usize>,
    /// The shape of a chunk. If it equals the shape of a shard, the array is not sharded.
    pub chunk: Vec<usize>,
    /// How chunks are compressed.
    pub codec: Codec,
    /// The fill value, as in Zarr's JSON.
    pub fill: Value,
    /// The name of each dimension, or `None` for a dimension without a name.
    pub names: Vec<Option<String>>,
}

impl Layout {
    /// Returns the content of the array's `zarr.json`.
    pub fn metadata(&self, attributes: &Map<String, Value>) -> Value {
        let chunk_codecs = self.codec.metadata(self.dtype);
        let codecs = if self.shard == self.chunk {
            chunk_codecs
        } else {
            vec![json!({"name": "sharding_indexed", "configuration": {
                "chunk_shape": self.chunk, "codecs": chunk_codecs,
                "index_codecs": index_codecs(), "index_location": "end"
            }})]
        };
        let mut metadata = json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": self.shape,
            "data_type": self.data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": self.shard}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": self.fill,
            "codecs": codecs,
            "attributes": attributes,
        });
        if self.names.iter().any(Option::is_some) {
            metadata["dimension_names"] = json!(self.names);
        }
        metadata
    }
}

/// Returns the codecs of a shard's index.
fn index_codecs() -> Value {
    json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}])
}

/// An array that is being written.
#[derive(Debug)]
pub struct Target {
    pub(super) path: PathBuf,
    dtype: DType,
    shape: Vec<usize>,
    pub(super) shard: Vec<usize>,
    pub(super) chunk: Vec<usize>,
    pub(super) encoded_shape: ChunkShape,
    pub(super) array: Array<Store>,
    /// The codecs of a chunk.
    pub(super) codecs: Arc<CodecChain>,
    /// A description of how the codecs encode a chunk. `None` if it cannot be compared with another array's
    /// description.
    codec_description: Option<Vec<Value>>,
    /// True if a shard has several chunks and an index of them. If not, it is one chunk.
    pub(super) is_sharded: bool,
    /// True if the elements of a chunk are stored as in memory, without compression.
    pub(super) is_plain: bool,
}

impl Target {
    /// Makes the array that this `zarr.json` describes, in the folder or at the URL `path`. Writes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if this `zarr.json` does not describe an array that can be written.
    pub fn new(path: &Path, metadata: &Value) -> Result<Self, Error> {
        let unfit = |problem: String| {
            Error::usage(format_args!("cannot make {}: {problem}", path.display()))
        };
        let mut zarrs_metadata = metadata.clone();
        let data_type = metadata::replace_float8(&mut zarrs_metadata).map_err(unfit)?;
        let parsed: ArrayMetadata =
            serde_json::from_value(zarrs_metadata).map_err(|error| unfit(error.to_string()))?;
        let array = Array::new_with_metadata(Arc::new(Store::new(place(path)?)), "/", parsed);
        let array = array.map_err(|error| unfit(error.to_string()))?;
        let sizes = |value: &Value| -> Result<Vec<usize>, Error> {
            serde_json::from_value(value.clone()).map_err(|error| unfit(error.to_string()))
        };
        let shape = sizes(&metadata["shape"])?;
        let shard = sizes(&metadata["chunk_grid"]["configuration"]["chunk_shape"])?;
        let dtype = dtype::of_name(&data_type, path)?;
        let inner_codecs = codec::sharding(&array).map(|sharding| sharding.chunk_codecs);
        let is_sharded = inner_codecs.is_some();
        let sharding = &metadata["codecs"][0]["configuration"];
        let chunk = if is_sharded {
            sizes(&sharding["chunk_shape"])?
        } else {
            shard.clone()
        };
        let encoded_shape = chunk_shape(&chunk)?;
        let mut sides = shard.iter().zip(&chunk);
        let fits = shard.len() == chunk.len() && sides.all(|(shard, chunk)| shard % chunk == 0);
        let has_index =
            sharding["index_codecs"] == index_codecs() && sharding["index_location"] == "end";
        if !fits || is_sharded && !has_index {
            return Err(unfit("its shards are none of wgslice-scale's".to_owned()));
        }
        let codecs = inner_codecs.map_or_else(|| array.codecs(), Arc::new);
        let codec_description = codec::description(&codecs, dtype);
        Ok(Self {
            path: path.to_owned(),
            dtype,
            encoded_shape,
            shape,
            shard,
            chunk,
            is_sharded,
            is_plain: codec_description
                .as_ref()
                .is_some_and(|description| codec::is_plain(description)),
            codec_description,
            codecs,
            array,
        })
    }

    /// Returns the type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the shape of the array.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the shape of a shard. Shards at the array's end also have this shape, although they extend beyond the
    /// end.
    pub fn shard(&self) -> &[usize] {
        &self.shard
    }

    /// Returns the shape of a chunk. It equals the shape of a shard if the array is not sharded.
    pub(crate) fn chunk(&self) -> &[usize] {
        &self.chunk
    }

    /// Returns the size of a decoded chunk in bytes.
    pub(crate) fn chunk_bytes(&self) -> usize {
        product(&self.chunk) * self.dtype.size()
    }

    /// Returns whether the elements of a chunk are stored as in memory, without compression.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Returns whether a source chunk with the shape of this array's chunks can be copied in its stored form, and
    /// copying it is cheaper than encoding it.
    pub(crate) fn stores_like(&self, source: &Source) -> bool {
        !self.is_plain
            && self.codec_description.is_some()
            && self.codec_description.as_deref() == source.codec_description()
    }

    /// Returns the size of a decoded shard in bytes.
    pub fn shard_bytes(&self) -> usize {
        product(&self.shard) * self.dtype.size()
    }

    /// Returns the number of shards in each dimension.
    pub fn grid(&self) -> Vec<usize> {
        grid(&self.shape, &self.shard)
    }

    /// Returns the bytes of the fill value, for missing elements and for elements beyond the array's end.
    pub(crate) fn fill(&self) -> &[u8] {
        self.array.fill_value().as_ne_bytes()
    }

    pub(crate) fn place(&self) -> Arc<dyn Place> {
        self.array.storage().place().clone()
    }

    /// Returns the key of the shard at these coordinates of the grid.
    pub fn key(&self, at: &[usize]) -> String {
        let at: Vec<u64> = at.iter().map(|&at| at as u64).collect();
        self.array.chunk_key(&at).as_str().to_owned()
    }

    /// Returns whether the job with this id has written a shard.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn has_written(&self, at: &[usize], job_id: &str) -> Result<bool, Error> {
        let key = self.key(at);
        let written = self.place().written_by(std::slice::from_ref(&key), job_id);
        let written = written.map_err(|error| {
            Error::io(
                format_args!("cannot read {}", self.place().name(&key)),
                &error,
            )
        })?;
        Ok(written == [true])
    }

    /// Writes an encoded shard for the job with this id, as a whole or not at all.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], including if the job is over.
    pub fn write(&self, at: &[usize], encoded: &[u8], job_id: &str) -> Result<(), Error> {
        let key = self.key(at);
        self.place().write(&key, encoded, job_id).map_err(|error| {
            Error::io(
                format_args!("cannot write {}", self.place().name(&key)),
                &error,
            )
        })
    }
}
