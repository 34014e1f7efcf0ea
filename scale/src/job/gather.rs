//! Gathers the elements of one shard.

use super::{
    copy::{Dim, copy_box, for_each_run},
    device::Device,
    indices::IndexArray,
    walk::{self, AxisWalk},
};
use crate::zarr::{
    Error, Reader, Source,
    allocate::{Purpose, reserve},
    coordinates, grid, product, strides,
};
use std::{iter, ops::Range};
use wgslice::{Plan, SliceSpec, spec::SliceItem};

/// A gather that reads `params` chunk by chunk. The tuples of a shard are sorted by the chunk that they point into, so
/// that a shard's task reads each chunk once.
///
/// A batch dimension of `params` is treated like an indexed dimension whose index is the tuple's position in that
/// dimension of the result.
#[derive(Debug)]
pub(super) struct Gather {
    plan: Plan,
    indices: IndexArray,
    /// For each dimension of `indices`, the dimension of the result that it becomes. A last dimension that holds the
    /// integers of each tuple has no entry.
    tuple_dims: Vec<usize>,
    /// The number of batch dimensions. They come first in `params`, in `indices` and in the result.
    batch_rank: usize,
    /// The dimensions of `params` that the tuples index.
    indexed_dims: Range<usize>,
    /// The dimensions of `params` that are neither batch dimensions nor indexed, each with the dimension of the result
    /// that it becomes.
    slice_dims: Vec<(usize, usize)>,
}

/// The tuples of a box of the result. A tuple has a position in each located dimension of `params`: the batch
/// dimensions and the indexed dimensions.
pub(super) struct BoxTuples {
    /// A pair for each tuple that is in range, in ascending order: the number of the tuple's chunk in the grid of the
    /// located dimensions, and the tuple's number.
    chunk_tuple_pairs: Vec<(usize, usize)>,
    /// For each tuple, its position in each located dimension. The positions in indexed dimensions are meaningless if
    /// the tuple is out of range.
    positions: Vec<usize>,
    /// The numbers of the tuples that are out of range.
    invalid_tuples: Vec<usize>,
    /// For each tuple, the offset of its slice in the shard, in elements.
    slice_offsets: Vec<usize>,
}

/// Describes the list of a shard's index tuples in errors about memory.
const TUPLES_PURPOSE: Purpose<&str> = Purpose {
    content: "the list of a shard's index tuples",
    way_out: "make smaller shards with --shard",
};

impl Gather {
    /// Makes a gather along dimension `axis` of `params`. `params` has `rank` dimensions; the first `batch_rank` of
    /// them are batch dimensions.
    pub(super) fn along(
        plan: Plan,
        indices: IndexArray,
        axis: usize,
        batch_rank: usize,
        rank: usize,
    ) -> Self {
        let index_rank = indices.shape().len() - batch_rank;
        let tuple_dims = (0..batch_rank).chain(axis..axis + index_rank).collect();
        let outer = (batch_rank..axis).map(|dim| (dim, dim));
        let inner = (axis + 1..rank).map(|dim| (dim, dim + index_rank - 1));
        Self {
            plan,
            indices,
            tuple_dims,
            batch_rank,
            indexed_dims: axis..axis + 1,
            slice_dims: outer.chain(inner).collect(),
        }
    }

    /// Makes a gather of the slices that tuples select in `params`. `params` has `rank` dimensions; the first
    /// `batch_rank` of them are batch dimensions.
    pub(super) fn nd(plan: Plan, indices: IndexArray, batch_rank: usize, rank: usize) -> Self {
        let shape = indices.shape();
        let (tuple_rank, depth) = (shape.len() - 1, shape[shape.len() - 1]);
        let slice_dims =
            (batch_rank + depth..rank).map(|dim| (dim, dim - batch_rank - depth + tuple_rank));
        Self {
            plan,
            tuple_dims: (0..tuple_rank).collect(),
            batch_rank,
            indexed_dims: batch_rank..batch_rank + depth,
            slice_dims: slice_dims.collect(),
            indices,
        }
    }

