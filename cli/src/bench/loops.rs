//! The plain loops that a user would write for a workload, on one thread. They define the correct result, so they do
//! their own arithmetic on slices and strides and use no code of the library.

use super::{
    data::WorkloadData,
    workload::{Bounds, Operation},
};

/// A loop over a dimension: its size, and the distances in elements between neighbours in the source and in the
/// destination. A negative distance is stored as a wrapped `usize`, so additions to positions wrap.
type Dim = [usize; 3];

/// Writes the result of the workload to `dest`.
pub(crate) fn run_workload(data: &WorkloadData<'_>, dest: &mut [u8]) {
    match data.work.values.dtype.size() {
        1 => run_sized::<1>(data, dest),
        2 => run_sized::<2>(data, dest),
        4 => run_sized::<4>(data, dest),
        _ => run_sized::<8>(data, dest),
    }
}

/// Does the work of [`run_workload`] for elements of `N` bytes.
fn run_sized<const N: usize>(data: &WorkloadData<'_>, dest: &mut [u8]) {
    let from = data.input.as_ref().as_chunks::<N>().0;
    let to = dest.as_chunks_mut::<N>().0;
    let shape = &data.work.shape;
    let strides = row_major_strides(shape);
    match &data.work.operation {
        Operation::Slice { slices } => {
            let (at, dims) = sliced_dims(slices, shape);
            copy_elements(from, to, [at, 0], &dims);
        }
        Operation::Update { slices } => {
            let (at, dims) = sliced_dims(slices, shape);
            let swapped_dims: Vec<Dim> = dims.iter().map(|&[n, from, to]| [n, to, from]).collect();
            let value = data.value.as_ref().as_chunks::<N>().0;
            copy_elements(value, to, [0, at], &swapped_dims);
        }
        Operation::Transpose { axes } => {
            let dims = axes.iter().map(|&axis| (shape[axis], strides[axis]));
            copy_elements(from, to, [0, 0], &with_dense_strides(dims.collect()));
        }
        Operation::GatherNd { indices } => {
            let depth = indices[1];
            let row_len = shape[depth..].iter().product();
            if row_len == 0 {
                return;
            }
            for (tuple, to) in data.indices.chunks(depth).zip(to.chunks_mut(row_len)) {
                let flat_index = |at: usize, (index, size): (&i32, &usize)| {
                    at * size + usize::try_from(*index).unwrap_or_default()
                };
                let at = tuple.iter().zip(shape).fold(0, flat_index) * row_len;
                to.copy_from_slice(&from[at..][..row_len]);
            }
        }
        Operation::Crop { size } => {
            let inner_count: usize = shape[1 + size.len()..].iter().product();
            let box_elements = size.iter().product::<usize>() * inner_count;
            for (item, tuple) in data.indices.chunks(2 * size.len()).enumerate() {
                let (begins, flips) = tuple.split_at(size.len());
                let mut at = item * strides[0];
                let mut dims = Vec::new();
                for (d, &size) in size.iter().enumerate() {
                    let (begin, stride) = (usize::try_from(begins[d]).unwrap_or(0), strides[1 + d]);
                    let is_flipped = flips[d] != 0;
                    at += begin * stride;
                    if is_flipped {
                        at = at.wrapping_add((size.wrapping_sub(1)).wrapping_mul(stride));
                    }
                    dims.push((
                        size,
                        if is_flipped {
                            stride.wrapping_neg()
                        } else {
                            stride
                        },
                    ));
                }
                dims.push((inner_count, 1));
                copy_elements(
                    from,
                    to,
                    [at, item * box_elements],
                    &with_dense_strides(dims),
                );
            }
        }
    }
}

/// Returns row-major strides, in elements.
fn row_major_strides(shape: &[usize]) -> Vec<usize> {
    let stride_of = |dim| shape[dim + 1..].iter().product();
    (0..shape.len()).map(stride_of).collect()
}

/// Adds the strides of a dense destination to the sizes and source strides of `dims`.
fn with_dense_strides(dims: Vec<(usize, usize)>) -> Vec<Dim> {
    let sizes: Vec<usize> = dims.iter().map(|&(size, _)| size).collect();
    let dims = dims.iter().zip(row_major_strides(&sizes));
    dims.map(|(&(size, from), to)| [size, from, to]).collect()
}

