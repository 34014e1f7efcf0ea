//! Errors of concat, stack, pad, roll, tile and repeat.

use super::{Error, argument, axes::AxisList};
use crate::prelude::*;
use crate::text::{Shape, counted};

/// Returns the error for an axis that the arrays do not have.
pub(crate) fn axis_out_of_range(axis: isize, rank: usize) -> Error {
    argument!(Axis, "axis is {axis}, but each array {}", AxisList(rank))
}

/// Returns the error for a call without arrays, for which the shape of the result is unknown.
pub(crate) fn no_arrays() -> Error {
    argument!(NoArrays, "there are no arrays: pass at least one")
}

/// Returns the error for an array with a shape that does not fit the shape of the first array.
pub(crate) fn array_shape(
    array_index: usize,
    found_shape: &[usize],
    first_shape: &[usize],
    axis: Option<usize>,
) -> Error {
    argument!(
        ArrayShape,
        "array {array_index} has shape {}, but the first has {}: both must be equal{}",
        Shape(found_shape),
        Shape(first_shape),
        except_axis(axis)
    )
}

/// Returns the error for sizes of parts that do not add up to the size of the dimension.
pub(crate) fn split_sizes(sizes: &[usize], axis: usize, size: usize) -> Error {
    argument!(
        SplitSizes,
        "the sizes {} must add up to {size}, the size of dimension {axis}",
        Shape(sizes)
    )
}

/// Returns the error for an argument that does not have one number for each dimension.
pub(crate) fn wrong_entry_count(argument: &str, found_count: usize, rank: usize) -> Error {
    argument!(
        Entries,
        "{argument} has {}, but x has {}: give one for each",
        counted(found_count, "number", "numbers"),
        counted(rank, "dimension", "dimensions"),
    )
}

/// Returns the error for a padding that is longer than the elements that it mirrors or repeats.
pub(crate) fn padding_too_long(
    dimension: usize,
    size: usize,
    padding: usize,
    max_padding: usize,
    mode: &str,
) -> Error {
    let positions = counted(size, "position", "positions");
    match (size, max_padding) {
        (0, _) => argument!(
            Padding,
            "dimension {dimension} is padded by {padding}, but has no positions that can be {mode}: pad it by 0, or by a constant"
        ),
        (_, 0) => argument!(
            Padding,
            "dimension {dimension} of {positions} is padded by {padding}, but none can be {mode} there: pad it by 0, or in \
             another mode"
        ),
        _ => argument!(
            Padding,
            "dimension {dimension} of {positions} is padded by {padding}, but at most {max_padding} can be {mode}: \
             pad less, or pad twice"
        ),
    }
}

/// Returns the error for a number of shifts that differs from the number of axes.
pub(crate) fn wrong_shift_count(shifts: usize, axes: usize) -> Error {
    argument!(
        Shifts,
        "there are {shifts} shifts and {axes} axes: pass a shift for each axis"
    )
}

/// Returns the error for more pieces than a plan can have.
pub(crate) fn too_many_pieces(pieces: usize, max_pieces: usize) -> Error {
    argument!(
        Pieces,
        "the result has {pieces} pieces, but must have at most {max_pieces}: pad or roll fewer dimensions in one call"
    )
}

/// Returns the error for a padding constant that is not a scalar.
pub(crate) fn constant_not_scalar(shape: &[usize]) -> Error {
    argument!(
        Constant,
        "the constant of a padding has shape {}: it must be a scalar, of shape []",
        Shape(shape)
    )
}

fn except_axis(axis: Option<usize>) -> String {
    axis.map_or_else(String::new, |axis| {
        format!(" except in dimension {axis}, the axis")
    })
}
