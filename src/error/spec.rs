//! Errors of slices.
//!
//! Each error that TensorFlow raises for a slice has a function in this file. If arguments break several rules, the
//! crate returns the error that TensorFlow raises. Messages count the dimensions of the input from 0.

use super::{Error, argument, axes::AxisList};
use crate::prelude::*;
use crate::text::Shape;

/// Returns the error for `begin`, `end` and `strides` that differ in length, or have more than 31 entries, TensorFlow's
/// limit.
pub(crate) fn wrong_vector_lengths(begin: usize, end: usize, strides: usize) -> Error {
    argument!(
        SpecVectors,
        "begin, end and strides have lengths {begin}, {end} and {strides}: \
         they must be equal and at most 31"
    )
}

/// Returns the error for ONNX's `starts`, `ends`, `axes` and `steps` that differ in length.
pub(crate) fn wrong_onnx_lengths(starts: usize, ends: usize, axes: usize, steps: usize) -> Error {
    argument!(
        OnnxLengths,
        "starts, ends, axes and steps have lengths {starts}, {ends}, {axes} and {steps}: \
         they must be equal"
    )
}

/// Returns the error for an axis that the input does not have.
pub(crate) fn axis_out_of_range(axis: i64, rank: usize) -> Error {
    argument!(Axis, "axis is {axis}, but the input {}", AxisList(rank))
}

/// Returns the error for a dimension that occurs twice in ONNX's `axes`.
pub(crate) fn axis_twice(dimension: usize) -> Error {
    argument!(
        AxisTwice,
        "dimension {dimension} is sliced twice: name each axis at most once, negative ones included"
    )
}

/// Returns the error for more than one ellipsis.
pub(crate) fn multiple_ellipses() -> Error {
    argument!(
        MultipleEllipses,
        "the slice has more than one ellipsis: at most one is allowed"
    )
}

/// Returns the error for an index or a range for a scalar, which has no dimension.
pub(crate) fn scalar_input() -> Error {
    argument!(
        ScalarInput,
        "the slice indexes a dimension of a scalar, which has none: only `...` and `None` fit"
    )
}

/// Returns the error for more indices and ranges than dimensions.
pub(crate) fn too_many_specs(specs: usize, rank: usize) -> Error {
    argument!(
        TooManySpecs,
        "the slice indexes {specs} dimensions, but the input has only {rank}: drop some"
    )
}

/// Returns the error for a stride of 0.
pub(crate) fn stride_zero(dimension: usize) -> Error {
    argument!(
        StrideZero,
        "strides[{dimension}] is 0: a stride must be non-zero"
    )
}

/// Returns the error for a single index with a negative stride.
pub(crate) fn shrink_stride(dimension: usize, stride: i64) -> Error {
    argument!(
        ShrinkStride,
        "the stride of the single index on dimension {dimension} is {stride}: \
         it must be positive, such as 1"
    )
}

/// Returns the error for a single index outside its dimension.
pub(crate) fn shrink_out_of_range(dimension: usize, index: i64, size: usize) -> Error {
    let rule = match size {
        0 => "the dimension has no elements".into(),
        _ => format!("the dimension has {size} elements, so it must be in [-{size}, {size})"),
    };
    argument!(
        ShrinkOutOfRange,
        "slice index {index} of dimension {dimension} is out of bounds: {rule}"
    )
}

/// Returns the error for a `dy` (the input of the gradient) whose shape is not the shape of the slice.
pub(crate) fn dy_shape(found_shape: &[usize], needed_shape: &[usize]) -> Error {
    argument!(
        DyShape,
        "dy has shape {}, but the slice has shape {}: they must be equal, without broadcasting",
        Shape(found_shape),
        Shape(needed_shape)
    )
}

/// Returns the error for `begin` or `size` of a block without exactly one entry for each dimension.
pub(crate) fn slice_vectors(begin: usize, size: usize, rank: usize) -> Error {
    argument!(
        SliceVectors,
        "begin and size have lengths {begin} and {size}, but the input has {rank} dimensions: \
         each must have an entry for each dimension"
    )
}

/// Returns the error for a block with a `begin` that is negative or above the size of the dimension. In a dimension of
/// size 0, this is also the error for a `size` that is neither 0 nor -1.
pub(crate) fn slice_begin(dimension: usize, begin: i64, count: usize) -> Error {
    argument!(
        SliceBegin,
        "begin[{dimension}] is {begin}: the dimension has {count} elements, so it must be in \
         [0, {count}], and a dimension without elements has only the block of size 0"
    )
}

/// Returns the error for a block that ends outside its dimension, or has a negative size other than -1. A block is
/// given by `begin` and `size`, as in `tf.slice`.
pub(crate) fn slice_size(dimension: usize, begin: i64, size: i64, count: usize) -> Error {
    argument!(
        SliceSize,
        "size[{dimension}] is {size} from {begin} on: the dimension has {count} elements, so it \
         must be at most the number of elements left, or -1 for all of them"
    )
}
