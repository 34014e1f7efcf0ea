//! `broadcast_to`: repeats an array along axes of size 1 and along new axes, by NumPy's rules.

use super::{
    ReferenceError, all_coordinates, check_length, fail_with, format_shape, value_at, vec_for_shape,
};

/// Returns the values of an array of `shape`, broadcast to `new_shape`.
///
/// The axes are aligned from the last. An axis has the size of the new axis, or has size 1 and is repeated. Along
/// leading axes that the array lacks, the whole array is repeated. The array must not have more axes than the new
/// shape.
///
/// ```
/// use wgslice_vectors::reference::broadcast_to;
///
/// assert_eq!(broadcast_to(&["a", "b"], &[2, 1], &[2, 3])?, ["a", "a", "a", "b", "b", "b"]);
/// assert_eq!(broadcast_to(&["a", "b"], &[2], &[2, 2])?, ["a", "b", "a", "b"]);
///
/// let error = broadcast_to(&["a", "b"], &[2], &[2, 3]).unwrap_err();
/// assert_eq!(error.kind, "broadcast");
/// assert_eq!(error.message, "Cannot broadcast input shape [2] into final shape [2,3]");
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// # Errors
///
/// Fails with `data_length`, `broadcast` or `too_large`.
pub fn broadcast_to<T: Clone>(
    values: &[T],
    shape: &[usize],
    new_shape: &[usize],
) -> Result<Vec<T>, ReferenceError> {
    check_length("values", values.len(), shape)?;
    if !can_broadcast(shape, new_shape) {
        let (from, to) = (format_shape(shape), format_shape(new_shape));
        return fail_with(
            "broadcast",
            format!("Cannot broadcast input shape {from} into final shape {to}"),
        );
    }
    let mut result = vec_for_shape(new_shape)?;
    let leading_dims = new_shape.len() - shape.len();
    for element in all_coordinates(new_shape) {
        let source: Vec<usize> = (0..shape.len())
            .map(|axis| {
                if shape[axis] == 1 {
                    0
                } else {
                    element[leading_dims + axis]
                }
            })
            .collect();
        result.push(value_at(values, shape, &source).clone());
    }
    Ok(result)
}

/// Returns whether an array of `shape` can be broadcast to `new_shape`.
pub(super) fn can_broadcast(shape: &[usize], new_shape: &[usize]) -> bool {
    let size_pairs = shape.iter().rev().zip(new_shape.iter().rev());
    shape.len() <= new_shape.len()
        && size_pairs
            .into_iter()
            .all(|(size, new_size)| size == new_size || *size == 1)
}
