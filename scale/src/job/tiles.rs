//! A shard that is being made. Its decoded chunks are consecutive in memory, and each is encoded from there. Chunks
//! whose stored form is the same as in memory are not encoded.

use super::{
    copy::{Dim, copy_box},
    walk,
};
use crate::zarr::{
    Buffer, Error, SHARD_PURPOSE, Target, Tile, allocate::reserve, coordinates, grid, product,
    strides,
};
use std::ops::Range;

/// The decoded chunks of a shard.
pub(super) struct Tiles<'a> {
    target: &'a Target,
    bytes: &'a mut Buffer,
    /// The way in which each chunk is stored.
    pub(super) tiles: Vec<Tile>,
}

/// One dimension of a box that is copied to a shard. `first` is the box's first position in the shard, and `size` is
/// its size. `from` is the distance in elements between neighbouring positions of this dimension in the array that is
/// read.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoxDim {
    pub(super) from: isize,
    pub(super) first: usize,
    pub(super) size: usize,
}

/// The part of one dimension of a box that is in one chunk.
#[derive(Clone, Copy)]
struct SidePiece {
    /// The contribution of this dimension to the index of the chunk in the shard.
    tile: usize,
    /// The contribution of this dimension to the offset of the piece in the array that is read, in elements from the
    /// box's first element.
    from: isize,
    /// The contribution of this dimension to the offset of the piece in the chunk, in elements.
    to: usize,
    dim: Dim,
}

impl<'a> Tiles<'a> {
    /// Begins a shard in `bytes`. `result_box` is the part of the result in this shard; its elements are arbitrary
    /// until they are written. Elements beyond the array's end have the fill value. Chunks beyond the end are not
    /// stored, and no memory is touched for them.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] if the shard does not fit into memory.
    pub(super) fn new(
        target: &'a Target,
        bytes: &'a mut Buffer,
        result_box: &[Range<usize>],
    ) -> Result<Self, Error> {
        resize(bytes, target)?;
        let grid = grid(target.shard(), target.chunk());
        let (chunk_count, chunk_bytes) = (product(&grid), target.chunk_bytes());
        let mut tiles = Vec::new();
        reserve(&mut tiles, chunk_count, SHARD_PURPOSE)?;
        for number in 0..chunk_count {
            let at = coordinates(number, &grid);
            let dims = at.iter().zip(target.chunk()).zip(result_box);
            let size_inside = |((at, chunk), range): ((&usize, &usize), &Range<usize>)| {
                range.len().saturating_sub(at * chunk).min(*chunk)
            };
            let sizes: Vec<usize> = dims.map(size_inside).collect();
            if sizes.contains(&0) && chunk_count > 1 {
                tiles.push(Tile::Missing);
                continue;
            }
            if sizes != target.chunk() {
                clear(
                    &mut bytes[number * chunk_bytes..][..chunk_bytes],
                    target.fill(),
                );
            }
            tiles.push(Tile::Decoded);
        }
        Ok(Self {
            target,
            bytes,
            tiles,
        })
    }

    /// Returns the index of the chunk that a box fills, or `None` if the box is not exactly one chunk.
    pub(super) fn whole_chunk(&self, sides: &[BoxDim]) -> Option<usize> {
        let chunk = self.target.chunk();
        let grid_strides = strides(&grid(self.target.shard(), chunk));
        let sides = sides.iter().zip(chunk).zip(grid_strides);
        let numbers = sides.map(|((side, &chunk), stride)| {
            let is_whole = side.size == chunk && side.first % chunk == 0;
            is_whole.then_some(side.first / chunk * stride)
        });
        numbers.sum()
    }

