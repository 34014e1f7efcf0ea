//! `scatter_elements`: combines an update for each index into an element along one axis.

use super::{
    Indexing, ReferenceError, Scattered, all_coordinates, check_length, fail_with,
    gather_elements::check_elements_shape, value_at, value_at_mut,
};

/// Returns a copy of `tensor` into which `updates` are combined, each into the element at the position along `axis`
/// that its index gives. All arrays have the same rank and are in row-major order, and `updates` have the shape of
/// `indices`.
///
/// Along all other axes, an element has the coordinates of its index, so `indices` must not be longer than `tensor`
/// along these axes. A negative `axis` counts from the end. Updates take effect one at a time in row-major order, each
/// by `combine(element, update)`. [`Scattered::bad_rows`] has the row-major numbers of the bad indices, whose updates
/// are dropped.
///
/// ```
/// use wgslice_vectors::reference::{Indexing, scatter_elements};
///
/// let add = |sum: &mut i32, update: &i32| *sum += update;
/// let (columns, updates) = ([2, 0, 2, 3], [10, 20, 30, 40]);
/// let added = scatter_elements(
///     &[1, 2, 3, 4, 5, 6], &[2, 3], &columns, &[2, 2], &updates, &[2, 2], 1, Indexing::default(), add,
/// )?;
/// assert_eq!(added.values, [21, 2, 13, 4, 5, 36]);
/// assert_eq!(added.bad_rows, [3]);
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// # Errors
///
/// Fails with `data_length`, `axis`, `elements_shape`, `empty_output` or `updates_shape`, in this order.
#[expect(
    clippy::too_many_arguments,
    reason = "three arrays with their shapes, as in the functions beside it"
)]
pub fn scatter_elements<T: Clone>(
    tensor: &[T],
    shape: &[usize],
    indices: &[i64],
    indices_shape: &[usize],
    updates: &[T],
    updates_shape: &[usize],
    axis: i64,
    indexing: Indexing,
    mut combine: impl FnMut(&mut T, &T),
) -> Result<Scattered<T>, ReferenceError> {
    check_length("tensor", tensor.len(), shape)?;
    check_length("indices", indices.len(), indices_shape)?;
    check_length("updates", updates.len(), updates_shape)?;
    if shape.is_empty() {
        return fail_with("axis", "a scalar has no axis");
    }
    let axis = check_elements_shape(shape, indices_shape, axis)?;
    if tensor.is_empty() && !indices.is_empty() {
        return fail_with("empty_output", "there is no element to scatter into");
    }
    if updates_shape != indices_shape {
        return fail_with("updates_shape", "there must be an update for each index");
    }
    let mut values = tensor.to_vec();
    let mut bad_rows = Vec::new();
    for (row, mut element) in all_coordinates(indices_shape).enumerate() {
        let update = value_at(updates, indices_shape, &element);
        let index = *value_at(indices, indices_shape, &element);
        match indexing.resolve_index(index, shape[axis]) {
            Some(position) => {
                element[axis] = position;
                combine(value_at_mut(&mut values, shape, &element), update);
            }
            None => bad_rows.push(row),
        }
    }
    Ok(Scattered { values, bad_rows })
}
