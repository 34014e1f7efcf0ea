//! Everything that can go wrong, with the values that made it so.
//!
//! The texts name the argument, the value, the rule and the way out.

mod bad_row;
mod gather;
mod parse;
mod scatter;
mod spec;
mod view;

pub use bad_row::BadRow;
pub use gather::GatherError;
pub use parse::ParseError;
pub use scatter::ScatterError;
pub use spec::SpecError;
pub use view::ViewError;

use crate::text::Shape;

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
