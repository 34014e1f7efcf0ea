//! Converts elements by searching for the nearest number.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "numbers are rounded, and bits taken apart"
)]

use super::{ReferenceError, all_coordinates, check_length, fail_with};
use std::cmp::Ordering;

/// A type of numbers, with its number of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Booleans: 0 and 1, in 8 bits.
    Truths,
    /// Integers from 0 on, with this number of bits.
    Unsigned(u32),
    /// Integers in two's complement, with this number of bits.
    Signed(u32),
    /// A sign, and these numbers of exponent and mantissa bits.
    Float(u32, u32),
}

impl Numbers {
    fn bit_width(self) -> u32 {
        match self {
            Self::Truths => 8,
            Self::Unsigned(bits) | Self::Signed(bits) => bits,
            Self::Float(exponent_bits, mantissa_bits) => 1 + exponent_bits + mantissa_bits,
        }
    }
}

/// How elements are converted.
#[derive(Clone, Copy, Debug)]
pub struct Conversion<'a> {
    /// The type of the elements.
    pub from: Numbers,
    /// The type of the results.
    pub to: Numbers,
    /// The axis, and the scale and the bias along it as bits of `float32`: one for each position, or one for all.
    /// `None` if numbers are not scaled.
    pub scaled: Option<(i64, &'a [i64], &'a [i64])>,
    /// True if fractions are truncated and integers wrap, as in NumPy's `astype`.
    pub cast: bool,
}

/// How a number is converted to a type that cannot represent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConversionRule {
    Nearest,
    /// Truncated and saturated, for floats.
    Cut,
    /// Modulo a power of 2, for integers.
    Wrap,
}

/// The exact value of an element: `sign · significand · 2^exponent`.
#[derive(Clone, Copy, Debug)]
enum ExactValue {
    Nan {
        negative: bool,
    },
    Infinite {
        negative: bool,
    },
    Finite {
        negative: bool,
        significand: u128,
        exponent: i32,
    },
}

/// Converts elements. Elements and results are given by their bits, as signed integers of an element's size.
///
/// # Errors
///
/// Fails with `data_length`, `axis` or `convert_positions`.
pub fn convert(
    values: &[i64],
    shape: &[usize],
    conversion: Conversion<'_>,
) -> Result<Vec<i64>, ReferenceError> {
    check_length("values", values.len(), shape)?;
    let Conversion {
        from,
        to,
        scaled,
        cast,
    } = conversion;
    let mut scaled_axis = None;
    if let Some((axis, scale, bias)) = scaled {
        let rank = shape.len() as i64;
        if axis < -rank || axis >= rank {
            return fail_with("axis", format!("axis {axis} of {rank} dimensions"));
        }
        let d = axis.rem_euclid(rank) as usize;
        for list in [scale, bias] {
            if list.len() != 1 && (list.len() != shape[d] || list.is_empty()) {
                return fail_with("convert_positions", "there is no entry for each position");
            }
        }
        scaled_axis = Some((d, scale, bias));
    }
    // If the types are equal and nothing is scaled, the bits of an element stay as they are.
    if from == to && scaled.is_none() {
        return Ok(values.to_vec());
    }
    let converted_elements = all_coordinates(shape).zip(values).map(|(place, &element)| {
        let mut value = value_of(from, element);
        if let Some((d, scale, bias)) = scaled_axis {
            let entry_of = |list: &[i64]| {
                let entry = if list.len() == 1 {
                    list[0]
                } else {
                    list[place[d]]
                };
                f64::from(f32::from_bits(entry as u32))
            };
            // The product and the sum are each rounded: to f32 if f32 holds every value of `from` exactly, otherwise
            // to f64.
            let number = float_of(value);
            let is_wide = from.bit_width() > 32
                || matches!(from, Numbers::Signed(32) | Numbers::Unsigned(32));
            let number = match is_wide {
                true => number * entry_of(scale) + entry_of(bias),
                false => {
                    let product = f64::from((number * entry_of(scale)) as f32);
                    f64::from((product + entry_of(bias)) as f32)
                }
            };
            value = value_of(Numbers::Float(11, 52), number.to_bits() as i64);
        }
        let rule = match from {
            _ if !cast => ConversionRule::Nearest,
            Numbers::Float(..) => ConversionRule::Cut,
            _ => ConversionRule::Wrap,
        };
        element_of(to, value, rule)
    });
    Ok(converted_elements.collect())
}

/// Returns the number that an element represents.
fn value_of(numbers: Numbers, element: i64) -> ExactValue {
    let width = numbers.bit_width();
    let bits = element as u64 & (u64::MAX >> (64 - width));
    let finite = |negative, significand, exponent| ExactValue::Finite {
        negative,
        significand,
        exponent,
    };
    match numbers {
        Numbers::Truths => finite(false, u128::from(bits != 0), 0),
        Numbers::Signed(_) => finite(element < 0, element.unsigned_abs().into(), 0),
        Numbers::Unsigned(_) => finite(false, bits.into(), 0),
        Numbers::Float(exponent_bits, mantissa_bits) => {
            let is_negative = bits >> (width - 1) == 1;
            let unsigned_bits = bits & (u64::MAX >> (65 - width));
            let infinity = ((1 << exponent_bits) - 1) << mantissa_bits;
            match unsigned_bits.cmp(&infinity) {
                Ordering::Less => {
                    let (significand, exponent) =
                        significand_and_exponent((exponent_bits, mantissa_bits), unsigned_bits);
                    finite(is_negative, significand, exponent)
                }
                Ordering::Equal => ExactValue::Infinite {
                    negative: is_negative,
                },
                Ordering::Greater => ExactValue::Nan {
                    negative: is_negative,
                },
            }
        }
    }
}

