//! Selection by mask: `nonzero`, `boolean_mask`, `compress`, `select` and `masked_scatter`.

use super::{
    ReferenceError, all_coordinates, broadcast_to, check_length, concat::axis_of, fail_with,
    value_at, vec_for_shape, zeros_of_shape,
};

/// Returns the positions of the true elements of a mask, in row-major order: `capacity` rows, each with a number for
/// every dimension. Rows after the last true element are -1. Without a capacity there is a row for each true element.
///
/// ```
/// use wgslice_vectors::reference::nonzero;
///
/// let (shape, positions) = nonzero(&[false, true, true, false], &[2, 2], None)?;
/// assert_eq!((shape, positions), (vec![2, 2], vec![0, 1, 1, 0]));
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// # Errors
///
/// Fails with `data_length` or `too_large`.
pub fn nonzero(
    mask: &[bool],
    shape: &[usize],
    capacity: Option<usize>,
) -> Result<(Vec<usize>, Vec<i64>), ReferenceError> {
    let selected_positions = true_positions(mask, shape)?;
    let row_count = capacity.unwrap_or(selected_positions.len());
    let result_shape = vec![row_count, shape.len()];
    let mut result = vec_for_shape(&result_shape)?;
    for row in all_coordinates(&result_shape) {
        let position = selected_positions.get(row[0]);
        // No array has 2^63 positions.
        result.push(position.map_or(-1, |position| i64::try_from(position[row[1]]).unwrap_or(-1)));
    }
    Ok((result_shape, result))
}

fn true_positions(mask: &[bool], shape: &[usize]) -> Result<Vec<Vec<usize>>, ReferenceError> {
    check_length("mask", mask.len(), shape)?;
    let is_true = |position: &Vec<usize>| *value_at(mask, shape, position);
    Ok(all_coordinates(shape).filter(is_true).collect())
}

/// Returns the shape and the values of the slices of an array that a mask selects, in row-major order. The mask has the
/// sizes of some dimensions of the array, from `axis` on. In the result, one dimension replaces these dimensions. It
/// has `capacity` positions, or one for each true element. Positions after the last true element are zeros.
///
/// # Errors
///
/// Fails with `data_length`, `mask_scalar`, `axis`, `mask_shape` or `too_large`.
pub fn boolean_mask<T: Clone + Default>(
    values: &[T],
    shape: &[usize],
    mask: (&[bool], &[usize]),
    axis: usize,
    capacity: Option<usize>,
) -> Result<(Vec<usize>, Vec<T>), ReferenceError> {
    check_length("values", values.len(), shape)?;
    let selected_positions = true_positions(mask.0, mask.1)?;
    let rank = mask.1.len();
    if rank == 0 {
        return fail_with("mask_scalar", "mask cannot be scalar.");
    }
    if axis >= shape.len() {
        return fail_with("axis", "the array has no such dimension");
    }
    let selected_sizes: Vec<_> = shape.iter().skip(axis).take(rank).collect();
    if selected_sizes != mask.1.iter().collect::<Vec<_>>() {
        return fail_with("mask_shape", "the mask has another shape than the array");
    }
    let mut result_shape = shape.to_vec();
    result_shape.splice(
        axis..axis + rank,
        [capacity.unwrap_or(selected_positions.len())],
    );
    let mut result = vec_for_shape(&result_shape)?;
    for mut element in all_coordinates(&result_shape) {
        let value = match selected_positions.get(element[axis]) {
            Some(position) => {
                element.splice(axis..=axis, position.iter().copied());
                value_at(values, shape, &element).clone()
            }
            None => T::default(),
        };
        result.push(value);
    }
    Ok((result_shape, result))
}

/// Returns the shape and the values of an array at the positions along `axis` at which a condition is true. Without an
/// axis, the array is flattened.
///
/// # Errors
///
/// Fails with `data_length`, `axis`, `condition` or `too_large`.
pub fn compress<T: Clone + Default>(
    values: &[T],
    shape: &[usize],
    condition: (&[bool], &[usize]),
    axis: Option<i64>,
    capacity: Option<usize>,
) -> Result<(Vec<usize>, Vec<T>), ReferenceError> {
    check_length("values", values.len(), shape)?;
    if condition.1.len() != 1 {
        return fail_with("condition", "the condition is not a vector");
    }
    let flat_shape = [values.len()];
    let (shape, axis) = match axis {
        Some(axis) => (shape, axis_of(axis, shape.len())?),
        None => (&flat_shape[..], 0),
    };
    if condition.0.len() > shape[axis] {
        return fail_with("condition", "the condition is too long");
    }
    let mut padded_condition = condition.0.to_vec();
    padded_condition.resize(shape[axis], false);
    boolean_mask(
        values,
        shape,
        (&padded_condition, &[shape[axis]]),
        axis,
        capacity,
    )
}

/// Broadcasts a mask, `x` and `y` to one shape. Returns this shape, and the elements of `x` where the mask is true and
/// of `y` elsewhere.
///
/// # Errors
///
/// Fails with `data_length`, `broadcast` or `too_large`.
pub fn select<T: Clone>(
    mask: (&[bool], &[usize]),
    x: (&[T], &[usize]),
    y: (&[T], &[usize]),
) -> Result<(Vec<usize>, Vec<T>), ReferenceError> {
    let shapes = [mask.1, x.1, y.1];
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut common_shape = Vec::new();
    for from_end in (1..=rank).rev() {
        let sizes = shapes.iter().filter(|shape| shape.len() >= from_end);
        let mut sizes = sizes.map(|shape| shape[shape.len() - from_end]);
        // All sizes except 1 must be equal. If they are not, one of the arrays cannot be broadcast.
        common_shape.push(sizes.find(|&size| size != 1).unwrap_or(1));
    }
    let mask = broadcast_to(mask.0, mask.1, &common_shape)?;
    let x = broadcast_to(x.0, x.1, &common_shape)?;
    let y = broadcast_to(y.0, y.1, &common_shape)?;
    let mut selected_values = vec_for_shape(&common_shape)?;
    for ((is_true, x), y) in mask.into_iter().zip(x).zip(y) {
        selected_values.push(if is_true { x } else { y });
    }
    Ok((common_shape, selected_values))
}

/// Returns the values of an array after replacing the slices that a mask selects by `updates`, in row-major order.
/// Updates without a slice are not used, and slices without an update keep their values.
///
/// # Errors
///
/// Fails with `data_length`, `mask_scalar`, `mask_shape`, `mask_values` or `too_large`.
pub fn masked_scatter<T: Clone + Default>(
    values: &[T],
    shape: &[usize],
    mask: (&[bool], &[usize]),
    updates: (&[T], &[usize]),
) -> Result<Vec<T>, ReferenceError> {
    let mut element_indices = zeros_of_shape::<usize>(shape)?;
    element_indices
        .iter_mut()
        .enumerate()
        .for_each(|(n, index)| *index = n);
    let (selected_shape, selected_indices) = boolean_mask(&element_indices, shape, mask, 0, None)?;
    check_length("values", values.len(), shape)?;
    check_length("updates", updates.0.len(), updates.1)?;
    if updates.1.is_empty() || updates.1[1..] != selected_shape[1..] {
        return fail_with("mask_values", "updates do not have the shape of slices");
    }
    let mut result = values.to_vec();
    for (index, update) in selected_indices.into_iter().zip(updates.0) {
        result[index] = update.clone();
    }
    Ok(result)
}
