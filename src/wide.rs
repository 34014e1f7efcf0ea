//! Conversions of numbers between all types except complex numbers, through one of three wide types.
//!
//! An `i64`, a `u64` or an `f64` represents each number of each type exactly, so a conversion rounds once. A reader
//! converts elements to a wide type, and a writer converts numbers of a wide type to the result's type. So 13 readers
//! and 39 writers are enough for 169 pairs of types. `number.rs` has shorter conversions through `f32` for types of at
//! most 16 bits, which the shaders also use.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "numbers are rounded, saturate or wrap, as each rule says"
)]

use crate::prelude::*;
use crate::{
    DType,
    layout::along,
    number::{bf16_of_f32, f16_of_f32, f32_of_bf16, f32_of_f16},
};

/// The rule for numbers that the target type cannot represent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RoundingRule {
    /// The nearest number of the type, in a tie the even one. As an integer, a NaN becomes 0.
    Nearest,
    /// An integer wraps. The fraction of a float is cut off; a float that is too large for the integer type (undefined
    /// in C) saturates.
    Cast,
}

/// Fills `out` with elements of `source`, from element `from` on and `step` elements apart.
pub(crate) type ReadElements<W> = fn(source: &[u8], from: usize, step: isize, out: &mut [W]);

/// Writes numbers as elements, `distance` elements apart.
pub(crate) type WriteElements<W> = fn(values: &[W], distance: usize, dest: &mut [u8]);

/// The function that reads elements of a type. The variant is the wide type that it converts them to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ElementReader {
    Signed(ReadElements<i64>),
    Unsigned(ReadElements<u64>),
    Float(ReadElements<f64>),
}

/// A wide type: `i64`, `u64` or `f64`.
pub(crate) trait WideElement: Copy + Default {
    fn to_number<T: Number, const CAST: bool>(self) -> T;
}

/// The type of the numbers that a conversion writes.
pub(crate) trait Number: bytemuck::NoUninit {
    fn from_signed<const CAST: bool>(x: i64) -> Self;
    fn from_unsigned<const CAST: bool>(x: u64) -> Self;
    fn from_float<const CAST: bool>(x: f64) -> Self;
}

impl WideElement for i64 {
    #[inline(always)]
    fn to_number<T: Number, const CAST: bool>(self) -> T {
        T::from_signed::<CAST>(self)
    }
}

impl WideElement for u64 {
    #[inline(always)]
    fn to_number<T: Number, const CAST: bool>(self) -> T {
        T::from_unsigned::<CAST>(self)
    }
}

impl WideElement for f64 {
    #[inline(always)]
    fn to_number<T: Number, const CAST: bool>(self) -> T {
        T::from_float::<CAST>(self)
    }
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Number for $type {
            #[inline(always)]
            fn from_signed<const CAST: bool>(x: i64) -> Self {
                match CAST {
                    true => x as Self,
                    false => Self::try_from(x).unwrap_or(if x < 0 { Self::MIN } else { Self::MAX }),
                }
            }

            #[inline(always)]
            fn from_unsigned<const CAST: bool>(x: u64) -> Self {
                match CAST {
                    true => x as Self,
                    false => Self::try_from(x).unwrap_or(Self::MAX),
                }
            }

            #[inline(always)]
            fn from_float<const CAST: bool>(x: f64) -> Self {
                match CAST {
                    true => x as Self,
                    false => round_ties_even(x) as Self,
                }
            }
        }
    )*};
}

integers! { u8 i8 u16 i16 u32 i32 u64 i64 }

/// The bits of a `bool`. The types below have the bits of an `f16` and of a `bf16`.
#[derive(Clone, Copy, Debug, bytemuck::NoUninit)]
#[repr(transparent)]
struct Bool(u8);
#[derive(Clone, Copy, Debug, bytemuck::NoUninit)]
#[repr(transparent)]
struct F16(u16);
#[derive(Clone, Copy, Debug, bytemuck::NoUninit)]
#[repr(transparent)]
struct BF16(u16);

/// Converts to a `bool` as to an integer of one bit, which saturates. A cast gives true for every number except 0.
impl Number for Bool {
    #[inline(always)]
    fn from_signed<const CAST: bool>(x: i64) -> Self {
        Self(if CAST { x != 0 } else { x > 0 }.into())
    }

    #[inline(always)]
    fn from_unsigned<const CAST: bool>(x: u64) -> Self {
        Self((x > 0).into())
    }

