//! Reads the index of a shard, which records where its chunks are stored.
//!
//! `zarrs` also has a type for indexes, but it treats the entry of an omitted chunk as the position of a chunk.

use super::{Piece, codec::Sharding, source::chunk_shape};
use std::{borrow::Cow, fmt::Display};
use zarrs::{
    array::{
        ArrayToBytesCodecTraits, BytesRepresentation, ChunkShape, CodecOptions, FillValue,
        data_type,
    },
    storage::{Bytes, byte_range::ByteRange},
};

/// How the indexes of an array's shards are stored.
#[derive(Debug)]
pub(super) struct Layout {
    /// The shape of an index. For each chunk of a shard, in row-major order, an index has the offset and the length of
    /// the chunk's stored bytes.
    shape: ChunkShape,
    pub(super) place: Piece,
    pub(super) bytes: usize,
}

impl Layout {
    /// Describes the indexes of shards with this number of chunks in each dimension. Returns `None` if the stored
    /// length of an index is not fixed.
    pub(super) fn new(sharding: &Sharding, chunks: &[usize]) -> Option<Self> {
        let shape = chunk_shape(&[chunks, &[2]].concat()).ok()?;
        let (dtype, fill) = (data_type::uint64(), FillValue::from(u64::MAX));
        let length = sharding
            .index_codecs
            .encoded_representation(&shape, &dtype, &fill);
        let BytesRepresentation::FixedSize(length) = length.ok()? else {
            return None;
        };
        let place = if sharding.index_is_at_end {
            ByteRange::Suffix(length)
        } else {
            ByteRange::FromStart(0, Some(length))
        };
        Some(Self {
            shape,
            place: Piece::of_any(place),
            bytes: usize::try_from(length).ok()?,
        })
    }
}

/// The index of a shard. `None` if the shard is not stored.
pub(super) struct Index(Option<Vec<u8>>);

impl Index {
    /// Decodes the stored bytes of an index. `None` means that its shard is not stored.
    pub(super) fn decode(
        encoded: Option<Bytes>,
        sharding: &Sharding,
        layout: &Layout,
    ) -> Result<Self, Box<dyn Display>> {
        let Some(encoded) = encoded else {
            return Ok(Self(None));
        };
        let decoded = sharding.index_codecs.decode(
            Cow::Borrowed(&encoded),
            &layout.shape,
            &data_type::uint64(),
            &FillValue::from(u64::MAX),
            &CodecOptions::default().with_concurrent_target(1),
        );
        let decoded = decoded.map_err(boxed)?.into_fixed().map_err(boxed)?;
        Ok(Self(Some(decoded.into_owned())))
    }

    /// Returns the offset and the length, in bytes, of chunk `number`, or `None` if it is omitted.
    pub(super) fn place(&self, number: usize) -> Option<(u64, u64)> {
        let (words, _) = self.0.as_ref()?.as_chunks();
        let [offset, length] = [2 * number, 2 * number + 1].map(|at| words.get(at).copied());
        match (u64::from_ne_bytes(offset?), u64::from_ne_bytes(length?)) {
            (u64::MAX, u64::MAX) => None,
            place => Some(place),
        }
    }
}

fn boxed(error: impl Display + 'static) -> Box<dyn Display> {
    Box::new(error)
}
