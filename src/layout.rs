//! The passes that reduce a view to few axes and large units.
//!
//! | pass | effect | example |
//! |---|---|---|
//! | squeeze | drops dimensions of size 1 | `[8,1,4]` → `[8,4]` |
//! | merge | joins two dimensions that one stride can walk | `[8,4]` with strides `[4,1]` → `[32]` |
//! | widen | turns aligned contiguous elements into fewer, larger units | 32 bytes of u8 → 2 units of 16 |
//!
//! Each keeps the elements and their order. A typical slice of rank 4 or 5 has one or two axes afterwards.

use crate::{shape::common_power_of_two, view::View};
use std::ops::Range;

/// Bytes of the largest unit.
pub(crate) const MAX_UNIT: usize = 16;

/// Where to split an axis of `positions`: the midpoint, rounded down to a multiple of 32 from 64 positions on, so that
/// the second half keeps the alignment of the first. `None` below 2 positions.
pub(crate) fn middle(positions: usize) -> Option<usize> {
    match positions / 2 {
        0 => None,
        half @ ..32 => Some(half),
        half => Some(half / 32 * 32),
    }
}

/// One dimension: its number of positions, and the distance between two in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Axis {
    pub(crate) size: usize,
    pub(crate) stride: isize,
}

/// Pairs sizes with strides.
pub(crate) fn axes(shape: &[usize], strides: &[isize]) -> impl Iterator<Item = Axis> {
    let axes = shape.iter().zip(strides);
    axes.map(|(&size, &stride)| Axis { size, stride })
}

/// The range of units that axes reach from `offset`.
pub(crate) fn span(offset: usize, axes: impl Iterator<Item = Axis>) -> Range<usize> {
    let (mut low, mut high) = (offset, offset);
    for axis in axes {
        let reach = (axis.size - 1).cast_signed() * axis.stride;
        low = low.wrapping_add_signed(reach.min(0));
        high = high.wrapping_add_signed(reach.max(0));
    }
    low..high + 1
}

/// A view in units of a power of two of bytes, reduced to as few axes as possible.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Layout {
    /// Bytes of a unit: 1, 2, 4, 8 or 16.
    pub(crate) unit: usize,
    /// The first unit.
    pub(crate) offset: usize,
    /// Outermost first. Empty for a single unit.
    pub(crate) axes: Vec<Axis>,
}

impl Layout {
    /// The layout of a view that is not empty, after all passes.
    pub(crate) fn of(view: &View, element: usize) -> Self {
        let mut layout = Self {
            unit: element,
            offset: view.offset,
            axes: axes(&view.shape, &view.strides).collect(),
        };
        layout.squeeze();
        layout.merge();
        layout.widen();
        // A run that became a single unit is dropped too.
        layout.squeeze();
        layout
    }

    fn squeeze(&mut self) {
        self.axes.retain(|axis| axis.size != 1);
    }

    fn merge(&mut self) {
        self.axes.dedup_by(|inner, outer| {
            // The span of an existing axis lies within the source, so it cannot overflow.
            let joins = outer.stride == inner.stride * inner.size.cast_signed();
            if joins {
                outer.size *= inner.size;
                outer.stride = inner.stride;
            }
            joins
        });
    }

    fn widen(&mut self) {
        let Some((run, outer)) = self.axes.split_last_mut() else {
            return;
        };
        if run.stride != 1 {
            return;
        }
        let factor = common_power_of_two(
            MAX_UNIT / self.unit,
            outer
                .iter()
                .map(|axis| axis.stride.unsigned_abs())
                .chain([run.size, self.offset]),
        );
        run.size /= factor;
        self.offset /= factor;
        for axis in outer {
            axis.stride /= factor.cast_signed();
        }
        self.unit *= factor;
    }
}