    /// Writes a box to the beginning of the shard. `fill` gets an array with the shard's shape, and writes the box to
    /// its beginning. If the shard has several chunks, the array is `rows`. The box is then copied from `rows` to the
    /// chunks.
    pub(super) fn fill_row_major(
        &mut self,
        ranges: &[Range<usize>],
        rows: &mut Buffer,
        fill: impl FnOnce(&mut [u8], &[usize]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let shard = self.target.shard();
        if self.tiles.len() == 1 {
            return fill(self.bytes, shard);
        }
        resize(rows, self.target)?;
        fill(rows, shard)?;
        let sides = ranges.iter().zip(strides(shard));
        let sides: Vec<_> = sides
            .map(|(range, from)| BoxDim {
                from: from.cast_signed(),
                first: 0,
                size: range.len(),
            })
            .collect();
        self.copy((rows, 0), &sides)
    }

    /// Encodes the shard to `image` on up to `threads` threads, replacing its content.
    pub(super) fn encode(mut self, image: &mut Buffer, threads: usize) -> Result<(), Error> {
        let tiles = &mut self.tiles[..];
        self.target.encode(self.bytes, tiles, image, threads)
    }

    /// Returns the bytes of a chunk.
    pub(super) fn tile_mut(&mut self, number: usize) -> &mut [u8] {
        let chunk_bytes = self.target.chunk_bytes();
        &mut self.bytes[number * chunk_bytes..][..chunk_bytes]
    }

    /// Copies a box to the shard. `sides` describes the box, whose first element is element `from` of `source`.
    pub(super) fn copy(
        &mut self,
        (source, from): (&[u8], usize),
        sides: &[BoxDim],
    ) -> Result<(), Error> {
        let chunk = self.target.chunk();
        let grid_strides = strides(&grid(self.target.shard(), chunk));
        let chunk_strides = strides(chunk);
        let pieces = sides
            .iter()
            .zip(chunk)
            .zip(grid_strides.iter().zip(chunk_strides));
        let pieces =
            pieces.map(|((side, &chunk), (&tile, stride))| side.pieces(chunk, tile, stride));
        let pieces: Vec<_> = pieces.collect();
        let (tile_bytes, element_bytes) = (self.target.chunk_bytes(), self.target.dtype().size());
        walk::product(&pieces, |pieces| {
            let sum = |part: fn(&SidePiece) -> usize| pieces.iter().map(part).sum::<usize>();
            let tile = &mut self.bytes[sum(|piece| piece.tile) * tile_bytes..][..tile_bytes];
            let read_offset: isize = pieces.iter().map(|piece| piece.from).sum();
            let starts = (from.wrapping_add_signed(read_offset), sum(|piece| piece.to));
            let dims = pieces.iter().map(|piece| piece.dim);
            copy_box((source, starts.0), (tile, starts.1), dims, element_bytes);
            Ok(())
        })
    }
}

/// Gives a buffer the length of a decoded shard, and the capacity for an encoded one, which can be longer.
fn resize(bytes: &mut Buffer, target: &Target) -> Result<(), Error> {
    bytes.reset(target.shard_bytes(), target.buffer_bytes(), SHARD_PURPOSE)
}

/// Sets all elements to the fill value.
fn clear(elements: &mut [u8], fill: &[u8]) {
    if let [byte, rest @ ..] = fill
        && rest.iter().all(|other| other == byte)
    {
        return elements.fill(*byte);
    }
    for element in elements.chunks_exact_mut(fill.len()) {
        element.copy_from_slice(fill);
    }
}

impl BoxDim {
    /// Splits this dimension at the borders of chunks of size `chunk`. The indices of neighbouring chunks differ by
    /// `tile`, and neighbouring elements in a chunk are `stride` elements apart.
    fn pieces(&self, chunk: usize, tile: usize, stride: usize) -> Vec<SidePiece> {
        let mut pieces = Vec::new();
        let mut offset = 0;
        while offset < self.size {
            let at = self.first + offset;
            let size = (chunk - at % chunk).min(self.size - offset);
            pieces.push(SidePiece {
                tile: at / chunk * tile,
                from: self.from.wrapping_mul(offset.cast_signed()),
                to: at % chunk * stride,
                dim: Dim {
                    size,
                    from: self.from,
                    to: stride,
                },
            });
            offset += size;
        }
        pieces
    }
}
