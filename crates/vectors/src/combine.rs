//! Combines two values of a case, for the scatters of the reference.

use half::{bf16, f16};
use wgslice::{DType, options::Combine};

/// Returns the floating-point type with this name. Returns `None` for all other names, because values are then
/// integers.
pub(crate) fn float_type(name: &str) -> Option<DType> {
    let floats = [DType::F16, DType::BF16, DType::F32, DType::F64];
    floats.into_iter().find(|dtype| dtype.name() == name)
}

/// Combines `old` with `new`. With `float`, the values are the bits of numbers of that type; otherwise they are
/// integers. A 16-bit floating-point result is first rounded to `f32`, and then to 16 bits.
pub(crate) fn combine_values(combine: Combine, float: Option<DType>, old: i64, new: i64) -> i64 {
    let is_less = match float {
        None => new < old,
        Some(dtype) => number_from_bits(dtype, new) < number_from_bits(dtype, old),
    };
    let is_greater = match float {
        None => new > old,
        Some(dtype) => number_from_bits(dtype, new) > number_from_bits(dtype, old),
    };
    let compute =
        |integer_function: fn(i64, i64) -> i64, float_function: fn(f64, f64) -> f64| match float {
            None => integer_function(old, new),
            Some(dtype) => bits_of_number(
                dtype,
                float_function(number_from_bits(dtype, old), number_from_bits(dtype, new)),
            ),
        };
    match combine {
        Combine::Update => new,
        Combine::Add => compute(i64::wrapping_add, |old, new| old + new),
        Combine::Sub => compute(i64::wrapping_sub, |old, new| old - new),
        Combine::Mul => compute(i64::wrapping_mul, |old, new| old * new),
        Combine::Min if is_less => new,
        Combine::Max if is_greater => new,
        Combine::Min | Combine::Max => old,
    }
}

/// Returns the number with these bits. Bits above the type's size are ignored.
fn number_from_bits(dtype: DType, bits: i64) -> f64 {
    let [a, b, c, d, ..] = bits.to_le_bytes();
    match dtype {
        DType::F16 => f16::from_le_bytes([a, b]).to_f64(),
        DType::BF16 => bf16::from_le_bytes([a, b]).to_f64(),
        DType::F32 => f32::from_le_bytes([a, b, c, d]).into(),
        _ => f64::from_bits(bits.cast_unsigned()),
    }
}

/// Rounds `value` to a type, and returns the bits of the result as a signed integer. `f64` has more than twice as many
/// digits as `f32`, so the sum of two `f32` gives the same `f32` if it is first rounded to `f64`.
pub(crate) fn bits_of_number(dtype: DType, value: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "rounds to the nearest")]
    let single = value as f32;
    match dtype {
        DType::F16 => f16::from_f32(single).to_bits().cast_signed().into(),
        DType::BF16 => bf16::from_f32(single).to_bits().cast_signed().into(),
        DType::F32 => single.to_bits().cast_signed().into(),
        _ => value.to_bits().cast_signed(),
    }
}
