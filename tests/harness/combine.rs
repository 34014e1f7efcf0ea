//! Combines two elements of any type by any [`Combine`], without the library's own code, to compute the expected result
//! of a scatter. Also lists the combinations that the shaders support.

use std::ops::{Add, Mul, Sub};
use wgslice::{DType, options::Combine};

/// The layout of a floating-point number of `bit_count` bits: the sign in the highest bit, then the exponent, and the
/// fraction in the lowest `fraction_bits` bits.
#[derive(Clone, Copy)]
pub(crate) struct Float {
    pub(crate) bit_count: u32,
    pub(crate) fraction_bits: u32,
}

impl Float {
    /// Returns the layout of the components of a type, or `None` if the components are not floating-point numbers.
    pub(crate) fn of(dtype: DType) -> Option<Self> {
        let (bit_count, fraction_bits) = match dtype {
            DType::F16 => (16, 10),
            DType::BF16 => (16, 7),
            DType::F32 | DType::Complex64 => (32, 23),
            DType::F64 | DType::Complex128 => (64, 52),
            _ => return None,
        };
        Some(Self {
            bit_count,
            fraction_bits,
        })
    }

    /// Returns the number that has these bits. `f64` represents it exactly.
    fn value(self, bits: u128) -> f64 {
        let sign = if bits >> (self.bit_count - 1) & 1 == 1 {
            -1.0
        } else {
            1.0
        };
        let fraction = bits & ((1 << self.fraction_bits) - 1);
        let exponent_bits = self.bit_count - 1 - self.fraction_bits;
        let exponent =
            i32::try_from(bits >> self.fraction_bits & ((1 << exponent_bits) - 1)).unwrap();
        let bias = (1 << (exponent_bits - 1)) - 1;
        // The power is the product of two powers, so that each result of `powi` is far from the ends of the range of
        // `f64`.
        let power = |exponent: i32| 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
        let scale = power(exponent.max(1) - bias);
        let fraction_value = fraction as f64 / (1u64 << self.fraction_bits) as f64;
        sign * match exponent {
            0 => fraction_value * scale,
            _ if exponent < (1 << exponent_bits) - 1 => (1.0 + fraction_value) * scale,
            _ if fraction == 0 => f64::INFINITY,
            _ => f64::NAN,
        }
    }

    /// Returns the bits of the number of this layout that is nearest to `value`. A tie goes to the number with even
    /// bits.
    fn nearest(self, value: f64) -> u128 {
        let magnitude = value.abs();
        let (mut low, mut high) = (
            0u128,
            ((1 << (self.bit_count - 1 - self.fraction_bits)) - 1) << self.fraction_bits,
        );
        while high - low > 1 {
            let middle = (low + high) / 2;
            match self.value(middle) <= magnitude {
                true => low = middle,
                false => high = middle,
            }
        }
        let above = self.value(high);
        assert!(above.is_finite(), "{value} is beyond the range");
        let (down, up) = (magnitude - self.value(low), above - magnitude);
        let rounded = if up < down || (up == down && high % 2 == 0) {
            high
        } else {
            low
        };
        rounded | u128::from(value.is_sign_negative()) << (self.bit_count - 1)
    }
}

/// Combines the element `a` with the element `b`. Both have this type and are in the lowest bytes of their integers.
pub(crate) fn combined(combine: Combine, dtype: DType, a: u128, b: u128) -> u128 {
    let bits = 8 * u32::try_from(dtype.size()).unwrap();
    let mask = u128::MAX >> (128 - bits);
    let (a, b) = (a & mask, b & mask);
    match (combine, dtype) {
        (Combine::Update, _) => b,
        (Combine::Add | Combine::Max, DType::Bool) => a | b,
        (Combine::Mul | Combine::Min, DType::Bool) => a & b,
        (_, DType::Complex64 | DType::Complex128) => {
            let half = bits / 2;
            let half_mask = u128::MAX >> (128 - half);
            let [[re, im], [c, d]] = [a, b].map(|number| [number & half_mask, number >> half]);
            let component = match dtype {
                DType::Complex64 => DType::F32,
                _ => DType::F64,
            };
            let combine_parts = |combine, a, b| combined(combine, component, a, b);
            let [real, imaginary] = match combine {
                Combine::Mul => {
                    let [rc, id, rd, ic] = [(re, c), (im, d), (re, d), (im, c)]
                        .map(|(a, b)| combine_parts(Combine::Mul, a, b));
                    [
                        combine_parts(Combine::Sub, rc, id),
                        combine_parts(Combine::Add, rd, ic),
                    ]
                }
                _ => [combine_parts(combine, re, c), combine_parts(combine, im, d)],
            };
            real | imaginary << half
        }
        _ => match Float::of(dtype) {
            Some(float) => {
                let (x, y) = (float.value(a), float.value(b));
                match combine {
                    Combine::Min => {
                        if y < x {
                            b
                        } else {
                            a
                        }
                    }
                    Combine::Max => {
                        if y > x {
                            b
                        } else {
                            a
                        }
                    }
                    _ if dtype == DType::F64 => arithmetic(combine, x, y).to_bits().into(),
                    _ => {
                        #[expect(
                            clippy::cast_possible_truncation,
                            reason = "f32 represents both exactly"
                        )]
                        let (x, y) = (x as f32, y as f32);
                        let single = arithmetic(combine, x, y);
                        match dtype {
                            DType::F32 => single.to_bits().into(),
                            _ => float.nearest(single.into()),
                        }
                    }
                }
            }
            None => {
                let is_signed = matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64);
                let value = |element: u128| match is_signed {
                    true => (element << (128 - bits)).cast_signed() >> (128 - bits),
                    false => element.cast_signed(),
                };
                let (x, y) = (value(a), value(b));
                let result = match combine {
                    Combine::Add => x.wrapping_add(y),
                    Combine::Sub => x.wrapping_sub(y),
                    Combine::Mul => x.wrapping_mul(y),
                    Combine::Min => x.min(y),
                    _ => x.max(y),
                };
                result.cast_unsigned() & mask
            }
        },
    }
}

fn arithmetic<T: Add<Output = T> + Sub<Output = T> + Mul<Output = T>>(
    combine: Combine,
    x: T,
    y: T,
) -> T {
    match combine {
        Combine::Add => x + y,
        Combine::Sub => x - y,
        _ => x * y,
    }
}

/// Returns whether the shaders support the combination for a type.
pub(crate) fn is_supported_on_gpu(combine: Combine, dtype: DType) -> bool {
    match dtype {
        _ if combine == Combine::Update => true,
        DType::Bool | DType::I32 | DType::U32 | DType::F32 => true,
        DType::I64 | DType::U64 | DType::Complex64 => {
            matches!(combine, Combine::Add | Combine::Sub)
        }
        DType::F64 | DType::Complex128 => false,
        _ => combine == Combine::Add,
    }
}
