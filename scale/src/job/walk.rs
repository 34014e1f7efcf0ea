//! Computes which positions of the source a slice reads, in order, and which chunks contain them.

use super::expression::Expression;
use crate::zarr::{Error, Positions};
use std::{collections::HashMap, ops::Range};
use wgslice::{DType, Plan};

/// A walk: the positions that the result reads along one dimension of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AxisWalk {
    /// The position of the result's first element in this dimension of the source.
    base: usize,
    /// The distance to the next position. Negative if the walk goes backwards, and never 0.
    step: isize,
    /// The dimension of the result that the walk fills, in order. `None` if only the position `base` is read.
    pub(super) dim: Option<usize>,
    /// The positions, if an array lists them. `base` and `step` are then unused.
    list: Option<Vec<usize>>,
}

impl AxisWalk {
    /// Returns the walk over all positions in order. It fills dimension `dim` of the result.
    pub(super) fn whole(dim: usize) -> Self {
        Self {
            base: 0,
            step: 1,
            dim: Some(dim),
            list: None,
        }
    }

    fn position_at(&self, index: usize) -> usize {
        self.base
            .wrapping_add_signed(self.step.wrapping_mul(index.cast_signed()))
    }

    /// Returns the number of shards along this dimension that need elements from the chunk of `segment`. The segment
    /// belongs to the shard that begins at index `start` of the walk. `chunk_size` is the size of a chunk of the
    /// source, `place` is the range of the result that the walk fills, and `shard_size` is the size of a shard.
    pub(super) fn reader_count(
        &self,
        segment: &Segment,
        start: usize,
        chunk_size: usize,
        (place, shard_size): (&Range<usize>, usize),
    ) -> usize {
        let (first, last) = self.range_in_chunk(segment, start, chunk_size, place.len());
        (place.start + last) / shard_size - (place.start + first) / shard_size + 1
    }

    /// Returns the indices in the walk of its first and its last position in the chunk of `segment`. The walk has
    /// `length` positions. For the other arguments, see [`AxisWalk::reader_count`].
    fn range_in_chunk(
        &self,
        segment: &Segment,
        start: usize,
        chunk_size: usize,
        length: usize,
    ) -> (usize, usize) {
        let (to_first, to_last) = (segment.begin, chunk_size - 1 - segment.begin);
        let (distance_before, distance_after) = if self.step > 0 {
            (to_first, to_last)
        } else {
            (to_last, to_first)
        };
        let step = self.step.unsigned_abs();
        let index = start + segment.result_index;
        let first = index - (distance_before / step).min(index);
        let last = (index + distance_after / step).min(length - 1);
        (first, last)
    }

    /// Returns the positions in the chunk of `segment` that the walk reads. The walk has `length` positions. If
    /// `omits_segment` is true and the segment is at one end of these positions, leaves out the segment's positions,
    /// unless there are no others. For the other arguments, see [`AxisWalk::reader_count`]. The walk must not be along
    /// a list.
    pub(super) fn positions(
        &self,
        segment: &Segment,
        start: usize,
        chunk_size: usize,
        (length, omits_segment): (usize, bool),
    ) -> Positions {
        let (mut first, mut last) = self.range_in_chunk(segment, start, chunk_size, length);
        let index = start + segment.result_index;
        let end = index + segment.count;
        if omits_segment && index == first && end <= last {
            first = end;
        } else if omits_segment && end == last + 1 && first < index {
            last = index - 1;
        }
        let end_positions = [first, last].map(|index| self.position_at(index) % chunk_size);
        Positions {
            begin: end_positions[0].min(end_positions[1]),
            step: self.step.unsigned_abs(),
            count: last - first + 1,
        }
    }

