//! `array_index`: NumPy's `x[…]` with arrays, and its outer form.

use super::{
    ReferenceError, all_coordinates, check_length, fail_with, format_shape, value_at, vec_for_shape,
};

/// One entry of the brackets in `x[…]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A single position.
    Index(i64),
    /// `begin:end:stride`.
    Range(Option<i64>, Option<i64>, i64),
    /// `...`.
    Ellipsis,
    /// `None`.
    NewAxis,
    /// An array of positions, and its shape.
    Positions(Vec<i64>, Vec<usize>),
    /// A mask, and its shape.
    Mask(Vec<bool>, Vec<usize>),
}

/// How positions along a dimension of the indexed array are found.
enum PositionSource {
    /// Looked up in a list, by the coordinate in this dimension of the result.
    List(usize, Vec<usize>),
    /// A single position.
    Single(usize),
    /// Looked up in the array of positions with this number, by the coordinates in the dimensions of the result that
    /// the broadcast arrays have.
    Array(usize),
}

/// A dimension of the result.
enum ResultDimension {
    /// A dimension that a single entry adds, with this number of positions.
    Own(usize),
    /// Marks where the dimensions of the broadcast arrays go if they replace the first array.
    Arrays,
}

/// Returns the shape and the values of `x[…]`. If `outer` is true, each array is applied separately, so all
/// combinations are selected.
///
/// ```
/// use wgslice_vectors::reference::{Entry, array_index};
///
/// let entries = [Entry::Index(1), Entry::Positions(vec![2, 0], vec![2])];
/// let letters = ["a", "b", "c", "d", "e", "f"];
/// assert_eq!(array_index(&letters, &[2, 3], &entries, false)?, (vec![2], vec!["f", "d"]));
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// # Errors
///
/// Fails with `data_length`, `outer_rank`, `multiple_ellipses`, `scalar_input`, `too_many_specs`, `stride_zero`,
/// `shrink_out_of_range`, `position`, `mask_shape`, `array_shapes` or `too_large`.
pub fn array_index<T: Clone>(
    values: &[T],
    shape: &[usize],
    entries: &[Entry],
    outer: bool,
) -> Result<(Vec<usize>, Vec<T>), ReferenceError> {
    check_length("values", values.len(), shape)?;
    let entries = expand_ellipsis(entries, shape, outer)?;
    let is_array = |entry: &Entry| matches!(entry, Entry::Positions(..) | Entry::Mask(..));
    let are_zipped = entries.iter().any(is_array) && !outer;
    check_slices(&entries, shape, are_zipped)?;
    let (mut sources, mut result_dims) = (Vec::new(), Vec::new());
    let mut arrays: Vec<(Vec<i64>, Vec<usize>)> = Vec::new();
    // The index in `entries` of each array. If there are arrays, a single position also counts as an array.
    let mut array_numbers: Vec<usize> = Vec::new();
    let mut add_array = |number: usize, result_dims: &mut Vec<ResultDimension>| {
        if array_numbers.is_empty() {
            result_dims.push(ResultDimension::Arrays);
        }
        array_numbers.push(number);
    };
    for (number, entry) in entries.iter().enumerate() {
        let size = shape.get(sources.len()).copied().unwrap_or(0);
        match entry {
            Entry::NewAxis => result_dims.push(ResultDimension::Own(1)),
            Entry::Ellipsis => {}
            Entry::Range(begin, end, stride) => {
                let list = slice_positions(size, *begin, *end, *stride);
                let dim = result_dims.len();
                result_dims.push(ResultDimension::Own(list.len()));
                sources.push(PositionSource::List(dim, list));
            }
            Entry::Index(index) => {
                let position = position_in_range(*index, size)?;
                if are_zipped {
                    add_array(number, &mut result_dims);
                    arrays.push((vec![*index], Vec::new()));
                    sources.push(PositionSource::Array(arrays.len() - 1));
                } else {
                    sources.push(PositionSource::Single(position));
                }
            }
            Entry::Positions(list, sizes) if are_zipped => {
                add_array(number, &mut result_dims);
                arrays.push((list.clone(), sizes.clone()));
                sources.push(PositionSource::Array(arrays.len() - 1));
            }
            Entry::Positions(list, _) => {
                let dim = result_dims.len();
                result_dims.push(ResultDimension::Own(list.len()));
                sources.push(PositionSource::List(dim, Vec::new()));
                arrays.push((list.clone(), vec![sources.len() - 1, size]));
            }
            Entry::Mask(mask, sizes) => {
                let mask_sizes = shape.iter().skip(sources.len()).take(sizes.len());
                if !mask_sizes.eq(sizes) {
                    let sizes = format_shape(sizes);
                    return fail_with(
                        "mask_shape",
                        format!("the mask of shape {sizes} does not fit"),
                    );
                }
                let true_positions: Vec<Vec<usize>> = all_coordinates(sizes)
                    .zip(mask)
                    .filter_map(|(place, &truth)| truth.then_some(place))
                    .collect();
                if are_zipped {
                    add_array(number, &mut result_dims);
                    for axis in 0..sizes.len() {
                        let axis_positions = true_positions
                            .iter()
                            .map(|place| place[axis] as i64)
                            .collect();
                        arrays.push((axis_positions, vec![true_positions.len()]));
                        sources.push(PositionSource::Array(arrays.len() - 1));
                    }
                    if sizes.is_empty() {
                        arrays.push((vec![0; true_positions.len()], vec![true_positions.len()]));
                    }
                } else {
                    let dim = result_dims.len();
                    result_dims.push(ResultDimension::Own(true_positions.len()));
                    sources.push(PositionSource::List(
                        dim,
                        true_positions.iter().map(|place| place[0]).collect(),
                    ));
                }
            }
        }
    }
    if !are_zipped {
        // In an outer expression, the positions of arrays are checked after all other entries, so their errors come
        // last. `source_and_size` has the number of the array's source and the size of its dimension.
        for (list, source_and_size) in arrays.drain(..) {
            let checked_positions = list
                .iter()
                .map(|&position| position_in_range(position, source_and_size[1]));
            let checked_positions: Vec<usize> = checked_positions.collect::<Result<_, _>>()?;
            if let PositionSource::List(_, positions) = &mut sources[source_and_size[0]] {
                *positions = checked_positions;
            }
        }
    }
    let mut common_shape: Vec<usize> = Vec::new();
    for (_, sizes) in &arrays {
        common_shape = broadcast_shapes(&common_shape, sizes)?;
    }
    let are_adjacent = array_numbers.windows(2).all(|pair| pair[1] == pair[0] + 1);
    // The first dimension of the result that comes from the broadcast arrays. `own_dims` lists the entries of
    // `result_dims` for all dimensions that do not come from these arrays, with their sizes.
    let first_array_dim = result_dims
        .iter()
        .position(|result_dim| matches!(result_dim, ResultDimension::Arrays));
    let first_array_dim = first_array_dim.filter(|_| are_adjacent).unwrap_or(0);
    let own_dims: Vec<(usize, usize)> = result_dims
        .iter()
        .enumerate()
        .filter_map(|(dim, result_dim)| match result_dim {
            ResultDimension::Own(size) => Some((dim, *size)),
            ResultDimension::Arrays => None,
        })
        .collect();
    let mut sizes: Vec<usize> = own_dims.iter().map(|&(_, size)| size).collect();
    sizes.splice(
        first_array_dim..first_array_dim,
        common_shape.iter().copied(),
    );
    let mut result = vec_for_shape(&sizes)?;
    for element in all_coordinates(&sizes) {
        let shared_coordinates = &element[first_array_dim..first_array_dim + common_shape.len()];
        let own_coordinate = |dim: usize| {
            let own_index = own_dims.iter().position(|&(own_dim, _)| own_dim == dim);
            let own_index = own_index.expect("a list belongs to a dimension of its own");
            let skipped_dims = if own_index < first_array_dim {
                0
            } else {
                common_shape.len()
            };
            element[own_index + skipped_dims]
        };
        let mut source_position = Vec::new();
        for (axis, source) in sources.iter().enumerate() {
            source_position.push(match source {
                PositionSource::Single(position) => *position,
                PositionSource::List(dim, list) => list[own_coordinate(*dim)],
                PositionSource::Array(number) => {
                    let (list, sizes) = &arrays[*number];
                    let list_coordinates = &shared_coordinates[common_shape.len() - sizes.len()..];
                    let list_coordinates: Vec<usize> = list_coordinates
                        .iter()
                        .zip(sizes)
                        .map(|(&coordinate, &size)| if size == 1 { 0 } else { coordinate })
                        .collect();
                    position_in_range(*value_at(list, sizes, &list_coordinates), shape[axis])?
                }
            });
        }
        result.push(value_at(values, shape, &source_position).clone());
    }
    // If the result has no elements, the loop above checks no position. Then the loop below checks all positions,
    // unless the arrays themselves are empty.
    if result.is_empty() && !common_shape.contains(&0) {
        for (axis, source) in sources.iter().enumerate() {
            if let PositionSource::Array(number) = source {
                let mut positions = arrays[*number].0.iter();
                positions
                    .try_for_each(|&position| position_in_range(position, shape[axis]).map(drop))?;
            }
        }
    }
    Ok((sizes, result))
}

