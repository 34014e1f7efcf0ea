//! Element types.
//!
//! wgslice has no element types for 8-bit floats. Jobs can move their bytes, but cannot compute with them.

use super::Error;
use serde_json::Value;
use std::path::Path;
use wgslice::DType;

/// An 8-bit floating-point format.
struct Float8 {
    name: &'static str,
    /// The number of fraction bits.
    fraction_bits: i32,
    /// The exponent bits of the number 1, as an integer.
    bias: i32,
    special: SpecialPatterns,
}

/// The bit patterns that are infinities or NaN.
enum SpecialPatterns {
    /// As in IEEE 754, patterns with the largest exponent are infinities and NaN.
    Ieee,
    /// Patterns with all bits set, ignoring the sign, are NaN.
    Last,
    /// The pattern of -0 is NaN.
    NegativeZero,
}

#[rustfmt::skip]
const FLOAT8_FORMATS: [Float8; 7] = [
    Float8 { name: "float8_e3m4", fraction_bits: 4, bias: 3, special: SpecialPatterns::Ieee },
    Float8 { name: "float8_e4m3", fraction_bits: 3, bias: 7, special: SpecialPatterns::Ieee },
    Float8 { name: "float8_e4m3b11fnuz", fraction_bits: 3, bias: 11, special: SpecialPatterns::NegativeZero },
    Float8 { name: "float8_e4m3fn", fraction_bits: 3, bias: 7, special: SpecialPatterns::Last },
    Float8 { name: "float8_e4m3fnuz", fraction_bits: 3, bias: 8, special: SpecialPatterns::NegativeZero },
    Float8 { name: "float8_e5m2", fraction_bits: 2, bias: 15, special: SpecialPatterns::Ieee },
    Float8 { name: "float8_e5m2fnuz", fraction_bits: 2, bias: 16, special: SpecialPatterns::NegativeZero },
];

impl Float8 {
    fn value(&self, bits: u8) -> f64 {
        let sign = if bits & 0x80 == 0 { 1.0 } else { -1.0 };
        let magnitude = i32::from(bits & 0x7f);
        let (exponent, fraction) = (
            magnitude >> self.fraction_bits,
            magnitude % (1 << self.fraction_bits),
        );
        let has_largest_exponent = exponent == 0x7f >> self.fraction_bits;
        match self.special {
            SpecialPatterns::Ieee if has_largest_exponent && fraction == 0 => {
                return sign * f64::INFINITY;
            }
            SpecialPatterns::Ieee if has_largest_exponent => return f64::NAN,
            SpecialPatterns::Last if magnitude == 0x7f => return f64::NAN,
            SpecialPatterns::NegativeZero if bits == 0x80 => return f64::NAN,
            _ => {}
        }
        let one = 1 << self.fraction_bits;
        let (exponent, fraction) = match exponent {
            0 => (1, fraction),
            exponent => (exponent, one + fraction),
        };
        sign * f64::from(fraction) / f64::from(one) * 2_f64.powi(exponent - self.bias)
    }
}

/// Returns whether this is the name of an 8-bit float type, whose bytes are only moved.
pub(super) fn is_float8(name: &str) -> bool {
    FLOAT8_FORMATS.iter().any(|float| float.name == name)
}

/// Returns the bits of the 8-bit float with this value in Zarr's JSON, or `None` if the type does not have the value.
pub(super) fn float8_bits(name: &str, value: &Value) -> Option<u8> {
    let float = FLOAT8_FORMATS.iter().find(|float| float.name == name)?;
    let value = match value {
        Value::String(text) => match &**text {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            bits => return u8::from_str_radix(bits.strip_prefix("0x")?, 16).ok(),
        },
        value => value.as_f64()?,
    };
    let has_value = |bits: &u8| {
        let found = float.value(*bits);
        found.to_bits() == value.to_bits() || found.is_nan() && value.is_nan()
    };
    // If a type has several NaNs, as in IEEE 754, the quiet NaN is tried first.
    let quiet_nan =
        (0x7f >> float.fraction_bits << float.fraction_bits) | 1 << (float.fraction_bits - 1);
    [quiet_nan].into_iter().chain(0..=255).find(has_value)
}

/// Returns the element type that Zarr V3 calls `name`. Zarr uses the library's names, and has second names for complex
/// types. `path` names the array in errors.
pub(super) fn of_name(name: &str, path: &Path) -> Result<DType, Error> {
    if is_float8(name) {
        return Ok(DType::U8);
    }
    let name = match name {
        "complex_float32" => "complex64",
        "complex_float64" => "complex128",
        name => name,
    };
    let found = DType::ALL.into_iter().find(|dtype| dtype.name() == name);
    found.ok_or_else(|| {
        let known: Vec<_> = DType::ALL.iter().map(|dtype| dtype.name()).collect();
        Error::usage(format_args!(
            "{} holds elements of type {name}, which cannot be sliced: convert them to one of {}",
            path.display(),
            known.join(", ")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The expected values come from ml_dtypes.
    #[test]
    fn floats_of_8_bits_have_their_values() {
        let cases: [(&str, &[(u8, f64)]); 5] = [
            (
                "float8_e4m3fn",
                &[
                    (0x38, 1.0),
                    (0x7e, 448.0),
                    (0x01, 0.001_953_125),
                    (0xb9, -1.125),
                ],
            ),
            (
                "float8_e4m3fnuz",
                &[(0x40, 1.0), (0x7f, 240.0), (0x01, 0.000_976_562_5)],
            ),
            (
                "float8_e4m3b11fnuz",
                &[(0x58, 1.0), (0x7f, 30.0), (0x01, 0.000_122_070_312_5)],
            ),
            (
                "float8_e5m2",
                &[
                    (0x3c, 1.0),
                    (0x7b, 57344.0),
                    (0x7c, f64::INFINITY),
                    (0x80, -0.0),
                ],
            ),
            ("float8_e5m2fnuz", &[(0x40, 1.0), (0x7f, 57344.0)]),
        ];
        for (name, values) in cases {
            let float = FLOAT8_FORMATS
                .iter()
                .find(|float| float.name == name)
                .unwrap();
            for &(bits, value) in values {
                assert_eq!(
                    float.value(bits).to_bits(),
                    value.to_bits(),
                    "{name} {bits:#x}"
                );
            }
            assert_eq!(float8_bits(name, &json!(0.0)), Some(0), "{name}");
            assert_eq!(float8_bits(name, &json!("0x81")), Some(0x81), "{name}");
            assert_eq!(float8_bits(name, &json!(0.3)), None, "{name}");
        }
        let nan = |name| float8_bits(name, &json!("NaN"));
        assert_eq!(nan("float8_e4m3fn"), Some(0x7f));
        assert_eq!(nan("float8_e5m2"), Some(0x7e));
        assert_eq!(nan("float8_e4m3fnuz"), Some(0x80));
        assert_eq!(float8_bits("float8_e5m2", &json!("-Infinity")), Some(0xfc));
        assert_eq!(float8_bits("float8_e4m3fn", &json!("Infinity")), None);
    }
}