    /// Returns the reads along this dimension for a box of the result, one for each chunk that the box overlaps.
    pub(super) fn parts(&self, result_box: &[Range<usize>], chunk_size: usize) -> Vec<Part> {
        let (Some(list), Some(dim)) = (&self.list, self.dim) else {
            let segments = self.segments(result_box, chunk_size).into_iter();
            let part = |segment| Part {
                segment,
                listed: None,
            };
            return segments.map(part).collect();
        };
        let range = &result_box[dim];
        let mut parts: Vec<Part> = Vec::new();
        let mut part_indices = HashMap::new();
        for (result_index, &position) in list[range.clone()].iter().enumerate() {
            let (chunk, begin) = (position / chunk_size, position % chunk_size);
            let part_index = *part_indices.entry(chunk).or_insert_with(|| {
                parts.push(Part {
                    segment: Segment {
                        chunk,
                        begin,
                        step: 1,
                        count: 0,
                        result_index,
                    },
                    listed: Some(Listed::default()),
                });
                parts.len() - 1
            });
            let Part { segment, listed } = &mut parts[part_index];
            let listed = listed.get_or_insert_default();
            listed.add(begin, result_index, segment.count);
            segment.count += 1;
        }
        parts
    }

    /// For each chunk that a walk along a list reads, returns the number of shards that need it. `chunk_size` and
    /// `shard_size` are the sizes of a chunk and of a shard in this dimension.
    pub(super) fn reader_counts_of_list(
        &self,
        chunk_size: usize,
        shard_size: usize,
    ) -> HashMap<usize, usize> {
        let mut reader_counts = HashMap::new();
        for positions in self.list.as_deref().unwrap_or_default().chunks(shard_size) {
            let mut chunks: Vec<usize> = positions.iter().map(|at| at / chunk_size).collect();
            chunks.sort_unstable();
            chunks.dedup();
            chunks
                .into_iter()
                .for_each(|chunk| *reader_counts.entry(chunk).or_default() += 1);
        }
        reader_counts
    }

    /// Returns a segment for each chunk that a box of the result overlaps in this dimension, in the result's order.
    /// `chunk_size` is the size of a chunk in this dimension. The walk must not be along a list.
    pub(super) fn segments(&self, result_box: &[Range<usize>], chunk_size: usize) -> Vec<Segment> {
        let Some(dim) = self.dim else {
            return vec![Segment {
                chunk: self.base / chunk_size,
                begin: self.base % chunk_size,
                step: 1,
                count: 1,
                result_index: 0,
            }];
        };
        let range = &result_box[dim];
        let mut segments = Vec::new();
        let mut index = range.start;
        while index < range.end {
            let position = self.position_at(index);
            let (chunk, begin) = (position / chunk_size, position % chunk_size);
            let distance_to_border = if self.step > 0 {
                chunk_size - 1 - begin
            } else {
                begin
            };
            let count = distance_to_border / self.step.unsigned_abs() + 1;
            let count = count.min(range.end - index);
            segments.push(Segment {
                chunk,
                begin,
                step: self.step,
                count,
                result_index: index - range.start,
            });
            index += count;
        }
        segments
    }
}

/// The positions that a box of the result reads in one chunk, along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// The chunk's coordinate in the grid.
    pub(super) chunk: usize,
    /// The first position within the chunk.
    pub(super) begin: usize,
    /// The distance to the next position. Negative if the walk goes backwards.
    pub(super) step: isize,
    /// The number of positions. At least 1.
    pub(super) count: usize,
    /// The index of the first position in the box of the result, along the dimension of the result that the walk fills.
    pub(super) result_index: usize,
}

/// The reads in one chunk for a box of the result, along one dimension.
#[derive(Debug)]
pub(super) struct Part {
    /// The positions that are read. If `listed` is present, only the segment's `chunk` and `count` apply.
    pub(super) segment: Segment,
    pub(super) listed: Option<Listed>,
}

/// The positions of a list that are in one chunk.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// The positions within the chunk, in the order of the result.
    pub(super) positions: Vec<usize>,
    /// The runs of `positions` that are also consecutive in the result.
    pub(super) runs: Vec<Run>,
}

