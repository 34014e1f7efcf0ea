//! `scatter_nd` and `tensor_scatter_nd`: every row of indices selects the slice into which a slice of updates is
//! combined.
//!
//! Rows that point outside of the array do not end the operation. Their updates are dropped and the rows are listed. So
//! a caller can follow either policy: fail if the list is not empty, or go on without these rows.

use super::{
    Indexing, ReferenceError, all_coordinates, check_length, element_count, value_at, value_at_mut,
};
use super::{fail_with, format_shape, zeros_of_shape};

/// The result of a scatter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scattered<T> {
    /// The elements after all updates, row-major.
    pub values: Vec<T>,
    /// The numbers of the rows that point outside of the array, in ascending order. The updates of these rows are
    /// dropped. Rows are numbered row-major through `indices.shape[..-1]`, or through `indices.shape` in
    /// `scatter_elements`. In `paste` a row is a box, and only its elements outside of the item are dropped. In
    /// `xla_scatter` a row is an index tuple, numbered through the other dimensions of `indices`.
    pub bad_rows: Vec<usize>,
}

/// Returns an array of `shape` with the slices of `updates` combined into it at the positions in `indices`. Its
/// elements are initially `T::default()`.
///
/// The size of the last dimension of `indices` is the depth: a row indexes this many leading dimensions of the array.
/// The shape of `updates` is `indices.shape[..-1] + shape[depth..]`. Rows take effect one at a time in row-major
/// order, each by `combine(element, update)` on every element of its slice. TensorFlow's operation adds, and its
/// integers wrap.
///
/// ```
/// use wgslice_vectors::reference::{Indexing, scatter_nd};
///
/// let add = |sum: &mut i8, update: &i8| *sum = sum.wrapping_add(*update);
/// let tensorflow = Indexing::default();
/// let sums = scatter_nd(&[1, 3, 1, -1], &[4, 1], &[100, 5, 100, 7], &[4], &[4], tensorflow, add)?;
/// assert_eq!(sums.values, [0, -56, 0, 5]);
/// assert_eq!(sums.bad_rows, [3]);
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// # Errors
///
/// Fails with `data_length`, `updates_rank`, `empty_output`, `updates_shape` or `too_large`.
pub fn scatter_nd<T: Clone + Default>(
    indices: &[i64],
    indices_shape: &[usize],
    updates: &[T],
    updates_shape: &[usize],
    shape: &[usize],
    indexing: Indexing,
    combine: impl FnMut(&mut T, &T),
) -> Result<Scattered<T>, ReferenceError> {
    let depth = check_ranks(
        (indices.len(), indices_shape),
        (updates.len(), updates_shape),
    )?;
    // As in TensorFlow, the first check of the counts treats a scalar output as empty, and the last check rejects
    // updates for an output without elements.
    let counts = (indices.len(), updates.len());
    check_counts(counts, shape.len())?;
    check_shapes(indices_shape, depth, updates_shape, shape)?;
    check_counts(counts, element_count(shape).unwrap_or(usize::MAX))?;
    check_vector(indices_shape, updates_shape, shape)?;
    let rows = ScatterRows {
        indices,
        indices_shape,
        updates,
        updates_shape,
    };
    Ok(rows.apply_rows(zeros_of_shape(shape)?, shape, indexing, combine))
}

/// Returns a copy of `tensor` with the slices of `updates` combined into it at the positions in `indices`.
///
/// This is [`scatter_nd`] with other initial values. If `combine` replaces, the last of several rows for one position
/// wins, as in TensorFlow's `tensor_scatter_nd_update` on the CPU.
///
/// ```
/// use wgslice_vectors::reference::{Indexing, tensor_scatter_nd};
///
/// let replace = |old: &mut &str, new: &&'static str| *old = new;
/// let tensor = ["a", "b", "c"];
/// let (indices, updates) = ([2, 0, 2], ["x", "y", "z"]);
/// let updated = tensor_scatter_nd(
///     &tensor, &[3], &indices, &[3, 1], &updates, &[3], Indexing::default(), replace,
/// )?;
/// assert_eq!(updated.values, ["y", "b", "z"]);
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// # Errors
///
/// Fails with `data_length`, `updates_rank`, `empty_output` or `updates_shape`.
#[expect(
    clippy::too_many_arguments,
    reason = "three arrays, each with its shape, as in the functions beside it"
)]
pub fn tensor_scatter_nd<T: Clone>(
    tensor: &[T],
    shape: &[usize],
    indices: &[i64],
    indices_shape: &[usize],
    updates: &[T],
    updates_shape: &[usize],
    indexing: Indexing,
    combine: impl FnMut(&mut T, &T),
) -> Result<Scattered<T>, ReferenceError> {
    check_length("tensor", tensor.len(), shape)?;
    let depth = check_ranks(
        (indices.len(), indices_shape),
        (updates.len(), updates_shape),
    )?;
    check_counts((indices.len(), updates.len()), tensor.len())?;
    check_shapes(indices_shape, depth, updates_shape, shape)?;
    check_vector(indices_shape, updates_shape, shape)?;
    let rows = ScatterRows {
        indices,
        indices_shape,
        updates,
        updates_shape,
    };
    Ok(rows.apply_rows(tensor.to_vec(), shape, indexing, combine))
}

