//! Errors of slices.
//!
//! They correspond one to one to TensorFlow's errors for the same input. If several apply, the first is also
//! TensorFlow's first.

use crate::text::Shape;

/// A slice that contradicts itself or does not fit the shape.
///
/// Dimensions are those of the input, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// `begin`, `end` and `strides` must be equally long, and shorter than 32.
    #[error(
        "begin, end and strides have lengths {begin}, {end} and {strides}: \
         they must be equal and at most 31"
    )]
    Vectors {
        /// Length of `begin`.
        begin: usize,
        /// Length of `end`.
        end: usize,
        /// Length of `strides`.
        strides: usize,
    },
    /// ONNX's `starts`, `ends`, `axes` and `steps` must be equally long.
    #[error(
        "starts, ends, axes and steps have lengths {starts}, {ends}, {axes} and {steps}: \
         they must be equal"
    )]
    Lengths {
        /// Length of `starts`.
        starts: usize,
        /// Length of `ends`.
        ends: usize,
        /// Length of `axes`.
        axes: usize,
        /// Length of `steps`.
        steps: usize,
    },
    /// An axis that the input does not have.
    #[error(
        "axis {axis} is out of range: the input has {rank} dimensions, so it must be in [-{rank}, {rank})"
    )]
    Axis {
        /// The given axis.
        axis: i64,
        /// Dimensions of the input.
        rank: usize,
    },
    /// An axis that appears twice.
    #[error(
        "dimension {dimension} is sliced twice: name each axis at most once, negative ones included"
    )]
    AxisTwice {
        /// The input dimension.
        dimension: usize,
    },
    /// A mask outside 32 bits.
    #[error("{mask} is {value}: a mask must fit a signed 32-bit integer")]
    Mask {
        /// The name of the mask.
        mask: &'static str,
        /// Its value.
        value: i64,
    },
    /// More than one ellipsis.
    #[error("the slice has more than one ellipsis: at most one can stand for the dimensions left")]
    MultipleEllipses,
    /// A scalar has no dimension to index.
    #[error("the slice indexes a dimension of a scalar, which has none: only `...` and `None` fit")]
    ScalarInput,
    /// More indices and ranges than dimensions.
    #[error("the slice indexes {specs} dimensions, but the input has only {rank}: drop some")]
    TooManySpecs {
        /// Dimensions that the slice indexes.
        specs: usize,
        /// Dimensions of the input.
        rank: usize,
    },
    /// Stride 0.
    #[error("strides[{dimension}] is 0: a stride must be non-zero")]
    StrideZero {
        /// The input dimension.
        dimension: usize,
    },
    /// A single index with a negative stride.
    #[error(
        "the stride of the single index on dimension {dimension} is {stride}: \
         it must be positive (1 will do)"
    )]
    ShrinkStride {
        /// The input dimension.
        dimension: usize,
        /// The stride.
        stride: i64,
    },
    /// A single index outside its dimension.
    #[error(
        "slice index {index} of dimension {dimension} is out of bounds: \
         the dimension has {size} elements, so it must be in [-{size}, {size})"
    )]
    ShrinkOutOfRange {
        /// The input dimension.
        dimension: usize,
        /// The given index.
        index: i64,
        /// The size of the dimension.
        size: usize,
    },
    /// The gradient's input does not have the shape of the slice.
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
    /// `begin` and `size` of a block must have an entry for each dimension.
    #[error(
        "begin and size have lengths {begin} and {size}, but the input has {rank} dimensions: \
         each must have an entry for each dimension"
    )]
    SliceVectors {
        /// Length of `begin`.
        begin: usize,
        /// Length of `size`.
        size: usize,
        /// Dimensions of the input.
        rank: usize,
    },
    /// A block that begins outside its dimension.
    #[error(
        "begin[{dimension}] is {begin}: the dimension has {count} elements, so it must be in \
         [0, {count}], and a dimension without elements has only the block of size 0"
    )]
    SliceBegin {
        /// The input dimension.
        dimension: usize,
        /// The first position of the block.
        begin: i64,
        /// The size of the dimension.
        count: usize,
    },
    /// A block that ends outside its dimension.
    #[error(
        "size[{dimension}] is {size} from {begin} on: the dimension has {count} elements, so it \
         must be at most what is left, or -1 for all of that"
    )]
    SliceSize {
        /// The input dimension.
        dimension: usize,
        /// The first position of the block.
        begin: i64,
        /// The size of the block.
        size: i64,
        /// The size of the dimension.
        count: usize,
    },
}
