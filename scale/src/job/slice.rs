//! Slices the elements of one shard.

use super::{
    device::Device,
    tiles::{Side, Tiles},
    walk::{self, Segment, Walk},
};
use crate::zarr::{Cache, Error, Reader, Source, Target, strides};
use std::ops::Range;
use wgslice::{Plan, SliceSpec, spec::SliceItem};

/// A slice that is made chunk by chunk: a chunk of the source is read, and its elements are copied to their places in
/// the result. A task reads only chunks that have elements of its shard, and decodes one at a time.
#[derive(Debug)]
pub(super) struct Slice {
    walks: Vec<Walk>,
}

impl Slice {
    pub(super) fn new(plan: &Plan, source: &Source) -> Result<Self, Error> {
        let walks = walk::of_slice(plan, source.shape().len())?;
        Ok(Self { walks })
    }

    pub(super) fn walks(&self) -> &[Walk] {
        &self.walks
    }

    /// Returns the number of shards that need the chunk in which `segments` lie. `result` is the box of one of these
    /// shards.
    fn readers(
        &self,
        segments: &[Segment],
        source: &Source,
        target: &Target,
        result: &[Range<usize>],
    ) -> usize {
        let walks = self.walks.iter().zip(segments).zip(source.chunk());
        let readers = walks.filter_map(|((walk, segment), &chunk)| {
            let dim = walk.dim?;
            let sizes = (target.shape()[dim], target.shard()[dim]);
            Some(walk.readers(segment, result[dim].start, chunk, sizes))
        });
        readers.product()
    }

    /// Writes a box of the result to the beginning of a shard. Returns the number of the source's chunks whose stored
    /// bytes become chunks of the result as they are.
    pub(super) fn fill(
        &self,
        source: &Source,
        reader: &mut Reader<'_>,
        to: (&Target, &Cache),
        device: &Device<'_>,
        result: &[Range<usize>],
        tiles: &mut Tiles<'_>,
    ) -> Result<u64, Error> {
        let (target, cache) = to;
        let chunk_strides = strides(source.chunk());
        let walks = self.walks.iter().zip(source.chunk());
        let segments: Vec<_> = walks
            .map(|(walk, &chunk)| walk.segments(result, chunk))
            .collect();
        let sides = |segments: &[Segment], strides: &[usize]| -> Vec<Side> {
            let one = Side {
                from: 0,
                first: 0,
                size: 1,
            };
            let mut sides = vec![one; result.len()];
            for ((walk, segment), &from) in self.walks.iter().zip(segments).zip(strides) {
                if let Some(dim) = walk.dim {
                    sides[dim] = Side {
                        from,
                        first: segment.first,
                        size: segment.count,
                    };
                }
            }
            sides
        };
        let same_codecs = target.stores_like(source);
        let mut copied = 0;
        walk::product(&segments, |segments| {
            let at: Vec<usize> = segments.iter().map(|segment| segment.chunk).collect();
            let users = self.readers(segments, source, target, result);
            let mut sizes = segments.iter().zip(source.chunk());
            let is_whole = sizes
                .all(|(segment, &size)| segment.count == size && (size == 1 || segment.step == 1));
            if is_whole || is_box(segments) {
                let sides = sides(segments, &chunk_strides);
                let from = segments.iter().zip(&chunk_strides);
                let from = from.map(|(segment, stride)| segment.begin * stride).sum();
                let tile = tiles.whole(&sides).filter(|_| is_whole && same_codecs);
                let Some(tile) = tile else {
                    let chunk = reader.shared(cache, &at, users)?;
                    return tiles.copy((chunk.as_ref(), from), &sides);
                };
                let (chunk, stored) = reader.stored(&at)?;
                // A sharded result leaves out chunks in which all elements have the fill value, even those that the
                // source stores.
                if stored.is_none() || target.is_missing(chunk.as_ref()) {
                    return tiles.copy((chunk.as_ref(), from), &sides);
                }
                tiles.stored[tile] = stored;
                copied += 1;
                return Ok(());
            }
            let chunk = reader.shared(cache, &at, users)?;
            let spec: SliceSpec = segments.iter().map(item).collect();
            let sliced = device.slice(chunk, source.dtype(), source.chunk(), &spec)?;
            let counts: Vec<usize> = segments.iter().map(|segment| segment.count).collect();
            tiles.copy((&sliced.bytes()?, 0), &sides(segments, &strides(&counts)))
        })?;
        Ok(copied)
    }
}

/// Whether the elements are a box of the chunk, in the chunk's order and without gaps, with rows of more than one
/// element.
fn is_box(segments: &[Segment]) -> bool {
    let mut inner_to_outer = segments.iter().rev();
    let last = inner_to_outer.next();
    let is_run = |segment: &Segment| segment.count > 1 && segment.step == 1;
    last.is_none_or(is_run) && inner_to_outer.all(|segment| segment.count == 1 || segment.step == 1)
}

/// Writes the positions of a segment as the slice `begin:end:step`.
fn item(segment: &Segment) -> SliceItem {
    let begin = segment.begin.cast_signed();
    let last = begin + (segment.count.cast_signed() - 1) * segment.step;
    let end = last + segment.step.signum();
    SliceItem::Range {
        begin: Some(begin as i64),
        // The end is left out if it is -1, which would count from the chunk's end.
        end: (end >= 0).then_some(end as i64),
        stride: segment.step as i64,
    }
}
