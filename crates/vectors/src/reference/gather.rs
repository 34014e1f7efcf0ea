//! `gather`: selects positions along one axis by index. `batch_gather`: does the same, with separate indices for every
//! batch.

use super::{
    Gathered, Indexing, ReferenceError, all_coordinates, check_length, fail_with,
    gather_nd::check_batch_shape, value_at, vec_for_shape,
};

/// Returns the slices of `params` at the positions in `indices` along `axis`, for arrays of any rank in row-major
/// order.
///
/// The result has the shape of `params` with `axis` replaced by the axes of `indices` after the first `batch_dims`. The
/// first `batch_dims` axes are shared: each index refers to its own batch of `params`. A negative `axis` counts from
/// the end of the axes of `params`, a negative `batch_dims` from the end of the axes of `indices`. `indexing` decides
/// which indices are bad. By default, these are the negative indices and those past the end.
///
/// [`Gathered::bad_rows`] has the row-major numbers of the bad indices, whose slices in the result are
/// `T::default()`. If the result has no elements, no index counts as bad, because TensorFlow then reads no index.
///
/// ```
/// use wgslice_vectors::reference::{Indexing, gather};
///
/// let table = ["a", "b", "c", "d", "e", "f"];
/// let columns = gather(&table, &[2, 3], &[2, 0], &[2], 1, 0, Indexing::default())?;
/// assert_eq!((columns.shape, columns.values.concat()), (vec![2, 2], "cafd".into()));
///
/// // One column for each row. -1 is out of range.
/// let picked = gather(&table, &[2, 3], &[2, -1], &[2], 1, 1, Indexing::default())?;
/// assert_eq!((picked.shape, picked.values), (vec![2], vec!["c", ""]));
/// assert_eq!(picked.bad_rows, [1]);
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// # Errors
///
/// Fails with `data_length`, `params_rank`, `axis`, `batch_dims`, `batch_shape` or `too_large`, in this order.
pub fn gather<T: Clone + Default>(
    params: &[T],
    params_shape: &[usize],
    indices: &[i64],
    indices_shape: &[usize],
    axis: i64,
    batch_dims: i64,
    indexing: Indexing,
) -> Result<Gathered<T>, ReferenceError> {
    check_length("params", params.len(), params_shape)?;
    check_length("indices", indices.len(), indices_shape)?;
    let axis = resolve_axis(axis, params_shape.len())?;
    let batch_dims = resolve_batch(batch_dims, params_shape.len(), indices_shape.len(), axis)?;
    check_batch_shape(params_shape, indices_shape, batch_dims)?;

    let inner_indices_shape = &indices_shape[batch_dims..];
    let shape = [
        &params_shape[..axis],
        inner_indices_shape,
        &params_shape[axis + 1..],
    ]
    .concat();
    let mut values = vec_for_shape(&shape)?;
    let positions: Vec<Option<usize>> = indices
        .iter()
        .map(|&index| indexing.resolve_index(index, params_shape[axis]))
        .collect();
    for element in all_coordinates(&shape) {
        let (leading_coordinates, other_coordinates) = element.split_at(axis);
        let (index_coordinates, trailing_coordinates) =
            other_coordinates.split_at(inner_indices_shape.len());
        let index = [&leading_coordinates[..batch_dims], index_coordinates].concat();
        values.push(match *value_at(&positions, indices_shape, &index) {
            Some(position) => {
                let source = [leading_coordinates, &[position], trailing_coordinates].concat();
                value_at(params, params_shape, &source).clone()
            }
            None => T::default(),
        });
    }
    let is_bad = |&row: &usize| !values.is_empty() && positions[row].is_none();
    Ok(Gathered {
        shape,
        bad_rows: (0..positions.len()).filter(is_bad).collect(),
        values,
    })
}

/// A [`gather`] whose batch dimensions are all axes of `indices` except the last. The indices select along the first
/// axis of `params` after the batch dimensions, so every batch of `params` has its own indices.
///
/// TensorFlow 1's function of this name reads from another batch if an index is outside its own batch. In this
/// function, such an index is bad.
///
/// ```
/// use wgslice_vectors::reference::{Indexing, batch_gather};
///
/// let table = ["a", "b", "c", "d", "e", "f"];
/// let swapped = batch_gather(&table, &[2, 3], &[1, 0, 1, 3], &[2, 2], Indexing::default())?;
/// assert_eq!((swapped.shape, swapped.values), (vec![2, 2], vec!["b", "a", "e", ""]));
/// assert_eq!(swapped.bad_rows, [3]);
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// # Errors
///
/// Fails with the errors of [`gather`].
pub fn batch_gather<T: Clone + Default>(
    params: &[T],
    params_shape: &[usize],
    indices: &[i64],
    indices_shape: &[usize],
    indexing: Indexing,
) -> Result<Gathered<T>, ReferenceError> {
    if params_shape.is_empty() {
        return fail_with("params_rank", "params must be at least 1 dimensional");
    }
    // For scalar indices this is -1, which `gather` rejects as `batch_dims`.
    let axis = i64::try_from(indices_shape.len()).expect("a rank fits 64 bits") - 1;
    gather(
        params,
        params_shape,
        indices,
        indices_shape,
        axis,
        axis,
        indexing,
    )
}

pub(super) fn resolve_axis(axis: i64, rank: usize) -> Result<usize, ReferenceError> {
    if rank == 0 {
        return fail_with("params_rank", "params must be at least 1 dimensional");
    }
    let Some(position) = resolve_position(axis, rank) else {
        // TensorFlow's message contains the smallest rank that has this axis.
        let min_rank = match axis {
            ..0 => i128::from(axis).abs(),
            _ => i128::from(axis) + 1,
        };
        return fail_with(
            "axis",
            format!("Shape must be at least rank {min_rank} but is rank {rank}"),
        );
    };
    Ok(position)
}

fn resolve_batch(
    batch_dims: i64,
    params_rank: usize,
    indices_rank: usize,
    axis: usize,
) -> Result<usize, ReferenceError> {
    // All axes of indices can be batch dimensions. So `indices_rank` itself, which is one more than the last axis, is
    // a valid `batch_dims`.
    let resolved_dims = match batch_dims {
        ..0 => resolve_position(batch_dims, indices_rank),
        _ => resolve_position(batch_dims, indices_rank + 1),
    };
    let Some(batch_dims) = resolved_dims else {
        return fail_with(
            "batch_dims",
            format!(
                "Expected batch_dims in the range [{}{indices_rank}, {indices_rank}], but got \
                 {batch_dims}",
                if indices_rank == 0 { "" } else { "-" }
            ),
        );
    };
    if batch_dims >= params_rank {
        return fail_with(
            "batch_dims",
            format!("batch_dims ({batch_dims}) must be less than rank(params) ({params_rank})."),
        );
    }
    if batch_dims > axis {
        return fail_with(
            "batch_dims",
            format!("batch_dims ({batch_dims}) must be less than or equal to axis ({axis})."),
        );
    }
    Ok(batch_dims)
}

/// Returns the position that `number` means among `count` positions. A negative number counts from the end. `None` if
/// there is no such position.
fn resolve_position(number: i64, count: usize) -> Option<usize> {
    let python_indexing = Indexing {
        wrap: true,
        clamp: false,
    };
    python_indexing.resolve_index(number, count)
}