    #[inline(always)]
    fn from_float<const CAST: bool>(x: f64) -> Self {
        Self(if CAST { x != 0.0 } else { x > 0.5 }.into())
    }
}

macro_rules! halves {
    ($($type:ident $of_f32:ident)*) => {$(
        impl Number for $type {
            #[inline(always)]
            fn from_signed<const CAST: bool>(x: i64) -> Self {
                let magnitude = odd_f64(x.unsigned_abs());
                Self::from_float::<CAST>(if x < 0 { -magnitude } else { magnitude })
            }

            #[inline(always)]
            fn from_unsigned<const CAST: bool>(x: u64) -> Self {
                Self::from_float::<CAST>(odd_f64(x))
            }

            #[inline(always)]
            fn from_float<const CAST: bool>(x: f64) -> Self {
                Self($of_f32(odd_f32(x)))
            }
        }
    )*};
}

halves! { F16 f16_of_f32 BF16 bf16_of_f32 }

/// Rust's `as` rounds correctly. Only a NaN needs code: it becomes quiet and keeps its sign, but not its payload.
macro_rules! floats {
    ($($float:ty: $nan:expr;)*) => {$(
        impl Number for $float {
            #[inline(always)]
            fn from_signed<const CAST: bool>(x: i64) -> Self {
                x as Self
            }

            #[inline(always)]
            fn from_unsigned<const CAST: bool>(x: u64) -> Self {
                x as Self
            }

            #[inline(always)]
            fn from_float<const CAST: bool>(x: f64) -> Self {
                match x.is_nan() {
                    true => Self::from_bits($nan(x.to_bits())),
                    false => x as Self,
                }
            }
        }
    )*};
}

floats! {
    f32: |bits: u64| (bits >> 32) as u32 & 0x8000_0000 | 0x7fc0_0000;
    f64: |bits: u64| bits & 1 << 63 | 0x7ff8 << 48;
}

/// Returns the nearest integer, in a tie the even one. `f64::round_ties_even` does the same, but needs the standard
/// library. Adding 2^52 rounds to an integer, because the sum has no bits for a fraction.
#[inline(always)]
pub(crate) fn round_ties_even(x: f64) -> f64 {
    const MIN_WHOLE_NUMBER: f64 = (1_u64 << 52) as f64;
    let magnitude = x.abs();
    match magnitude < MIN_WHOLE_NUMBER {
        true => (magnitude + MIN_WHOLE_NUMBER - MIN_WHOLE_NUMBER).copysign(x),
        false => x,
    }
}

/// Returns `x` if an `f32` represents it exactly, and otherwise the neighbouring `f32` whose last bit is 1. Rounding
/// this neighbour to fewer bits gives the same result as rounding `x`, because the neighbour's last bit prevents a
/// false tie.
#[inline(always)]
fn odd_f32(x: f64) -> f32 {
    let rounded = f32::from_float::<false>(x);
    let widened = f64::from(rounded);
    match widened == x || x.is_nan() {
        true => rounded,
        // Round towards zero, and then set the last bit.
        false => f32::from_bits((rounded.to_bits() - u32::from(widened.abs() > x.abs())) | 1),
    }
}

/// Returns an integer as an `f64` that rounds in the same way to fewer bits. From 2^53 on, bits 0 to 10 are dropped,
/// and bit 11 is set if one of them is 1.
#[inline(always)]
fn odd_f64(magnitude: u64) -> f64 {
    match magnitude >> 53 {
        0 => magnitude as f64,
        _ => ((magnitude >> 11 | u64::from(magnitude & 0x7ff != 0)) as f64) * 2048.0,
    }
}

/// Converts an `f32` to an `f64`. A NaN keeps its sign.
#[inline(always)]
fn widen_float(single: f32) -> f64 {
    match single.is_nan() {
        true => f64::from_bits(u64::from(single.to_bits() & 0x8000_0000) << 32 | 0x7ff8 << 48),
        false => single.into(),
    }
}

