//! `slice`: a block given by its first position and its size.

use super::{ReferenceError, all_coordinates, check_length, fail_with, value_at};

/// Returns the shape and the values of the block of `size` that begins at position `begin`, for an `input` of any rank
/// in row-major order.
///
/// `begin` and `size` have one entry for each dimension. A size of -1 extends to the end of the dimension. Unlike in
/// `strided_slice`, a negative `begin` does not count from the end, and nothing is clamped.
///
/// ```
/// use wgslice_vectors::reference::slice;
///
/// let table = ["a", "b", "c", "d", "e", "f"];
/// assert_eq!(slice(&table, &[2, 3], &[0, 1], &[-1, 2])?, (vec![2, 2], vec!["b", "c", "e", "f"]));
///
/// let error = slice(&table, &[2, 3], &[0, 1], &[-1, 3]).unwrap_err();
/// assert_eq!(error.kind, "slice_size");
/// assert_eq!(error.message, "Expected size[1] in [0, 2], but got 3");
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// # Errors
///
/// Fails with `data_length`, `slice_vectors`, `slice_begin` or `slice_size`. The last three are TensorFlow's. If the
/// sum of begin and size is too large for 64 bits, this function fails with `slice_size`, unlike TensorFlow.
pub fn slice<T: Clone>(
    input: &[T],
    shape: &[usize],
    begin: &[i64],
    size: &[i64],
) -> Result<(Vec<usize>, Vec<T>), ReferenceError> {
    check_length("input", input.len(), shape)?;
    let rank = shape.len();
    if begin.len() != rank || size.len() != rank {
        let (begin, size) = (begin.len(), size.len());
        return fail_with(
            "slice_vectors",
            format!(
                "Expected begin and size arguments to be 1-D tensors of size {rank}, but got \
                 shapes [{begin}] and [{size}] instead."
            ),
        );
    }
    let mut block_shape = Vec::with_capacity(rank);
    for dim in 0..rank {
        block_shape.push(checked_size(dim, shape[dim], begin[dim], size[dim])?);
    }
    let values = all_coordinates(&block_shape)
        .map(|element| {
            let source: Vec<usize> = (0..rank)
                .map(|dim| element[dim] + to_usize(begin[dim].into()))
                .collect();
            value_at(input, shape, &source).clone()
        })
        .collect();
    Ok((block_shape, values))
}

/// Checks `begin` and `size` of a block for dimension `dim`, which has `count` positions. Returns the number of
/// positions in the block.
fn checked_size(dim: usize, count: usize, begin: i64, size: i64) -> Result<usize, ReferenceError> {
    // An i128 holds every sum and difference of two of these numbers.
    let (count, begin, size) = (count as i128, i128::from(begin), i128::from(size));
    let size = if size == -1 { count - begin } else { size };
    if count == 0 && (begin != 0 || size != 0) {
        return fail_with(
            "slice_begin",
            format!(
                "Expected begin[{dim}] == 0 (got {begin}) and size[{dim}] == 0 (got {size}) when \
                 input.dim_size({dim}) == 0"
            ),
        );
    }
    if !(0..=count).contains(&begin) {
        return fail_with(
            "slice_begin",
            format!("Expected begin[{dim}] in [0, {count}], but got {begin}"),
        );
    }
    let available = count - begin;
    if !(0..=available).contains(&size) {
        return fail_with(
            "slice_size",
            format!("Expected size[{dim}] in [0, {available}], but got {size}"),
        );
    }
    Ok(to_usize(size))
}

fn to_usize(value: i128) -> usize {
    usize::try_from(value).expect("a position or a count in a dimension is at most its size")
}