    pub(super) fn indices(&self) -> &IndexArray {
        &self.indices
    }

    /// Returns each dimension of `params` that is neither a batch dimension nor indexed, with the dimension of the
    /// result that it becomes.
    pub(super) fn slice_dims(&self) -> &[(usize, usize)] {
        &self.slice_dims
    }

    /// Returns the dimensions of the result that come from `indices`.
    pub(super) fn tuple_dims(&self) -> &[usize] {
        &self.tuple_dims
    }

    /// Returns the dimensions of `params` that the tuples index.
    pub(super) fn indexed_dims(&self) -> Range<usize> {
        self.indexed_dims.clone()
    }

    /// Returns the dimensions of `params` in which a tuple has a position: the batch dimensions, then the indexed
    /// dimensions.
    pub(super) fn located_dims(&self) -> impl Iterator<Item = usize> {
        (0..self.batch_rank).chain(self.indexed_dims.clone())
    }

    /// Returns the number of bytes of memory for the tuples of a box of the result with this shape.
    pub(super) fn tuple_bytes(&self, shape: &[usize]) -> usize {
        let count: usize = self.tuple_dims.iter().map(|&dim| shape[dim]).product();
        // The number of words for each tuple: its indices twice, as read and relative to the part of the source that
        // the box needs; its positions; 2 in `chunk_tuple_pairs`; 1 in `slice_offsets`; and 1 in `invalid_tuples`.
        let words_per_tuple = 2 * self.indexed_dims.len() + self.located_dims().count() + 4;
        count.saturating_mul(words_per_tuple * size_of::<usize>())
    }

    pub(super) fn tuples(
        &self,
        source: &Source,
        result_box: &[Range<usize>],
        shard_shape: &[usize],
    ) -> Result<BoxTuples, Error> {
        let index_ranges = self.plan.part_of_indices(result_box)?;
        let indices = self.indices.read(&index_ranges)?;
        let part = self.plan.part(result_box, Some((&indices).into()))?;
        drop(indices);
        let tuple_ranges: Vec<Range<usize>> = self
            .tuple_dims
            .iter()
            .map(|&dim| result_box[dim].clone())
            .collect();
        let counts: Vec<usize> = tuple_ranges.iter().map(Range::len).collect();
        let shard_strides = strides(shard_shape);
        let depth = self.indexed_dims.len();
        let located_dims: Vec<usize> = self.located_dims().collect();
        let chunk_sizes: Vec<usize> = located_dims
            .iter()
            .map(|&dim| source.chunk()[dim])
            .collect();
        let shape: Vec<usize> = located_dims
            .iter()
            .map(|&dim| source.shape()[dim])
            .collect();
        let chunk_strides = strides(&grid(&shape, &chunk_sizes));
        let count = product(&counts);
        let mut tuples = BoxTuples {
            chunk_tuple_pairs: Vec::new(),
            positions: Vec::new(),
            invalid_tuples: Vec::new(),
            slice_offsets: Vec::new(),
        };
        reserve(&mut tuples.chunk_tuple_pairs, count, TUPLES_PURPOSE)?;
        reserve(
            &mut tuples.positions,
            count.saturating_mul(located_dims.len()),
            TUPLES_PURPOSE,
        )?;
        reserve(&mut tuples.slice_offsets, count, TUPLES_PURPOSE)?;
        for number in 0..count {
            let at = coordinates(number, &counts);
            let slice_start = at.iter().zip(&self.tuple_dims);
            tuples
                .slice_offsets
                .push(slice_start.map(|(at, &dim)| at * shard_strides[dim]).sum());
            let tuple = &part.indices[number * depth..][..depth];
            let batch_positions = tuple_ranges.iter().zip(&at).take(self.batch_rank);
            let batch_positions = batch_positions.map(|(range, at)| range.start + at);
            let indexed_positions = tuple.iter().zip(&part.source[self.indexed_dims.clone()]);
            let indexed_positions = indexed_positions
                .map(|(&index, range)| range.start.wrapping_add_signed(index as isize));
            tuples
                .positions
                .extend(batch_positions.chain(indexed_positions));
            if tuple.contains(&-1) {
                tuples.invalid_tuples.push(number);
                continue;
            }
            let positions = &tuples.positions[number * located_dims.len()..];
            let chunk = positions.iter().zip(&chunk_sizes).zip(&chunk_strides);
            let chunk_number = chunk.map(|((at, size), stride)| at / size * stride).sum();
            tuples.chunk_tuple_pairs.push((chunk_number, number));
        }
        tuples.chunk_tuple_pairs.sort_unstable();
        Ok(tuples)
    }

