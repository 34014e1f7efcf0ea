//! Errors of slices.
//!
//! Each error that TensorFlow raises for a slice has a function here. If several errors apply, the one that TensorFlow
//! raises is returned. Dimensions are those of the input, counted from 0.

use super::{Error, argument, axes::Axes};
use crate::text::Shape;

/// `begin`, `end` and `strides` that differ in length, or have more than 31 entries, TensorFlow's limit.
pub(crate) fn vectors(begin: usize, end: usize, strides: usize) -> Error {
    argument!(
        "spec_vectors",
        "begin, end and strides have lengths {begin}, {end} and {strides}: \
         they must be equal and at most 31"
    )
}

/// ONNX's `starts`, `ends`, `axes` and `steps` that differ in length.
pub(crate) fn lengths(starts: usize, ends: usize, axes: usize, steps: usize) -> Error {
    argument!(
        "onnx_lengths",
        "starts, ends, axes and steps have lengths {starts}, {ends}, {axes} and {steps}: \
         they must be equal"
    )
}

/// An axis that the input does not have.
pub(crate) fn axis(axis: i64, rank: usize) -> Error {
    argument!("axis", "axis is {axis}, but the input {}", Axes(rank))
}

/// A dimension that ONNX's `axes` name twice.
pub(crate) fn axis_twice(dimension: usize) -> Error {
    argument!(
        "axis_twice",
        "dimension {dimension} is sliced twice: name each axis at most once, negative ones included"
    )
}

/// A mask that does not fit a signed 32-bit integer.
pub(crate) fn mask(mask: &str, value: i64) -> Error {
    argument!(
        "mask",
        "{mask} is {value}: a mask must fit a signed 32-bit integer"
    )
}

/// More than one ellipsis.
pub(crate) fn multiple_ellipses() -> Error {
    argument!(
        "multiple_ellipses",
        "the slice has more than one ellipsis: at most one is allowed"
    )
}

/// An index or a range for a scalar, which has no dimension.
pub(crate) fn scalar_input() -> Error {
    argument!(
        "scalar_input",
        "the slice indexes a dimension of a scalar, which has none: only `...` and `None` fit"
    )
}

/// More indices and ranges than dimensions.
pub(crate) fn too_many_specs(specs: usize, rank: usize) -> Error {
    argument!(
        "too_many_specs",
        "the slice indexes {specs} dimensions, but the input has only {rank}: drop some"
    )
}

/// A stride of 0.
pub(crate) fn stride_zero(dimension: usize) -> Error {
    argument!(
        "stride_zero",
        "strides[{dimension}] is 0: a stride must be non-zero"
    )
}

/// A single index with a negative stride.
pub(crate) fn shrink_stride(dimension: usize, stride: i64) -> Error {
    argument!(
        "shrink_stride",
        "the stride of the single index on dimension {dimension} is {stride}: \
         it must be positive, such as 1"
    )
}

/// A single index outside its dimension.
pub(crate) fn shrink_out_of_range(dimension: usize, index: i64, size: usize) -> Error {
    argument!(
        "shrink_out_of_range",
        "slice index {index} of dimension {dimension} is out of bounds: \
         the dimension has {size} elements, so it must be in [-{size}, {size})"
    )
}

/// `dy`, the input of the gradient, does not have the shape of the slice.
pub(crate) fn dy_shape(found: &[usize], needed: &[usize]) -> Error {
    argument!(
        "dy_shape",
        "dy has shape {}, but the slice has shape {}: they must be equal, without broadcasting",
        Shape(found),
        Shape(needed)
    )
}

/// `begin` or `size` of a block without exactly one entry for each dimension.
pub(crate) fn slice_vectors(begin: usize, size: usize, rank: usize) -> Error {
    argument!(
        "slice_vectors",
        "begin and size have lengths {begin} and {size}, but the input has {rank} dimensions: \
         each must have an entry for each dimension"
    )
}

/// A block whose `begin` is negative or above the size of the dimension. Also, for a dimension of size 0, a block
/// whose `size` is neither 0 nor -1.
pub(crate) fn slice_begin(dimension: usize, begin: i64, count: usize) -> Error {
    argument!(
        "slice_begin",
        "begin[{dimension}] is {begin}: the dimension has {count} elements, so it must be in \
         [0, {count}], and a dimension without elements has only the block of size 0"
    )
}

/// A block that ends outside its dimension, or whose size is negative and not -1. A block is given by `begin` and
/// `size`, as in `tf.slice`.
pub(crate) fn slice_size(dimension: usize, begin: i64, size: i64, count: usize) -> Error {
    argument!(
        "slice_size",
        "size[{dimension}] is {size} from {begin} on: the dimension has {count} elements, so it \
         must be at most the number of elements left, or -1 for all of them"
    )
}
