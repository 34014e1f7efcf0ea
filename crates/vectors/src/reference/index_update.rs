//! `index_update`: NumPy's `x[…] = value` with arrays, and combinations other than assignment.

use super::{
    Entry, ReferenceError, array_index,
    broadcast_to::{broadcast_to, can_broadcast},
    check_length, fail_with, format_shape,
};
use std::iter;

/// Returns a copy of `values` after combining the elements of `value` into the elements that `x[…]` selects, in
/// row-major order of the selection.
///
/// `value` is broadcast to the shape of the selection. If it has more axes, leading axes of size 1 are dropped first.
///
/// ```
/// use wgslice_vectors::reference::{Entry, index_update};
///
/// let twice = [Entry::Positions(vec![1, 0, 1], vec![3])];
/// let add = |old: &mut i32, new: &i32| *old += new;
/// assert_eq!(index_update(&[5, 6], &[2], &twice, false, &[1, 2, 3], &[3], add)?, [7, 10]);
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// # Errors
///
/// Fails with the errors of [`array_index`](super::array_index()), and then `broadcast`.
pub fn index_update<T: Clone>(
    values: &[T],
    shape: &[usize],
    entries: &[Entry],
    outer: bool,
    value: &[T],
    value_shape: &[usize],
    mut combine: impl FnMut(&mut T, &T),
) -> Result<Vec<T>, ReferenceError> {
    check_length("values", values.len(), shape)?;
    check_length("value", value.len(), value_shape)?;
    let element_indices: Vec<usize> = (0..values.len()).collect();
    let (selection_shape, selected_indices) = array_index(&element_indices, shape, entries, outer)?;
    let surplus_dims = value_shape.len().saturating_sub(selection_shape.len());
    let leading_ones = value_shape.iter().take_while(|&&size| size == 1).count();
    let aligned_shape = &value_shape[surplus_dims.min(leading_ones)..];
    if !can_broadcast(aligned_shape, &selection_shape) {
        let (from, to) = (format_shape(value_shape), format_shape(&selection_shape));
        return fail_with(
            "broadcast",
            format!("value of shape {from} does not broadcast to {to}"),
        );
    }
    let mut result = values.to_vec();
    for (index, new) in iter::zip(
        selected_indices,
        broadcast_to(value, aligned_shape, &selection_shape)?,
    ) {
        combine(&mut result[index], &new);
    }
    Ok(result)
}