    /// Returns, for each dimension in `slice_dims`, the segments of the box `result_box`: one for each chunk of
    /// `params` that the box needs along this dimension.
    fn segments(&self, source: &Source, result_box: &[Range<usize>]) -> Vec<Vec<walk::Segment>> {
        let slice_dims = self.slice_dims.iter();
        slice_dims
            .map(|&(dim, to)| AxisWalk::whole(to).segments(result_box, source.chunk()[dim]))
            .collect()
    }

    /// Calls `each` with the coordinates of every chunk of `params` that a box of the result needs, once for each
    /// chunk.
    pub(super) fn for_each_chunk(
        &self,
        source: &Source,
        result_box: &[Range<usize>],
        shard_shape: &[usize],
        mut each: impl FnMut(&[usize]),
    ) -> Result<(), Error> {
        let tuples = self.tuples(source, result_box, shard_shape)?;
        let chunks = self.chunks_to_read(source, result_box, &tuples);
        chunks.iter().for_each(|at| each(at));
        Ok(())
    }

    /// Returns the coordinates of every chunk of `params` that a box of the result needs, in the order in which they
    /// are read.
    pub(super) fn chunks_to_read(
        &self,
        source: &Source,
        result_box: &[Range<usize>],
        tuples: &BoxTuples,
    ) -> Vec<Vec<usize>> {
        let segments = self.segments(source, result_box);
        let mut chunks = Vec::new();
        for group in tuples.chunk_tuple_pairs.chunk_by(|a, b| a.0 == b.0) {
            // The closure never fails.
            let _ = walk::product(&segments, |segments| {
                chunks.push(self.chunk_coordinates(source, tuples, group[0].1, segments));
                Ok(())
            });
        }
        chunks
    }

    /// Returns the coordinates of the chunk that contains the positions of tuple `number` and one segment of each
    /// dimension in `slice_dims`.
    fn chunk_coordinates(
        &self,
        source: &Source,
        tuples: &BoxTuples,
        number: usize,
        segments: &[walk::Segment],
    ) -> Vec<usize> {
        let mut at = vec![0; source.chunk().len()];
        let located_dims: Vec<usize> = self.located_dims().collect();
        let positions = &tuples.positions[number * located_dims.len()..];
        for (&dim, position) in located_dims.iter().zip(positions) {
            at[dim] = position / source.chunk()[dim];
        }
        for (&(dim, _), segment) in self.slice_dims.iter().zip(segments) {
            at[dim] = segment.chunk;
        }
        at
    }