/// Positions that are consecutive both among the positions read in a chunk and in the result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// The index of the first position among the positions read in the chunk.
    pub(super) read_index: usize,
    /// The index of the first position in the box of the result.
    pub(super) result_index: usize,
    pub(super) count: usize,
}

impl Listed {
    fn add(&mut self, position: usize, result_index: usize, read_index: usize) {
        self.positions.push(position);
        match self.runs.last_mut() {
            Some(run) if run.result_index + run.count == result_index => run.count += 1,
            _ => self.runs.push(Run {
                read_index,
                result_index,
                count: 1,
            }),
        }
    }
}

impl Segment {
    /// Returns the positions in the chunk.
    pub(super) fn positions(&self) -> Positions {
        let last = (self.count.cast_signed() - 1) * self.step;
        let last = self.begin.wrapping_add_signed(last);
        Positions {
            begin: self.begin.min(last),
            step: self.step.unsigned_abs(),
            count: self.count,
        }
    }
}

impl Part {
    pub(super) fn runs(&self) -> Vec<Run> {
        match &self.listed {
            Some(listed) => listed.runs.clone(),
            None => vec![Run {
                read_index: 0,
                result_index: self.segment.result_index,
                count: self.segment.count,
            }],
        }
    }
}

/// Returns the walk along each dimension of an expression's source. Returns no walks if the result has no elements.
///
/// A walk's start and step follow from the source positions of the result's first element and of its neighbour in each
/// dimension.
pub(super) fn of(expression: Expression) -> Result<Vec<AxisWalk>, Error> {
    if expression.shape().contains(&0) {
        return Ok(Vec::new());
    }
    // The element type does not change positions.
    let plan = Plan::contiguous(&expression.view, DType::U8)?;
    let mut element: Vec<_> = plan.shape().iter().map(|_| 0..1).collect();
    let source_position = |element: &[Range<usize>]| -> Result<Vec<usize>, Error> {
        let part = plan.part(element, None)?;
        Ok(part.source.iter().map(|range| range.start).collect())
    };
    let base = source_position(&element)?;
    let mut walks = Vec::with_capacity(base.len());
    for (source_dim, (&base, &dim)) in base.iter().zip(&expression.dims).enumerate() {
        let mut walk = AxisWalk {
            base,
            step: 1,
            dim,
            list: None,
        };
        if let Some(dim) = dim.filter(|&dim| plan.shape()[dim] > 1) {
            element[dim] = 1..2;
            let next_position = source_position(&element)?;
            walk.step = next_position[source_dim].wrapping_sub(base).cast_signed();
            element[dim] = 0..1;
        }
        walks.push(walk);
    }
    for array in expression.arrays {
        walks[array.source_dim].list = Some(array.positions);
    }
    Ok(walks)
}

