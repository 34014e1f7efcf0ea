//! `tile` and `repeat`: copy an array, or each of its positions.

use super::{
    ReferenceError, all_coordinates, check_length, concat::axis_of, fail_with, value_at,
    vec_for_shape,
};

/// Returns the shape and the values of `multiples[d]` copies of an array along each dimension d.
///
/// ```
/// use wgslice_vectors::reference::tile;
///
/// assert_eq!(tile(&["a", "b"], &[2], &[2])?.1.concat(), "abab");
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// # Errors
///
/// Fails with `data_length`, `entries` or `too_large`.
pub fn tile<T: Clone>(
    values: &[T],
    shape: &[usize],
    multiples: &[usize],
) -> Result<(Vec<usize>, Vec<T>), ReferenceError> {
    check_length("values", values.len(), shape)?;
    if multiples.len() != shape.len() {
        return fail_with("entries", "there must be a multiple for each dimension");
    }
    let tiled_shape: Vec<usize> = shape
        .iter()
        .zip(multiples)
        .map(|(size, multiple)| size * multiple)
        .collect();
    let mut result = vec_for_shape(&tiled_shape)?;
    for element in all_coordinates(&tiled_shape) {
        let source_coordinates: Vec<usize> = element
            .iter()
            .zip(shape)
            .map(|(coordinate, size)| coordinate % size)
            .collect();
        result.push(value_at(values, shape, &source_coordinates).clone());
    }
    Ok((tiled_shape, result))
}

/// Returns the shape and the values of an array in which each position along `axis` is repeated `times` times.
///
/// # Errors
///
/// Fails with `data_length`, `axis` or `too_large`.
pub fn repeat<T: Clone>(
    values: &[T],
    shape: &[usize],
    times: usize,
    axis: i64,
) -> Result<(Vec<usize>, Vec<T>), ReferenceError> {
    check_length("values", values.len(), shape)?;
    let shape = if shape.is_empty() { &[1] } else { shape };
    let axis = axis_of(axis, shape.len())?;
    let mut repeated_shape = shape.to_vec();
    repeated_shape[axis] *= times;
    let mut result = vec_for_shape(&repeated_shape)?;
    for mut element in all_coordinates(&repeated_shape) {
        element[axis] /= times;
        result.push(value_at(values, shape, &element).clone());
    }
    Ok((repeated_shape, result))
}