    /// Gathers a box of the result and writes it to the beginning of `shard`, an array with shape `shape`. The slices
    /// of tuples out of range become zeros. Returns the number of these tuples if their slices begin in this box,
    /// otherwise 0.
    pub(super) fn fill(
        &self,
        source: &Source,
        reader: &mut Reader<'_>,
        device: &Device<'_>,
        (result_box, tuples): (&[Range<usize>], &BoxTuples),
        (shard, shape): (&mut [u8], &[usize]),
    ) -> Result<u64, Error> {
        let segments = self.segments(source, result_box);
        let located_dims: Vec<usize> = self.located_dims().collect();
        let element_bytes = source.dtype().size();
        let shard_strides = strides(shape);
        let order: Vec<usize> = located_dims
            .iter()
            .copied()
            .chain(self.slice_dims.iter().map(|&(dim, _)| dim))
            .collect();
        let mut local_tuples = Vec::new();
        for group in tuples.chunk_tuple_pairs.chunk_by(|a, b| a.0 == b.0) {
            local_tuples.clear();
            for &(_, number) in group {
                let positions = &tuples.positions[number * located_dims.len()..];
                let positions = positions.iter().zip(&located_dims);
                local_tuples.extend(positions.map(|(at, &dim)| (at % source.chunk()[dim]) as i64));
            }
            walk::product(&segments, |segments| {
                let at = self.chunk_coordinates(source, tuples, group[0].1, segments);
                let chunk = reader.chunk(&at)?;
                let mut items = vec![SliceItem::from(..); at.len()];
                let mut dims = Vec::with_capacity(segments.len());
                let counts: Vec<usize> = segments.iter().map(|segment| segment.count).collect();
                let row_strides = strides(&counts);
                let mut to = 0;
                for ((&(dim, result_dim), segment), from) in
                    self.slice_dims.iter().zip(segments).zip(row_strides)
                {
                    items[dim] = (segment.begin..segment.begin + segment.count).into_item();
                    to += segment.result_index * shard_strides[result_dim];
                    dims.push(Dim {
                        size: segment.count,
                        from: from.cast_signed(),
                        to: shard_strides[result_dim],
                    });
                }
                let tuples_shape = [group.len(), located_dims.len()];
                let spec = (&SliceSpec::new(items), &order[..]);
                let rows = device.gather(
                    chunk,
                    source.dtype(),
                    source.chunk(),
                    spec,
                    (&local_tuples, tuples_shape),
                )?;
                let rows = rows.bytes()?;
                let mut runs = Vec::new();
                for_each_run((0, 0), dims, element_bytes, |from, to, length| {
                    runs.push((from, to, length))
                });
                let row_bytes = product(&counts) * element_bytes;
                for (number, &(_, tuple)) in group.iter().enumerate() {
                    let (row, to) = (
                        &rows[number * row_bytes..][..row_bytes],
                        (tuples.slice_offsets[tuple] + to) * element_bytes,
                    );
                    for &(from, run_to, length) in &runs {
                        shard[to + run_to..][..length].copy_from_slice(&row[from..][..length]);
                    }
                }
                Ok(())
            })?;
        }
        self.clear(tuples, result_box, (shard, shape), element_bytes);
        // Each tuple is counted once, in the shard with the start of its slice.
        let has_slice_starts = self
            .slice_dims
            .iter()
            .all(|&(_, dim)| result_box[dim].start == 0);
        Ok(if has_slice_starts {
            tuples.invalid_tuples.len() as u64
        } else {
            0
        })
    }

    /// Writes zeros to the slices of the tuples that are out of range.
    fn clear(
        &self,
        tuples: &BoxTuples,
        result_box: &[Range<usize>],
        (shard, shape): (&mut [u8], &[usize]),
        element_bytes: usize,
    ) {
        if tuples.invalid_tuples.is_empty() {
            return;
        }
        let shard_strides = strides(shape);
        let counts: Vec<usize> = self
            .slice_dims
            .iter()
            .map(|&(_, dim)| result_box[dim].len())
            .collect();
        let zeros = vec![0; product(&counts) * element_bytes];
        let slice_dims = self
            .slice_dims
            .iter()
            .zip(iter::zip(&counts, strides(&counts)));
        let dims: Vec<_> = slice_dims
            .map(|(&(_, dim), (&size, from))| Dim {
                size,
                from: from.cast_signed(),
                to: shard_strides[dim],
            })
            .collect();
        for &number in &tuples.invalid_tuples {
            let to = tuples.slice_offsets[number];
            copy_box(
                (&zeros, 0),
                (shard, to),
                dims.iter().copied(),
                element_bytes,
            );
        }
    }
}

trait IntoItem {
    fn into_item(self) -> SliceItem;
}

impl IntoItem for Range<usize> {
    fn into_item(self) -> SliceItem {
        SliceItem::Range {
            begin: Some(self.start as i64),
            end: Some(self.end as i64),
            stride: 1,
        }
    }
}
