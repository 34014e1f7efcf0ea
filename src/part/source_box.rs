//! The smallest box of the source that contains given elements.
//!
//! A plan merges dimensions and has large units. Here both are taken apart again: each dimension of the result gets its
//! stride in elements of the source. Every stride walks along one dimension of the source: of the dimensions whose own
//! stride is not larger, the one with the largest. A stride that reaches `size` or more positions of an inner dimension
//! would walk along the next outer one. So the extent of the smallest box in a dimension of the source is the sum of
//! the distances that the strides along it reach. Dimensions of size 1 have stride 0 and walk along none.

use crate::{Plan, layout::Axis, shape};
use std::{iter, ops::Range};

impl Plan {
    /// The stride of each dimension of the result in elements of the source. `units` are the axes that number the units
    /// of the result in row-major order; each was merged from one or more neighbouring dimensions.
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
        // Wide units have split dimensions; neighbouring axes that continue each other are joined again.
        let mut groups: Vec<_> = outer.chain([inner]).filter(|axis| axis.size > 1).collect();
        groups.dedup_by(|inner, outer| {
            let joins = outer.stride == inner.stride * inner.size.cast_signed();
            if joins {
                *outer = Axis {
                    size: outer.size * inner.size,
                    ..*inner
                };
            }
            joins
        });
        let mut stride = |&size: &usize| {
            let Some(group) = groups.last_mut().filter(|_| size > 1) else {
                return 0;
            };
            let stride = group.stride;
            group.size /= size;
            // The last product is not used, and may overflow.
            group.stride = stride.wrapping_mul(size.cast_signed());
            groups.pop_if(|group| group.size == 1);
            stride
        };
        let mut strides: Vec<_> = self.shape.iter().rev().map(&mut stride).collect();
        strides.reverse();
        strides
    }

    /// The smallest box of the source that contains the elements at these ranges of the axes. Position 0 of all axes is
    /// element `offset`.
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

/// A box of the source, and the axes in it.
pub(super) struct SourceBox {
    pub(super) ranges: Vec<Range<usize>>,
    /// The position of the first element, counted from the beginning of each range.
    from: Vec<usize>,
    /// For each axis the dimension that it walks, and its step there.
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

    /// The number, in row-major order within the box, of the element at which all axes begin.
    pub(super) fn offset(&self) -> usize {
        let strides = shape::strides(&self.extents());
        self.from
            .iter()
            .zip(strides)
            .map(|(at, stride)| at * stride)
            .sum()
    }

    /// The strides of the axes in the box.
    pub(super) fn strides(&self, walked: &[Axis]) -> Vec<isize> {
        let lengths: Vec<usize> = shape::strides(&self.extents());
        let stride = |number| match self.steps.get(number) {
            Some(&Some((dimension, step))) => step * usize::cast_signed(lengths[dimension]),
            _ => 0,
        };
        (0..walked.len()).map(stride).collect()
    }
}
