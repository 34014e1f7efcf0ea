//! Errors of slices.
//!
//! Each error that TensorFlow raises for a slice has a variant here. If several errors apply, the one that TensorFlow
//! raises is returned.

use super::axes::Axes;
use crate::text::Shape;

/// A slice that contradicts itself or does not fit the shape, or a `dy` that does not have the shape of the slice.
///
/// Dimensions are those of the input, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SpecError {
    /// `begin`, `end` and `strides` that differ in length, or have more than 31 entries, TensorFlow's limit.
    #[error(
        "begin, end and strides have lengths {begin}, {end} and {strides}: \
         they must be equal and at most 31"
    )]
    Vectors {
        /// The length of `begin`.
        begin: usize,
        /// The length of `end`.
        end: usize,
        /// The length of `strides`.
        strides: usize,
    },
    /// ONNX's `starts`, `ends`, `axes` and `steps` that differ in length.
    #[error(
        "starts, ends, axes and steps have lengths {starts}, {ends}, {axes} and {steps}: \
         they must be equal"
    )]
    Lengths {
        /// The length of `starts`.
        starts: usize,
        /// The length of `ends`.
        ends: usize,
        /// The length of `axes`.
        axes: usize,
        /// The length of `steps`.
        steps: usize,
    },
    /// An axis that the input does not have.
    #[error("axis is {axis}, but the input {}", Axes(*rank))]
    Axis {
        /// The given axis.
        axis: i64,
        /// The number of dimensions of the input.
        rank: usize,
    },
    /// A dimension that ONNX's `axes` name twice.
    #[error(
        "dimension {dimension} is sliced twice: name each axis at most once, negative ones included"
    )]
    AxisTwice {
        /// Which dimension of the input, counted from 0.
        dimension: usize,
    },
    /// A mask that does not fit a signed 32-bit integer.
    #[error("{mask} is {value}: a mask must fit a signed 32-bit integer")]
    Mask {
        /// The name of the mask.
        mask: &'static str,
        /// The value of the mask.
        value: i64,
    },
    /// More than one ellipsis.
    #[error("the slice has more than one ellipsis: at most one can stand for the dimensions left")]
    MultipleEllipses,
    /// An index or a range for a scalar, which has no dimension.
    #[error("the slice indexes a dimension of a scalar, which has none: only `...` and `None` fit")]
    ScalarInput,
    /// More indices and ranges than dimensions.
    #[error("the slice indexes {specs} dimensions, but the input has only {rank}: drop some")]
    TooManySpecs {
        /// The number of dimensions that the slice indexes.
        specs: usize,
        /// The number of dimensions of the input.
        rank: usize,
    },
    /// A stride of 0.
    #[error("strides[{dimension}] is 0: a stride must be non-zero")]
    StrideZero {
        /// Which dimension of the input, counted from 0.
        dimension: usize,
    },
    /// A single index with a negative stride.
    #[error(
        "the stride of the single index on dimension {dimension} is {stride}: \
         it must be positive (1 will do)"
    )]
    ShrinkStride {
        /// Which dimension of the input, counted from 0.
        dimension: usize,
        /// The given stride, which is negative.
        stride: i64,
    },
    /// A single index outside its dimension.
    #[error(
        "slice index {index} of dimension {dimension} is out of bounds: \
         the dimension has {size} elements, so it must be in [-{size}, {size})"
    )]
    ShrinkOutOfRange {
        /// Which dimension of the input, counted from 0.
        dimension: usize,
        /// The given index.
        index: i64,
        /// The size of the dimension.
        size: usize,
    },
    /// `dy`, the input of the gradient, does not have the shape of the slice.
    #[error(
        "dy has shape {}, but the slice has shape {}: they must be equal, nothing is broadcast",
        Shape(found),
        Shape(needed)
    )]
    DyShape {
        /// The shape of `dy`.
        found: Vec<usize>,
        /// The shape of the slice.
        needed: Vec<usize>,
    },
    /// `begin` or `size` of a block without exactly one entry for each dimension.
    #[error(
        "begin and size have lengths {begin} and {size}, but the input has {rank} dimensions: \
         each must have an entry for each dimension"
    )]
    SliceVectors {
        /// The length of `begin`.
        begin: usize,
        /// The length of `size`.
        size: usize,
        /// The number of dimensions of the input.
        rank: usize,
    },
    /// A block whose `begin` is negative or above the size of the dimension. Also, for a dimension of size 0, a block
    /// whose `size` is neither 0 nor -1.
    #[error(
        "begin[{dimension}] is {begin}: the dimension has {count} elements, so it must be in \
         [0, {count}], and a dimension without elements has only the block of size 0"
    )]
    SliceBegin {
        /// Which dimension of the input, counted from 0.
        dimension: usize,
        /// The first position of the block.
        begin: i64,
        /// The size of the dimension.
        count: usize,
    },
    /// A block that ends outside its dimension, or whose size is negative and not -1. A block is given by `begin` and
    /// `size`, as in `tf.slice`.
    #[error(
        "size[{dimension}] is {size} from {begin} on: the dimension has {count} elements, so it \
         must be at most what is left, or -1 for all of that"
    )]
    SliceSize {
        /// Which dimension of the input, counted from 0.
        dimension: usize,
        /// The first position of the block.
        begin: i64,
        /// The size of the block.
        size: i64,
        /// The size of the dimension.
        count: usize,
    },
}
