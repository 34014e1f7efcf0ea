//! How elements are combined: one rule for each [`Combine`] and element type.
//!
//! Integers wrap. Floating-point results are rounded after every row, to the nearest value and, in a tie, to the even
//! one. 16-bit floats are computed as `f32` and rounded back, as in TensorFlow's CPU kernels. Minimum and maximum copy
//! one of the two elements unchanged.

use crate::{DType, options::Combine};
use bytemuck::{Pod, cast};
use std::{
    num::Wrapping,
    ops::{Add, Mul, Sub},
};

/// A way of combining two elements into one.
pub(super) trait Rule: Copy + Sync {
    /// The size in bytes of what is combined at once: an element, or one component of a complex number that is combined
    /// component by component.
    const BYTES: usize;

    /// Replaces each element of `old` by its combination with the element of `update` at the same place. `old` and
    /// `update` have the same length in bytes, a multiple of [`Self::BYTES`].
    fn combine(self, old: &mut [u8], update: &[u8]);
}

/// Work that [`with_rule`] compiles once for each [`Rule`].
pub(super) trait CombineTask {
    fn run<R: Rule>(self, rule: R);
}

/// Runs `task` with the rule for a combination and an element type. A combination that is not defined for the type does
/// not get here, because planning refuses it.
pub(super) fn with_rule(combine: Combine, dtype: DType, task: impl CombineTask) {
    match (dtype, combine) {
        (DType::Bool, Combine::Mul | Combine::Min) => task.run(each(|[a]: [u8; 1], [b]| [a & b])),
        (DType::Bool, _) => task.run(each(|[a]: [u8; 1], [b]| [a | b])),
        (DType::I8, _) => plain::<1, Wrapping<i8>>(combine, task),
        (DType::U8, _) => plain::<1, Wrapping<u8>>(combine, task),
        (DType::I16, _) => plain::<2, Wrapping<i16>>(combine, task),
        (DType::U16, _) => plain::<2, Wrapping<u16>>(combine, task),
        (DType::I32, _) => plain::<4, Wrapping<i32>>(combine, task),
        (DType::U32, _) => plain::<4, Wrapping<u32>>(combine, task),
        (DType::I64, _) => plain::<8, Wrapping<i64>>(combine, task),
        (DType::U64, _) => plain::<8, Wrapping<u64>>(combine, task),
        (DType::F16, _) => numbers(
            combine,
            task,
            |half: [u8; 2]| f32_of_f16(u16::from_ne_bytes(half)),
            |single| f16_of_f32(single).to_ne_bytes(),
        ),
        (DType::BF16, _) => numbers(
            combine,
            task,
            |half: [u8; 2]| f32_of_bf16(u16::from_ne_bytes(half)),
            |single| bf16_of_f32(single).to_ne_bytes(),
        ),
        (DType::Complex64, Combine::Mul) => {
            task.run(each(|a: [u8; 8], b| cast(product::<f32>(cast(a), cast(b)))));
        }
        (DType::Complex128, Combine::Mul) => {
            task.run(each(|a: [u8; 16], b| {
                cast(product::<f64>(cast(a), cast(b)))
            }));
        }
        // Complex numbers are combined component by component.
        (DType::F32 | DType::Complex64, _) => plain::<4, f32>(combine, task),
        (DType::F64 | DType::Complex128, _) => plain::<8, f64>(combine, task),
    }
}

/// Number types whose Rust operators match TensorFlow's.
trait Number: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + PartialOrd {}

impl<T> Number for T where
    T: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + PartialOrd
{
}

/// Runs `task` with the rule for numbers of type `T`, whose bytes in memory need no conversion.
fn plain<const N: usize, T: Number + Pod>(combine: Combine, task: impl CombineTask) {
    numbers::<N, T>(combine, task, cast, cast);
}

/// Runs `task` with the rule for numbers of type `T`. `read` makes a number from the `N` bytes of an element, and
/// `write` makes these bytes from a number.
fn numbers<const N: usize, T: Number>(
    combine: Combine,
    task: impl CombineTask,
    read: impl Fn([u8; N]) -> T + Copy + Sync,
    write: impl Fn(T) -> [u8; N] + Copy + Sync,
) {
    match combine {
        Combine::Add => task.run(each(move |a, b| write(read(a) + read(b)))),
        Combine::Sub => task.run(each(move |a, b| write(read(a) - read(b)))),
        Combine::Mul => task.run(each(move |a, b| write(read(a) * read(b)))),
        Combine::Min => task.run(each(move |a, b| if read(b) < read(a) { b } else { a })),
        Combine::Max => task.run(each(move |a, b| if read(b) > read(a) { b } else { a })),
        Combine::Update => task.run(each(|_: [u8; N], b| b)),
    }
}

fn product<T: Number>([a, b]: [T; 2], [c, d]: [T; 2]) -> [T; 2] {
    [a * c - b * d, a * d + b * c]
}

/// The [`Rule`] that calls its function with the `N` bytes of each old element (or component of a complex number) and
/// those of its update, and replaces the former by what the function returns.
#[derive(Clone, Copy)]
struct Each<const N: usize, F>(F);

