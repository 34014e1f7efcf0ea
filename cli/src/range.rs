//! Detects numbers that a conversion loses. For example, floats in [0, 1] become a black picture, and numbers that are
//! too large become a white picture.

use crate::files::Array;
use half::{bf16, f16};
use wgslice::DType;

/// Returns the minimum and the maximum of an integer type of 8 or 16 bits, and `None` for any other type.
fn integer_limits(dtype: DType) -> Option<[f64; 2]> {
    Some(match dtype {
        DType::U8 => [u8::MIN.into(), u8::MAX.into()],
        DType::I8 => [i8::MIN.into(), i8::MAX.into()],
        DType::U16 => [u16::MIN.into(), u16::MAX.into()],
        DType::I16 => [i16::MIN.into(), i16::MAX.into()],
        _ => return None,
    })
}

/// Calls `each` with the numbers of an array in native byte order, until `each` returns false. Returns `None` for types
/// that this function does not read.
fn for_each_number(dtype: DType, bytes: &[u8], mut each: impl FnMut(f64) -> bool) -> Option<()> {
    fn call_for_all<const N: usize>(
        bytes: &[u8],
        number: impl Fn([u8; N]) -> f64,
        each: &mut impl FnMut(f64) -> bool,
    ) {
        let mut numbers = bytes.as_chunks().0.iter();
        while numbers.next().is_some_and(|&b| each(number(b))) {}
    }
    let each = &mut each;
    match dtype {
        DType::U8 => call_for_all(bytes, |b| u8::from_ne_bytes(b).into(), each),
        DType::I8 => call_for_all(bytes, |b| i8::from_ne_bytes(b).into(), each),
        DType::U16 => call_for_all(bytes, |b| u16::from_ne_bytes(b).into(), each),
        DType::I16 => call_for_all(bytes, |b| i16::from_ne_bytes(b).into(), each),
        DType::U32 => call_for_all(bytes, |b| u32::from_ne_bytes(b).into(), each),
        DType::I32 => call_for_all(bytes, |b| i32::from_ne_bytes(b).into(), each),
        #[expect(
            clippy::cast_precision_loss,
            reason = "the range is printed for people"
        )]
        DType::U64 => call_for_all(bytes, |b| u64::from_ne_bytes(b) as f64, each),
        #[expect(
            clippy::cast_precision_loss,
            reason = "the range is printed for people"
        )]
        DType::I64 => call_for_all(bytes, |b| i64::from_ne_bytes(b) as f64, each),
        DType::F16 => call_for_all(bytes, |b| f16::from_ne_bytes(b).to_f64(), each),
        DType::BF16 => call_for_all(bytes, |b| bf16::from_ne_bytes(b).to_f64(), each),
        DType::F32 => call_for_all(bytes, |b| f32::from_ne_bytes(b).into(), each),
        DType::F64 => call_for_all(bytes, f64::from_ne_bytes, each),
        _ => return None,
    }
    Some(())
}

/// Returns whether a conversion to 8- or 16-bit integers might have lost the differences between numbers: all results
/// have a magnitude of at most 1, or most are limits of their type other than 0.
pub(crate) fn may_have_lost_differences(dtype: DType, bytes: &[u8]) -> bool {
    let Some([min, max]) = integer_limits(dtype) else {
        return false;
    };
    let (mut count, mut small_count, mut limit_count) = (0usize, 0usize, 0usize);
    let read = for_each_number(dtype, bytes, |x| {
        count += 1;
        small_count += usize::from(x.abs() <= 1.0);
        limit_count += usize::from(x == max || (x == min && min < 0.0));
        true
    });
    read.is_some() && count > 0 && (small_count == count || limit_count * 2 > count)
}

/// Describes what this array loses by a conversion to `result_type`, and how to avoid it. Returns `None` if no warning
/// is needed.
pub(crate) fn describe_loss(array: &Array, result_type: DType) -> Option<String> {
    let dtype = array.dtype();
    let [type_min, type_max] = integer_limits(result_type)?;
    let (mut count, mut beyond_count, mut has_fractions) = (0usize, 0usize, false);
    let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
    for_each_number(dtype, array.bytes(), |x| {
        // A NaN is not part of a range.
        if !x.is_nan() {
            count += 1;
            beyond_count += usize::from(x < type_min || x > type_max);
            has_fractions |= x.fract() != 0.0;
            (min, max) = (min.min(x), max.max(x));
        }
        true
    })?;
    let magnitude = max.abs().max(min.abs());
    let loss = if has_fractions && magnitude <= 1.0 {
        let one = if min < 0.0 { "±1" } else { "1" };
        format!("which are 0 or {one} as {}", result_type.name())
    } else if beyond_count * 2 > count {
        let name = result_type.name();
        format!("{beyond_count} of them beyond the {type_min} to {type_max} of {name}")
    } else {
        return None;
    };
    let scale = match has_fractions && magnitude <= 1.0 {
        true => type_max,
        false => type_max / magnitude,
    };
    let scale = rounded_for_print(scale);
    Some(format!(
        "numbers from {} to {}, {loss}: pass --scale {scale}",
        rounded_for_print(min),
        rounded_for_print(max)
    ))
}

/// Rounds to an f32, which is printed with fewer digits.
#[expect(clippy::cast_possible_truncation, reason = "for people")]
fn rounded_for_print(number: f64) -> f32 {
    number as f32
}
