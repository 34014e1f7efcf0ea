//! The passes that make a view cheap to move: squeeze, merge, widen.
//!
//! | pass | what it does | example |
//! |---|---|---|
//! | squeeze | drops dimensions of size 1 | `[8,1,4]` → `[8,4]` |
//! | merge | joins two dimensions that one stride can walk | `[8,4]` with strides `[4,1]` → `[32]` |
//! | widen | turns aligned contiguous elements into fewer, larger units | 32 bytes of u8 → 2 units of 16 |
//!
//! Each keeps the elements and their order; what is left of a typical slice of rank 4 or 5 has one
//! or two dimensions.

use crate::{shape::common_power_of_two, view::View};

/// The largest unit that is moved at once, in bytes.
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

/// One dimension: how many units, and how far apart in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Axis {
    pub(crate) size: usize,
    pub(crate) stride: isize,
}

/// A view in units of some power of two of bytes, reduced to as few axes as it takes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Layout {
    /// Bytes of a unit: 1, 2, 4, 8 or 16.
    pub(crate) unit: usize,
    /// The first unit.
    pub(crate) offset: usize,
    /// Outermost first. None where the view is a single unit.
    pub(crate) axes: Vec<Axis>,
}

impl Layout {
    /// The layout of a view that is not empty, all passes taken.
    pub(crate) fn of(view: &View, element: usize) -> Self {
        let axes = view
            .shape
            .iter()
            .zip(&view.strides)
            .map(|(&size, &stride)| Axis { size, stride });
        let mut layout = Self {
            unit: element,
            offset: view.offset,
            axes: axes.collect(),
        };
        layout.squeeze();
        layout.merge();
        layout.widen();
        // A run that became a single unit makes the next axis the innermost.
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