/// Returns the significand of the number with these bits, ignoring the sign, and its exponent of 2. Infinity is treated
/// as the number after the largest one, so rounding can reach it.
fn significand_and_exponent((exponent_bits, mantissa_bits): (u32, u32), bits: u64) -> (u128, i32) {
    let bias = (1 << (exponent_bits - 1)) - 1;
    let (exponent, mantissa) = (bits >> mantissa_bits, bits & ((1 << mantissa_bits) - 1));
    let min_exponent = 1 - bias - mantissa_bits as i32;
    match exponent {
        0 => (mantissa.into(), min_exponent),
        _ => (
            (mantissa + (1 << mantissa_bits)).into(),
            min_exponent + exponent as i32 - 1,
        ),
    }
}

/// Returns the `f64` nearest to a value.
fn float_of(value: ExactValue) -> f64 {
    f64::from_bits(element_of(Numbers::Float(11, 52), value, ConversionRule::Nearest) as u64)
}

/// Compares `a.0 · 2^a.1` with `b.0 · 2^b.1`. Neither `a.0` nor `b.0` has more than 70 bits.
fn compare_values(a: (u128, i32), b: (u128, i32)) -> Ordering {
    let top_bit = |(significand, exponent): (u128, i32)| match significand {
        0 => i32::MIN,
        _ => 128 - significand.leading_zeros() as i32 + exponent,
    };
    top_bit(a).cmp(&top_bit(b)).then_with(|| {
        if a.0 == 0 {
            return Ordering::Equal;
        }
        let min_exponent = a.1.min(b.1);
        (a.0 << (a.1 - min_exponent)).cmp(&(b.0 << (b.1 - min_exponent)))
    })
}

/// Returns the index of the number nearest to `value` in an ascending sequence with indices up to `last_index`. In a
/// tie, the even index wins.
fn index_of_nearest(
    last_index: u128,
    value: (u128, i32),
    number: impl Fn(u128) -> (u128, i32),
) -> u128 {
    let (mut low, mut high) = (0, last_index + 1);
    while high - low > 1 {
        let middle = (low + high) / 2;
        match compare_values(number(middle), value) {
            Ordering::Greater => high = middle,
            _ => low = middle,
        }
    }
    if low == last_index {
        return last_index;
    }
    let (a, b) = (number(low), number(low + 1));
    let min_exponent = a.1.min(b.1);
    let midpoint = (a.0 << (a.1 - min_exponent)) + (b.0 << (b.1 - min_exponent));
    match compare_values(value, (midpoint, min_exponent - 1)) {
        Ordering::Greater => low + 1,
        Ordering::Equal => low + low % 2,
        Ordering::Less => low,
    }
}

/// Returns the element for a number. In types without NaN, NaN becomes 0, except that `Cut` makes it true in booleans.
fn element_of(numbers: Numbers, value: ExactValue, rule: ConversionRule) -> i64 {
    let width = numbers.bit_width();
    let is_negative = match value {
        ExactValue::Nan {
            negative: is_negative,
        }
        | ExactValue::Infinite {
            negative: is_negative,
        }
        | ExactValue::Finite {
            negative: is_negative,
            ..
        } => is_negative,
    };
    // In a cast to booleans, every number except 0 is true.
    let is_zero = matches!(value, ExactValue::Finite { significand: 0, .. });
    let bits = match numbers {
        Numbers::Truths if rule != ConversionRule::Nearest => u64::from(!is_zero),
        Numbers::Truths | Numbers::Unsigned(_) | Numbers::Signed(_) => {
            let max_magnitude: u128 = match (numbers, is_negative) {
                (Numbers::Truths, false) => 1,
                (Numbers::Unsigned(_), false) => (1 << width) - 1,
                (Numbers::Signed(_), false) => (1 << (width - 1)) - 1,
                (Numbers::Signed(_), true) => 1 << (width - 1),
                _ => 0,
            };
            let magnitude = match value {
                ExactValue::Nan { .. } => 0,
                ExactValue::Infinite { .. } => max_magnitude,
                // The low bits of an integer form the element.
                ExactValue::Finite { significand, .. } if rule == ConversionRule::Wrap => {
                    significand
                }
                ExactValue::Finite {
                    significand,
                    exponent,
                    ..
                } if rule == ConversionRule::Cut && exponent < 0 => {
                    (significand >> exponent.unsigned_abs().min(127)).min(max_magnitude)
                }
                ExactValue::Finite {
                    significand,
                    exponent,
                    ..
                } => index_of_nearest(max_magnitude, (significand, exponent), |n| (n, 0)),
            };
            if is_negative {
                (magnitude as u64).wrapping_neg()
            } else {
                magnitude as u64
            }
        }
        Numbers::Float(exponent_bits, mantissa_bits) => {
            let infinity = ((1_u64 << exponent_bits) - 1) << mantissa_bits;
            let unsigned_bits = match value {
                ExactValue::Nan { .. } => infinity + (1 << (mantissa_bits - 1)),
                ExactValue::Infinite { .. } => infinity,
                ExactValue::Finite {
                    significand,
                    exponent,
                    ..
                } => {
                    let value_of_bits = |n: u128| {
                        significand_and_exponent((exponent_bits, mantissa_bits), n as u64)
                    };
                    index_of_nearest(infinity.into(), (significand, exponent), value_of_bits) as u64
                }
            };
            unsigned_bits | u64::from(is_negative) << (width - 1)
        }
    };
    // Extends the sign, because the result is a signed integer of the element's size.
    (bits as i64) << (64 - width) >> (64 - width)
}