/// Returns the entries with a whole range for each dimension that an ellipsis covers or that has no entry.
fn expand_ellipsis(
    entries: &[Entry],
    shape: &[usize],
    outer: bool,
) -> Result<Vec<Entry>, ReferenceError> {
    for entry in entries {
        if let (Entry::Positions(_, sizes) | Entry::Mask(_, sizes), true) = (entry, outer)
            && sizes.len() != 1
        {
            return fail_with(
                "outer_rank",
                "an array of an outer expression has one dimension",
            );
        }
    }
    let ellipses = entries.iter().filter(|entry| **entry == Entry::Ellipsis);
    if ellipses.count() > 1 {
        return fail_with(
            "multiple_ellipses",
            "Multiple ellipses in slice spec not allowed",
        );
    }
    let taken_dims: usize = entries
        .iter()
        .map(|entry| match entry {
            Entry::Index(_) | Entry::Range(..) | Entry::Positions(..) => 1,
            Entry::Ellipsis | Entry::NewAxis => 0,
            Entry::Mask(_, sizes) => sizes.len(),
        })
        .sum();
    let Some(uncovered_dims) = shape.len().checked_sub(taken_dims) else {
        let kind = if shape.is_empty() {
            "scalar_input"
        } else {
            "too_many_specs"
        };
        return fail_with(kind, "too many indices for array");
    };
    let whole_ranges = std::iter::repeat_n(Entry::Range(None, None, 1), uncovered_dims);
    let ellipsis_index = entries.iter().position(|entry| *entry == Entry::Ellipsis);
    let (leading_entries, remaining_entries) =
        entries.split_at(ellipsis_index.unwrap_or(entries.len()));
    // The ellipsis stays, because it separates arrays even if it covers no dimension.
    let ellipsis = remaining_entries.first().cloned();
    let after_ellipsis = remaining_entries.iter().skip(1).cloned();
    Ok(leading_entries
        .iter()
        .cloned()
        .chain(ellipsis)
        .chain(whole_ranges)
        .chain(after_ellipsis)
        .collect())
}

