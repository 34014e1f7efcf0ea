//! Shapes: element counts that cannot overflow, and row-major strides.

use crate::Error;
use crate::prelude::*;

/// The largest number of elements of a shape. Elements of the largest type, 16 bytes, then take at most `isize::MAX`
/// bytes.
const MAX_ELEMENTS: usize = isize::MAX.cast_unsigned() / 16;

/// Returns the number of elements of `shape`, or [`Error::ShapeTooLarge`].
///
/// The product of the non-zero dimensions must be at most [`MAX_ELEMENTS`] even if another dimension is 0, so that no
/// stride computed from the shape overflows.
pub(crate) fn elements(shape: &[usize]) -> Result<usize, Error> {
    let (mut count, mut is_empty) = (1usize, false);
    for &dim in shape {
        is_empty |= dim == 0;
        count = count
            .checked_mul(dim.max(1))
            .filter(|&count| count <= MAX_ELEMENTS)
            .ok_or_else(|| Error::ShapeTooLarge {
                shape: shape.to_vec(),
            })?;
    }
    Ok(if is_empty { 0 } else { count })
}

/// Checks that an argument has the number of elements or bytes that its shape needs. The error names `argument` and
/// `unit`, which is `"elements"` or `"bytes"`.
pub(crate) fn check_length(
    argument: &'static str,
    shape: &[usize],
    unit: &'static str,
    needed: usize,
    found: usize,
) -> Result<(), Error> {
    if needed == found {
        return Ok(());
    }
    Err(Error::Length {
        argument,
        shape: shape.to_vec(),
        needed,
        found,
        unit,
    })
}

/// Checks that an argument has the number of elements that its shape needs.
pub(crate) fn check_elements(
    argument: &'static str,
    shape: &[usize],
    found: usize,
) -> Result<(), Error> {
    check_length(argument, shape, "elements", elements(shape)?, found)
}

/// Returns the shape that both shapes can be broadcast to, or `None` if there is no such shape.
pub(crate) fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let size = |shape: &[usize], d: usize| match (d + shape.len()).checked_sub(rank) {
        Some(d) => shape[d],
        None => 1,
    };
    let broadcast_sizes = (0..rank).map(|d| match (size(a, d), size(b, d)) {
        (1, size) | (size, 1) => Some(size),
        (a, b) => (a == b).then_some(a),
    });
    broadcast_sizes.collect()
}

/// Returns the row-major strides of `shape` in elements. A dimension of size 0 counts as size 1. `shape` must have
/// passed [`elements`], so that no product overflows.
pub(crate) fn row_major_strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].max(1);
    }
    strides
}

/// Returns the coordinates of the element with the row-major number `index` in an array of `shape`.
pub(crate) fn coordinates_of(mut index: usize, shape: &[usize]) -> Vec<usize> {
    let mut coordinates = vec![0; shape.len()];
    for (coordinate, &dim) in coordinates.iter_mut().zip(shape).rev() {
        *coordinate = index % dim.max(1);
        index /= dim.max(1);
    }
    coordinates
}

/// Returns the largest of `limit`, `limit / 2`, …, 1 that divides all of `values`.
///
/// `limit` is a power of two. Every number divides 0, so values of 0 have no effect.
pub(crate) fn common_power_of_two(limit: usize, values: impl IntoIterator<Item = usize>) -> usize {
    let all_bits = values.into_iter().fold(limit, |bits, value| bits | value);
    1 << all_bits.trailing_zeros()
}

/// Returns the number of the dimension `axis` of an array with `rank` dimensions. A negative axis counts from the end.
/// Returns `None` if there is no such dimension.
pub(crate) fn axis(axis: isize, rank: usize) -> Option<usize> {
    from_end(axis, rank).filter(|&axis| axis < rank)
}

/// Returns `number`, or `rank + number` if `number` is negative. Returns `None` if this sum is still negative. The
/// caller checks that the result is not too large.
pub(crate) fn from_end(number: isize, rank: usize) -> Option<usize> {
    match usize::try_from(number) {
        Ok(number) => Some(number),
        Err(_) => rank.checked_sub(number.unsigned_abs()),
    }
}