/// Returns the reader for elements of this type, which must not be complex.
pub(crate) fn element_reader(from: DType) -> ElementReader {
    macro_rules! reader {
        ($kind:ident $bytes:literal $number:expr) => {
            ElementReader::$kind(|source, from, step, out| {
                read_elements::<$bytes, _>(source, from, step, out, $number)
            })
        };
    }
    match from {
        DType::Bool => reader!(Signed 1 |[byte]: [u8; 1]| (byte != 0).into()),
        DType::I8 => reader!(Signed 1 |b| i8::from_ne_bytes(b).into()),
        DType::U8 => reader!(Signed 1 |b| u8::from_ne_bytes(b).into()),
        DType::I16 => reader!(Signed 2 |b| i16::from_ne_bytes(b).into()),
        DType::U16 => reader!(Signed 2 |b| u16::from_ne_bytes(b).into()),
        DType::I32 => reader!(Signed 4 |b| i32::from_ne_bytes(b).into()),
        DType::U32 => reader!(Signed 4 |b| u32::from_ne_bytes(b).into()),
        DType::I64 => reader!(Signed 8 i64::from_ne_bytes),
        DType::U64 => reader!(Unsigned 8 u64::from_ne_bytes),
        DType::F16 => reader!(Float 2 |b| widen_float(f32_of_f16(u16::from_ne_bytes(b)))),
        DType::BF16 => reader!(Float 2 |b| widen_float(f32_of_bf16(u16::from_ne_bytes(b)))),
        DType::F32 => reader!(Float 4 |b| widen_float(f32::from_ne_bytes(b))),
        DType::F64 => reader!(Float 8 f64::from_ne_bytes),
        DType::Complex64 | DType::Complex128 => unreachable!("plans do not convert these"),
    }
}

/// Returns the writer for elements of this type, which must not be complex.
pub(crate) fn element_writer<W: WideElement>(to: DType, rule: RoundingRule) -> WriteElements<W> {
    macro_rules! writer {
        ($($dtype:ident $type:ty)*) => {
            match (to, rule) {
                $((DType::$dtype, RoundingRule::Nearest) => write_elements::<W, $type, false>,
                (DType::$dtype, RoundingRule::Cast) => write_elements::<W, $type, true>,)*
                (DType::F16, _) => write_elements::<W, F16, false>,
                (DType::BF16, _) => write_elements::<W, BF16, false>,
                (DType::F32, _) => write_elements::<W, f32, false>,
                (DType::F64, _) => write_elements::<W, f64, false>,
                (DType::Complex64 | DType::Complex128, _) => {
                    unreachable!("plans do not convert to these")
                }
            }
        };
    }
    writer!(Bool Bool I8 i8 U8 u8 I16 i16 U16 u16 I32 i32 U32 u32 I64 i64 U64 u64)
}

#[inline(always)]
fn read_elements<const N: usize, W>(
    source: &[u8],
    from: usize,
    step: isize,
    out: &mut [W],
    convert: impl Fn([u8; N]) -> W,
) {
    let (source, _) = source.as_chunks::<N>();
    if step == 1 {
        for (out, &bytes) in out.iter_mut().zip(&source[from..]) {
            *out = convert(bytes);
        }
        return;
    }
    for (n, out) in out.iter_mut().enumerate() {
        *out = convert(source[along(from, step, n)]);
    }
}

fn write_elements<W: WideElement, T: Number, const CAST: bool>(
    values: &[W],
    distance: usize,
    dest: &mut [u8],
) {
    let size = size_of::<T>();
    let put_value = |dest: &mut [u8], value: &W| {
        dest.copy_from_slice(bytemuck::bytes_of(&value.to_number::<T, CAST>()));
    };
    if distance == 1 {
        for (dest, value) in dest.chunks_exact_mut(size).zip(values) {
            put_value(dest, value);
        }
        return;
    }
    for (dest, value) in dest.chunks_mut(size * distance).zip(values) {
        put_value(&mut dest[..size], value);
    }
}

/// Converts the 256 values of the 8-bit type `from` to the type `to` of at most 4 bytes. Returns the bits of each
/// result.
pub(crate) fn bits_of_bytes(
    from: DType,
    to: DType,
    rule: RoundingRule,
) -> impl Iterator<Item = u32> {
    let bytes: Vec<u8> = (0..=u8::MAX).collect();
    let mut converted = vec![0; bytes.len() * to.size()];
    if let ElementReader::Signed(read) = element_reader(from) {
        let mut values = vec![0_i64; bytes.len()];
        read(&bytes, 0, 1, &mut values);
        element_writer(to, rule)(&values, 1, &mut converted);
    }
    let size = to.size();
    (0..bytes.len()).map(move |n| match converted[n * size..][..size] {
        [a] => a.into(),
        [a, b] => u16::from_ne_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]),
        _ => 0,
    })
}
