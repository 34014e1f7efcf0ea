//! Encodes a shard to its stored bytes.

use super::{Buffer, Error, SHARD_PURPOSE, Target, product};
use std::{borrow::Cow, mem, panic, thread};
use zarrs::{
    array::{ArrayBytes, ArrayToBytesCodecTraits, CodecOptions},
    storage::Bytes,
};

/// The way in which a chunk of a shard is stored.
#[derive(Clone, Debug)]
pub(crate) enum Tile {
    /// The chunk's elements are encoded, or omitted if all have the fill value.
    Decoded,
    /// These bytes are stored as the chunk, unchanged.
    Stored(Bytes),
    /// The chunk is not stored, so that all its elements have the fill value.
    Missing,
}

impl Target {
    /// Encodes a shard to `image`, on up to `threads` threads. Afterwards, the content of `decoded` and `tiles` is
    /// unspecified.
    ///
    /// `decoded` has the elements of the shard, chunk by chunk, and `tiles` gives the way in which each chunk is
    /// stored.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] if the codec fails.
    pub(crate) fn encode(
        &self,
        decoded: &mut Buffer,
        tiles: &mut [Tile],
        image: &mut Buffer,
        threads: usize,
    ) -> Result<(), Error> {
        let lengths = if self.is_plain {
            mem::swap(decoded, image);
            self.pack(image, tiles)
        } else {
            image.reset(0, self.buffer_bytes(), SHARD_PURPOSE)?;
            let tiles_per_group = tiles.len().div_ceil(threads.max(1)).max(1);
            let groups = decoded.chunks(tiles_per_group * self.chunk_bytes());
            let mut groups = groups.zip(tiles.chunks_mut(tiles_per_group));
            let first_group = groups.next();
            thread::scope(|scope| {
                let other_groups = groups.map(|(decoded, tiles)| {
                    scope.spawn(move || {
                        let mut group_image = Buffer::default();
                        let lengths = self.encode_tiles(decoded, tiles, &mut group_image);
                        lengths.map(|lengths| (group_image, lengths))
                    })
                });
                let other_groups: Vec<_> = other_groups.collect();
                let mut lengths = match first_group {
                    Some((decoded, tiles)) => self.encode_tiles(decoded, tiles, image)?,
                    None => Vec::new(),
                };
                for group in other_groups {
                    let group = group.join();
                    let (group_image, group_lengths) =
                        group.unwrap_or_else(|panic| panic::resume_unwind(panic))?;
                    image.append(&group_image)?;
                    lengths.extend(group_lengths);
                }
                Ok::<_, Error>(lengths)
            })?
        };
        if self.is_sharded {
            push_index(image, &lengths)?;
        }
        Ok(())
    }

    /// Appends encoded chunks to an image. Returns the length of each in bytes, or `None` for a chunk that is not
    /// stored.
    fn encode_tiles(
        &self,
        decoded: &[u8],
        tiles: &mut [Tile],
        image: &mut Buffer,
    ) -> Result<Vec<Option<usize>>, Error> {
        let chunks = decoded.chunks(self.chunk_bytes()).zip(tiles);
        let lengths = chunks.map(|(elements, tile)| {
            match mem::replace(tile, Tile::Missing) {
                Tile::Stored(stored) => {
                    image.append(&stored)?;
                    return Ok(Some(stored.len()));
                }
                Tile::Decoded if !self.is_missing(elements) => {}
                Tile::Decoded | Tile::Missing => return Ok(None),
            }
            let encoded = self.encode_tile(elements)?;
            image.append(&encoded)?;
            Ok(Some(encoded.len()))
        });
        lengths.collect()
    }

    fn encode_tile<'a>(&self, tile: &'a [u8]) -> Result<Cow<'a, [u8]>, Error> {
        let encoded = self.codecs.encode(
            ArrayBytes::from(tile),
            &self.encoded_shape,
            self.array.data_type(),
            self.array.fill_value(),
            &CodecOptions::default().with_concurrent_target(1),
        );
        encoded.map_err(|error| {
            Error::data(format_args!(
                "cannot encode a shard of {}: {error}",
                self.path.display()
            ))
        })
    }

    /// Drops from an image of decoded chunks the chunks that will not be stored. Returns the same lengths as
    /// [`Target::encode_tiles`].
    fn pack(&self, image: &mut Buffer, tiles: &[Tile]) -> Vec<Option<usize>> {
        let chunk_bytes = self.chunk_bytes();
        let mut end = 0;
        let mut lengths = Vec::with_capacity(tiles.len());
        for (tile, begin) in tiles.iter().zip((0..image.len()).step_by(chunk_bytes)) {
            let range = begin..begin + chunk_bytes;
            if matches!(tile, Tile::Missing) || self.is_missing(&image[range.clone()]) {
                lengths.push(None);
                continue;
            }
            if begin != end {
                image.copy_within(range, end);
            }
            end += chunk_bytes;
            lengths.push(Some(chunk_bytes));
        }
        image.truncate(end);
        lengths
    }

    /// Returns whether a chunk with these elements is omitted from its shard because all of them have the fill value.
    /// Always `false` if the array is not sharded.
    pub(crate) fn is_missing(&self, tile: &[u8]) -> bool {
        let fill = self.fill();
        // The first element is the fill value, and each other element equals the one before it.
        self.is_sharded
            && tile.starts_with(fill)
            && tile[fill.len()..] == tile[..tile.len() - fill.len()]
    }

    /// Returns the size in bytes of a buffer for a shard, decoded or encoded.
    pub(crate) fn buffer_bytes(&self) -> usize {
        let (decoded_bytes, chunk_count) = (
            self.shard_bytes(),
            product(&self.shard) / product(&self.chunk),
        );
        // The decoded size, plus space for the index and for chunks that become longer when compressed.
        decoded_bytes
            .saturating_add(decoded_bytes / 128)
            .saturating_add(chunk_count.saturating_mul(64))
            .saturating_add(4)
    }
}

/// Appends the index of a shard, followed by a checksum. For each chunk, the index has the chunk's offset in the shard
/// and its length, in bytes. Both are [`u64::MAX`] for a chunk that is not stored. [`super::Layout::metadata`]
/// describes this form to readers.
fn push_index(image: &mut Buffer, lengths: &[Option<usize>]) -> Result<(), Error> {
    let begin = image.len();
    let mut end = 0_u64;
    for length in lengths {
        let mut entry = [u64::MAX; 2];
        if let Some(length) = length {
            entry = [end, *length as u64];
            end += entry[1];
        }
        image.append(&entry[0].to_le_bytes())?;
        image.append(&entry[1].to_le_bytes())?;
    }
    let checksum = crc32c::crc32c(&image[begin..]);
    image.append(&checksum.to_le_bytes())
}
