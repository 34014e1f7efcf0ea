//! `xla_gather`, `xla_scatter`: StableHLO's gather and scatter, by the formulas of its specification.
//!
//! Comments give the specification's numbers of the constraints that the functions check. As in XLA, and unlike in
//! StableHLO's interpreter, a scatter drops a whole window if any of its elements is outside the operand.

use super::{
    Gathered, ReferenceError, Scattered, all_coordinates, check_length, fail_with, value_at,
    value_at_mut,
};
use super::{format_shape, zeros_of_shape};
use std::collections::BTreeSet;

/// The dimension numbers of both operations. The comment of each field gives the gather's name, and then the scatter's
/// name if it differs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dims<'a> {
    /// `offset_dims`, `update_window_dims`.
    pub window: &'a [usize],
    /// `collapsed_slice_dims`, `inserted_window_dims`.
    pub dropped: &'a [usize],
    /// `operand_batching_dims`, `input_batching_dims`.
    pub batching: &'a [usize],
    /// `start_indices_batching_dims`, `scatter_indices_batching_dims`.
    pub indices_batching: &'a [usize],
    /// `start_index_map`, `scatter_dims_to_operand_dims`.
    pub map: &'a [usize],
    /// `index_vector_dim`.
    pub index_vector_dim: usize,
}

fn are_unique(dims: &[&[usize]]) -> bool {
    let all_dims = dims.concat();
    all_dims.iter().collect::<BTreeSet<_>>().len() == all_dims.len()
}

