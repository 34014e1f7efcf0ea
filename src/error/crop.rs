//! Errors of crops and pastes. `x` is the array that is cropped or pasted into, and a `dimension` is a dimension of
//! `x`. Each position along the first dimension of `x` is an item.

use super::{Error, argument};
use crate::text::{Shape, counted};

/// Returns the error for an `x` with too few dimensions: it must have one for the items and one for each size of the
/// boxes.
pub(crate) fn rank_too_low(x_shape: &[usize], sizes: &[usize]) -> Error {
    argument!(
        CropRank,
        "x of shape {} must have a dimension of items, and then one for each of the sizes {}",
        Shape(x_shape),
        Shape(sizes)
    )
}

/// Returns the error for a number of strides that is neither 0 nor the number of sizes.
pub(crate) fn wrong_stride_count(strides: &[isize], sizes: &[usize]) -> Error {
    argument!(
        CropStrides,
        "{} strides, {strides:?}, do not fit the sizes {}: pass one stride for each size, or none if all are 1",
        strides.len(),
        Shape(sizes)
    )
}

/// Returns the error for a stride of 0.
pub(crate) fn stride_zero(dimension: usize) -> Error {
    argument!(
        StrideZero,
        "the stride of dimension {dimension} of x is 0: it must be positive or negative"
    )
}

/// Returns the error for `begins`, `box_indices`, `flips` or `patches` without the needed shape.
pub(crate) fn wrong_shape(
    argument: &str,
    found_shape: &[usize],
    needed_shape: &[usize],
    sizes: &[usize],
) -> Error {
    argument!(
        CropShape,
        "{argument} has shape {}, but must have {}: a row for each box and, in begins and flips, a \
         column for each of the sizes {}",
        Shape(found_shape),
        Shape(needed_shape),
        Shape(sizes)
    )
}

/// Returns the error for `begins` that are not a matrix, or whose number of columns does not fit any number of box
/// dimensions.
pub(crate) fn wrong_begins_shape(found_shape: &[usize]) -> Error {
    argument!(
        CropShape,
        "begins has shape {}, but must have two dimensions: a row for each box, and a column for each dimension that boxes \
         have begins in",
        Shape(found_shape)
    )
}

/// Returns the error for `patches` with too few dimensions for `begins`.
pub(crate) fn patches_rank_too_low(found_shape: &[usize], dim_count: usize) -> Error {
    argument!(
        CropShape,
        "patches has shape {}, but must have a dimension for the boxes, and then one for each of {} of begins",
        Shape(found_shape),
        counted(dim_count, "column", "columns")
    )
}

/// Returns the error for an array that is passed in addition to columns of the box tuples with the same meaning.
pub(crate) fn passed_twice(argument: &str) -> Error {
    argument!(
        CropShape,
        "{argument} are given twice, as columns of the tuples and as an array: give them once"
    )
}

/// Returns the error for a number of boxes that differs from the number of items, if there are no box indices.
pub(crate) fn wrong_item_count(boxes: usize, items: usize) -> Error {
    argument!(
        CropItems,
        "there {is} {} for {}: pass one box for each item, or box_indices with the item of each box",
        counted(boxes, "box", "boxes"),
        counted(items, "item of x", "items of x"),
        is = if boxes == 1 { "is" } else { "are" }
    )
}

/// Returns the error for circular or clamped (`OutOfRange::Clamp`) boxes that are longer than a dimension of `x`. Such
/// boxes must fit in the dimension.
pub(crate) fn box_size(dimension: usize, size: usize, stride: isize, x_shape: &[usize]) -> Error {
    argument!(
        CropBoxSize,
        "boxes of {size} elements with stride {stride} are longer than dimension {dimension} of x {}: \
         no shift brings them inside, and a circular one would meet itself; make them shorter, or choose \
         OutOfRange::Ignore and no circular boxes",
        Shape(x_shape)
    )
}
