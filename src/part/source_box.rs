//! The smallest box of the source that contains given elements.
//!
//! A plan merges dimensions and has large units. This file undoes both: each dimension of the result gets its stride in
//! elements of the source. A stride other than 0 walks along one dimension of the source: the outermost dimension of
//! size 2 or more whose own row-major stride is at most as large. The extent of the smallest box in a dimension of the
//! source is the sum of the distances that the strides along this dimension reach, in positions, plus 1. Dimensions of
//! the result of size 1 have stride 0 and walk along no dimension.

use crate::{
    Plan,
    layout::{Axis, merged},
    shape,
};
use std::{iter, ops::Range};

impl Plan {
    /// The stride of each dimension of the result, in elements of the source. `units` are the axes that number the
    /// units of the result in row-major order, with strides in units. Each axis was merged from one or more
    /// neighbouring dimensions.
    pub(super) fn strides(&self, units: impl DoubleEndedIterator<Item = Axis>) -> Vec<isize> {
        let factor = self.factor();
        let inner = Axis {
            size: factor,
            stride: 1,
        };
        let outer = units.map(|axis| Axis {
            size: axis.size,
            stride: axis.stride * factor.cast_signed(),
        });
        // The elements of a unit become an axis of their own, `inner`, although they may be a part of a merged
        // dimension. So neighbouring axes that one stride can walk are joined again.
        let mut groups = merged(outer.chain([inner]));
        let mut stride = |&size: &usize| {
            let Some(group) = groups.last_mut().filter(|_| size > 1) else {
                return 0;
            };
            let stride = group.stride;
            group.size /= size;
            // The product may overflow for the outermost dimension, where it is not used.
            group.stride = stride.wrapping_mul(size.cast_signed());
            groups.pop_if(|group| group.size == 1);
            stride
        };
        let mut strides: Vec<_> = self.shape.iter().rev().map(&mut stride).collect();
        strides.reverse();
        strides
    }

    /// The smallest box of the source that contains the elements at the positions `ranges` of the axes `walked`.
    /// Position 0 of all axes is element `offset` of the source.
    pub(super) fn source_box(
        &self,
        offset: usize,
        walked: &[Axis],
        ranges: &[Range<usize>],
    ) -> SourceBox {
        if self.source.contains(&0) || ranges.iter().any(Range::is_empty) {
            return SourceBox::nothing(self.source.len());
        }
        let lengths = shape::strides(&self.source);
        let first = shape::coordinates(offset, &self.source);
        let mut origin: Vec<_> = first.iter().map(|&at| at.cast_signed()).collect();
        let mut reach = vec![(0, 0); origin.len()];
        let mut steps = Vec::with_capacity(walked.len());
        for (axis, range) in walked.iter().zip(ranges) {
            let apart = axis.stride.unsigned_abs();
            let dimension = iter::zip(&self.source, &lengths)
                .position(|(&size, &length)| size > 1 && length <= apart);
            let Some(dimension) = dimension else {
                steps.push(None);
                continue;
            };
            let step = axis.stride / lengths[dimension].cast_signed();
            origin[dimension] += step * range.start.cast_signed();
            let last = step * (range.len() - 1).cast_signed();
            let (low, high) = &mut reach[dimension];
            *low += last.min(0);
            *high += last.max(0);
            steps.push(Some((dimension, step)));
        }
        let range = |(&at, &(low, high)): (&isize, &(isize, isize))| {
            (at + low).cast_unsigned()..(at + high + 1).cast_unsigned()
        };
        let ranges: Vec<Range<usize>> = origin.iter().zip(&reach).map(range).collect();
        SourceBox {
            from: reach.iter().map(|(low, _)| low.unsigned_abs()).collect(),
            ranges,
            steps,
        }
    }
}

/// A box of the source, and how the axes run in it.
pub(super) struct SourceBox {
    pub(super) ranges: Vec<Range<usize>>,
    /// For each dimension of the source, the position in the box of the element at which the ranges of all axes begin.
    from: Vec<usize>,
    /// For each axis, the dimension that it walks and its step there, in positions. `None` for an axis of stride 0.
    /// Empty if the box is empty.
    steps: Vec<Option<(usize, isize)>>,
}

impl SourceBox {
    fn nothing(rank: usize) -> Self {
        Self {
            ranges: vec![0..0; rank],
            from: vec![0; rank],
            steps: Vec::new(),
        }
    }

    pub(super) fn extents(&self) -> Vec<usize> {
        self.ranges.iter().map(Range::len).collect()
    }

    /// The number, in the box's row-major order, of the element at which the ranges of all axes begin.
    pub(super) fn offset(&self) -> usize {
        let strides = shape::strides(&self.extents());
        self.from
            .iter()
            .zip(strides)
            .map(|(at, stride)| at * stride)
            .sum()
    }

    /// The strides of the axes in the box, in elements of the box.
    pub(super) fn strides(&self, walked: &[Axis]) -> Vec<isize> {
        let lengths: Vec<usize> = shape::strides(&self.extents());
        let stride = |number| match self.steps.get(number) {
            Some(&Some((dimension, step))) => step * usize::cast_signed(lengths[dimension]),
            _ => 0,
        };
        (0..walked.len()).map(stride).collect()
    }
}
