//! Conversions of numbers to and from `f32`, for scatters of 16-bit floats and for conversions of arrays.
//!
//! An `f32` represents all elements of 8 and 16 bits exactly, so a conversion rounds once: to the nearest value, in a
//! tie to the value whose last bit is 0. Integers saturate. A NaN becomes the quiet NaN of its sign without a payload,
//! or the integer 0. `shaders/number.wgsl` has the same conversions in WGSL.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bits are taken apart, and numbers saturate"
)]

use crate::DType;

/// The types that conversions in shaders distinguish, in the order of their numbers in `shaders/convert.wgsl`. Shaders
/// convert elements of `U8` and `I8` only by tables.
#[cfg(feature = "gpu")]
pub(crate) const ON_GPU: [DType; 7] = [
    DType::U8,
    DType::I8,
    DType::U16,
    DType::I16,
    DType::F16,
    DType::BF16,
    DType::F32,
];

/// Returns the value of an element of 8 or 16 bits, or of `f32`. Bits above the type's size are ignored.
#[inline(always)]
pub(crate) fn f32_of(dtype: DType, bits: u32) -> f32 {
    match dtype {
        DType::Bool => f32::from(u8::from(bits as u8 != 0)),
        DType::U8 => (bits as u8).into(),
        DType::I8 => (bits as u8).cast_signed().into(),
        DType::U16 => (bits as u16).into(),
        DType::I16 => (bits as u16).cast_signed().into(),
        DType::F16 => f32_of_f16(bits as u16),
        DType::BF16 => f32_of_bf16(bits as u16),
        _ => f32::from_bits(bits),
    }
}

/// Rounds `value` to the nearest element of `dtype`, a type of at most 32 bits, and returns the element's bits.
#[inline(always)]
pub(crate) fn bits_of(dtype: DType, value: f32) -> u32 {
    match dtype {
        DType::Bool => u32::from(value > 0.5),
        DType::U8 => (round_ties_even(value) as u8).into(),
        DType::I8 => (round_ties_even(value) as i8).cast_unsigned().into(),
        DType::U16 => (round_ties_even(value) as u16).into(),
        DType::I16 => (round_ties_even(value) as i16).cast_unsigned().into(),
        DType::U32 => round_ties_even(value) as u32,
        DType::I32 => (round_ties_even(value) as i32).cast_unsigned(),
        DType::F16 => f16_of_f32(value).into(),
        DType::BF16 => bf16_of_f32(value).into(),
        _ if value.is_nan() => value.to_bits() & 0x8000_0000 | 0x7fc0_0000,
        _ => value.to_bits(),
    }
}

/// Returns the nearest integer, in a tie the even one. `f32::round_ties_even` does the same, but needs the standard
/// library. Adding 2^23 rounds to an integer, because the sum has no bits for a fraction.
#[inline(always)]
fn round_ties_even(value: f32) -> f32 {
    const MIN_WHOLE_NUMBER: f32 = 8_388_608.0;
    let magnitude = value.abs();
    match magnitude < MIN_WHOLE_NUMBER {
        true => (magnitude + MIN_WHOLE_NUMBER - MIN_WHOLE_NUMBER).copysign(value),
        false => value,
    }
}

/// Converts the bits of an f16 value to `f32`, without rounding, because `f32` can represent every f16 value.
pub(crate) fn f32_of_f16(half_bits: u16) -> f32 {
    let half_bits = u32::from(half_bits);
    let (sign, magnitude_bits) = ((half_bits & 0x8000) << 16, half_bits & 0x7fff);
    let bits = match magnitude_bits {
        // A subnormal f16 value is `magnitude_bits` times 2^-24, which f32 represents exactly.
        0..0x0400 => (magnitude_bits as f32 / 16_777_216.0).to_bits(),
        0x0400..0x7c00 => (magnitude_bits << 13) + (112 << 23),
        _ => magnitude_bits << 13 | 0x7f80_0000,
    };
    f32::from_bits(sign | bits)
}

