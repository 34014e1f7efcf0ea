//! `crop`: cuts boxes out of the items of an array. `paste`: writes boxes into the items.

use super::{
    Gathered, ReferenceError, Scattered, all_coordinates, check_length, fail_with, value_at,
    value_at_mut,
};
use super::{format_shape, vec_for_shape};

/// The boxes that [`crop`] cuts from an array, or that [`paste`] writes into one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Boxes<'a> {
    /// The start of each box in its item: one position for each of `sizes`, box after box.
    pub begins: &'a [i64],
    /// The number of the item for each box. With `None`, box n belongs to item n.
    pub box_indices: Option<&'a [i64]>,
    /// For each box, in order, and each of `sizes`: true if the box is reversed along that dimension. `None` if no box
    /// is reversed.
    pub flips: Option<&'a [bool]>,
    /// The number of boxes.
    pub count: usize,
    /// The size of every box in each cropped dimension. Dimension 1 of the array is the first cropped dimension.
    pub sizes: &'a [usize],
    /// The distance in positions between neighbouring elements of a box, for each cropped dimension. It must not be 0.
    /// If it is negative, a box extends from its start towards lower positions.
    pub strides: &'a [i64],
    /// True if a box that extends beyond its item is shifted into the item, and an out-of-range box index selects the
    /// nearest item.
    pub clamp: bool,
    /// True if every position of a cropped dimension is taken modulo the size of the dimension, so that a box continues
    /// at the other end. `clamp` then only applies to box indices.
    pub circular: bool,
}

impl Boxes<'_> {
    /// Checks the boxes for an array of this shape.
    fn check_boxes(&self, values_shape: &[usize]) -> Result<(), ReferenceError> {
        let Self { count, sizes, .. } = *self;
        let dim_count = sizes.len();
        check_length("begins", self.begins.len(), &[count, dim_count])?;
        let box_index_count = self.box_indices.map_or(count, <[_]>::len);
        check_length("box_indices", box_index_count, &[count])?;
        let flip_count = self.flips.map_or(count * dim_count, <[_]>::len);
        check_length("flips", flip_count, &[count, dim_count])?;
        if values_shape.len() <= dim_count {
            return fail_with("crop_rank", "there is no dimension for each size");
        }
        if self.strides.len() != dim_count {
            return fail_with("crop_strides", "there is no stride for each size");
        }
        let item_count = values_shape[0];
        if self.box_indices.is_none() && count != item_count {
            return fail_with("crop_items", format!("{count} boxes of {item_count} items"));
        }
        for d in 0..dim_count {
            let (size, stride) = (sizes[d] as i128, i128::from(self.strides[d]));
            if stride == 0 {
                return fail_with("stride_zero", format!("stride {d} is 0"));
            }
            let is_too_long = size > 0 && (size - 1) * stride.abs() >= values_shape[1 + d] as i128;
            if is_too_long && (self.clamp || self.circular) {
                let shape = format_shape(values_shape);
                return fail_with(
                    "crop_box_size",
                    format!("the boxes do not fit into {shape}"),
                );
            }
        }
        Ok(())
    }

    /// Returns the position of an element of the boxes in an array of this shape, or `None` if it is outside the array.
    /// The first coordinate of `element` is the number of its box, and the other coordinates are its position in the
    /// box.
    fn place_of_element(&self, element: &[usize], values_shape: &[usize]) -> Option<Vec<usize>> {
        let (n, dim_count) = (element[0], self.sizes.len());
        let item_count = values_shape[0] as i128;
        let mut item = self
            .box_indices
            .map_or(n as i128, |box_indices| i128::from(box_indices[n]));
        if self.clamp && item_count > 0 {
            item = item.clamp(0, item_count - 1);
        }
        let mut coordinates = vec![item];
        for d in 0..dim_count {
            let (size, stride) = (self.sizes[d] as i128, i128::from(self.strides[d]));
            let last_position = values_shape[1 + d] as i128 - 1;
            let mut begin = i128::from(self.begins[n * dim_count + d]);
            if self.clamp && !self.circular {
                // Clamps `begin` to the range in which all elements are inside the item.
                let reach = (size - 1) * stride;
                begin = begin.clamp(0 - reach.min(0), last_position - reach.max(0));
            }
            let mut j = element[1 + d] as i128;
            if self.flips.is_some_and(|flips| flips[n * dim_count + d]) {
                j = size - 1 - j;
            }
            let position = begin + j * stride;
            coordinates.push(match self.circular {
                true => position.rem_euclid(last_position + 1),
                false => position,
            });
        }
        coordinates.extend(element[1 + dim_count..].iter().map(|&c| c as i128));
        coordinates
            .iter()
            .zip(values_shape)
            .map(|(&c, &size)| usize::try_from(c).ok().filter(|&c| c < size))
            .collect()
    }

    /// Returns the shape of all boxes together, for an array of this shape.
    fn result_shape(&self, values_shape: &[usize]) -> Vec<usize> {
        let inner_sizes = &values_shape[1 + self.sizes.len()..];
        [&[self.count], self.sizes, inner_sizes].concat()
    }
}

