//! One shard of a slice.

use super::{
    copy::{Dim, copy_box},
    device::Device,
    walk::{self, Segment, Walk},
};
use crate::zarr::{Cache, Error, Reader, Source, Target, strides};
use std::ops::Range;
use wgslice::{Plan, SliceSpec, spec::SliceItem};

/// A slice that is made chunk by chunk of the source: each chunk is read, and what the result has of it goes to its
/// place. So no chunk is read of which the result has nothing, and a task holds one chunk at a time.
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

    /// The number of shards that have elements of a chunk.
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

    /// Writes a box of the result to the beginning of a shard.
    pub(super) fn fill(
        &self,
        source: &Source,
        reader: &mut Reader<'_>,
        to: (&Target, &Cache),
        device: &Device,
        result: &[Range<usize>],
        shard: &mut [u8],
    ) -> Result<(), Error> {
        let (target, cache) = to;
        let shape = target.shard();
        let chunk_strides = strides(source.chunk());
        let shard_strides = strides(shape);
        let to_strides: Vec<usize> = self
            .walks
            .iter()
            .map(|walk| walk.dim.map_or(0, |dim| shard_strides[dim]))
            .collect();
        let unit = source.dtype().size();
        let walks = self.walks.iter().zip(source.chunk());
        let segments: Vec<_> = walks
            .map(|(walk, &chunk)| walk.segments(result, chunk))
            .collect();
        walk::product(&segments, |segments| {
            let at: Vec<usize> = segments.iter().map(|segment| segment.chunk).collect();
            let chunk =
                reader.shared(cache, &at, self.readers(segments, source, target, result))?;
            let to = segments.iter().zip(&to_strides);
            let to: usize = to.map(|(segment, stride)| segment.first * stride).sum();
            let dims = |from_strides: &[usize]| -> Vec<Dim> {
                let strides = from_strides.iter().zip(&to_strides);
                let segments = segments.iter().zip(strides);
                segments
                    .map(|(segment, (&from, &to))| Dim {
                        size: segment.count,
                        from,
                        to,
                    })
                    .collect()
            };
            if is_box(segments) {
                let from = segments.iter().zip(&chunk_strides);
                let from = from.map(|(segment, stride)| segment.begin * stride).sum();
                copy_box(
                    (chunk.as_ref(), from),
                    (shard, to),
                    dims(&chunk_strides),
                    unit,
                );
                return Ok(());
            }
            let spec: SliceSpec = segments.iter().map(item).collect();
            let sliced = device.slice(chunk, source.dtype(), source.chunk(), &spec)?;
            let counts: Vec<usize> = segments.iter().map(|segment| segment.count).collect();
            copy_box(
                (&sliced.bytes()?, 0),
                (shard, to),
                dims(&strides(&counts)),
                unit,
            );
            Ok(())
        })
    }
}

/// Whether the elements are a box of the chunk in the same order, of rows that are worth a copy each.
fn is_box(segments: &[Segment]) -> bool {
    let mut inner_to_outer = segments.iter().rev();
    let last = inner_to_outer.next();
    let is_run = |segment: &Segment| segment.count > 1 && segment.step == 1;
    last.is_none_or(is_run) && inner_to_outer.all(|segment| segment.count == 1 || segment.step == 1)
}

/// The positions of a segment as `begin:end:step`.
fn item(segment: &Segment) -> SliceItem {
    let begin = segment.begin.cast_signed();
    let last = begin + (segment.count.cast_signed() - 1) * segment.step;
    let end = last + segment.step.signum();
    SliceItem::Range {
        begin: Some(begin as i64),
        // -1 would count from the chunk's end.
        end: (end >= 0).then_some(end as i64),
        stride: segment.step as i64,
    }
}
