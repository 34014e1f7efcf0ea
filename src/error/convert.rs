//! Errors of conversions.

use super::{Error, argument, axes::Axes};
use crate::{DType, text::Shape};

/// An element type that is not converted.
pub(crate) fn dtype(argument: &str, found: DType) -> Error {
    argument!(
        "convert_dtype",
        "{argument} is {found}, which is not converted: u8, i8, u16, i16, f16, bf16 and f32 are, each to each; make it \
         one of these"
    )
}

/// A plan that changes an array, or that converts already.
pub(crate) fn operation(operation: &str) -> Error {
    argument!(
        "convert_operation",
        "{operation} does not convert: slices, views, gathers and crops do, once; convert its source by a plan of its \
         own, such as that of a view"
    )
}

/// A table for another type than the source's.
pub(crate) fn source(found: DType, needed: DType) -> Error {
    argument!(
        "convert_source",
        "the table converts {needed}, and the source is {found}: make a table for {found}"
    )
}

/// A scale of a source whose elements have more than 8 bits.
pub(crate) fn scale(found: DType) -> Error {
    argument!(
        "convert_scale",
        "scale and bias are for u8 and i8, of which a table says what each becomes, and the source is {found}: convert \
         {found} alone, and scale the result"
    )
}

/// An axis that the source does not have.
pub(crate) fn axis(axis: isize, rank: usize) -> Error {
    argument!(
        "axis",
        "axis {axis} of the conversion is out of range: the source {}",
        Axes(rank)
    )
}

/// More or fewer entries than the axis has positions.
pub(crate) fn positions(
    argument: &str,
    found: usize,
    axis: isize,
    shape: &[usize],
    needed: usize,
) -> Error {
    argument!(
        "convert_positions",
        "{argument} is for {found} positions, but axis {axis} of the source {} has {needed}: give one for each, or one \
         for all",
        Shape(shape)
    )
}
