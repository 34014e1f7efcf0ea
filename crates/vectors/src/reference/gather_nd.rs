//! `gather_nd`: every row of indices selects a slice of params.
//!
//! Rows that point outside of params do not end the operation. Their slices are filled with the default of the element
//! type, and the rows are listed. So a caller can follow either policy: fail if the list is not empty, or keep the
//! defaults.

use super::{
    Indexing, ReferenceError, all_coordinates, check_length, fail_with, format_shape, value_at,
    vec_for_shape,
};

/// The result of [`gather_nd`] or of another gather.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gathered<T> {
    /// The shape of `values`; for `gather_nd`, `indices.shape[..-1] + params.shape[batch_dims + depth..]`.
    pub shape: Vec<usize>,
    /// The elements, row-major; for `gather_nd`, one slice for each row of indices.
    pub values: Vec<T>,
    /// The numbers of the rows that point outside of params, ascending. Every element of the slices of these rows is
    /// `T::default()`. Rows are numbered row-major through `indices.shape[..-1]`, batch dimensions included. In `crop`
    /// a row is a box, and only its elements outside of the item are `T::default()`. In `xla_gather` a row is an index
    /// tuple, numbered through the other dimensions of `indices`. In the other gathers a row is a single index,
    /// numbered through `indices.shape`.
    pub bad_rows: Vec<usize>,
}

/// Returns the slices of `params` that the rows of `indices` select, for arrays of any rank in row-major order.
///
/// The size of the last dimension of `indices` is the depth: a row indexes this many dimensions of `params`, after the
/// first `batch_dims`, which both arrays share. `indexing` decides which indices are bad. By default, these are the
/// negative indices and those past the end.
///
/// ```
/// use wgslice_vectors::reference::{Indexing, gather_nd};
///
/// // One element of each row. -1 is out of range.
/// let params = ["a", "b", "c", "d"].map(String::from);
/// let tensorflow = Indexing::default();
/// let picked = gather_nd(&params, &[2, 2], &[1, -1], &[2, 1], 1, tensorflow)?;
/// assert_eq!(picked.values, ["b", ""]);
/// assert_eq!(picked.bad_rows, [1]);
///
/// let numpy = Indexing { wrap: true, ..tensorflow };
/// let picked = gather_nd(&params, &[2, 2], &[1, -1], &[2, 1], 1, numpy)?;
/// assert_eq!(picked.values, ["b", "d"]);
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// The examples of TensorFlow's documentation:
///
/// ```
/// use wgslice_vectors::reference::{Indexing, gather_nd};
///
/// let p2 = (&["a", "b", "c", "d"][..], &[2, 2][..]);
/// let p3 = (&["a0", "b0", "c0", "d0", "a1", "b1", "c1", "d1"][..], &[2, 2, 2][..]);
/// let check = |(params, params_shape), indices: &[i64], indices_shape: &[usize], shape, values| {
///     let indexing = Indexing::default();
///     let rows = gather_nd(params, params_shape, indices, indices_shape, 0, indexing).unwrap();
///     assert_eq!((rows.shape, rows.values.join(" ")), (Vec::from(shape), String::from(values)));
/// };
///
/// // Elements of a matrix, and rows of a matrix.
/// check(p2, &[0, 0, 1, 1], &[2, 2], &[2][..], "a d");
/// check(p2, &[1, 0], &[2, 1], &[2, 2], "c d a b");
///
/// // Matrices, rows and elements of an array of three dimensions.
/// check(p3, &[1], &[1, 1], &[1, 2, 2], "a1 b1 c1 d1");
/// check(p3, &[0, 1, 1, 0], &[2, 2], &[2, 2], "c0 d0 a1 b1");
/// check(p3, &[0, 0, 1, 1, 0, 1], &[2, 3], &[2], "b0 b1");
///
/// // The same with a batch of rows of indices.
/// check(p2, &[0, 0, 0, 1], &[2, 1, 2], &[2, 1], "a b");
/// check(p2, &[1, 0], &[2, 1, 1], &[2, 1, 2], "c d a b");
/// check(p3, &[1, 0], &[2, 1, 1], &[2, 1, 2, 2], "a1 b1 c1 d1 a0 b0 c0 d0");
/// check(p3, &[0, 1, 1, 0, 0, 0, 1, 1], &[2, 2, 2], &[2, 2, 2], "c0 d0 a1 b1 a0 b0 c1 d1");
/// check(p3, &[0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 0], &[2, 2, 3], &[2, 2], "b0 b1 d0 c1");
/// ```
///
/// # Errors
///
/// Fails with `data_length`, `batch_dims`, `batch_shape`, `params_rank`, `indices_rank`, `index_depth`, `empty_params`
/// or `too_large`, in this order. If batch dimensions differ but their element counts agree, TensorFlow reshapes them;
/// this function fails with `batch_shape`.
pub fn gather_nd<T: Clone + Default>(
    params: &[T],
    params_shape: &[usize],
    indices: &[i64],
    indices_shape: &[usize],
    batch_dims: usize,
    indexing: Indexing,
) -> Result<Gathered<T>, ReferenceError> {
    check_length("params", params.len(), params_shape)?;
    check_length("indices", indices.len(), indices_shape)?;
    check_batch(params_shape, indices_shape, batch_dims)?;
    if params_shape.is_empty() {
        return fail_with("params_rank", "params must be at least a vector");
    }
    let Some((&depth, leading_sizes)) = indices_shape.split_last() else {
        return fail_with("indices_rank", "indices must be at least a vector");
    };
    let rank = params_shape.len();
    if depth > rank - batch_dims {
        let depth = depth.saturating_add(batch_dims);
        return fail_with(
            "index_depth",
            format!(
                "index innermost dimension length must be <= params rank; saw: {depth} vs. {rank}"
            ),
        );
    }
    // Rows without indices (depth 0) are also rejected, although each would only copy the empty params.
    if params.is_empty() && !leading_sizes.contains(&0) {
        let shape = format_shape(params_shape);
        return fail_with(
            "empty_params",
            format!("Requested more than 0 entries, but params is empty. Params shape: {shape}"),
        );
    }

    let indexed_sizes = &params_shape[batch_dims..batch_dims + depth];
    let slice_shape = &params_shape[batch_dims + depth..];
    let shape = [leading_sizes, slice_shape].concat();
    let mut values = vec_for_shape(&shape)?;
    let mut bad_rows = Vec::new();
    for (row_number, row) in all_coordinates(leading_sizes).enumerate() {
        let positions = indexing.resolve_row(indices, indices_shape, &row, indexed_sizes);
        if positions.is_none() {
            bad_rows.push(row_number);
        }
        for slice_element in all_coordinates(slice_shape) {
            values.push(match &positions {
                Some(positions) => value_at(
                    params,
                    params_shape,
                    &[&row[..batch_dims], positions, &slice_element].concat(),
                )
                .clone(),
                None => T::default(),
            });
        }
    }
    Ok(Gathered {
        shape,
        values,
        bad_rows,
    })
}

