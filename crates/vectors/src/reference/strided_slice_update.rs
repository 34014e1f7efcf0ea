//! `strided_slice_update`: assigns to a slice.

use super::{
    ReferenceError, Spec,
    broadcast_to::{broadcast_to, can_broadcast},
    check_length, fail_with, format_shape,
    strided_slice::Selection,
    value_at_mut,
};
use std::iter;

/// Returns a copy of `input` in which `value` replaces the elements of a slice: `input[spec] = value`.
///
/// `value` is broadcast to the shape of the slice. If `value` has more axes than the slice, leading axes of size 1
/// are dropped first. An empty slice accepts a value of any shape, as in TensorFlow.
///
/// ```
/// use wgslice_vectors::reference::{Spec, strided_slice_update};
///
/// let spec = Spec { begin: &[3], end: &[0], strides: &[-1], ..Spec::default() };
/// let table = ["a", "b", "c", "d", "e"];
/// let updated = strided_slice_update(&table, &[5], &spec, &["x", "y", "z"], &[3])?;
/// assert_eq!(updated, ["a", "z", "y", "x", "e"]);
/// let updated = strided_slice_update(&table, &[5], &spec, &["x"], &[1, 1])?;
/// assert_eq!(updated, ["a", "x", "x", "x", "e"]);
///
/// let error = strided_slice_update(&table, &[5], &spec, &["x", "y"], &[2]).unwrap_err();
/// assert_eq!(error.kind, "broadcast");
/// assert_eq!(error.message, "Cannot broadcast input shape [2] into final shape [3]");
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// # Errors
///
/// Fails with the errors of [`strided_slice`](super::strided_slice()), and then `broadcast`.
pub fn strided_slice_update<T: Clone>(
    input: &[T],
    shape: &[usize],
    spec: &Spec<'_>,
    value: &[T],
    value_shape: &[usize],
) -> Result<Vec<T>, ReferenceError> {
    check_length("input", input.len(), shape)?;
    check_length("value", value.len(), value_shape)?;
    let selection = Selection::new(shape, spec)?;
    let mut values = input.to_vec();
    if selection.shape.contains(&0) {
        return Ok(values);
    }
    let surplus_dims = value_shape.len().saturating_sub(selection.shape.len());
    let leading_ones = value_shape.iter().take_while(|&&size| size == 1).count();
    let aligned_shape = &value_shape[surplus_dims.min(leading_ones)..];
    if !can_broadcast(aligned_shape, &selection.shape) {
        let (from, to) = (format_shape(value_shape), format_shape(&selection.shape));
        return fail_with(
            "broadcast",
            format!("Cannot broadcast input shape {from} into final shape {to}"),
        );
    }
    let new_values = broadcast_to(value, aligned_shape, &selection.shape)?;
    for (source, value) in iter::zip(selection.source_coordinates(), new_values) {
        *value_at_mut(&mut values, shape, &source) = value;
    }
    Ok(values)
}
