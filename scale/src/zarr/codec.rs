//! Chooses the codecs of the chunks of a new store, and compares the codecs of two stores.

use super::numcodecs::PREFIX;
use serde_json::{Value, json};
use wgslice::DType;
use zarrs::array::{Array, CodecChain, CodecMetadataOptions};

/// How the chunks of a new store are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Chunks are not compressed.
    None,
    /// gzip at level 5.
    Gzip,
    /// Zstandard at level 3.
    Zstd,
    /// Blosc with LZ4 at level 5. Bytes are shuffled if elements have more than one byte.
    Blosc,
}

impl Codec {
    /// Returns the codec that is closest to the codecs of a store's chunks. Compression other than deflate and Blosc
    /// counts as Zstandard. Checksums and shuffles are ignored.
    pub(super) fn closest_to(codecs: &CodecChain) -> Self {
        let metadata = codecs.create_metadatas(&CodecMetadataOptions::default());
        let names = metadata.iter().map(|codec| codec.name());
        let deflate_or_blosc = names.clone().find_map(|name| match name {
            "gzip" | "zlib" | "numcodecs.zlib" => Some(Self::Gzip),
            "blosc" => Some(Self::Blosc),
            _ => None,
        });
        let not_compressing = ["adler32", "crc32", "crc32c", "fletcher32", "shuffle"];
        let compresses =
            |name: &str| !not_compressing.contains(&name.strip_prefix(PREFIX).unwrap_or(name));
        // The codecs before the bytes-to-bytes codecs do not compress.
        let bytes_codec_count = codecs.bytes_to_bytes_codecs().len();
        match deflate_or_blosc {
            Some(codec) => codec,
            None if names.rev().take(bytes_codec_count).any(compresses) => Self::Zstd,
            None => Self::None,
        }
    }

    /// Returns the codecs of a chunk as a list for `zarr.json`, without sharding.
    pub(super) fn metadata(self, dtype: DType) -> Vec<Value> {
        let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
        let compressor = match self {
            Self::None => return vec![bytes],
            Self::Gzip => json!({"name": "gzip", "configuration": {"level": 5}}),
            Self::Zstd => {
                json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}})
            }
            Self::Blosc => {
                let shuffle = if dtype.size() == 1 {
                    "noshuffle"
                } else {
                    "shuffle"
                };
                json!({"name": "blosc", "configuration": {
                    "cname": "lz4", "clevel": 5, "shuffle": shuffle,
                    "typesize": dtype.size(), "blocksize": 0
                }})
            }
        };
        vec![bytes, compressor]
    }
}

/// The division of shards into chunks.
#[derive(Debug)]
pub(super) struct Sharding {
    /// The codecs of the chunks within a shard.
    pub(super) chunk_codecs: CodecChain,
    /// The codecs of the index.
    pub(super) index_codecs: CodecChain,
    /// True if the index is at the end of a shard, instead of at its beginning.
    pub(super) index_is_at_end: bool,
}

/// Returns how the shards of an array are divided and encoded, or `None` if the array is not sharded, if other codecs
/// encode the shard as a whole, or if the codecs cannot be parsed.
pub(super) fn sharding<S: ?Sized>(array: &Array<S>) -> Option<Sharding> {
    let codecs = array.codecs();
    if !codecs.array_to_array_codecs().is_empty() || !codecs.bytes_to_bytes_codecs().is_empty() {
        return None;
    }
    let metadata = codecs.create_metadatas(&CodecMetadataOptions::default());
    let [sharding] = &metadata[..] else {
        return None;
    };
    let configuration = serde_json::to_value(sharding.configuration()?).ok()?;
    let chain = |field: &str| {
        let codecs = configuration.get(field)?.clone();
        let codecs: Vec<zarrs::metadata::v3::MetadataV3> = serde_json::from_value(codecs).ok()?;
        CodecChain::from_metadata(&codecs).ok()
    };
    Some(Sharding {
        chunk_codecs: chain("codecs")?,
        index_codecs: chain("index_codecs")?,
        index_is_at_end: configuration
            .get("index_location")
            .is_none_or(|place| place == "end"),
    })
}

/// Describes how a chain of codecs encodes a chunk. Chains with the same description can decode each other's bytes, and
/// compress equally well. `None` if a codec such as a transpose changes the array before it becomes bytes, or if a
/// codec has no description.
pub(super) fn description(codecs: &CodecChain, dtype: DType) -> Option<Vec<Value>> {
    let metadata = codecs.create_metadatas(&CodecMetadataOptions::default());
    // A codec without a configuration has no entry in the metadata.
    let has_all_codecs = metadata.len() == 1 + codecs.bytes_to_bytes_codecs().len();
    if !has_all_codecs || !codecs.array_to_array_codecs().is_empty() {
        return None;
    }
    let descriptions = metadata.iter().map(|codec| {
        let mut configuration = serde_json::to_value(codec.configuration()?).ok()?;
        match codec.name() {
            // An element of one byte has no byte order.
            "bytes" if dtype.size() == 1 => configuration = Value::Null,
            // Level 0 is Zstandard's name for its default level, which is 3.
            "zstd" if configuration["level"] == 0 => configuration["level"] = json!(3),
            _ => {}
        }
        Some(json!([codec.name(), configuration]))
    });
    descriptions.collect()
}

/// Returns whether chunks with this description are stored exactly as this machine holds their elements in memory.
pub(super) fn is_plain(description: &[Value]) -> bool {
    let endian = if cfg!(target_endian = "little") {
        "little"
    } else {
        "big"
    };
    let bytes_codec = |configuration| json!(["bytes", configuration]);
    *description == [bytes_codec(json!({"endian": endian}))]
        || *description == [bytes_codec(Value::Null)]
}

/// Returns whether Blosc is the only compression in this description, so that a part of a chunk can be decoded.
pub(super) fn is_blosc(description: &[Value]) -> bool {
    let [bytes @ .., blosc] = description else {
        return false;
    };
    blosc[0] == "blosc" && is_plain(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_compressed_like_its_source() {
        let closest = |codecs: &[Value]| {
            let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
            let codecs: Vec<_> = [&[bytes], codecs].concat();
            let metadata: Vec<zarrs::metadata::v3::MetadataV3> =
                serde_json::from_value(Value::from(codecs)).unwrap();
            Codec::closest_to(&CodecChain::from_metadata(&metadata).unwrap())
        };
        let checksum = json!({"name": "crc32c"});
        let gzip = json!({"name": "gzip", "configuration": {"level": 1}});
        let zstd = json!({"name": "zstd", "configuration": {"level": 1, "checksum": false}});
        assert_eq!(closest(&[]), Codec::None);
        assert_eq!(closest(std::slice::from_ref(&checksum)), Codec::None);
        assert_eq!(closest(&[gzip, checksum.clone()]), Codec::Gzip);
        assert_eq!(closest(&[zstd, checksum]), Codec::Zstd);
    }
}
