//! The smallest box of the source that contains given elements.
//!
//! A plan has merged dimensions and large units. This file reverses both: each dimension of the result gets its stride
//! in elements of the source. A stride other than 0 goes along one dimension of the source: the outermost dimension of
//! size 2 or more with a row-major stride that is not larger. In each dimension of the source, the size of the smallest
//! box is 1 plus the distances that the strides along this dimension reach, in positions. Dimensions of the result of
//! size 1 have stride 0 and go along no dimension.

use crate::prelude::*;
use crate::{
    moves::Move,
    shape,
    walk::{Dim, Walk},
};
use core::{iter, ops::Range};

impl Move {
    /// Returns the walk with elements as units, or `None` if there is nothing to move.
    pub(super) fn in_elements(&self) -> Option<Walk> {
        let walk = self.walk.as_ref();
        walk.map(|walk| walk.in_units_of(self.dtype.size()))
    }

    /// Returns the dimensions of the result of a slice or a gather, with distances in elements of the source. Each
    /// dimension of the walk was merged from one or more neighbouring dimensions. In the returned dimensions,
    /// `tuple` only indicates whether a dimension has its own tuples.
    pub(super) fn result_dims(&self) -> Vec<Dim> {
        let mut merged_dims = self.in_elements().map_or(Vec::new(), |walk| walk.dims);
        let mut split_dim = |&size: &usize| {
            let Some(last) = merged_dims.last_mut().filter(|_| size > 1) else {
                return Dim::shared(size, 0);
            };
            let dim = Dim { size, ..*last };
            last.size /= size;
            // The product can overflow for the outermost dimension, where it is not used.
            last.from = last.from.wrapping_mul(size.cast_signed());
            merged_dims.pop_if(|last| last.size == 1);
            dim
        };
        let mut dims: Vec<_> = self.shape.iter().rev().map(&mut split_dim).collect();
        dims.reverse();
        dims
    }

    /// Returns the smallest box of the source that contains the elements at the positions `ranges` of dimensions with
    /// these `strides`, in elements of the source.
    pub(super) fn source_box(&self, strides: &[isize], ranges: &[Range<usize>]) -> SourceBox {
        let Some(walk) = &self.walk else {
            return SourceBox::empty_box(self.source.len());
        };
        if self.source.contains(&0) || ranges.iter().any(Range::is_empty) {
            return SourceBox::empty_box(self.source.len());
        }
        let source_strides = shape::row_major_strides(&self.source);
        let offset = walk.from.cast_unsigned() * (walk.unit / self.dtype.size());
        let first_coordinates = shape::coordinates_of(offset, &self.source);
        let mut origin: Vec<_> = first_coordinates
            .iter()
            .map(|&at| at.cast_signed())
            .collect();
        let mut reaches = vec![(0, 0); origin.len()];
        let mut steps = Vec::with_capacity(strides.len());
        for (&stride, range) in strides.iter().zip(ranges) {
            let step_distance = stride.unsigned_abs();
            let dimension = iter::zip(&self.source, &source_strides)
                .position(|(&size, &source_stride)| size > 1 && source_stride <= step_distance);
            let Some(dimension) = dimension else {
                steps.push(None);
                continue;
            };
            let step = stride / source_strides[dimension].cast_signed();
            origin[dimension] += step * range.start.cast_signed();
            let last_distance = step * (range.len() - 1).cast_signed();
            let (low, high) = &mut reaches[dimension];
            *low += last_distance.min(0);
            *high += last_distance.max(0);
            steps.push(Some((dimension, step)));
        }
        let range = |(&at, &(low, high)): (&isize, &(isize, isize))| {
            (at + low).cast_unsigned()..(at + high + 1).cast_unsigned()
        };
        let ranges: Vec<Range<usize>> = origin.iter().zip(&reaches).map(range).collect();
        SourceBox {
            begin: reaches.iter().map(|(low, _)| low.unsigned_abs()).collect(),
            ranges,
            steps,
        }
    }
}

/// A box of the source. An axis is an entry of the arguments `strides` and `ranges` of [`Move::source_box`].
pub(super) struct SourceBox {
    pub(super) ranges: Vec<Range<usize>>,
    /// For each dimension of the source, the position in the box of the element at which the ranges of all axes begin.
    begin: Vec<usize>,
    /// For each axis, the dimension along which it goes, and its step in positions. `None` for an axis of stride 0.
    /// Empty if the box is empty.
    steps: Vec<Option<(usize, isize)>>,
}

impl SourceBox {
    fn empty_box(rank: usize) -> Self {
        Self {
            ranges: vec![0..0; rank],
            begin: vec![0; rank],
            steps: Vec::new(),
        }
    }

    pub(super) fn box_extents(&self) -> Vec<usize> {
        self.ranges.iter().map(Range::len).collect()
    }

    /// Returns the number, in the box's row-major order, of the element at which the ranges of all axes begin.
    pub(super) fn offset(&self) -> usize {
        let strides = shape::row_major_strides(&self.box_extents());
        self.begin
            .iter()
            .zip(strides)
            .map(|(at, stride)| at * stride)
            .sum()
    }

    /// Returns the strides of the `count` axes in the box, in elements of the box.
    pub(super) fn strides(&self, count: usize) -> Vec<isize> {
        let box_strides: Vec<usize> = shape::row_major_strides(&self.box_extents());
        let stride_of = |axis| match self.steps.get(axis) {
            Some(&Some((dimension, step))) => step * usize::cast_signed(box_strides[dimension]),
            _ => 0,
        };
        (0..count).map(stride_of).collect()
    }
}
