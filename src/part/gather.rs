//! Makes parts of gathers.

use super::Part;
use crate::prelude::*;
use crate::{
    Error, Plan, View,
    cpu::Indices,
    moves::{Effect, IndexTensor, Move, Operation},
    ops::index::{Index, OutOfRange, Policy},
    report::Missing,
    shape,
    walk::{Coordinate, Dim},
};
use core::{iter, ops::Range};

impl Move {
    /// Returns the box of the index tensor that a box of a gather's result needs: a range for each dimension of
    /// `indices`.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] if the ranges are not in the result, or for a plan that is not a gather, such as a crop.
    pub(crate) fn part_of_indices(
        &self,
        result: &[Range<usize>],
    ) -> Result<Vec<Range<usize>>, Error> {
        self.check_box(result)?;
        let indices = self.index_tensor()?;
        let (numbering_sizes, tuple_shape) = indices.shape.split_at(indices.tuple_dims);
        if result.iter().any(Range::is_empty) {
            return Ok(indices.shape.iter().map(|_| 0..0).collect());
        }
        // A dimension of size 1 is needed whole. Each other dimension of `indices` that numbers tuples is also a
        // dimension of the result, with its own tuples. These dimensions have the same order in `indices` and in the
        // result.
        let dims = self.result_dims();
        let own_dims = dims.iter().zip(result);
        let mut own_dims = own_dims.filter(|(dim, _)| dim.tuple > 0 && dim.size > 1);
        let range = |&size: &usize| match size {
            1 => Some(0..1),
            _ => own_dims.next().map(|(_, range)| range.clone()),
        };
        let ranges: Option<Vec<_>> = numbering_sizes.iter().map(range).collect();
        let ranges = ranges.unwrap_or_default().into_iter();
        Ok(ranges
            .chain(tuple_shape.iter().map(|&size| 0..size))
            .collect())
    }

    pub(super) fn part_of_gather(
        &self,
        result: &[Range<usize>],
        indices: Indices<'_>,
    ) -> Result<Part, Error> {
        match indices {
            Indices::I32(indices) => self.part_at(result, indices),
            Indices::U32(indices) => self.part_at(result, indices),
            Indices::I64(indices) => self.part_at(result, indices),
            Indices::Mask(_) => Err(self.no_parts()),
        }
    }

    fn part_at<I: Index>(&self, result: &[Range<usize>], indices: &[I]) -> Result<Part, Error> {
        let needed_indices = self.part_of_indices(result)?;
        let index_tensor = self.index_tensor()?;
        let shape: Vec<usize> = needed_indices.iter().map(Range::len).collect();
        shape::check_elements("indices", &shape, indices.len())?;
        let walk = self.in_elements();
        let coordinates = walk.as_ref().map_or(&[][..], |walk| &walk.coordinates);
        let tuples =
            PartTuples::read_tuples(self.depth(), coordinates, index_tensor.policy, indices);
        self.check_tuples(index_tensor, &needed_indices, indices, &tuples)?;
        let dims = self.result_dims();
        let index_strides = coordinates.iter().map(|axis| axis.stride);
        let strides: Vec<_> = dims
            .iter()
            .map(|dim| dim.from)
            .chain(index_strides)
            .collect();
        let ranges: Vec<_> = result.iter().chain(&tuples.ranges).cloned().collect();
        let source_box = self.source_box(&strides, &ranges);
        let strides = source_box.strides(strides.len());
        let (dim_strides, coordinate_strides) = strides.split_at(dims.len());
        let dims = dims.iter().zip(dim_strides).zip(result);
        let dims = dims.map(|((dim, &from), range)| match dim.tuple {
            0 => Dim::shared(range.len(), from),
            _ => Dim::with_own_tuples(range.len(), from),
        });
        let coordinates = tuples.ranges.iter().zip(coordinate_strides).enumerate();
        let coordinates = coordinates
            .map(|(column, (range, &stride))| Coordinate::indexed(range.len(), stride, column));
        let view = View {
            offset: source_box.offset(),
            ..View::whole(&source_box.box_extents())
        };
        let policy = Policy {
            out_of_range: match index_tensor.policy.out_of_range {
                OutOfRange::Clamp => OutOfRange::Ignore,
                other => other,
            },
            ..Policy::default()
        };
        let indices = IndexTensor {
            shape,
            policy,
            target: None,
            ..index_tensor.clone()
        };
        let part_move = Self::of_gather(
            self.operation,
            view,
            dims.collect(),
            coordinates.collect(),
            indices,
            self.dtype,
        )?;
        Ok(Part {
            source: source_box.ranges,
            plan: Plan::from_move(part_move),
            indices: tuples.rebased_indices,
        })
    }

