//! Everything that can go wrong, with the values that made it so.
//!
//! The kinds of [`SpecError`] and [`GatherError`] correspond one to one to the errors that
//! TensorFlow raises for the same input, and where several apply the same one is raised first. The
//! texts are our own: they name the argument, the value, the rule and the way out.

use std::fmt;

/// Any error of this crate.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The slice does not fit the shape, or contradicts itself.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The text of a slice does not parse.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The dimensions of a view cannot be put like that.
    #[error(transparent)]
    View(#[from] ViewError),
    /// Params, indices and batch dimensions do not fit together, or an index is out of range.
    #[error(transparent)]
    Gather(#[from] GatherError),
    /// Indices, updates and the array that they go into do not fit together, or an index is out of
    /// range.
    #[error(transparent)]
    Scatter(#[from] ScatterError),
    /// The shaders cannot compute with elements of this type.
    #[error(
        "{operation} under Combine::{combine:?} computes with elements, and the shaders cannot with {dtype}: \
         run it on the CPU \
         (Backend::cpu, --device cpu), or on a backend with_fallback"
    )]
    DTypeOnDevice {
        /// Which operation.
        operation: &'static str,
        /// What it does with them.
        combine: crate::Combine,
        /// The element type.
        dtype: crate::DType,
    },
    /// A shape whose size cannot be addressed.
    #[error(
        "shape {} has too many elements: the product of its non-zero dimensions must be below 2^{}",
        Shape(shape), usize::BITS - 5
    )]
    ShapeTooLarge {
        /// The shape.
        shape: Vec<usize>,
    },
    /// A slice of values whose length is not what its shape says.
    #[error(
        "{argument} has {found} {unit}, but its shape {} needs {needed}: pass as many as the shape says",
        Shape(shape)
    )]
    Length {
        /// Which argument.
        argument: &'static str,
        /// The shape that was given for it.
        shape: Vec<usize>,
        /// How many there must be.
        needed: usize,
        /// How many there are.
        found: usize,
        /// What is counted: `"elements"` or `"bytes"`.
        unit: &'static str,
    },
    /// A tensor read as another element type than it has.
    #[error("the tensor holds {found} and was asked for as {asked}: read it as its own dtype")]
    DType {
        /// The element type of the tensor.
        found: crate::DType,
        /// The element type that was asked for.
        asked: crate::DType,
    },
    /// Index tensors must be `i32`, `i64` or `u32`.
    #[error("indices are {found}, but must be int32, int64 or uint32: convert them first")]
    IndexDType {
        /// The element type of the index tensor.
        found: crate::DType,
    },
    /// What goes into an array has another element type.
    #[error(
        "{argument} is {found}, but goes into an array of {needed}: convert it first, elements are \
         moved as they are"
    )]
    OtherDType {
        /// Which argument.
        argument: &'static str,
        /// The element type of the argument.
        found: crate::DType,
        /// The element type of the array.
        needed: crate::DType,
    },
    /// Two tensors that live on different devices.
    #[error(
        "{argument} lives on another device than the tensor that it is used with: \
         upload it to the same backend"
    )]
    OtherDevice {
        /// Which argument.
        argument: &'static str,
    },
    /// A tensor that cannot receive a result, because it has another shape or element type.
    #[error(
        "dest is {dtype} {}, but the result is {needed_dtype} {}: \
         pass a tensor of that shape and type, or let Tensor::slice make one",
        Shape(shape),
        Shape(needed_shape)
    )]
    Dest {
        /// The shape of the tensor.
        shape: Vec<usize>,
        /// Its element type.
        dtype: crate::DType,
        /// The shape of the result.
        needed_shape: Vec<usize>,
        /// Its element type.
        needed_dtype: crate::DType,
    },
    /// The memory for a result cannot be had.
    #[error("{bytes} bytes of memory could not be allocated for the result")]
    OutOfHostMemory {
        /// How many bytes were asked for.
        bytes: usize,
    },
    /// A tensor, buffer or dispatch above one of the device's limits.
    #[error(
        "{what} needs {needed}, above the device's {limit} of {allowed}: \
         run it on the CPU (Backend::cpu, --device cpu), or in smaller parts"
    )]
    DeviceLimit {
        /// What is too large.
        what: &'static str,
        /// The name of the limit, as wgpu spells it.
        limit: &'static str,
        /// What is needed.
        needed: u64,
        /// What the device allows.
        allowed: u64,
    },
    /// A caller's buffer that cannot be used.
    #[error("the {argument} buffer {problem}")]
    Buffer {
        /// Which buffer.
        argument: &'static str,
        /// What is wrong with it and what it must be.
        problem: String,
    },
    /// No adapter fits what was asked for.
    #[error("{0}")]
    NoAdapter(String),
    /// The device is gone: unplugged, reset by its driver after a hang, or destroyed by its owner.
    #[error(
        "the device was lost while {doing}: {reason}; what it held is gone: \
         open it anew and upload again, or use the CPU"
    )]
    DeviceLost {
        /// What was being done.
        doing: &'static str,
        /// What the device said.
        reason: String,
    },
    /// The device has no memory left.
    #[error(
        "the device ran out of memory while {doing}: drop tensors that are no longer needed, \
         work in smaller parts, or use the CPU"
    )]
    OutOfDeviceMemory {
        /// What was being done.
        doing: &'static str,
    },
    /// The device refuses a shader: its limits are too low for it, or its compiler fails.
    #[error(
        "the device refuses the shader of {shader}: {message}\n\
         open the device with the limits that this names, or use the CPU"
    )]
    Pipeline {
        /// Which shader.
        shader: String,
        /// What the device said.
        message: String,
    },
    /// A call that would have to wait for the device, in a browser, where nothing may wait.
    #[error("a browser does not let a program wait for {what}: use {instead}")]
    WouldBlock {
        /// What the call would wait for.
        what: &'static str,
        /// What to call instead.
        instead: &'static str,
    },
    /// The graphics API reported a failure.
    #[error("{doing} failed on the device: {message}")]
    Device {
        /// What was being done.
        doing: &'static str,
        /// What the device said.
        message: String,
    },
}

