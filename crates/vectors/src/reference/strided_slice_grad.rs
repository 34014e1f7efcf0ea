//! `strided_slice_grad`: writes values to the positions that a slice would read them from.

use super::{
    ReferenceError, Spec, check_length, fail_with, format_shape, strided_slice::Selection,
    value_at_mut, zeros_of_shape,
};
use std::iter;

/// Returns an array of `shape` with the values of `dy` at the positions that a slice selects, and `T::default()`
/// everywhere else.
///
/// `dy` must have exactly the shape of the slice: nothing is broadcast. A slice selects no position twice, so the order
/// of the assignments does not matter.
///
/// ```
/// use wgslice_vectors::reference::{Spec, strided_slice_grad};
///
/// let spec = Spec { begin: &[4], end: &[-6], strides: &[-2], ..Spec::default() };
/// assert_eq!(strided_slice_grad(&[5], &spec, &[1, 2, 3], &[3])?, [3, 0, 2, 0, 1]);
///
/// let error = strided_slice_grad(&[5], &spec, &[1], &[1]).unwrap_err();
/// assert_eq!((error.kind, &*error.message), ("dy_shape", "shape of dy was [1] instead of [3]"));
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// # Errors
///
/// Fails with the errors of [`strided_slice`](super::strided_slice()), and then `dy_shape` and `too_large`.
pub fn strided_slice_grad<T: Clone + Default>(
    shape: &[usize],
    spec: &Spec<'_>,
    dy: &[T],
    dy_shape: &[usize],
) -> Result<Vec<T>, ReferenceError> {
    check_length("dy", dy.len(), dy_shape)?;
    let selection = Selection::new(shape, spec)?;
    if dy_shape != selection.shape {
        let (found, expected) = (format_shape(dy_shape), format_shape(&selection.shape));
        return fail_with(
            "dy_shape",
            format!("shape of dy was {found} instead of {expected}"),
        );
    }
    let mut values = zeros_of_shape(shape)?;
    for (source, value) in iter::zip(selection.source_coordinates(), dy) {
        *value_at_mut(&mut values, shape, &source) = value.clone();
    }
    Ok(values)
}