fn each<const N: usize, F: Fn([u8; N], [u8; N]) -> [u8; N]>(combine: F) -> Each<N, F> {
    Each(combine)
}

impl<const N: usize, F> Rule for Each<N, F>
where
    F: Fn([u8; N], [u8; N]) -> [u8; N] + Copy + Sync,
{
    const BYTES: usize = N;

    #[inline(always)]
    fn combine(self, old: &mut [u8], update: &[u8]) {
        let (old, _) = old.as_chunks_mut::<N>();
        let (update, _) = update.as_chunks::<N>();
        for (old, update) in old.iter_mut().zip(update) {
            *old = (self.0)(*old, *update);
        }
    }
}

/// Converts the bits of an f16 value to `f32`, without rounding, because `f32` can represent every f16 value.
fn f32_of_f16(half: u16) -> f32 {
    let half = u32::from(half);
    let (sign, rest) = ((half & 0x8000) << 16, half & 0x7fff);
    let bits = match rest {
        // A subnormal f16 value is `rest` times 2^-24, which f32 represents exactly.
        0..0x0400 => (rest as f32 / 16_777_216.0).to_bits(),
        0x0400..0x7c00 => (rest << 13) + (112 << 23),
        _ => rest << 13 | 0x7f80_0000,
    };
    f32::from_bits(sign | bits)
}

/// Converts `single` to the bits of the nearest f16 value. In a tie the value whose last bit is 0 is taken.
#[expect(clippy::cast_possible_truncation, reason = "halves have 16 bits")]
fn f16_of_f32(single: f32) -> u16 {
    let bits = single.to_bits();
    let (sign, rest) = (bits >> 16 & 0x8000, bits & 0x7fff_ffff);
    let half = match rest {
        // The result is n · 2^-24 for n up to 1024, zero and subnormal values included, and its bits are n. Values of
        // `f32` from 0.5 to 1 are 2^-24 apart too, so adding 0.5 rounds to a multiple of 2^-24, and the bits of the sum
        // exceed those of 0.5 by n.
        0..0x3880_0000 => (f32::from_bits(rest) + 0.5).to_bits() - 0.5f32.to_bits(),
        // The value is rounded up if the 13 dropped bits are worth more than half of the last bit kept, or exactly half
        // and the last bit kept is 1.
        0x3880_0000..0x7f80_0000 => {
            let rounded = rest + 0x0fff + (rest >> 13 & 1);
            ((rounded >> 13) - (112 << 10)).min(0x7c00)
        }
        0x7f80_0000 => 0x7c00,
        _ => 0x7e00,
    };
    (sign | half) as u16
}

fn f32_of_bf16(half: u16) -> f32 {
    f32::from_bits(u32::from(half) << 16)
}

/// Converts `single` to the bits of the nearest bfloat16 value. In a tie the value whose last bit is 0 is taken.
fn bf16_of_f32(single: f32) -> u16 {
    let bits = single.to_bits();
    match single.is_nan() {
        true => (bits >> 16 & 0x8000) as u16 | 0x7fc0,
        false => ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a conversion to 16 bits gives what the crate `half` gives: the same bits or, for a NaN, a NaN of the
    /// same sign.
    #[cfg(feature = "half")]
    fn compare(single: u32) {
        let number = f32::from_bits(single);
        let same = |got: u16, expected: u16, infinity: u16| match number.is_nan() {
            true => got & 0x7fff > infinity && got & 0x8000 == expected & 0x8000,
            false => got == expected,
        };
        let (f16, bf16) = (
            half::f16::from_f32(number).to_bits(),
            half::bf16::from_f32(number).to_bits(),
        );
        assert!(same(f16_of_f32(number), f16, 0x7c00), "f16 of {single:#x}");
        assert!(
            same(bf16_of_f32(number), bf16, 0x7f80),
            "bf16 of {single:#x}"
        );
    }

    /// All 16-bit values convert to the same `f32` values as in `half`. `f32` values convert to the same 16-bit values:
    /// those with every upper half, combined with lower halves next to where rounding changes.
    #[cfg(feature = "half")]
    #[test]
    fn conversions_agree_with_the_crate_half() {
        for bits in 0..=u16::MAX {
            let (f16, bf16) = (half::f16::from_bits(bits), half::bf16::from_bits(bits));
            let pairs = [
                (f32_of_f16(bits), f16.to_f32()),
                (f32_of_bf16(bits), bf16.to_f32()),
            ];
            for (got, expected) in pairs {
                let same = got.to_bits() == expected.to_bits();
                assert!(same || got.is_nan() && expected.is_nan(), "{bits:#x}");
            }
            for low in [
                0, 1, 0x0fff, 0x1000, 0x1001, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff,
            ] {
                compare(u32::from(bits) << 16 | low);
            }
        }
    }

    /// All 2^32 values of `f32` convert to the same 16-bit values as in `half`.
    #[cfg(feature = "half")]
    #[test]
    #[ignore = "two minutes without optimisation; bash tests/run-large runs it with"]
    fn all_conversions_agree_with_the_crate_half() {
        (0..=u32::MAX).for_each(compare);
    }
}