/// Rejects strides of 0 and, unless arrays are broadcast together, single positions that are out of range. These errors
/// come before the errors of positions in arrays.
fn check_slices(
    entries: &[Entry],
    shape: &[usize],
    are_zipped: bool,
) -> Result<(), ReferenceError> {
    let mut axis = 0;
    for entry in entries {
        match entry {
            Entry::Range(_, _, 0) => return fail_with("stride_zero", "slice step cannot be zero"),
            Entry::Index(index)
                if !are_zipped && position_in_range(*index, shape[axis]).is_err() =>
            {
                return fail_with(
                    "shrink_out_of_range",
                    format!("index {index} is out of bounds"),
                );
            }
            _ => {}
        }
        axis += match entry {
            Entry::Ellipsis | Entry::NewAxis => 0,
            Entry::Mask(_, sizes) => sizes.len(),
            _ => 1,
        };
    }
    Ok(())
}

fn position_in_range(position: i64, size: usize) -> Result<usize, ReferenceError> {
    let size = size as i128;
    let from_begin = i128::from(position) + if position < 0 { size } else { 0 };
    match usize::try_from(from_begin) {
        Ok(resolved) if from_begin < size => Ok(resolved),
        _ => fail_with("position", format!("index {position} is out of bounds")),
    }
}

/// Returns the positions in Python's `range(*slice(begin, end, stride).indices(size))`.
fn slice_positions(size: usize, begin: Option<i64>, end: Option<i64>, stride: i64) -> Vec<usize> {
    let size = size as i128;
    let (low, high) = if stride > 0 {
        (0, size)
    } else {
        (-1, size - 1)
    };
    let clamped_bound = |bound: Option<i64>, default: i128| match bound {
        None => default,
        Some(bound) if bound < 0 => (i128::from(bound) + size).max(low),
        Some(bound) => i128::from(bound).min(high),
    };
    let (mut position, end) = match stride > 0 {
        true => (clamped_bound(begin, low), clamped_bound(end, high)),
        false => (clamped_bound(begin, high), clamped_bound(end, low)),
    };
    let mut positions = Vec::new();
    while (stride > 0 && position < end) || (stride < 0 && position > end) {
        positions.push(usize::try_from(position).expect("a position inside"));
        position += i128::from(stride);
    }
    positions
}

fn broadcast_shapes(a: &[usize], b: &[usize]) -> Result<Vec<usize>, ReferenceError> {
    let (longer, shorter) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let mut common_shape = longer.to_vec();
    let skipped_dims = longer.len() - shorter.len();
    for (size, &other_size) in common_shape[skipped_dims..].iter_mut().zip(shorter) {
        match (*size, other_size) {
            (1, _) => *size = other_size,
            (_, 1) => {}
            (size, other_size) if size == other_size => {}
            _ => {
                return fail_with(
                    "array_shapes",
                    format!("{} and {} do not fit", format_shape(a), format_shape(b)),
                );
            }
        }
    }
    Ok(common_shape)
}
