//! Positions along a dimension.

/// Returns the position at which a dimension of `positions` positions is split: the middle. For 64 positions or more,
/// the middle is rounded down to a multiple of 32, so that the second half keeps the alignment of the first. Returns
/// `None` for fewer than 2 positions, which cannot be split.
#[cfg(any(feature = "gpu", all(feature = "std", not(target_arch = "wasm32"))))]
pub(crate) fn split_position(positions: usize) -> Option<usize> {
    match positions / 2 {
        0 => None,
        half @ ..32 => Some(half),
        half => Some(half / 32 * 32),
    }
}

/// Returns `start + count · stride`. Wraps instead of overflowing, because loops also compute positions outside the
/// source, which they do not use.
pub(crate) fn along(start: usize, stride: isize, count: usize) -> usize {
    start.wrapping_add_signed(stride.wrapping_mul(count.cast_signed()))
}
