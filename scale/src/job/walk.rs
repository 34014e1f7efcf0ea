//! Computes how the result of a slice walks along the source, and which chunks it meets.

use crate::zarr::Error;
use std::ops::Range;
use wgslice::Plan;

/// How the result walks along one dimension of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Walk {
    /// The position of the result's first element in this dimension of the source.
    base: usize,
    /// The distance to the next position, negative for a walk towards the beginning. Not 0.
    step: isize,
    /// The dimension of the result that walks along this dimension. `None` if only the position `base` is read.
    pub(super) dim: Option<usize>,
}

impl Walk {
    /// Returns the walk of dimension `dim` of the result along all positions in order.
    pub(super) fn whole(dim: usize) -> Self {
        Self {
            base: 0,
            step: 1,
            dim: Some(dim),
        }
    }

    fn at(&self, index: usize) -> usize {
        self.base
            .wrapping_add_signed(self.step.wrapping_mul(index.cast_signed()))
    }

    /// Returns the number of shards that meet the chunk of `segment` along this dimension. The segment belongs to the
    /// shard that begins at position `start` of the result. `chunk` is the size of a chunk of the source in this
    /// dimension, and `size` and `shard` are the sizes of the result and of a shard.
    pub(super) fn readers(
        &self,
        segment: &Segment,
        start: usize,
        chunk: usize,
        (size, shard): (usize, usize),
    ) -> usize {
        let (low, high) = (segment.begin, chunk - 1 - segment.begin);
        let (before, after) = if self.step > 0 {
            (low, high)
        } else {
            (high, low)
        };
        let step = self.step.unsigned_abs();
        let index = start + segment.first;
        let first = index - (before / step).min(index);
        let last = (index + after / step).min(size - 1);
        last / shard - first / shard + 1
    }

    /// Returns a segment for each chunk that a box of the result meets in this dimension, in the result's order.
    /// `chunk` is the size of a chunk in this dimension.
    pub(super) fn segments(&self, result: &[Range<usize>], chunk: usize) -> Vec<Segment> {
        let Some(dim) = self.dim else {
            return vec![Segment {
                chunk: self.base / chunk,
                begin: self.base % chunk,
                step: 1,
                count: 1,
                first: 0,
            }];
        };
        let range = &result[dim];
        let mut segments = Vec::new();
        let mut index = range.start;
        while index < range.end {
            let at = self.at(index);
            let (number, begin) = (at / chunk, at % chunk);
            let room = if self.step > 0 {
                chunk - 1 - begin
            } else {
                begin
            };
            let count = (room / self.step.unsigned_abs() + 1).min(range.end - index);
            segments.push(Segment {
                chunk: number,
                begin,
                step: self.step,
                count,
                first: index - range.start,
            });
            index += count;
        }
        segments
    }
}

/// The positions that a box of the result reads in one chunk, in one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// The chunk's coordinate in the grid.
    pub(super) chunk: usize,
    /// The first position within the chunk.
    pub(super) begin: usize,
    /// The distance to the next position, negative for a walk towards the beginning.
    pub(super) step: isize,
    /// The number of positions. At least 1.
    pub(super) count: usize,
    /// The place of the first position within the box of the result, counted along the dimension of the result that
    /// walks.
    pub(super) first: usize,
}

/// Returns how the result of a slice walks along each dimension of a source of `rank` dimensions. Returns no walks if
/// the result has no elements.
///
/// Each dimension of the result walks along at most one dimension of the source. So it is enough to compare the source
/// positions of the result's first element and of its neighbour in each dimension.
pub(super) fn of_slice(plan: &Plan, rank: usize) -> Result<Vec<Walk>, Error> {
    if plan.shape().contains(&0) {
        return Ok(Vec::new());
    }
    let mut element: Vec<_> = plan.shape().iter().map(|_| 0..1).collect();
    let position = |element: &[Range<usize>]| -> Result<Vec<usize>, Error> {
        let part = plan.part(element, None)?;
        Ok(part.source.iter().map(|range| range.start).collect())
    };
    let base = position(&element)?;
    let mut walks: Vec<_> = base
        .iter()
        .map(|&base| Walk {
            base,
            step: 1,
            dim: None,
        })
        .collect();
    debug_assert_eq!(walks.len(), rank);
    for (dim, &size) in plan.shape().iter().enumerate() {
        if size == 1 {
            continue;
        }
        element[dim] = 1..2;
        let next = position(&element)?;
        element[dim] = 0..1;
        let moved = walks
            .iter_mut()
            .zip(&next)
            .find(|(walk, next)| walk.base != **next);
        if let Some((walk, &next)) = moved {
            walk.step = next.wrapping_sub(walk.base).cast_signed();
            walk.dim = Some(dim);
        }
    }
    Ok(walks)
}

/// Calls `each` for every choice of one item from each list. The item of the last list changes fastest.
pub(super) fn product<T: Copy>(
    lists: &[Vec<T>],
    mut each: impl FnMut(&[T]) -> Result<(), Error>,
) -> Result<(), Error> {
    if lists.iter().any(Vec::is_empty) {
        return Ok(());
    }
    let mut at = vec![0; lists.len()];
    let mut chosen: Vec<T> = lists.iter().map(|list| list[0]).collect();
    loop {
        each(&chosen)?;
        let mut dim = lists.len();
        loop {
            if dim == 0 {
                return Ok(());
            }
            dim -= 1;
            at[dim] += 1;
            if at[dim] < lists[dim].len() {
                chosen[dim] = lists[dim][at[dim]];
                break;
            }
            at[dim] = 0;
            chosen[dim] = lists[dim][0];
        }
    }
}