impl Dims<'_> {
    /// Checks the constraints that do not involve slice sizes or updates.
    fn check_dims(
        &self,
        operand_shape: &[usize],
        indices_shape: &[usize],
    ) -> Result<(), ReferenceError> {
        let (rank, indices_rank, vector_dim) = (
            operand_shape.len(),
            indices_shape.len(),
            self.index_vector_dim,
        );
        let are_below = |dims: &[usize], rank: usize| dims.iter().all(|&d| d < rank);
        let depth = if vector_dim < indices_rank {
            indices_shape.get(vector_dim).copied()
        } else {
            Some(1)
        };
        let batch_rank = indices_rank - usize::from(vector_dim < indices_rank);
        let holds = self.window.len() + self.dropped.len() + self.batching.len() == rank // C1
            && vector_dim <= indices_rank // C2
            && Some(self.map.len()) == depth // C3
            && are_unique(&[self.window]) && self.window.is_sorted() // C4
            && are_below(self.window, batch_rank + self.window.len()) // C5
            && are_unique(&[self.dropped, self.batching]) // C6
            && self.dropped.is_sorted() && are_below(self.dropped, rank) // C7, C8
            && self.batching.is_sorted() && are_below(self.batching, rank) // C10, C11
            && are_unique(&[self.indices_batching]) // C13
            && are_below(self.indices_batching, indices_rank) // C14
            && !self.indices_batching.contains(&vector_dim) // C15
            && self.batching.len() == self.indices_batching.len() // C16
            && are_unique(&[self.map, self.batching]) && are_below(self.map, rank); // C18, C19
        let batching_pairs = || self.batching.iter().zip(self.indices_batching);
        if holds && batching_pairs().all(|(&a, &b)| operand_shape[a] == indices_shape[b])
        /* C17 */
        {
            return Ok(());
        }
        let (operand, indices) = (format_shape(operand_shape), format_shape(indices_shape));
        fail_with(
            "dimension_numbers",
            format!("{self:?} of {operand} by {indices}"),
        )
    }

    /// Returns the shape of the indices without the dimension of tuples.
    fn batch_sizes(&self, indices_shape: &[usize]) -> Vec<usize> {
        let sizes = indices_shape.iter().enumerate();
        let batch_sizes = sizes.filter(|&(d, _)| d != self.index_vector_dim);
        batch_sizes.map(|(_, &size)| size).collect()
    }

    /// Returns the dimensions of the result that are not window dimensions.
    fn batch_dims(&self, rank: usize) -> Vec<usize> {
        (0..rank).filter(|d| !self.window.contains(d)).collect()
    }

    /// Returns a shape with the sizes in `batch` at the batch dimensions and the sizes in `window` at the window
    /// dimensions.
    fn join_sizes(&self, batch: &[usize], window: &[usize]) -> Vec<usize> {
        let rank = batch.len() + window.len();
        let mut shape = vec![0; rank];
        for (&d, &size) in self.batch_dims(rank).iter().zip(batch) {
            shape[d] = size;
        }
        for (&d, &size) in self.window.iter().zip(window) {
            shape[d] = size;
        }
        shape
    }

    /// Returns a number for each dimension of the operand: `filler` for the dimensions in `dropped` and `batching`, and
    /// the numbers in `window` for all other dimensions.
    fn full_window(&self, rank: usize, window: &[usize], filler: usize) -> Vec<usize> {
        let mut window = window.iter();
        let next_number = |d| match self.dropped.contains(&d) || self.batching.contains(&d) {
            true => filler,
            false => *window.next().expect("C1"),
        };
        (0..rank).map(next_number).collect()
    }

    /// Returns, for an element of the result or the updates, the number of its tuple and the corresponding element of
    /// the operand. The element is `None` if its window extends beyond the operand.
    fn place_of_element(
        &self,
        element: &[usize],
        operand_shape: &[usize],
        (indices, indices_shape): (&[i64], &[usize]),
        window_sizes: &[usize],
        clamp: bool,
    ) -> (usize, Option<Vec<usize>>) {
        let batch_index: Vec<usize> = self
            .batch_dims(element.len())
            .iter()
            .map(|&d| element[d])
            .collect();
        let start_index = |d_start: usize| {
            let mut coordinates = batch_index.clone();
            if self.index_vector_dim < indices_shape.len() {
                coordinates.insert(self.index_vector_dim, d_start);
            }
            i128::from(*value_at(indices, indices_shape, &coordinates))
        };
        let offset_index: Vec<usize> = self.window.iter().map(|&d| element[d]).collect();
        let full_offset_index = self.full_window(operand_shape.len(), &offset_index, 0);
        let mut target = Some(Vec::new());
        for d_operand in 0..operand_shape.len() {
            let last_start = operand_shape[d_operand] as i128 - window_sizes[d_operand] as i128;
            let mut full_start_index = 0;
            if let Some(d_start) = self.map.iter().position(|&d| d == d_operand) {
                full_start_index = start_index(d_start);
                if clamp {
                    full_start_index = full_start_index.clamp(0, last_start);
                }
            }
            let mut full_batching_index = 0;
            if let Some(i) = self.batching.iter().position(|&d| d == d_operand) {
                let d_batching = self.indices_batching[i];
                let skipped = usize::from(d_batching >= self.index_vector_dim);
                full_batching_index = batch_index[d_batching - skipped];
            }
            let is_inside = (0..=last_start).contains(&full_start_index);
            let start = usize::try_from(full_start_index).unwrap_or(0);
            let position = start + full_batching_index + full_offset_index[d_operand];
            target = target
                .filter(|_| is_inside)
                .map(|target| [target, vec![position]].concat());
        }
        let batch_sizes = self.batch_sizes(indices_shape);
        let coordinates_and_sizes = batch_index.iter().zip(&batch_sizes);
        let tuple_number = coordinates_and_sizes.fold(0, |sum, (c, size)| sum * size + c);
        (tuple_number, target)
    }
}

