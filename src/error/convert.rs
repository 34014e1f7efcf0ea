//! Errors of conversions.

use super::{Error, argument, axes::AxisList};
use crate::{DType, text::Shape};

/// Returns the error for an array of complex numbers, which cannot be converted.
pub(crate) fn complex_dtype(argument: &str, found_dtype: DType) -> Error {
    let part_dtype = match found_dtype {
        DType::Complex64 => DType::F32,
        _ => DType::F64,
    };
    argument!(
        ConvertDtype,
        "{argument} is {found_dtype}, and complex numbers are not converted: pass their parts, which are {part_dtype} with one more \
         dimension of 2"
    )
}

/// Returns the error for a plan that cannot convert: it is not a slice, a view, a gather or a crop, or it already
/// converts.
pub(crate) fn unsupported_operation(operation: &str) -> Error {
    argument!(
        ConvertOperation,
        "{operation} does not convert: slices, views, gathers and crops do, once; convert its source by a plan of its \
         own, such as that of a view"
    )
}

/// Returns the error for a conversion table that was made for another element type than the source's.
pub(crate) fn wrong_table_source(found_dtype: DType, needed_dtype: DType) -> Error {
    argument!(
        ConvertSource,
        "the table converts {needed_dtype}, and the source is {found_dtype}: make a table for {found_dtype}"
    )
}

/// Returns the error for a conversion table for elements of more than 8 bits.
pub(crate) fn table_for_wide_elements(found_dtype: DType) -> Error {
    argument!(
        ConvertTable,
        "a table has an entry for each of 256 values, and {found_dtype} has more: pass bool, u8 or i8, or use \
         Conversion::scaled"
    )
}

/// Returns the error for an axis that the source does not have.
pub(crate) fn axis_out_of_range(axis: isize, rank: usize) -> Error {
    argument!(
        Axis,
        "axis {axis} of the conversion is out of range: the source {}",
        AxisList(rank)
    )
}

/// Returns the error for a number of entries that differs from the number of positions of the axis.
pub(crate) fn wrong_entry_count(
    argument: &str,
    found_count: usize,
    axis: isize,
    shape: &[usize],
    needed_count: usize,
) -> Error {
    argument!(
        ConvertPositions,
        "{argument} is for {found_count} positions, but axis {axis} of the source {} has {needed_count}: give one for each, or one \
         for all",
        Shape(shape)
    )
}