/// Converts `single` to the bits of the nearest f16 value. A tie goes to the value whose last bit is 0.
pub(crate) fn f16_of_f32(single: f32) -> u16 {
    let bits = single.to_bits();
    let (sign, magnitude_bits) = (bits >> 16 & 0x8000, bits & 0x7fff_ffff);
    let half_bits = match magnitude_bits {
        // The result is n · 2^-24 for n up to 1024, zero and subnormal values included, and its bits are n. Values of
        // `f32` from 0.5 to 1 are 2^-24 apart too, so adding 0.5 rounds to a multiple of 2^-24, and the bits of the sum
        // are the bits of 0.5 plus n.
        0..0x3880_0000 => (f32::from_bits(magnitude_bits) + 0.5).to_bits() - 0.5f32.to_bits(),
        // The value is rounded up if the 13 dropped bits are worth more than half of the last bit kept, or exactly half
        // and the last bit kept is 1.
        0x3880_0000..0x7f80_0000 => {
            let rounded = magnitude_bits + 0x0fff + (magnitude_bits >> 13 & 1);
            ((rounded >> 13) - (112 << 10)).min(0x7c00)
        }
        0x7f80_0000 => 0x7c00,
        _ => 0x7e00,
    };
    (sign | half_bits) as u16
}

pub(crate) fn f32_of_bf16(half_bits: u16) -> f32 {
    f32::from_bits(u32::from(half_bits) << 16)
}

/// Converts `single` to the bits of the nearest bfloat16 value. A tie goes to the value whose last bit is 0.
pub(crate) fn bf16_of_f32(single: f32) -> u16 {
    let bits = single.to_bits();
    match single.is_nan() {
        true => (bits >> 16 & 0x8000) as u16 | 0x7fc0,
        false => ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16,
    }
}

#[cfg(all(test, feature = "half"))]
mod tests {
    use super::*;

    /// Checks that a conversion to 16 bits agrees with the crate `half`: the same bits or, for a NaN, a NaN of the
    /// same sign.
    fn compare_with_half(single: u32) {
        let number = f32::from_bits(single);
        let is_same = |got: u16, expected: u16, infinity: u16| match number.is_nan() {
            true => got & 0x7fff > infinity && got & 0x8000 == expected & 0x8000,
            false => got == expected,
        };
        let (f16, bf16) = (
            half::f16::from_f32(number).to_bits(),
            half::bf16::from_f32(number).to_bits(),
        );
        assert!(
            is_same(f16_of_f32(number), f16, 0x7c00),
            "f16 of {single:#x}"
        );
        assert!(
            is_same(bf16_of_f32(number), bf16, 0x7f80),
            "bf16 of {single:#x}"
        );
    }

    /// All 16-bit values convert to the same `f32` values as in `half`. `f32` values with every upper half and with
    /// lower halves next to the rounding thresholds convert to the same 16-bit values.
    #[test]
    fn conversions_agree_with_the_crate_half() {
        for bits in 0..=u16::MAX {
            let (f16, bf16) = (half::f16::from_bits(bits), half::bf16::from_bits(bits));
            let pairs = [
                (f32_of_f16(bits), f16.to_f32()),
                (f32_of_bf16(bits), bf16.to_f32()),
            ];
            for (got, expected) in pairs {
                let is_same = got.to_bits() == expected.to_bits();
                assert!(is_same || got.is_nan() && expected.is_nan(), "{bits:#x}");
            }
            for low in [
                0, 1, 0x0fff, 0x1000, 0x1001, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff,
            ] {
                compare_with_half(u32::from(bits) << 16 | low);
            }
        }
    }

    /// All 2^32 values of `f32` convert to the same 16-bit values as in `half`.
    #[test]
    #[ignore = "two minutes without optimisation; bash tests/run large runs it with"]
    fn all_conversions_agree_with_the_crate_half() {
        (0..=u32::MAX).for_each(compare_with_half);
    }
}