/// Cuts boxes out of the items of an array. The items are along the first dimension of `values`.
///
/// The result has a dimension of boxes, then the dimensions of `sizes`, then the dimensions of `values` that are not
/// cropped. An element outside of its item is `T::default()`, and so are all elements of a box whose item does not
/// exist. [`Gathered::bad_rows`] has the numbers of the boxes with such elements.
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
/// Fails with `data_length`, `crop_rank`, `crop_strides`, `crop_items`, then `stride_zero` and `crop_box_size` for each
/// dimension, and `too_large`, in this order.
pub fn crop<T: Clone + Default>(
    values: &[T],
    values_shape: &[usize],
    boxes: Boxes<'_>,
) -> Result<Gathered<T>, ReferenceError> {
    check_length("values", values.len(), values_shape)?;
    boxes.check_boxes(values_shape)?;
    let shape = boxes.result_shape(values_shape);
    let mut result = vec_for_shape(&shape)?;
    let mut bad_rows = Vec::new();
    for element in all_coordinates(&shape) {
        match boxes.place_of_element(&element, values_shape) {
            Some(place) => result.push(value_at(values, values_shape, &place).clone()),
            None => {
                if bad_rows.last() != Some(&element[0]) {
                    bad_rows.push(element[0]);
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

/// Returns a copy of an array with boxes written into its items, in order: the inverse of [`crop`].
///
/// `patches` must have the shape of the crop of the same boxes. Elements outside of their item are dropped, and so are
/// all elements of a box whose item does not exist. [`Scattered::bad_rows`] has the numbers of the boxes with such
/// elements.
///
/// ```
/// use wgslice_vectors::reference::{Boxes, paste};
///
/// let lines = ["a", "b", "c", "d", "e", "f"]; // two items of three elements
/// let patches = ["w", "x", "y", "z"];
/// let boxes = Boxes { begins: &[1, -1], count: 2, sizes: &[2], strides: &[1], ..Boxes::default() };
/// let pasted = paste(&lines, &[2, 3], &patches, &[2, 2], boxes)?;
/// assert_eq!(pasted.values, ["a", "w", "x", "z", "e", "f"]);
/// assert_eq!(pasted.bad_rows, [1]);
/// let circular = Boxes { circular: true, ..boxes };
/// let pasted = paste(&lines, &[2, 3], &patches, &[2, 2], circular)?;
/// assert_eq!(pasted.values, ["a", "w", "x", "z", "e", "y"]);
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// # Errors
///
/// Fails with the errors of [`crop`] except `too_large`, then `crop_shape` and `data_length` for `patches`.
pub fn paste<T: Clone>(
    values: &[T],
    values_shape: &[usize],
    patches: &[T],
    patches_shape: &[usize],
    boxes: Boxes<'_>,
) -> Result<Scattered<T>, ReferenceError> {
    check_length("values", values.len(), values_shape)?;
    boxes.check_boxes(values_shape)?;
    let shape = boxes.result_shape(values_shape);
    if patches_shape != shape {
        return fail_with(
            "crop_shape",
            format!("the boxes have shape {}", format_shape(&shape)),
        );
    }
    check_length("patches", patches.len(), &shape)?;
    let mut result = values.to_vec();
    let mut bad_rows = Vec::new();
    for element in all_coordinates(&shape) {
        match boxes.place_of_element(&element, values_shape) {
            Some(place) => {
                let patch = value_at(patches, &shape, &element).clone();
                *value_at_mut(&mut result, values_shape, &place) = patch;
            }
            None if bad_rows.last() != Some(&element[0]) => bad_rows.push(element[0]),
            None => {}
        }
    }
    Ok(Scattered {
        values: result,
        bad_rows,
    })
}
