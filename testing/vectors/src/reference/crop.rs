//! `crop`: cuts boxes out of the items of an array.

use super::{Gathered, ReferenceError, at, check_length, coordinates, fail, room, show};

/// The boxes that [`crop`] takes from an array.
#[derive(Clone, Copy, Debug, Default)]
pub struct Boxes<'a> {
    /// The positions in its item where each box begins: one integer for each of `sizes`, box after box.
    pub begins: &'a [i64],
    /// The number of the item that each box is cut from. `None` if box n is cut from item n.
    pub box_indices: Option<&'a [i64]>,
    /// For each box and each of `sizes`, whether the box is reversed along that dimension, box after box. `None` if no
    /// box is reversed.
    pub flips: Option<&'a [bool]>,
    /// The number of boxes.
    pub count: usize,
    /// The size of all boxes in each cropped dimension: dimension 1 of the array, dimension 2, and so on.
    pub sizes: &'a [usize],
    /// The distance in positions between neighbouring elements of a box, for each cropped dimension. Not 0. If
    /// negative, a box extends from its begin towards lower positions.
    pub strides: &'a [i64],
    /// Whether a box that reaches outside of its item is shifted until it lies inside, and a box index that names no
    /// item stands for the nearest item.
    pub clamp: bool,
}

/// Cuts boxes out of the items of an array. The first dimension of `values` numbers the items.
///
/// The result has a dimension of boxes, then those of `sizes`, then the dimensions of `values` that are not cropped.
/// An element outside of its item is `T::default()`, and so are all elements of a box whose item does not exist.
/// [`Gathered::bad_rows`] has the numbers of the boxes with such elements.
///
/// ```
/// use wgslice_vectors::reference::{Boxes, crop};
///
/// let lines = ["a", "b", "c", "d", "e", "f"]; // two items of three elements
/// let boxes = Boxes { begins: &[1, -1], count: 2, sizes: &[2], strides: &[1], ..Boxes::default() };
/// let cropped = crop(&lines, &[2, 3], boxes)?;
/// assert_eq!(cropped.values, ["b", "c", "", "d"]);
/// assert_eq!(cropped.bad_rows, [1]);
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// # Errors
///
/// `data_length`, `crop_rank`, `crop_strides`, `crop_items`, then `stride_zero` and `crop_box_size` for each
/// dimension in turn, and `too_large`, in this order.
pub fn crop<T: Clone + Default>(
    values: &[T],
    values_shape: &[usize],
    boxes: Boxes<'_>,
) -> Result<Gathered<T>, ReferenceError> {
    let Boxes {
        begins,
        box_indices,
        flips,
        count,
        sizes,
        strides,
        clamp,
    } = boxes;
    let dims = sizes.len();
    check_length("values", values.len(), values_shape)?;
    check_length("begins", begins.len(), &[count, dims])?;
    check_length(
        "box_indices",
        box_indices.map_or(count, <[_]>::len),
        &[count],
    )?;
    check_length(
        "flips",
        flips.map_or(count * dims, <[_]>::len),
        &[count, dims],
    )?;
    if values_shape.len() <= dims {
        return fail("crop_rank", "there is no dimension for each size");
    }
    if strides.len() != dims {
        return fail("crop_strides", "there is no stride for each size");
    }
    let items = values_shape[0];
    if box_indices.is_none() && count != items {
        return fail("crop_items", format!("{count} boxes of {items} items"));
    }
    for d in 0..dims {
        let (size, stride) = (sizes[d] as i128, i128::from(strides[d]));
        if stride == 0 {
            return fail("stride_zero", format!("stride {d} is 0"));
        }
        if clamp && size > 0 && (size - 1) * stride.abs() >= values_shape[1 + d] as i128 {
            let shape = show(values_shape);
            return fail(
                "crop_box_size",
                format!("the boxes do not fit into {shape}"),
            );
        }
    }
    let kept = &values_shape[1 + dims..];
    let shape = [&[count], sizes, kept].concat();
    let mut result = room(&shape)?;
    let mut bad_rows = Vec::new();
    for element in coordinates(&shape) {
        let n = element[0];
        let mut item = box_indices.map_or(n as i128, |items| i128::from(items[n]));
        if clamp && items > 0 {
            item = item.clamp(0, items as i128 - 1);
        }
        let mut place = vec![item];
        for d in 0..dims {
            let (size, stride) = (sizes[d] as i128, i128::from(strides[d]));
            let mut begin = i128::from(begins[n * dims + d]);
            if clamp {
                // Clamps `begin` to the lowest and the highest value with which all elements lie inside.
                let reach = (size - 1) * stride;
                let end = values_shape[1 + d] as i128 - 1;
                begin = begin.clamp(0 - reach.min(0), end - reach.max(0));
            }
            let mut j = element[1 + d] as i128;
            if flips.is_some_and(|flips| flips[n * dims + d]) {
                j = size - 1 - j;
            }
            place.push(begin + j * stride);
        }
        place.extend(element[1 + dims..].iter().map(|&c| c as i128));
        let inside: Option<Vec<usize>> = place
            .iter()
            .zip(values_shape)
            .map(|(&c, &size)| usize::try_from(c).ok().filter(|&c| c < size))
            .collect();
        match inside {
            Some(place) => result.push(at(values, values_shape, &place).clone()),
            None => {
                if bad_rows.last() != Some(&n) {
                    bad_rows.push(n);
                }
                result.push(T::default());
            }
        }
    }
    Ok(Gathered {
        shape,
        bad_rows,
        values: result,
    })
}
