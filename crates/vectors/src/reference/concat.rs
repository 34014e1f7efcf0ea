//! `concat` and `stack`: join arrays along an axis.

use super::{
    Indexing, ReferenceError, all_coordinates, check_length, fail_with, value_at, vec_for_shape,
};

/// Returns the shape and the values of arrays that are concatenated along `axis`. Each array is a shape and its values.
///
/// ```
/// use wgslice_vectors::reference::concat;
///
/// let (shape, values) = concat(&[(&[2, 1], &["a", "b"]), (&[2, 2], &["c", "d", "e", "f"])], 1)?;
/// assert_eq!((shape, values.concat()), (vec![2, 3], "acdbef".into()));
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// # Errors
///
/// Fails with `data_length`, `no_arrays`, `axis`, `array_shape` or `too_large`.
pub fn concat<T: Clone>(
    arrays: &[(&[usize], &[T])],
    axis: i64,
) -> Result<(Vec<usize>, Vec<T>), ReferenceError> {
    let first_shape = first_shape_of(arrays)?;
    let axis = axis_of(axis, first_shape.len())?;
    for (shape, _) in arrays {
        let differs = |d: usize| d != axis && shape[d] != first_shape[d];
        if shape.len() != first_shape.len() || (0..first_shape.len()).any(differs) {
            return fail_with("array_shape", "arrays differ in more than the axis");
        }
    }
    let mut shape = first_shape.to_vec();
    shape[axis] = arrays.iter().map(|(shape, _)| shape[axis]).sum();
    let mut values = vec_for_shape(&shape)?;
    for mut element in all_coordinates(&shape) {
        for (shape, data) in arrays {
            if element[axis] < shape[axis] {
                values.push(value_at(data, shape, &element).clone());
                break;
            }
            element[axis] -= shape[axis];
        }
    }
    Ok((shape, values))
}

/// Returns the shape and the values of arrays that are stacked along a new `axis`.
///
/// # Errors
///
/// Fails with `data_length`, `no_arrays`, `axis`, `array_shape` or `too_large`.
pub fn stack<T: Clone>(
    arrays: &[(&[usize], &[T])],
    axis: i64,
) -> Result<(Vec<usize>, Vec<T>), ReferenceError> {
    let first_shape = first_shape_of(arrays)?;
    let axis = axis_of(axis, first_shape.len() + 1)?;
    if arrays.iter().any(|(shape, _)| *shape != first_shape) {
        return fail_with("array_shape", "arrays differ in shape");
    }
    let mut shape = first_shape.to_vec();
    shape.insert(axis, arrays.len());
    let mut values = vec_for_shape(&shape)?;
    for mut element in all_coordinates(&shape) {
        let input_number = element.remove(axis);
        values.push(value_at(arrays[input_number].1, first_shape, &element).clone());
    }
    Ok((shape, values))
}

fn first_shape_of<'a, T>(arrays: &[(&'a [usize], &[T])]) -> Result<&'a [usize], ReferenceError> {
    for (shape, data) in arrays {
        check_length("an array", data.len(), shape)?;
    }
    match arrays {
        [] => fail_with("no_arrays", "there are no arrays"),
        [(shape, _), ..] => Ok(shape),
    }
}

/// Returns the dimension that `axis` means in an array of this rank.
pub(super) fn axis_of(axis: i64, rank: usize) -> Result<usize, ReferenceError> {
    let python_indexing = Indexing {
        wrap: true,
        clamp: false,
    };
    match python_indexing.resolve_index(axis, rank) {
        Some(axis) => Ok(axis),
        None => fail_with("axis", format!("axis {axis} of {rank} dimensions")),
    }
}
