//! Parts of gathers.

use super::Part;
use crate::{
    Error, Indices, Plan, View,
    layout::Axis,
    ops::{
        index::{Index, NegativeIndex, OutOfRange, Policy},
        indexed::{self, Dimension},
    },
    plan::Map,
    report::Missing,
    shape,
};
use std::{iter, ops::Range};

impl Plan {
    /// Returns the box of the index tensor that a box of a gather's result needs: a range for each dimension of
    /// `indices`.
    ///
    /// # Errors
    ///
    /// [`ViewError::Box`](crate::error::ViewError::Box) if the ranges do not lie in the result;
    /// [`ViewError::NoParts`](crate::error::ViewError::NoParts) for a plan that is not a gather, such as a crop.
    pub fn part_of_indices(&self, result: &[Range<usize>]) -> Result<Vec<Range<usize>>, Error> {
        self.check_box(result)?;
        let Map::Indexed(map) = &self.map else {
            return Err(self.no_parts());
        };
        let (numbering, tuple) = map.indices.split_at(map.tuple_dims);
        if result.iter().any(Range::is_empty) {
            return Ok(map.indices.iter().map(|_| 0..0).collect());
        }
        // A dimension of size 1 is needed whole. Each other dimension of `indices` that numbers tuples is also a
        // dimension of the result, one that does not repeat the tuples. These dimensions come in the same order in
        // both.
        let walk = self.result_dims(map);
        let mut own = walk.iter().zip(result);
        let mut own = own
            .by_ref()
            .filter(|(dimension, _)| !dimension.repeats && dimension.size > 1);
        let range = |&size: &usize| match size {
            1 => Some(0..1),
            _ => own.next().map(|(_, range)| range.clone()),
        };
        let ranges: Option<Vec<_>> = numbering.iter().map(range).collect();
        let ranges = ranges.unwrap_or_default().into_iter();
        Ok(ranges.chain(tuple.iter().map(|&size| 0..size)).collect())
    }

    /// Returns the part of a gather that makes a box of its result. `indices` are the indices in the box that
    /// [`Plan::part_of_indices`] returns, in row-major order. They decide which box of `params` is read.
    ///
    /// ```
    /// use wgslice::{options::GatherOptions, DType, Indices, Plan};
    ///
    /// // Rows 700, 650 and 2000 of [1000, 100], of which the last does not exist.
    /// let plan = Plan::gather(&[1000, 100], &[3], GatherOptions::default(), DType::U8)?;
    /// let result = [0..3, 20..30];
    /// assert_eq!(plan.part_of_indices(&result)?, [0..3]);
    /// let part = plan.part_with(&result, Indices::I32(&[700, 650, 2000]))?;
    /// assert_eq!(part.source, [650..701, 20..30]);
    /// assert_eq!(part.indices, [50, 0, -1]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Plan::part_of_indices`]; [`Error::Length`] if `indices` does not have as many integers as that box;
    /// [`GatherError::OutOfRange`](crate::error::GatherError::OutOfRange) if a tuple is out of range and the policy is
    /// [`OutOfRange::Error`](crate::options::OutOfRange::Error). This error has the tuple's position in the whole index
    /// tensor.
    pub fn part_with(&self, result: &[Range<usize>], indices: Indices<'_>) -> Result<Part, Error> {
        match indices {
            Indices::I32(indices) => self.part_at(result, indices),
            Indices::U32(indices) => self.part_at(result, indices),
            Indices::I64(indices) => self.part_at(result, indices),
        }
    }

    fn part_at<I: Index>(&self, result: &[Range<usize>], indices: &[I]) -> Result<Part, Error> {
        let needed = self.part_of_indices(result)?;
        let Map::Indexed(map) = &self.map else {
            return Err(self.no_parts());
        };
        let shape: Vec<usize> = needed.iter().map(Range::len).collect();
        shape::check_elements("indices", &shape, indices.len())?;
        let tuples = Tuples::of(map, indices);
        self.check_tuples(map, &needed, indices, &tuples)?;
        let walk = self.result_dims(map);
        let factor = self.factor();
        let in_elements = |axis: &Axis| axis.stride * factor.cast_signed();
        let coordinates = map.coordinates.iter().zip(&tuples.ranges);
        let coordinates: Vec<_> = coordinates
            .map(|(axis, range)| Axis {
                size: range.len(),
                stride: in_elements(axis),
            })
            .collect();
        let walked: Vec<_> = walk
            .iter()
            .map(Dimension::axis)
            .chain(coordinates)
            .collect();
        let ranges: Vec<_> = result.iter().chain(&tuples.ranges).cloned().collect();
        let found = self.source_box(map.offset * factor, &walked, &ranges);
        let mut strides = found.strides(&walked);
        let coordinates = strides.split_off(walk.len());
        let coordinates = tuples.ranges.iter().zip(coordinates);
        let walk = walk.iter().zip(strides).zip(result);
        let part = indexed::Map {
            name: map.name,
            offset: found.offset(),
            walk: walk
                .map(|((dimension, stride), range)| Dimension {
                    size: range.len(),
                    stride,
                    repeats: dimension.repeats,
                })
                .collect(),
            coordinates: coordinates
                .map(|(range, stride)| Axis {
                    size: range.len(),
                    stride,
                })
                .collect(),
            params: found.extents(),
            indices: shape,
            tuple_dims: map.tuple_dims,
            policy: Policy {
                out_of_range: match map.policy.out_of_range {
                    OutOfRange::Clamp => OutOfRange::Zero,
                    other => other,
                },
                negative: NegativeIndex::OutOfRange,
            },
        };
        let source = View::whole(&found.extents());
        Ok(Part {
            source: found.ranges,
            plan: part.plan(&source, self.element)?,
            indices: tuples.rebased,
        })
    }

