//! The element types of arrays. [`Element`](crate::Element) maps Rust types to them.
//!
//! Slices, gathers, crops, updates and gradients move elements bit for bit and need only their size. Conversions, and
//! scatters that add, subtract, multiply or compare elements, need the type. A tensor keeps its type, so that its
//! values cannot be read back as another type.

use core::fmt;

macro_rules! dtypes {
    ($($dtype:ident, $rust:literal, $name:literal, $bytes:literal, $description:literal;)*) => {
        /// The fixed-size element types that the crate works on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum DType {
            $(#[doc = $description] $dtype,)*
        }

        impl DType {
            /// Every element type.
            pub const ALL: [Self; 15] = [$(Self::$dtype),*];

            /// Returns the size of one element in bytes: 1, 2, 4, 8 or 16.
            pub const fn size(self) -> usize {
                match self {
                    $(Self::$dtype => $bytes,)*
                }
            }

            const fn rust_name(self) -> &'static str {
                match self {
                    $(Self::$dtype => $rust,)*
                }
            }

            /// Returns the unsigned type with elements of `bytes` bytes; for more than 8 bytes, the type with elements
            /// of 16 bytes.
            #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
            pub(crate) const fn of_size(bytes: usize) -> Self {
                match bytes {
                    1 => Self::U8,
                    2 => Self::U16,
                    4 => Self::U32,
                    8 => Self::U64,
                    _ => Self::Complex128,
                }
            }

            /// Returns the type's name in TensorFlow and NumPy, such as `"float32"`. `Display` prints the name in Rust,
            /// such as `f32`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$dtype => $name,)*
                }
            }
        }
    };
}

dtypes! {
    Bool, "bool", "bool", 1, "One byte, 0 or 1. Other values are moved unchanged, and become `true` in Rust; the \
        result of a scatter that combines them is unspecified.";
    I8, "i8", "int8", 1, "Signed 8-bit integer.";
    U8, "u8", "uint8", 1, "Unsigned 8-bit integer.";
    I16, "i16", "int16", 2, "Signed 16-bit integer.";
    U16, "u16", "uint16", 2, "Unsigned 16-bit integer.";
    F16, "f16", "float16", 2, "IEEE 754 half precision.";
    BF16, "bf16", "bfloat16", 2, "The upper 16 bits of an `f32`.";
    I32, "i32", "int32", 4, "Signed 32-bit integer.";
    U32, "u32", "uint32", 4, "Unsigned 32-bit integer.";
    F32, "f32", "float32", 4, "IEEE 754 single precision.";
    I64, "i64", "int64", 8, "Signed 64-bit integer.";
    U64, "u64", "uint64", 8, "Unsigned 64-bit integer.";
    F64, "f64", "float64", 8, "IEEE 754 double precision.";
    Complex64, "complex64", "complex64", 8, "A complex number of two `f32`: the real part, then the imaginary part.";
    Complex128, "complex128", "complex128", 16, "A complex number of two `f64`: the real part, then the imaginary part.";
}

/// Prints the type's name in Rust, such as `f32`. Rust has no complex types, so these are `complex64` and `complex128`.
impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rust_name())
    }
}
