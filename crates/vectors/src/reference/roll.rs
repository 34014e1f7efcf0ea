//! `roll`: moves elements along axes, and from one end of an axis to the other.

use super::{
    ReferenceError, all_coordinates, check_length, concat::axis_of, fail_with, value_at,
    vec_for_shape,
};

/// Returns the values of an array whose elements are moved by `shifts[i]` positions along each `axes[i]`.
///
/// ```
/// use wgslice_vectors::reference::roll;
///
/// assert_eq!(roll(&["a", "b", "c"], &[3], &[1], &[0])?.concat(), "cab");
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// # Errors
///
/// Fails with `data_length`, `axis`, `shifts` or `too_large`.
pub fn roll<T: Clone>(
    values: &[T],
    shape: &[usize],
    shifts: &[i64],
    axes: &[i64],
) -> Result<Vec<T>, ReferenceError> {
    check_length("values", values.len(), shape)?;
    if shape.is_empty() {
        return fail_with("axis", "a scalar has no axis");
    }
    if shifts.len() != axes.len() {
        return fail_with("shifts", "shift and axis must have the same size");
    }
    let axes = axes.iter().map(|&axis| axis_of(axis, shape.len()));
    let axes: Vec<usize> = axes.collect::<Result<_, _>>()?;
    let mut rolled = vec_for_shape(shape)?;
    for mut element in all_coordinates(shape) {
        for (&axis, &shift) in axes.iter().zip(shifts) {
            let source_position = element[axis] as i128 - i128::from(shift);
            let source_position = source_position.rem_euclid(shape[axis] as i128);
            element[axis] =
                usize::try_from(source_position).expect("a position is less than its size");
        }
        rolled.push(value_at(values, shape, &element).clone());
    }
    Ok(rolled)
}