    /// Returns the index tensor of a gather. Fails for other moves.
    fn index_tensor(&self) -> Result<&IndexTensor, Error> {
        match (&self.indices, self.effect, self.operation) {
            (Some(indices), Effect::Make, operation)
                if operation != Operation::Crop && self.conversion.is_none() =>
            {
                Ok(indices)
            }
            _ => Err(self.no_parts()),
        }
    }

    /// Under [`OutOfRange::Error`], returns an error for the first tuple that is out of range. Otherwise does nothing.
    fn check_tuples<I: Index>(
        &self,
        index_tensor: &IndexTensor,
        needed_indices: &[Range<usize>],
        indices: &[I],
        tuples: &PartTuples,
    ) -> Result<(), Error> {
        let depth = self.depth();
        // If the result is empty, no index is read, so none is out of range.
        let Some(first_invalid) = tuples.first_invalid.filter(|_| self.walk.is_some()) else {
            return Ok(());
        };
        let numbering_ranges = &needed_indices[..index_tensor.tuple_dims];
        let tuple_sizes: Vec<_> = numbering_ranges.iter().map(Range::len).collect();
        let at = shape::coordinates_of(first_invalid, &tuple_sizes);
        let strides = shape::row_major_strides(&index_tensor.shape[..index_tensor.tuple_dims]);
        let at = at.iter().zip(numbering_ranges).zip(strides);
        let tuple_number = at
            .map(|((at, range), stride)| (range.start + at) * stride)
            .sum();
        let missing = Missing {
            count: 1,
            first: Some(tuple_number),
        };
        let tuple = &indices[first_invalid * depth..][..depth];
        let report = self.report(missing, |_| {
            tuple.iter().map(|&index| index.into()).collect()
        });
        report.map(drop)
    }
}

/// The index tuples of a part of a gather.
struct PartTuples {
    /// For each indexed dimension, the smallest range that contains the positions in all valid tuples. Each range is
    /// empty if no tuple is valid.
    ranges: Vec<Range<usize>>,
    /// The integers of the tuples, each counted from the beginning of its dimension's range. All integers of a tuple
    /// that is out of range are -1.
    rebased_indices: Vec<i64>,
    /// The number of the first tuple that is out of range. `None` if all tuples are valid.
    first_invalid: Option<usize>,
}

impl PartTuples {
    /// Reads the tuples, of `depth` integers each. An empty result has no `coordinates`, and then no tuple is valid.
    fn read_tuples<I: Index>(
        depth: usize,
        coordinates: &[Coordinate],
        policy: Policy,
        indices: &[I],
    ) -> Self {
        let (wraps, clamps) = (policy.wraps(), policy.clamps());
        let mut ranges: Vec<Option<Range<usize>>> = vec![None; depth];
        let mut part_tuples = Self {
            ranges: Vec::new(),
            rebased_indices: Vec::with_capacity(indices.len()),
            first_invalid: None,
        };
        // If tuples have depth 0, every tuple is valid, and there are no ranges.
        let tuples = if depth == 0 { &[] } else { indices };
        let mut positions = Vec::with_capacity(depth);
        for (tuple_number, tuple) in tuples.chunks(depth.max(1)).enumerate() {
            let index_axes = tuple.iter().zip(coordinates);
            positions.clear();
            positions.extend(index_axes.map_while(|(i, axis)| i.within(axis.size, wraps, clamps)));
            if positions.len() < depth {
                part_tuples.first_invalid.get_or_insert(tuple_number);
                part_tuples
                    .rebased_indices
                    .extend(iter::repeat_n(-1, depth));
                continue;
            }
            for (range, &at) in ranges.iter_mut().zip(&positions) {
                let known_range = range.take().unwrap_or(at..at + 1);
                *range = Some(known_range.start.min(at)..known_range.end.max(at + 1));
            }
            part_tuples
                .rebased_indices
                .extend(positions.iter().map(|&at| at as i64));
        }
        part_tuples.ranges = ranges.into_iter().map(Option::unwrap_or_default).collect();
        let valid_tuples = part_tuples.rebased_indices.chunks_mut(depth.max(1));
        for tuple in valid_tuples.filter(|tuple| tuple.first().is_some_and(|&at| at >= 0)) {
            for (at, range) in tuple.iter_mut().zip(&part_tuples.ranges) {
                *at -= range.start as i64;
            }
        }
        part_tuples
    }
}
