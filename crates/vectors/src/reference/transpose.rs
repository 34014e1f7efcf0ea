//! `transpose`: reorders axes.

use super::{ReferenceError, all_coordinates, check_length, fail_with, format_shape, value_at};

/// Returns the shape and the values of an array whose axis `i` is axis `perm[i]` of the input.
///
/// ```
/// use wgslice_vectors::reference::transpose;
///
/// let table = ["a", "b", "c", "d", "e", "f"];
/// let (shape, values) = transpose(&table, &[2, 3], &[1, 0])?;
/// assert_eq!((shape, values.concat()), (vec![3, 2], "adbecf".into()));
///
/// let error = transpose(&table, &[2, 3], &[1, 1]).unwrap_err();
/// assert_eq!(error.kind, "permutation");
/// assert_eq!(error.message, "perm [1,1] does not name each of 2 axes once");
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// # Errors
///
/// Fails with `data_length` or `permutation`.
pub fn transpose<T: Clone>(
    values: &[T],
    shape: &[usize],
    perm: &[usize],
) -> Result<(Vec<usize>, Vec<T>), ReferenceError> {
    check_length("values", values.len(), shape)?;
    let rank = shape.len();
    if perm.len() != rank || (0..rank).any(|axis| !perm.contains(&axis)) {
        let perm = format_shape(perm);
        return fail_with(
            "permutation",
            format!("perm {perm} does not name each of {rank} axes once"),
        );
    }
    let new_shape: Vec<usize> = perm.iter().map(|&axis| shape[axis]).collect();
    let moved_values = all_coordinates(&new_shape)
        .map(|element| {
            let mut source = vec![0; rank];
            for (&axis, c) in perm.iter().zip(element) {
                source[axis] = c;
            }
            value_at(values, shape, &source).clone()
        })
        .collect();
    Ok((new_shape, moved_values))
}