/// Calls `each` like [`product`], but postpones a choice for which `is_taken` is true until after the next choice,
/// unless another choice is already postponed.
pub(super) fn product_of_free<T: Copy>(
    lists: &[Vec<T>],
    is_taken: impl Fn(&[T]) -> bool,
    mut each: impl FnMut(&[T]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut postponed: Option<Vec<T>> = None;
    product(lists, |choice| {
        if postponed.is_none() && is_taken(choice) {
            postponed = Some(choice.to_vec());
            return Ok(());
        }
        each(choice)?;
        postponed.take().map_or(Ok(()), |choice| each(&choice))
    })?;
    postponed.map_or(Ok(()), |choice| each(&choice))
}

/// Calls `each` for every choice of one item from each list. The last list's item changes fastest.
pub(super) fn product<T: Copy>(
    lists: &[Vec<T>],
    mut each: impl FnMut(&[T]) -> Result<(), Error>,
) -> Result<(), Error> {
    if lists.iter().any(Vec::is_empty) {
        return Ok(());
    }
    let mut at = vec![0; lists.len()];
    let mut choice: Vec<T> = lists.iter().map(|list| list[0]).collect();
    loop {
        each(&choice)?;
        let mut dim = lists.len();
        loop {
            if dim == 0 {
                return Ok(());
            }
            dim -= 1;
            at[dim] += 1;
            if at[dim] < lists[dim].len() {
                choice[dim] = lists[dim][at[dim]];
                break;
            }
            at[dim] = 0;
            choice[dim] = lists[dim][0];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The part of a chunk that is kept for other shards contains all positions that these shards need. It omits
    /// positions that only this shard needs, if these are at an end.
    #[test]
    fn other_shards_have_the_positions_that_they_need() {
        let mut omitted_count = 0;
        for (step, chunk, shard, length) in walk_cases() {
            let base = if step > 0 { 3 } else { 60 };
            let walk = AxisWalk {
                base,
                step,
                dim: Some(0),
                list: None,
            };
            let place = 2..2 + length;
            let end = place.end.div_ceil(shard);
            let range_of_shard = |shard_number: usize| {
                let begin = (shard_number * shard).max(place.start) - place.start;
                begin..((shard_number + 1) * shard).min(place.end) - place.start
            };
            for shard_number in place.start / shard..end {
                let range = range_of_shard(shard_number);
                for segment in walk.segments(std::slice::from_ref(&range), chunk) {
                    let others = (0..length).filter(|index| !range.contains(index));
                    let others = others.map(|index| walk.position_at(index));
                    let mut others: Vec<usize> = others
                        .filter(|at| at / chunk == segment.chunk)
                        .map(|at| at % chunk)
                        .collect();
                    others.sort_unstable();
                    let own: Vec<usize> = position_list(&segment.positions());
                    let place_and_shard = (&place, shard);
                    let users = walk.reader_count(&segment, range.start, chunk, place_and_shard);
                    assert_eq!(users > 1, !others.is_empty());
                    let all_positions =
                        walk.positions(&segment, range.start, chunk, (length, false));
                    let mut union = [&own[..], &others].concat();
                    union.sort_unstable();
                    assert_eq!(position_list(&all_positions), union);
                    if users == 1 {
                        continue;
                    }
                    let kept = walk.positions(&segment, range.start, chunk, (length, true));
                    let kept = position_list(&kept);
                    let is_between = others[0] < own[0] && others[others.len() - 1] > own[0];
                    assert_eq!(kept, if is_between { &union[..] } else { &others });
                    omitted_count += usize::from(!is_between);
                }
            }
        }
        assert!(omitted_count > 100, "{omitted_count}");
    }

    fn position_list(positions: &Positions) -> Vec<usize> {
        let indices = 0..positions.count;
        indices
            .map(|index| positions.begin + index * positions.step)
            .collect()
    }

    /// Returns cases: the step of a walk, the size of a chunk, the size of a shard, and the length of the walk.
    fn walk_cases() -> impl Iterator<Item = (isize, usize, usize, usize)> {
        let steps = [1, 2, 3, -1, -2, -5];
        steps.into_iter().flat_map(|step| {
            [4, 7, 16].into_iter().flat_map(move |chunk| {
                let shards = [1, 3, 5, 8, 40].into_iter();
                shards.flat_map(move |shard| [1, 2, 11].map(|length| (step, chunk, shard, length)))
            })
        })
    }

    /// `each` gets every choice exactly once, whichever choices are taken. A missed chunk would leave arbitrary
    /// elements.
    #[test]
    fn no_choice_is_left_out() {
        let lists = [vec![0, 1, 2], vec![0, 1]];
        let number = |choice: &[usize]| 2 * choice[0] + choice[1];
        for taken in 0..1 << 6 {
            let mut called = Vec::new();
            let is_taken = |choice: &[usize]| taken >> number(choice) & 1 == 1;
            let each = |choice: &[usize]| {
                called.push(number(choice));
                Ok(())
            };
            product_of_free(&lists, is_taken, each).unwrap();
            if taken == 1 {
                assert_eq!(called, [1, 0, 2, 3, 4, 5]);
            }
            called.sort_unstable();
            assert_eq!(called, [0, 1, 2, 3, 4, 5], "{taken:b}");
        }
    }
}
