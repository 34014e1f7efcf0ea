//! Errors of crops.

use crate::text::{Shape, counted};

/// The boxes of a crop do not match the array `x`, or a box reaches outside of the item that it is cut from. The first
/// dimension of `x` numbers the items.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CropError {
    /// `x` has too few dimensions: it needs one for the items, and then one for each of the sizes.
    #[error(
        "x of shape {} must have a dimension of items, and then one for each of the sizes {}",
        Shape(x),
        Shape(sizes)
    )]
    Rank {
        /// The shape of `x`.
        x: Vec<usize>,
        /// The given sizes of a box, one for each cropped dimension.
        sizes: Vec<usize>,
    },
    /// There are strides, but not one for each size.
    #[error(
        "strides are {strides:?}, but the sizes {} need one each: pass as many, or none if all are 1",
        Shape(sizes)
    )]
    Strides {
        /// The given strides.
        strides: Vec<isize>,
        /// The given sizes of a box, one for each cropped dimension.
        sizes: Vec<usize>,
    },
    /// A stride of 0.
    #[error("the stride of dimension {dimension} of x is 0: it must be positive or negative")]
    StrideZero {
        /// The dimension of `x`, counted from 0. Dimension 0 numbers the items and has no stride.
        dimension: usize,
    },
    /// `begins`, `box_indices`, `flips` or `patches` does not have the needed shape.
    #[error(
        "{argument} has shape {}, but must have {}: a row for each box and, in begins and flips, a \
         column for each of the sizes {}",
        Shape(found),
        Shape(needed),
        Shape(sizes)
    )]
    Shape {
        /// The name of the argument.
        argument: &'static str,
        /// The shape of the argument.
        found: Vec<usize>,
        /// The shape that it must have.
        needed: Vec<usize>,
        /// The given sizes of a box, one for each cropped dimension.
        sizes: Vec<usize>,
    },
    /// The number of boxes is not the number of items, and there are no box indices.
    #[error(
        "there {is} {} for {}: pass one box for each item, or box_indices that say of which item each box is",
        counted(*boxes, "box", "boxes"),
        counted(*items, "item of x", "items of x"),
        is = if *boxes == 1 { "is" } else { "are" }
    )]
    Items {
        /// The number of boxes.
        boxes: usize,
        /// The number of items: the size of the first dimension of `x`.
        items: usize,
    },
    /// Under `OutOfRange::Clamp`, or if they are circular, boxes that span more positions than a dimension of `x` has.
    #[error(
        "boxes of {size} elements with stride {stride} are longer than dimension {dimension} of x {}: \
         no shift brings them inside, and a circular one would meet itself; make them shorter, or choose \
         OutOfRange::Zero and no circular boxes",
        Shape(x)
    )]
    BoxSize {
        /// The dimension of `x`, counted from 0.
        dimension: usize,
        /// The number of elements of a box in this dimension.
        size: usize,
        /// The distance between neighbouring elements of a box, in positions of the dimension.
        stride: isize,
        /// The shape of `x`.
        x: Vec<usize>,
    },
}
