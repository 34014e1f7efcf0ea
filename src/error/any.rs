//! [`Error`], the type of all errors of this crate.

use super::{ArgumentError, Cause, ParseError};
use crate::prelude::*;
use crate::{Report, text::Shape};

/// Any error of an operation.
///
/// The message is complete without the source. [`Error::Pipeline`] and [`Error::Device`] also have a
/// [`source`](std::error::Error::source), usually wgpu's own error, for programs that inspect it:
///
/// ```
/// # #[cfg(feature = "gpu")] {
/// use std::error::Error as _;
///
/// fn is_validation(error: &wgslice::Error) -> bool {
///     let source = error.source().and_then(|source| source.downcast_ref());
///     matches!(source, Some(wgslice::wgpu::Error::Validation { .. }))
/// }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Arguments that contradict each other, or that do not fit the shape.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// The text of a slice does not parse.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// An index tuple is out of range, or a box extends beyond its item, and the policy is
    /// [`OutOfRange::Error`](crate::options::OutOfRange::Error). The report has the number of such tuples and the first
    /// of them.
    #[error("{}", .0.problem())]
    InvalidIndices(Box<Report>),
    /// The shaders cannot combine elements of this type in this way.
    #[error(
        "{operation} under Combine::{combine:?} computes with elements, but the shaders cannot compute with {dtype}: \
         run it on the CPU (Backend::cpu), or on a backend with_fallback"
    )]
    DTypeOnDevice {
        /// The name of the operation.
        operation: &'static str,
        /// How the operation combines elements.
        combine: crate::options::Combine,
        /// The element type that the shaders cannot combine.
        dtype: crate::DType,
    },
    /// The shaders do not support this conversion between element types. The CPU does.
    #[error(
        "the shaders do not convert {from} to {to} {how}: run it on the CPU (Backend::cpu), or on a backend with_fallback"
    )]
    ConversionOnDevice {
        /// The type of the elements.
        from: crate::DType,
        /// The type of the results.
        to: crate::DType,
        /// The rule of the conversion: `"to the nearest"`, `"as astype does"` or `"by scale and bias"`.
        how: &'static str,
    },
    /// The product of a shape's non-zero dimensions is too large: this number of elements of 16 bytes would take more
    /// than `isize::MAX` bytes.
    #[error(
        "shape {} has too many elements: the product of its non-zero dimensions must be below 2^{}",
        Shape(shape), usize::BITS - 5
    )]
    ShapeTooLarge {
        /// The shape that is too large.
        shape: Vec<usize>,
    },
    /// An argument has more or fewer elements or bytes than its shape needs.
    #[error(
        "{argument} has {found} {unit}, but its shape {} needs {needed}: pass as many as the shape has",
        Shape(shape)
    )]
    Length {
        /// The name of the argument.
        argument: &'static str,
        /// The shape of the argument.
        shape: Vec<usize>,
        /// The length that the shape needs, in `unit`.
        needed: usize,
        /// The length of the argument, in `unit`.
        found: usize,
        /// The unit of both lengths: `"elements"` or `"bytes"`.
        unit: &'static str,
    },
    /// Host memory, for example for a result or for data in transfer, could not be allocated.
    #[error(
        "{bytes} bytes of host memory could not be allocated: work in smaller parts, or stream the slice \
         (Backend::stream)"
    )]
    OutOfHostMemory {
        /// The size of the allocation in bytes.
        bytes: usize,
    },
    /// A limit of the device, or of the shaders, is too low for the operation.
    #[error(
        "{what} needs {needed}, above the device's {limit} of {allowed}: \
         run it on the CPU (Backend::cpu), or in smaller parts"
    )]
    DeviceLimit {
        /// The object that exceeds the limit, such as `"a shader"` or `"a row of texels"`.
        what: &'static str,
        /// The limit: its name in wgpu, or a description such as `"32-bit shader arithmetic"` if the shaders set it.
        limit: &'static str,
        /// The value that the operation needs, in the unit of the limit.
        needed: u64,
        /// The value of the limit, in its unit.
        allowed: u64,
    },
    /// The caller's buffer cannot be used.
    #[error("the {argument} buffer {problem}")]
    Buffer {
        /// The name of the buffer in the message, such as `"source"` in "the source buffer".
        argument: &'static str,
        /// The fault of the buffer and the requirement. This text ends the sentence that begins with "the `argument`
        /// buffer".
        problem: String,
    },
    /// No adapter fits the options. The field is the message.
    #[error("{0}")]
    NoAdapter(String),
    /// The device is lost: unplugged, reset by its driver after a hang, or destroyed by its owner.
    #[error(
        "the device was lost while {doing}: {reason}; its contents are gone: \
         open it again and upload again, or use the CPU"
    )]
    DeviceLost {
        /// The activity during which the device was lost.
        doing: &'static str,
        /// The reason that the graphics API gave for the loss, or the error that revealed it.
        reason: String,
    },
    /// The device is out of memory.
    #[error(
        "the device ran out of memory while {doing}: drop tensors that are no longer needed, \
         work in smaller parts, or use the CPU"
    )]
    OutOfDeviceMemory {
        /// The activity during which memory ran out.
        doing: &'static str,
    },
    /// The device rejects a shader, because one of the device's limits is too low or the driver's compiler fails.
    #[error(
        "the device rejects the shader of {shader}: {source}\n\
         open the device with the limits in this message, or use the CPU"
    )]
    Pipeline {
        /// The name of the shader.
        shader: String,
        /// The error of the graphics API, usually wgpu's.
        source: Cause,
    },
    /// The call would have to block until the device is done. A browser does not allow this.
    #[error("a browser does not let a program wait for {what}: use {instead}")]
    WouldBlock {
        /// The event that the call would wait for.
        what: &'static str,
        /// The call to use instead.
        instead: &'static str,
    },
    /// The graphics API reported a failure that no other variant describes.
    #[error("{doing} failed on the device: {source}")]
    Device {
        /// The activity during which the failure was reported.
        doing: &'static str,
        /// The error of the graphics API, usually wgpu's.
        source: Cause,
    },
}

impl Error {
    /// Returns whether the device is the cause of the error. The same call might then succeed on another device or on
    /// the CPU.
    pub fn is_device_error(&self) -> bool {
        matches!(
            self,
            Self::DeviceLimit { .. }
                | Self::DTypeOnDevice { .. }
                | Self::ConversionOnDevice { .. }
                | Self::NoAdapter(_)
                | Self::DeviceLost { .. }
                | Self::OutOfDeviceMemory { .. }
                | Self::Pipeline { .. }
                | Self::Device { .. }
        )
    }
}
