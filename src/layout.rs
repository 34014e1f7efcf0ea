//! Axes: sizes with strides.

/// The size of the largest unit in bytes: that of the largest element, and of the largest vector that a shader loads or
/// stores at once, `vec4<u32>`.
pub(crate) const MAX_UNIT: usize = 16;

/// Where to split an axis of `positions` positions: in the middle, which for 64 positions or more is rounded down to a
/// multiple of 32, so that the second half keeps the alignment of the first. `None` below 2 positions, which cannot be
/// split.
pub(crate) fn middle(positions: usize) -> Option<usize> {
    match positions / 2 {
        0 => None,
        half @ ..32 => Some(half),
        half => Some(half / 32 * 32),
    }
}

/// One dimension: the number of its positions, and the distance between neighbouring positions in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Axis {
    pub(crate) size: usize,
    pub(crate) stride: isize,
}

/// Makes an [`Axis`] of each size and its stride.
pub(crate) fn axes(shape: &[usize], strides: &[isize]) -> impl Iterator<Item = Axis> {
    let axes = shape.iter().zip(strides);
    axes.map(|(&size, &stride)| Axis { size, stride })
}

/// `at + count · stride`. Wraps instead of overflowing: loops also compute positions outside of the source, but do not
/// use them.
pub(crate) fn along(at: usize, stride: isize, count: usize) -> usize {
    at.wrapping_add_signed(stride.wrapping_mul(count.cast_signed()))
}

/// The range from the lowest to the highest unit at the positions of `axes`. The first position is unit `offset`. No
/// axis has size 0.
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