impl Error {
    /// Whether the device is the reason: another one, or the CPU, may do the same work.
    pub fn is_of_device(&self) -> bool {
        matches!(
            self,
            Self::DeviceLimit { .. }
                | Self::DTypeOnDevice { .. }
                | Self::NoAdapter(_)
                | Self::DeviceLost { .. }
                | Self::OutOfDeviceMemory { .. }
                | Self::Pipeline { .. }
                | Self::Device { .. }
        )
    }
}

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
        /// The axis as it was given.
        axis: i64,
        /// Dimensions of the input.
        rank: usize,
    },
    /// An axis that is named twice.
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
        /// Which mask.
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
        /// Dimensions that the slice needs.
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
        /// The index as it was given.
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
        /// Where the block begins.
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
        /// Where the block begins.
        begin: i64,
        /// The size of the block.
        size: i64,
        /// The size of the dimension.
        count: usize,
    },
}

/// Dimensions that cannot be put in another order, or made larger.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// An order of dimensions that leaves one out.
    #[error(
        "the permutation {permutation:?} does not order {rank} dimensions: \
         it must name each of 0 to {rank} (exclusive) once"
    )]
    Permutation {
        /// What was given.
        permutation: Vec<usize>,
        /// How many dimensions there are.
        rank: usize,
    },
    /// A shape that others cannot be repeated to.
    #[error(
        "shape {} cannot be broadcast to {}: counted from the last, each dimension must be equal or 1",
        Shape(from),
        Shape(to)
    )]
    Broadcast {
        /// The shape there is.
        from: Vec<usize>,
        /// The shape that was asked for.
        to: Vec<usize>,
    },
}

/// A slice text that does not parse.
///
/// Displayed with the text and a caret under the offending character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    pub(crate) text: String,
    pub(crate) position: usize,
    pub(crate) problem: String,
}

impl ParseError {
    /// Where in the text, in characters from 0.
    pub fn position(&self) -> usize {
        self.position
    }

    /// What is wrong there, without the text.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} at character {}:", self.problem, self.position + 1)?;
        // One line, so that the caret stands under its character whatever the text contains.
        let line: String = self
            .text
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        writeln!(f, "  {line}")?;
        write!(f, "  {:>width$}", '^', width = self.position + 1)
    }
}

impl std::error::Error for ParseError {}

