//! Conversions of elements, by searching for the number that is nearest.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers are rounded, and bits taken apart"
)]

use super::{ReferenceError, check_length, coordinates, fail};

/// A type of numbers, with its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Integers from 0 on.
    Unsigned(u32),
    /// Integers in two's complement.
    Signed(u32),
    /// A sign, and these bits of exponent and mantissa.
    Float(u32, u32),
}

impl Numbers {
    fn width(self) -> u32 {
        match self {
            Self::Unsigned(bits) | Self::Signed(bits) => bits,
            Self::Float(exponents, mantissas) => 1 + exponents + mantissas,
        }
    }
}

/// What becomes of elements.
#[derive(Clone, Copy, Debug)]
pub struct Conversion<'a> {
    /// The type of the elements, and that of the results.
    pub from: Numbers,
    /// The type of the results.
    pub to: Numbers,
    /// The scale and the bias at each position of an axis, as bits of `float32`: one for each position, or one for all. `None`
    /// for numbers that stay as they are.
    pub scaled: Option<(i64, &'a [i64], &'a [i64])>,
}

/// Converts elements, given and returned as their bits: signed integers of an element's size.
///
/// # Errors
///
/// `convert_scale` for a scale of elements of more than 8 bits; `axis`; `convert_positions`.
pub fn convert(
    values: &[i64],
    shape: &[usize],
    conversion: Conversion<'_>,
) -> Result<Vec<i64>, ReferenceError> {
    check_length("values", values.len(), shape)?;
    let Conversion { from, to, scaled } = conversion;
    let mut along = None;
    if let Some((axis, scale, bias)) = scaled {
        if from.width() > 8 {
            return fail(
                "convert_scale",
                "elements of more than 8 bits have no scale",
            );
        }
        let rank = shape.len() as i64;
        if axis < -rank || axis >= rank {
            return fail("axis", format!("axis {axis} of {rank} dimensions"));
        }
        let d = axis.rem_euclid(rank) as usize;
        for list in [scale, bias] {
            if list.len() != 1 && (list.len() != shape[d] || list.is_empty()) {
                return fail("convert_positions", "there is no entry for each position");
            }
        }
        along = Some((d, scale, bias));
    }
    // Elements of the same type are moved as they are.
    if from == to && scaled.is_none() {
        return Ok(values.to_vec());
    }
    let each = coordinates(shape).zip(values).map(|(place, &element)| {
        let mut number = number_of(from, element);
        if let Some((d, scale, bias)) = along {
            let at = |list: &[i64]| {
                let entry = if list.len() == 1 {
                    list[0]
                } else {
                    list[place[d]]
                };
                f64::from(f32::from_bits(entry as u32))
            };
            // A product and a sum of two f32 are rounded to f32, one after the other.
            number = f64::from((number * at(scale)) as f32);
            number = f64::from((number + at(bias)) as f32);
        }
        element_of(to, number)
    });
    Ok(each.collect())
}

/// The number that an element is.
fn number_of(numbers: Numbers, element: i64) -> f64 {
    let width = numbers.width();
    let bits = element.rem_euclid(1 << width);
    match numbers {
        Numbers::Signed(_) => element as f64,
        Numbers::Unsigned(_) => bits as f64,
        Numbers::Float(exponents, mantissas) => {
            let half = 1 << (width - 1);
            let infinity = half - (1 << mantissas);
            let size = match bits % half {
                size if size == infinity => f64::INFINITY,
                size => size_of((exponents, mantissas), size),
            };
            if bits >= half { -size } else { size }
        }
    }
}

/// The number of these bits without a sign.
fn size_of((exponents, mantissas): (u32, u32), bits: i64) -> f64 {
    let bias = (1 << (exponents - 1)) - 1;
    let (exponent, mantissa) = (bits >> mantissas, bits % (1 << mantissas));
    let digits = mantissas as i32;
    match exponent {
        0 => mantissa as f64 * 2f64.powi(1 - bias - digits),
        largest if largest == (1 << exponents) - 1 && mantissa > 0 => f64::NAN,
        // Infinity follows the largest number as if it were one, so that rounding reaches it.
        _ => (mantissa + (1 << mantissas)) as f64 * 2f64.powi(exponent as i32 - bias - digits),
    }
}

/// The element that is nearest to a number.
fn element_of(numbers: Numbers, number: f64) -> i64 {
    let range = |low: i64, high: i64| {
        let below = number.floor();
        let up = match number - below {
            part if part > 0.5 => true,
            0.5 => below % 2.0 != 0.0,
            _ => false,
        };
        let nearest = if up { below + 1.0 } else { below };
        if number.is_nan() {
            0
        } else if nearest <= low as f64 {
            low
        } else if nearest >= high as f64 {
            high
        } else {
            nearest as i64
        }
    };
    let half = 1_i64 << (numbers.width() - 1);
    let (exponents, mantissas) = match numbers {
        Numbers::Signed(_) => return range(-half, half - 1),
        Numbers::Unsigned(_) => return (range(0, 2 * half - 1) + half) % (2 * half) - half,
        Numbers::Float(exponents, mantissas) => (exponents, mantissas),
    };
    let infinity = ((1_i64 << exponents) - 1) << mantissas;
    let size = number.abs();
    let bits = if number.is_nan() {
        infinity + (1 << (mantissas - 1))
    } else {
        // The last number that is not larger, and the one after it.
        let (mut low, mut high) = (0, infinity + 1);
        while high - low > 1 {
            let middle = (low + high) / 2;
            match size_of((exponents, mantissas), middle) <= size {
                true => low = middle,
                false => high = middle,
            }
        }
        let at = |bits| size_of((exponents, mantissas), bits);
        match low == infinity {
            true => infinity,
            false => {
                let (below, above) = (size - at(low), at(low + 1) - size);
                low + i64::from(above < below || above == below && low % 2 == 1)
            }
        }
    };
    match number.is_sign_negative() {
        true => bits - half,
        false => bits,
    }
}