/// Checks that indices and updates, each given by its number of values and its shape, fill their shapes and have at
/// least one dimension. Returns the depth of indices.
fn check_ranks(
    (index_count, indices_shape): (usize, &[usize]),
    (update_count, updates_shape): (usize, &[usize]),
) -> Result<usize, ReferenceError> {
    check_length("indices", index_count, indices_shape)?;
    check_length("updates", update_count, updates_shape)?;
    let rank_message = |name| format!("{name} shape must have rank at least one. Found:[]");
    let Some(&depth) = indices_shape.last() else {
        return fail_with("updates_rank", rank_message("Indices"));
    };
    if updates_shape.is_empty() {
        return fail_with("updates_rank", rank_message("Updates"));
    }
    Ok(depth)
}

/// Checks that indices and updates are both empty, or that indices, updates and output all have values. All three are
/// given by their numbers of values. A depth of 0 makes indices empty, so updates must then be empty too.
fn check_counts(
    (index_count, update_count): (usize, usize),
    output_count: usize,
) -> Result<(), ReferenceError> {
    if (index_count == 0 && update_count == 0)
        || (index_count > 0 && update_count > 0 && output_count > 0)
    {
        return Ok(());
    }
    fail_with(
        "empty_output",
        "Indices and updates specified for empty output shape",
    )
}

/// Checks that the shape of updates is `indices.shape[..-1] + shape[depth..]`, in which indices of rank 1 are a single
/// row.
fn check_shapes(
    indices_shape: &[usize],
    depth: usize,
    updates_shape: &[usize],
    shape: &[usize],
) -> Result<(), ReferenceError> {
    let leading_sizes = &indices_shape[..indices_shape.len() - 1];
    let (leading_dims, rank, updates_rank) =
        (leading_sizes.len(), shape.len(), updates_shape.len());
    let updates = format_shape(updates_shape);
    if !updates_shape.starts_with(leading_sizes) {
        let indices = format_shape(indices_shape);
        return fail_with(
            "updates_shape",
            format!(
                "Dimensions [0,{leading_dims}) of indices[shape={indices}] must match dimensions \
                 [0,{leading_dims}) of updates[shape={updates}]"
            ),
        );
    }
    let slice_shape = shape.get(depth..);
    if slice_shape != Some(&updates_shape[leading_dims..]) {
        let shape = format_shape(shape);
        return fail_with(
            "updates_shape",
            format!(
                "Dimensions [{depth},{rank}) of input[shape={shape}] must match dimensions \
                 [{leading_dims},{updates_rank}) of updates[shape={updates}]"
            ),
        );
    }
    Ok(())
}

/// Checks indices of rank 1 once more, as TensorFlow's kernels do. They treat such indices as rows of one index each,
/// so the shape of updates must also be `indices.shape + shape[1..]`. This rule and the rule of [`check_shapes`] only
/// hold together if indices have shape `[0]` and the first dimension of the output is empty. So `gather_nd` has a form
/// for a single row, but a scatter does not.
fn check_vector(
    indices_shape: &[usize],
    updates_shape: &[usize],
    shape: &[usize],
) -> Result<(), ReferenceError> {
    let &[count] = indices_shape else {
        return Ok(());
    };
    let expected_shape = [&[count], shape.get(1..).unwrap_or_default()].concat();
    if updates_shape == expected_shape {
        return Ok(());
    }
    fail_with(
        "updates_shape",
        format!(
            "Dimensions [0,1) of indices[shape={}] = {count} must match dimensions [0,1) of \
             updates[shape={}] = {}",
            format_shape(indices_shape),
            format_shape(updates_shape),
            updates_shape[0]
        ),
    )
}

/// Rows of indices and their slices of updates, whose shapes the functions above have checked.
struct ScatterRows<'a, T> {
    indices: &'a [i64],
    indices_shape: &'a [usize],
    updates: &'a [T],
    updates_shape: &'a [usize],
}

impl<T> ScatterRows<'_, T> {
    fn apply_rows(
        &self,
        mut values: Vec<T>,
        shape: &[usize],
        indexing: Indexing,
        mut combine: impl FnMut(&mut T, &T),
    ) -> Scattered<T> {
        let mut bad_rows = Vec::new();
        // Without updates there is nothing to combine. There can still be more rows than a loop can go through,
        // because a shape with a 0 can have any other sizes.
        if self.updates.is_empty() {
            return Scattered { values, bad_rows };
        }
        let (leading_sizes, depth) = self.indices_shape.split_at(self.indices_shape.len() - 1);
        let (indexed_sizes, slice_shape) = shape.split_at(depth[0]);
        for (row_number, row) in all_coordinates(leading_sizes).enumerate() {
            let positions =
                indexing.resolve_row(self.indices, self.indices_shape, &row, indexed_sizes);
            let Some(positions) = positions else {
                bad_rows.push(row_number);
                continue;
            };
            for slice_element in all_coordinates(slice_shape) {
                let update_coordinates = [&row[..], &slice_element].concat();
                let target_coordinates = [&positions[..], &slice_element].concat();
                combine(
                    value_at_mut(&mut values, shape, &target_coordinates),
                    value_at(self.updates, self.updates_shape, &update_coordinates),
                );
            }
        }
        Scattered { values, bad_rows }
    }
}