/// StableHLO's `gather`. Without `clamp`, a window that extends beyond the operand is filled with `T::default()`, and
/// its tuple is bad. JAX's mode `fill` with the value 0 does the same.
///
/// # Errors
///
/// Fails with `data_length` or `too_large`. Fails with `dimension_numbers` if a constraint is broken, or if windows
/// have no elements but the result has some.
pub fn xla_gather<T: Clone + Default>(
    operand: &[T],
    shape: &[usize],
    indices: &[i64],
    indices_shape: &[usize],
    dims: Dims<'_>,
    slice_sizes: &[usize],
    clamp: bool,
) -> Result<Gathered<T>, ReferenceError> {
    check_length("operand", operand.len(), shape)?;
    check_length("start_indices", indices.len(), indices_shape)?;
    dims.check_dims(shape, indices_shape)?;
    let is_at_most_one = |d: &usize| slice_sizes[*d] <= 1;
    let are_sizes_valid = slice_sizes.len() == shape.len() // C20
        && slice_sizes.iter().zip(shape).all(|(size, dim_size)| size <= dim_size) // C21
        && dims.dropped.iter().all(is_at_most_one) // C9
        && dims.batching.iter().all(is_at_most_one); // C12
    let wrong_shape = || {
        format!(
            "slice_sizes {} of {}",
            format_shape(slice_sizes),
            format_shape(shape)
        )
    };
    if !are_sizes_valid {
        return fail_with("dimension_numbers", wrong_shape());
    }
    let is_kept = |&d: &usize| !dims.dropped.contains(&d) && !dims.batching.contains(&d);
    let offset_sizes: Vec<usize> = (0..shape.len())
        .filter(is_kept)
        .map(|d| slice_sizes[d])
        .collect();
    let result_shape = dims.join_sizes(&dims.batch_sizes(indices_shape), &offset_sizes);
    if slice_sizes.contains(&0) && !result_shape.contains(&0) {
        return fail_with("dimension_numbers", wrong_shape());
    }
    let mut values = zeros_of_shape::<T>(&result_shape)?;
    let mut bad_rows = BTreeSet::new();
    for element in all_coordinates(&result_shape) {
        let indices = (indices, indices_shape);
        let (tuple_number, place) =
            dims.place_of_element(&element, shape, indices, slice_sizes, clamp);
        match place {
            Some(place) => {
                *value_at_mut(&mut values, &result_shape, &element) =
                    value_at(operand, shape, &place).clone();
            }
            None => drop(bad_rows.insert(tuple_number)),
        }
    }
    Ok(Gathered {
        shape: result_shape,
        values,
        bad_rows: bad_rows.into_iter().collect(),
    })
}

/// StableHLO's `scatter`. Updates take effect in row-major order. Without `clamp`, a window that extends beyond the
/// operand is dropped, and its tuple is bad.
///
/// # Errors
///
/// Fails with `data_length`, with `dimension_numbers` if a constraint is broken, and with `empty_output` if there are
/// updates for an operand without elements.
#[expect(
    clippy::too_many_arguments,
    reason = "three arrays, each with its shape, as in the functions beside it"
)]
pub fn xla_scatter<T: Clone>(
    operand: &[T],
    shape: &[usize],
    indices: &[i64],
    indices_shape: &[usize],
    updates: &[T],
    updates_shape: &[usize],
    dims: Dims<'_>,
    clamp: bool,
    mut combine: impl FnMut(&mut T, &T),
) -> Result<Scattered<T>, ReferenceError> {
    check_length("operand", operand.len(), shape)?;
    check_length("scatter_indices", indices.len(), indices_shape)?;
    check_length("updates", updates.len(), updates_shape)?;
    dims.check_dims(shape, indices_shape)?;
    let batch_sizes = dims.batch_sizes(indices_shape);
    let updates_window: Option<Vec<usize>> = dims
        .window
        .iter()
        .map(|&d| updates_shape.get(d).copied())
        .collect();
    let updates_window = updates_window.unwrap_or_default();
    let wrong_shape = || {
        format!(
            "updates {} of {}",
            format_shape(updates_shape),
            format_shape(shape)
        )
    };
    if updates_window.len() != dims.window.len()
        || dims.join_sizes(&batch_sizes, &updates_window) != updates_shape
    {
        return fail_with("dimension_numbers", wrong_shape());
    }
    let window_sizes = dims.full_window(shape.len(), &updates_window, 1);
    let exceeds = |d: &usize| window_sizes[*d] > shape[*d];
    let is_window_dim = |d: &usize| !dims.dropped.contains(d) && !dims.batching.contains(d);
    if (0..shape.len()).filter(is_window_dim).any(|d| exceeds(&d)) {
        return fail_with("dimension_numbers", wrong_shape());
    }
    if operand.is_empty() && !updates.is_empty() {
        return fail_with("empty_output", wrong_shape());
    }
    let mut values = operand.to_vec();
    let mut bad_rows = BTreeSet::new();
    for element in all_coordinates(updates_shape) {
        let indices = (indices, indices_shape);
        let (tuple_number, place) =
            dims.place_of_element(&element, shape, indices, &window_sizes, clamp);
        match place {
            Some(place) => combine(
                value_at_mut(&mut values, shape, &place),
                value_at(updates, updates_shape, &element),
            ),
            None => drop(bad_rows.insert(tuple_number)),
        }
    }
    Ok(Scattered {
        values,
        bad_rows: bad_rows.into_iter().collect(),
    })
}