/// Returns the position of the first element that the slices select, and the loops over all selected elements.
fn sliced_dims(slices: &[Bounds], shape: &[usize]) -> (usize, Vec<Dim>) {
    let mut at = 0usize;
    let mut dims = Vec::new();
    for ((bounds, &size), stride) in slices.iter().zip(shape).zip(row_major_strides(shape)) {
        let (first, step, count) = slice_positions(*bounds, size);
        at = at.wrapping_add(first.wrapping_mul(stride));
        dims.push((count, step.wrapping_mul(stride)));
    }
    (at, with_dense_strides(dims))
}

/// Returns the first position that a Python slice of a dimension selects, the distance to the next position, and the
/// number of positions. A negative bound counts from the end, and every bound is clamped to the dimension.
fn slice_positions([start, stop, step]: Bounds, size: usize) -> (usize, usize, usize) {
    let length = i64::try_from(size).unwrap_or(i64::MAX);
    let step = step.unwrap_or(1);
    let (low, high) = if step > 0 {
        (0, length)
    } else {
        (-1, length - 1)
    };
    let clamp_bound = |at: i64| {
        let at = if at < 0 {
            at.saturating_add(length)
        } else {
            at
        };
        at.clamp(low, high)
    };
    let first_position = start.map_or(if step > 0 { low } else { high }, clamp_bound);
    let end = stop.map_or(if step > 0 { high } else { low }, clamp_bound);
    let distance = if step > 0 {
        end - first_position
    } else {
        first_position - end
    };
    let count = distance
        .max(0)
        .unsigned_abs()
        .div_ceil(step.unsigned_abs().max(1));
    let [first_position, step] =
        [first_position, step].map(|at| isize::try_from(at).unwrap_or(isize::MAX).cast_unsigned());
    (
        first_position,
        step,
        usize::try_from(count).unwrap_or(usize::MAX),
    )
}

/// Copies the elements along `dims`. `at` has the positions of the first element in the source and in the destination.
fn copy_elements<const N: usize>(
    from: &[[u8; N]],
    to: &mut [[u8; N]],
    at: [usize; 2],
    dims: &[Dim],
) {
    // If the slice is empty, its first position can be outside the array.
    if dims.iter().all(|&[size, ..]| size > 0) {
        copy_along_dims(from, to, at, dims);
    }
}

fn copy_along_dims<const N: usize>(
    from: &[[u8; N]],
    to: &mut [[u8; N]],
    at: [usize; 2],
    dims: &[Dim],
) {
    let [mut from_at, mut to_at] = at;
    match dims {
        [] => to[to_at] = from[from_at],
        &[[size, 1, 1]] => to[to_at..][..size].copy_from_slice(&from[from_at..][..size]),
        &[[size, from_step, to_step]] => {
            for i in 0..size {
                to[to_at.wrapping_add(i.wrapping_mul(to_step))] =
                    from[from_at.wrapping_add(i.wrapping_mul(from_step))];
            }
        }
        [[size, from_step, to_step], inner @ ..] => {
            for _ in 0..*size {
                copy_along_dims(from, to, [from_at, to_at], inner);
                (from_at, to_at) = (
                    from_at.wrapping_add(*from_step),
                    to_at.wrapping_add(*to_step),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_mean_what_they_mean_in_python() {
        let rows = [
            ([Some(-3), None, Some(1)], vec![4, 5, 6]),
            ([None, None, Some(-3)], vec![6, 3, 0]),
            ([Some(9), Some(-9), Some(-2)], vec![6, 4, 2, 0]),
            ([Some(5), Some(2), Some(1)], vec![]),
            ([Some(2), Some(5), Some(-1)], vec![]),
            ([Some(-9), Some(2), None], vec![0, 1]),
            ([Some(1), None, Some(i64::MAX)], vec![1]),
            ([None, None, Some(i64::MIN)], vec![6]),
        ];
        for (bounds, expected) in rows {
            let (first, step, count) = slice_positions(bounds, 7);
            let at = |i: usize| first.wrapping_add(i.wrapping_mul(step));
            let positions: Vec<usize> = (0..count).map(at).collect();
            assert_eq!(positions, expected, "{bounds:?}");
        }
    }
}
