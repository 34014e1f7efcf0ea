//! Axes: sizes with strides.

use std::fmt;

/// The size of the largest unit in bytes. The largest element (complex128) and the largest vector that a shader loads
/// or stores at once (`vec4<u32>`) both have this size.
pub(crate) const MAX_UNIT: usize = 16;

/// The position at which an axis of `positions` positions is split: the middle. For 64 positions or more, the middle is
/// rounded down to a multiple of 32, so that the second half keeps the alignment of the first. `None` for fewer than 2
/// positions, which cannot be split.
pub(crate) fn middle(positions: usize) -> Option<usize> {
    match positions / 2 {
        0 => None,
        half @ ..32 => Some(half),
        half => Some(half / 32 * 32),
    }
}

/// One dimension: the number of its positions, and the distance between neighbouring positions, usually in the source.
/// Each user of an axis says what its stride counts: units, elements, bytes, or the slices of a scatter's destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Axis {
    pub(crate) size: usize,
    pub(crate) stride: isize,
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}*{}", self.size, self.stride)
    }
}

/// Makes an [`Axis`] of each size and its stride.
pub(crate) fn axes(shape: &[usize], strides: &[isize]) -> impl Iterator<Item = Axis> {
    let axes = shape.iter().zip(strides);
    axes.map(|(&size, &stride)| Axis { size, stride })
}

/// Drops axes of size 1, and joins two neighbouring axes where one stride can walk both.
pub(crate) fn merged(axes: impl Iterator<Item = Axis>) -> Vec<Axis> {
    let mut merged: Vec<Axis> = axes.filter(|axis| axis.size != 1).collect();
    merged.dedup_by(|inner, outer| {
        let joins = outer.stride == inner.stride * inner.size.cast_signed();
        if joins {
            outer.size *= inner.size;
            outer.stride = inner.stride;
        }
        joins
    });
    merged
}

/// Returns `at + count · stride`. Wraps instead of overflowing, because loops also compute positions outside of the
/// source, which they do not use.
pub(crate) fn along(at: usize, stride: isize, count: usize) -> usize {
    at.wrapping_add_signed(stride.wrapping_mul(count.cast_signed()))
}

/// The range from the lowest to the highest unit at any position of `axes`. Position 0 of all axes is unit `offset`. No
/// axis may have size 0.
#[cfg(feature = "gpu")]
pub(crate) fn span(offset: usize, axes: impl Iterator<Item = Axis>) -> std::ops::Range<usize> {
    let (mut low, mut high) = (offset, offset);
    for axis in axes {
        let reach = (axis.size - 1).cast_signed() * axis.stride;
        low = low.wrapping_add_signed(reach.min(0));
        high = high.wrapping_add_signed(reach.max(0));
    }
    low..high + 1
}