/// Checks that both arrays have more than `batch_dims` dimensions and agree in the first `batch_dims`. If
/// `batch_dims` is 0, also accepts scalars.
pub(super) fn check_batch(
    params_shape: &[usize],
    indices_shape: &[usize],
    batch_dims: usize,
) -> Result<(), ReferenceError> {
    if batch_dims == 0 {
        return Ok(());
    }
    for (name, shape) in [("indices", indices_shape), ("params", params_shape)] {
        let rank = shape.len();
        if batch_dims >= rank {
            return fail_with(
                "batch_dims",
                format!(
                    "Argument `batch_dims` = {batch_dims} must be less than rank(`{name}`) = {rank}"
                ),
            );
        }
    }
    check_batch_shape(params_shape, indices_shape, batch_dims)
}

/// Checks that both arrays agree in the first `batch_dims` dimensions. Both must have at least this many.
pub(super) fn check_batch_shape(
    params_shape: &[usize],
    indices_shape: &[usize],
    batch_dims: usize,
) -> Result<(), ReferenceError> {
    for dim in 0..batch_dims {
        let (params, indices) = (params_shape[dim], indices_shape[dim]);
        if params != indices {
            return fail_with(
                "batch_shape",
                format!(
                    "params.shape[{dim}]: {params} should be equal to indices.shape[{dim}]: {indices}"
                ),
            );
        }
    }
    Ok(())
}