/// `params`, `indices` and `batch_dims` that do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GatherError {
    /// `params` is a scalar.
    #[error("params is a scalar: it must have at least one dimension")]
    ParamsRank,
    /// `indices` is a scalar.
    #[error("indices is a scalar: its last dimension must hold the index tuples")]
    IndicesRank,
    /// Index tuples longer than `params` has dimensions.
    #[error(
        "indices of shape {} hold tuples of {depth}, which with batch_dims {batch_dims} is more \
         than the {} dimensions of params {}: shorten the last dimension of indices",
        Shape(indices), params.len(), Shape(params)
    )]
    IndexDepth {
        /// The length of a tuple.
        depth: usize,
        /// `batch_dims`.
        batch_dims: usize,
        /// The shape of `params`.
        params: Vec<usize>,
        /// The shape of `indices`.
        indices: Vec<usize>,
    },
    /// `batch_dims` does not leave both sides a dimension.
    #[error(
        "batch_dims is {batch_dims}, but must be below the rank of indices ({indices_rank}) \
         and below the rank of params ({params_rank})"
    )]
    BatchDims {
        /// `batch_dims`.
        batch_dims: usize,
        /// Rank of `params`.
        params_rank: usize,
        /// Rank of `indices`.
        indices_rank: usize,
    },
    /// `gather` along a dimension that `params` does not have.
    #[error(
        "axis is {axis}, but params has {params_rank} dimensions: \
         it must be in [-{params_rank}, {params_rank})"
    )]
    Axis {
        /// `axis`, or what stands for it.
        axis: isize,
        /// Rank of `params`.
        params_rank: usize,
    },
    /// `batch_dims` of `gather` that the indices or the axis do not allow.
    #[error(
        "batch_dims is {batch_dims}, but must be in [-{indices_rank}, {indices_rank}], the rank of \
         indices, and not above axis ({axis})"
    )]
    BatchDimsOfAxis {
        /// `batch_dims`.
        batch_dims: isize,
        /// The dimension of `params` that is indexed.
        axis: usize,
        /// Rank of `indices`.
        indices_rank: usize,
    },
    /// The leading `batch_dims` dimensions differ.
    #[error(
        "the first {batch_dims} dimensions of params {} and indices {} differ, \
         but with batch_dims {batch_dims} they must be equal",
        Shape(params),
        Shape(indices)
    )]
    BatchShape {
        /// `batch_dims`.
        batch_dims: usize,
        /// The shape of `params`.
        params: Vec<usize>,
        /// The shape of `indices`.
        indices: Vec<usize>,
    },
    /// Rows are asked of params that have no element.
    #[error(
        "params of shape {} is empty, so none of the {rows} index tuples can be gathered",
        Shape(params)
    )]
    EmptyParams {
        /// The shape of `params`.
        params: Vec<usize>,
        /// How many rows are asked for.
        rows: usize,
    },
    /// An index tuple points outside `params`.
    #[error(
        "{bad} of {rows} index tuples are out of range, the first at {first} of params {}: \
             correct them, or choose OutOfRange::Zero (--out-of-range zero) or OutOfRange::Clamp \
             (--out-of-range clamp)",
        Shape(params)
    )]
    OutOfRange {
        /// The first such tuple.
        first: BadRow,
        /// How many there are.
        bad: usize,
        /// How many tuples there are in all.
        rows: usize,
        /// The shape of `params`.
        params: Vec<usize>,
    },
}

/// Indices, updates and an array that they are scattered into, which do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScatterError {
    /// `indices` or `updates` is a scalar.
    #[error(
        "indices have shape {} and updates {}: both must have at least one dimension",
        Shape(indices),
        Shape(updates)
    )]
    UpdatesRank {
        /// The shape of `indices`.
        indices: Vec<usize>,
        /// The shape of `updates`.
        updates: Vec<usize>,
    },
    /// Something is empty, and not all of it.
    #[error(
        "indices of shape {} and updates of shape {} cannot be scattered into shape {}: where one of \
         the three is empty, indices and updates must both be",
        Shape(indices),
        Shape(updates),
        Shape(shape)
    )]
    EmptyOutput {
        /// The shape of `indices`.
        indices: Vec<usize>,
        /// The shape of `updates`.
        updates: Vec<usize>,
        /// The shape that they go into.
        shape: Vec<usize>,
    },
    /// Updates that are not a slice for each index tuple.
    #[error(
        "updates have shape {}, but with indices of shape {} into shape {} they must have all \
         dimensions of the indices but the last, of which there must be one, and then those of the \
         output that the last does not index",
        Shape(updates),
        Shape(indices),
        Shape(shape)
    )]
    UpdatesShape {
        /// The shape of `indices`.
        indices: Vec<usize>,
        /// The shape of `updates`.
        updates: Vec<usize>,
        /// The shape that they go into.
        shape: Vec<usize>,
    },
    /// Elements that cannot be combined so.
    #[error(
        "Combine::{combine:?} is not defined for {dtype}: booleans cannot be subtracted, and complex \
         numbers have no minimum or maximum; choose another Combine, or convert the elements"
    )]
    Undefined {
        /// What a row was to do to its slice.
        combine: crate::Combine,
        /// The element type.
        dtype: crate::DType,
    },
    /// An index tuple points outside.
    #[error(
        "{bad} of {rows} index tuples are out of range, the first at {first} of shape {}: \
         correct them, or choose OutOfRange::Zero or OutOfRange::Clamp",
        Shape(shape)
    )]
    OutOfRange {
        /// The first such tuple.
        first: Box<BadRow>,
        /// How many there are.
        bad: usize,
        /// How many tuples there are in all.
        rows: usize,
        /// The shape that they go into.
        shape: Vec<usize>,
    },
}

/// An index tuple that points outside `params`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRow {
    /// Its number, counted over all tuples in row-major order. For `gather` each index is a tuple.
    pub row: usize,
    /// Its coordinates in the index tensor; for `gather_nd` without the last, along which the tuple
    /// lies.
    pub position: Vec<usize>,
    /// The tuple itself.
    pub index: Vec<i64>,
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("indices")?;
        if !self.position.is_empty() {
            write!(f, "{}", Shape(&self.position))?;
        }
        write!(f, " = {:?}", self.index)
    }
}

/// Prints a shape as `[2,3,4]`.
pub(crate) struct Shape<'a>(pub(crate) &'a [usize]);

impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (axis, dim) in self.0.iter().enumerate() {
            if axis > 0 {
                f.write_str(",")?;
            }
            write!(f, "{dim}")?;
        }
        f.write_str("]")
    }
}
