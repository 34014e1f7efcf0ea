//! `gather_elements`: selects an element along one axis for each index.

use super::{
    Gathered, Indexing, ReferenceError, all_coordinates, check_length, fail_with,
    gather::resolve_axis, value_at, vec_for_shape,
};

/// Returns the elements of `params` at the positions in `indices` along `axis`, for arrays of the same rank in
/// row-major order.
///
/// The result has the shape of `indices`. Along all axes except `axis`, the element of `params` has the coordinates of
/// its index, so `indices` must not be longer than `params` along these axes. A negative `axis` counts from the end.
/// [`Gathered::bad_rows`] has the row-major numbers of the bad indices, whose elements in the result are
/// `T::default()`.
///
/// ```
/// use wgslice_vectors::reference::{Indexing, gather_elements};
///
/// let table = ["a", "b", "c", "d", "e", "f"];
/// let picked = gather_elements(&table, &[2, 3], &[2, 0, 1, 3], &[2, 2], 1, Indexing::default())?;
/// assert_eq!(picked.values, ["c", "a", "e", ""]);
/// assert_eq!(picked.bad_rows, [3]);
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// # Errors
///
/// Fails with `data_length`, `params_rank`, `axis`, `elements_shape` or `too_large`, in this order.
pub fn gather_elements<T: Clone + Default>(
    params: &[T],
    params_shape: &[usize],
    indices: &[i64],
    indices_shape: &[usize],
    axis: i64,
    indexing: Indexing,
) -> Result<Gathered<T>, ReferenceError> {
    check_length("params", params.len(), params_shape)?;
    check_length("indices", indices.len(), indices_shape)?;
    let axis = check_elements_shape(params_shape, indices_shape, axis)?;
    let mut values = vec_for_shape(indices_shape)?;
    let mut bad_rows = Vec::new();
    for (row, mut element) in all_coordinates(indices_shape).enumerate() {
        let index = *value_at(indices, indices_shape, &element);
        match indexing.resolve_index(index, params_shape[axis]) {
            Some(position) => {
                element[axis] = position;
                values.push(value_at(params, params_shape, &element).clone());
            }
            None => {
                bad_rows.push(row);
                values.push(T::default());
            }
        }
    }
    Ok(Gathered {
        shape: indices_shape.to_vec(),
        bad_rows,
        values,
    })
}

/// Checks that the array has a dimension `axis`, and that indices have the rank of the array and are no longer than the
/// array in the other dimensions. Returns the dimension that `axis` means.
pub(super) fn check_elements_shape(
    shape: &[usize],
    indices_shape: &[usize],
    axis: i64,
) -> Result<usize, ReferenceError> {
    let axis = resolve_axis(axis, shape.len())?;
    if indices_shape.len() != shape.len() {
        return fail_with("elements_shape", "indices must have the rank of the array");
    }
    for (d, (size, max_size)) in indices_shape.iter().zip(shape).enumerate() {
        if d != axis && size > max_size {
            let message = format!("indices are longer along axis {d}");
            return fail_with("elements_shape", message);
        }
    }
    Ok(axis)
}