    /// Under [`OutOfRange::Error`], returns an error for the first tuple that is out of range. Otherwise does nothing.
    fn check_tuples<I: Index>(
        &self,
        map: &indexed::Map,
        needed: &[Range<usize>],
        indices: &[I],
        tuples: &Tuples,
    ) -> Result<(), Error> {
        let depth = map.coordinates.len();
        let Some(first) = tuples.first_invalid else {
            return Ok(());
        };
        let numbering = &needed[..map.tuple_dims];
        let inner: Vec<_> = numbering.iter().map(Range::len).collect();
        let at = shape::coordinates(first, &inner);
        let strides = shape::strides(&map.indices[..map.tuple_dims]);
        let at = at.iter().zip(numbering).zip(strides);
        let number = at
            .map(|((at, range), stride)| (range.start + at) * stride)
            .sum();
        let missing = Missing {
            count: 1,
            first: Some(number),
        };
        let tuple = &indices[first * depth..][..depth];
        let report = self.report(missing, |_| {
            tuple.iter().map(|&index| index.into()).collect()
        });
        report.map(drop)
    }

    /// The dimensions of a gather's result, with strides in elements of the source.
    fn result_dims(&self, map: &indexed::Map) -> Vec<Dimension> {
        let rows = map.walk.iter().map(Dimension::axis);
        let strides = self.strides(rows.chain([self.rows.run_axis()]));
        let repeats = map
            .walk
            .iter()
            .map(|dimension| (dimension.size, dimension.repeats));
        let run = (self.rows.run * self.factor(), true);
        let mut groups = repeats.chain([run]).rev();
        let (mut left, mut repeating) = (1, true);
        let mut walk: Vec<_> = iter::zip(&self.shape, &strides)
            .rev()
            .map(|(&size, &stride)| {
                while left == 1 && size > 1 {
                    let Some(next) = groups.next() else { break };
                    (left, repeating) = next;
                }
                left /= size.max(1);
                Dimension {
                    size,
                    stride,
                    repeats: repeating,
                }
            })
            .collect();
        walk.reverse();
        walk
    }
}

/// The index tuples of a part of a gather.
struct Tuples {
    /// For each indexed dimension, the smallest range that contains the positions in all valid tuples. Empty if no
    /// tuple is valid.
    ranges: Vec<Range<usize>>,
    /// The integers of the tuples, each counted from the beginning of its dimension's range. All integers of a tuple
    /// that is out of range are -1.
    rebased: Vec<i64>,
    /// The number of the first tuple that is out of range. `None` if all tuples are valid.
    first_invalid: Option<usize>,
}

impl Tuples {
    fn of<I: Index>(map: &indexed::Map, indices: &[I]) -> Self {
        let depth = map.coordinates.len();
        let (wraps, clamps) = (map.policy.wraps(), map.policy.clamps());
        let mut ranges: Vec<Option<Range<usize>>> = vec![None; depth];
        let mut found = Self {
            ranges: Vec::new(),
            rebased: Vec::with_capacity(indices.len()),
            first_invalid: None,
        };
        // If tuples have depth 0, every tuple is valid, and there are no ranges.
        let tuples = if depth == 0 { &[] } else { indices };
        let mut positions = Vec::with_capacity(depth);
        for (number, tuple) in tuples.chunks(depth.max(1)).enumerate() {
            let named = tuple.iter().zip(&map.coordinates);
            positions.clear();
            positions.extend(named.map_while(|(i, axis)| i.within(axis.size, wraps, clamps)));
            if positions.len() < depth {
                found.first_invalid.get_or_insert(number);
                found.rebased.extend(iter::repeat_n(-1, depth));
                continue;
            }
            for (range, &at) in ranges.iter_mut().zip(&positions) {
                let known = range.take().unwrap_or(at..at + 1);
                *range = Some(known.start.min(at)..known.end.max(at + 1));
            }
            found.rebased.extend(positions.iter().map(|&at| at as i64));
        }
        found.ranges = ranges.into_iter().map(Option::unwrap_or_default).collect();
        let valid = found.rebased.chunks_mut(depth.max(1));
        for tuple in valid.filter(|tuple| tuple.first().is_some_and(|&at| at >= 0)) {
            for (at, range) in tuple.iter_mut().zip(&found.ranges) {
                *at -= range.start as i64;
            }
        }
        found
    }
}
