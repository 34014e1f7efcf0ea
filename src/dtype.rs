//! Element types. [`Element`](crate::Element) maps Rust types to them.
//!
//! Slices, gathers, updates and gradients move elements bit for bit and need only their size. Scatters that add,
//! subtract, multiply or compare elements need the type. A tensor keeps its type, so that its values cannot be read
//! back as another type.

use std::fmt;

/// The fixed-size element types that the crate works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DType {
    /// One byte, 0 or 1.
    Bool,
    /// Signed 8-bit integer.
    I8,
    /// Unsigned 8-bit integer.
    U8,
    /// Signed 16-bit integer.
    I16,
    /// Unsigned 16-bit integer.
    U16,
    /// IEEE 754 half precision.
    F16,
    /// The upper half of an `f32`.
    BF16,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned 32-bit integer.
    U32,
    /// IEEE 754 single precision.
    F32,
    /// Signed 64-bit integer.
    I64,
    /// Unsigned 64-bit integer.
    U64,
    /// IEEE 754 double precision.
    F64,
    /// Two `f32`: real and imaginary part.
    Complex64,
    /// Two `f64`: real and imaginary part.
    Complex128,
}

impl DType {
    /// Every element type.
    pub const ALL: [Self; 15] = [
        Self::Bool,
        Self::I8,
        Self::U8,
        Self::I16,
        Self::U16,
        Self::F16,
        Self::BF16,
        Self::I32,
        Self::U32,
        Self::F32,
        Self::I64,
        Self::U64,
        Self::F64,
        Self::Complex64,
        Self::Complex128,
    ];

    /// Bytes of one element: 1, 2, 4, 8 or 16.
    pub const fn size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::Complex64 => 8,
            Self::Complex128 => 16,
        }
    }

    /// TensorFlow's name of the type, as in `"float32"`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "int8",
            Self::U8 => "uint8",
            Self::I16 => "int16",
            Self::U16 => "uint16",
            Self::F16 => "float16",
            Self::BF16 => "bfloat16",
            Self::I32 => "int32",
            Self::U32 => "uint32",
            Self::F32 => "float32",
            Self::I64 => "int64",
            Self::U64 => "uint64",
            Self::F64 => "float64",
            Self::Complex64 => "complex64",
            Self::Complex128 => "complex128",
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
