//! How elements are combined: one loop for each [`Combine`] and element type.
//!
//! Integers wrap. Floating-point results are rounded after every row, to the nearest value and, in a tie, to the even
//! one. 16-bit floats are computed as `f32` and rounded back, as in TensorFlow's CPU kernels. Minimum and maximum copy
//! one of the two elements unchanged.

use super::scatter::Share;
use crate::{
    DType,
    number::{bf16_of_f32, f16_of_f32, f32_of_bf16, f32_of_f16},
    options::Combine,
};
use bytemuck::{Pod, cast};
use std::{
    num::Wrapping,
    ops::{Add, Mul, Sub},
};

/// Combines the rows of a thread's share of a scatter, of elements of this type. A combination that is not defined for the
/// type does not get here, because planning refuses it.
pub(super) fn run(combine: Combine, dtype: DType, share: Share<'_>) {
    match (dtype, combine) {
        (DType::Bool, Combine::Mul | Combine::Min) => share.combine(|[a], [b]| [a & b]),
        (DType::Bool, _) => share.combine(|[a], [b]| [a | b]),
        (DType::I8, _) => plain::<1, Wrapping<i8>>(combine, share),
        (DType::U8, _) => plain::<1, Wrapping<u8>>(combine, share),
        (DType::I16, _) => plain::<2, Wrapping<i16>>(combine, share),
        (DType::U16, _) => plain::<2, Wrapping<u16>>(combine, share),
        (DType::I32, _) => plain::<4, Wrapping<i32>>(combine, share),
        (DType::U32, _) => plain::<4, Wrapping<u32>>(combine, share),
        (DType::I64, _) => plain::<8, Wrapping<i64>>(combine, share),
        (DType::U64, _) => plain::<8, Wrapping<u64>>(combine, share),
        (DType::F16, _) => numbers(
            combine,
            share,
            |half: [u8; 2]| f32_of_f16(u16::from_ne_bytes(half)),
            |single| f16_of_f32(single).to_ne_bytes(),
        ),
        (DType::BF16, _) => numbers(
            combine,
            share,
            |half: [u8; 2]| f32_of_bf16(u16::from_ne_bytes(half)),
            |single| bf16_of_f32(single).to_ne_bytes(),
        ),
        (DType::Complex64, Combine::Mul) => {
            share.combine(|a: [u8; 8], b| cast(product::<f32>(cast(a), cast(b))));
        }
        (DType::Complex128, Combine::Mul) => {
            share.combine(|a: [u8; 16], b| cast(product::<f64>(cast(a), cast(b))));
        }
        // Complex numbers are combined component by component.
        (DType::F32 | DType::Complex64, _) => plain::<4, f32>(combine, share),
        (DType::F64 | DType::Complex128, _) => plain::<8, f64>(combine, share),
    }
}

/// Number types whose Rust operators match TensorFlow's.
trait Number: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + PartialOrd {}

impl<T> Number for T where
    T: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + PartialOrd
{
}

/// Combines numbers of type `T`, whose bytes in memory need no conversion.
fn plain<const N: usize, T: Number + Pod>(combine: Combine, share: Share<'_>) {
    numbers::<N, T>(combine, share, cast, cast);
}

/// Combines numbers of type `T`. `read` makes a number from the `N` bytes of an element, and `write` makes these bytes from a
/// number.
fn numbers<const N: usize, T: Number>(
    combine: Combine,
    share: Share<'_>,
    read: impl Fn([u8; N]) -> T,
    write: impl Fn(T) -> [u8; N],
) {
    match combine {
        Combine::Add => share.combine(|a, b| write(read(a) + read(b))),
        Combine::Sub => share.combine(|a, b| write(read(a) - read(b))),
        Combine::Mul => share.combine(|a, b| write(read(a) * read(b))),
        Combine::Min => share.combine(|a, b| if read(b) < read(a) { b } else { a }),
        Combine::Max => share.combine(|a, b| if read(b) > read(a) { b } else { a }),
        Combine::Update => share.combine(|_: [u8; N], b| b),
    }
}

fn product<T: Number>([a, b]: [T; 2], [c, d]: [T; 2]) -> [T; 2] {
    [a * c - b * d, a * d + b * c]
}
