//! Prints values with exactly the characters of NumPy's `print(array)`, with NumPy's default options.

mod numpy;

use crate::{
    failure::Failure,
    files::{Element, ForeignType},
};
use half::{bf16, f16};
use numpy::PrintedElements;
use serde_json::Value;
use std::{iter, ops::Range};
use wgslice::DType;

/// The maximum number of elements of an array that is shown in full. Larger arrays show only the first and the last
/// elements along each dimension.
const MAX_SHOWN: usize = 1000;
/// The number of elements that are shown at each end of a long dimension.
const EDGE_ELEMENTS: usize = 3;
/// The maximum length of a line in characters, if the line can be wrapped.
const LINE_WIDTH: usize = 75;
/// The maximum number of digits after the decimal point.
const PRECISION: usize = 8;

/// The elements of an array that will be shown. They arrive piece by piece.
#[derive(Debug)]
pub(crate) struct ShownArray {
    element: Element,
    shape: Vec<usize>,
    /// The indices of the elements that are shown, in order. `None` if all are shown.
    wanted_indices: Option<Vec<usize>>,
    /// The shown elements that have arrived.
    bytes: Vec<u8>,
    /// The number of bytes that have arrived, shown or not. It stays 0 if all elements are shown.
    bytes_arrived: usize,
}

impl ShownArray {
    /// Prepares to show all elements if the array is small or `all` is set. Otherwise only the first and last elements
    /// along each dimension are shown.
    pub(crate) fn new(element: Element, shape: &[usize], all: bool) -> Self {
        let is_summarised = !all && shape.iter().product::<usize>() > MAX_SHOWN;
        Self {
            element,
            shape: shape.to_vec(),
            wanted_indices: is_summarised.then(|| shown_indices(shape)),
            bytes: Vec::new(),
            bytes_arrived: 0,
        }
    }

    /// Takes the next bytes of the array, which can end within an element. Fails if memory is short.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.bytes.try_reserve(bytes.len()).map_err(|_| {
            Failure::usage(
                "the values take more than the memory that is free; write them to a file by -o",
            )
        })?;
        let Some(wanted_indices) = &self.wanted_indices else {
            self.bytes.extend_from_slice(bytes);
            return Ok(());
        };
        let size = self.element.size();
        if size == 0 {
            return Ok(());
        }
        let end = self.bytes_arrived + bytes.len();
        // Each iteration takes the missing bytes of the next element to show.
        while let Some(&element_index) = wanted_indices.get(self.bytes.len() / size) {
            let from = element_index * size + self.bytes.len() % size;
            let to = (element_index + 1) * size;
            if from >= end {
                break;
            }
            let arrived_range = from - self.bytes_arrived..to.min(end) - self.bytes_arrived;
            self.bytes.extend_from_slice(&bytes[arrived_range]);
        }
        self.bytes_arrived = end;
        Ok(())
    }

    /// Returns the text for people.
    pub(crate) fn text(&self) -> String {
        let elements = Elements::new(self.element, &self.bytes);
        if self.shape.is_empty() {
            return elements.format_scalar();
        }
        if self.shape.contains(&0) {
            return "[]".into();
        }
        // All elements of zero bytes share one text.
        let mut words = elements.format_words().into_iter().cycle();
        arrange_words(
            &self.shape,
            self.wanted_indices.is_some(),
            &mut words,
            " ",
            LINE_WIDTH,
        )
    }

    /// Returns the values as nested lists. All elements must be shown. NaN and infinities become strings.
    pub(crate) fn json(&self) -> Value {
        let values = Elements::new(self.element, &self.bytes).json();
        let mut values = values.into_iter().cycle();
        nested_json(&self.shape, &mut values)
    }
}

/// Returns the positions along a dimension that are shown.
fn shown_ranges(len: usize) -> [Range<usize>; 2] {
    match len > 2 * EDGE_ELEMENTS {
        true => [0..EDGE_ELEMENTS, len - EDGE_ELEMENTS..len],
        false => [0..len, len..len],
    }
}

/// Returns the indices of the elements of a large array that are shown.
fn shown_indices(shape: &[usize]) -> Vec<usize> {
    shape.iter().fold(vec![0], |outer_indices, &len| {
        let inner_indices = |&outer: &usize| {
            shown_ranges(len)
                .into_iter()
                .flatten()
                .map(move |at| outer * len + at)
        };
        outer_indices.iter().flat_map(inner_indices).collect()
    })
}

fn nested_json(shape: &[usize], values: &mut impl Iterator<Item = Value>) -> Value {
    match shape {
        [] => values.next().unwrap_or_default(),
        [len, rest @ ..] => (0..*len).map(|_| nested_json(rest, values)).collect(),
    }
}

/// Arranges `words`, the printed elements, in brackets and lines, as NumPy does. Lines begin with `indent` and have at
/// most `width` characters.
fn arrange_words(
    shape: &[usize],
    is_summarised: bool,
    words: &mut impl Iterator<Item = String>,
    indent: &str,
    width: usize,
) -> String {
    let [len, rest @ ..] = shape else {
        return words.next().unwrap_or_default();
    };
    let deeper_indent = format!("{indent} ");
    let [first, last] = match is_summarised {
        true => shown_ranges(*len),
        false => [0..*len, 0..0],
    };
    let is_shortened = first.len() + last.len() < *len;
    let item_count = first.len() + last.len() + usize::from(is_shortened);
    let mut items = (0..item_count).map(|at| match is_shortened && at == EDGE_ELEMENTS {
        true => "...".to_owned(),
        false => arrange_words(rest, is_summarised, words, &deeper_indent, width - 1),
    });
    let text = if rest.is_empty() {
        let (mut lines, mut line) = (String::new(), indent.to_owned());
        for (at, word) in items.enumerate() {
            if at > 0 {
                line.push(' ');
            }
            let is_too_long = line.chars().count() + word.chars().count() > width - 1;
            if is_too_long && line.len() > indent.len() {
                lines += line.trim_end();
                lines.push('\n');
                indent.clone_into(&mut line);
            }
            line += &word;
        }
        lines + &line
    } else {
        let separator = "\n".repeat(rest.len()) + indent;
        let first_item = items.next().unwrap_or_default();
        iter::once(indent.to_owned() + &first_item)
            .chain(items)
            .collect::<Vec<_>>()
            .join(&separator)
    };
    format!("[{}]", &text[indent.len()..])
}

/// Decodes a byte with a sign, an exponent with this bias and a mantissa of `mantissa_bits` bits. The caller
/// handles the bits that mean NaN.
fn decode_f8(byte: u8, mantissa_bits: u8, bias: i32) -> f64 {
    let exponent = i32::from((byte & 0x7f) >> mantissa_bits);
    let mantissa = f64::from(byte & ((1 << mantissa_bits) - 1)) / f64::from(1 << mantissa_bits);
    let magnitude = match exponent {
        0 => mantissa * 2f64.powi(1 - bias),
        _ => (1.0 + mantissa) * 2f64.powi(exponent - bias),
    };
    if byte >> 7 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

/// Returns the function that decodes an 8-bit type, given the type's name. The formats come from the OCP's
/// specifications and, for FNUZ, from the paper "8-bit Numerical Formats for Deep Neural Networks".
fn decoder(name: &str) -> fn(u8) -> f64 {
    match name {
        // This format has no infinities.
        "F8_E4M3" => |byte| match byte & 0x7f {
            0x7f => f64::NAN,
            _ => decode_f8(byte, 3, 7),
        },
        // The byte has the format of the upper half of an f16.
        "F8_E5M2" => |byte| f16::from_bits(u16::from(byte) << 8).to_f64(),
        // This format has only an exponent, and neither a sign nor a zero.
        "F8_E8M0" => |byte| match byte {
            0xff => f64::NAN,
            _ => 2f64.powi(i32::from(byte) - 127),
        },
        // This format has no infinities, and negative zero's bits mean NaN.
        "F8_E4M3FNUZ" => |byte| match byte {
            0x80 => f64::NAN,
            _ => decode_f8(byte, 3, 8),
        },
        "F8_E5M2FNUZ" => |byte| match byte {
            0x80 => f64::NAN,
            _ => decode_f8(byte, 2, 16),
        },
        // No other type can be read.
        _ => |_| f64::NAN,
    }
}

/// Returns the value of an 8-bit element of the type with this name.
pub(crate) fn decode_8_bit(name: &str, byte: u8) -> f64 {
    decoder(name)(byte)
}

/// The elements of an array, decoded for printing.
enum Elements {
    Bool(Vec<bool>),
    Int(Vec<i128>),
    ShortFloat(Vec<ShortFloat>, DType),
    Complex(Vec<[ShortFloat; 2]>, DType),
    Other(PrintedElements),
}

/// A number, and an f64 whose shortest decimal text is the number's shortest text in its own type.
#[derive(Clone, Copy)]
struct ShortFloat {
    exact: f64,
    short: f64,
}

fn map_elements<const N: usize, T>(bytes: &[u8], value: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks().0.iter().map(|&b| value(b)).collect()
}

impl ShortFloat {
    fn f64(b: [u8; 8]) -> Self {
        let exact = f64::from_ne_bytes(b);
        let short = exact;
        Self { exact, short }
    }

    #[expect(clippy::cast_possible_truncation, reason = "it rounds to f32")]
    fn f32(b: [u8; 4]) -> Self {
        let exact = f64::from(f32::from_ne_bytes(b));
        Self::short(exact, |x| f64::from(x as f32))
    }

    /// Makes a number of a short type from its exact value. `round` rounds to that type.
    fn short(exact: f64, round: impl Fn(f64) -> f64) -> Self {
        const MAX_DIGITS: usize = 9;
        let with_digits = |digits| format!("{exact:.digits$e}").parse().unwrap_or(exact);
        let short = (0..MAX_DIGITS)
            .map(with_digits)
            .find(|&short| round(short) == exact);
        let short = short.unwrap_or(exact);
        Self { exact, short }
    }

    fn f16(b: [u8; 2]) -> Self {
        let exact = f16::from_ne_bytes(b).to_f64();
        Self::short(exact, |x| f16::from_f64(x).to_f64())
    }

    fn bf16(b: [u8; 2]) -> Self {
        let exact = bf16::from_ne_bytes(b).to_f64();
        Self::short(exact, |x| bf16::from_f64(x).to_f64())
    }

    /// Returns the digits before and after the decimal point.
    fn positional_digits(self) -> (String, String) {
        let shortest = self.short.to_string();
        let (int, fraction) = shortest.split_once('.').unwrap_or((&shortest, ""));
        if fraction.len() <= PRECISION {
            return (int.to_owned(), fraction.to_owned());
        }
        let rounded = format!("{:.PRECISION$}", self.exact);
        let (int, fraction) = rounded.split_once('.').unwrap_or((&rounded, ""));
        (int.to_owned(), fraction.trim_end_matches('0').to_owned())
    }

    /// Returns the digits before and after the decimal point, and the exponent.
    fn scientific_digits(self) -> (String, String, i32) {
        let mut text = format!("{:e}", self.short);
        let fraction_len = text.split(['.', 'e']).nth(1).map_or(0, str::len);
        if text.contains('.') && fraction_len > PRECISION {
            text = format!("{:.PRECISION$e}", self.exact);
        }
        let (mantissa, exponent) = split_exponent(&text);
        let (int, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let fraction = fraction.trim_end_matches('0').to_owned();
        (int.to_owned(), fraction, exponent)
    }

    /// Returns the text of a single number.
    fn format_alone(self, dtype: DType) -> String {
        let positional_range = match dtype {
            DType::F16 => 1.001e-4..1e3,
            DType::F32 | DType::Complex64 => 1e-4..1e6,
            _ => 1e-4..1e16,
        };
        let magnitude = self.short.abs();
        match magnitude {
            _ if self.exact.is_nan() => "nan".into(),
            _ if magnitude.is_infinite() => format!("{}", self.exact),
            _ if magnitude != 0.0 && !positional_range.contains(&magnitude) => {
                let text = format!("{:e}", self.short);
                let (mantissa, exponent) = split_exponent(&text);
                format!("{mantissa}e{}", format_exponent(exponent, 2))
            }
            _ => format!("{:?}", self.short),
        }
    }
}

/// Splits the text of a number into its mantissa and its exponent.
fn split_exponent(text: &str) -> (&str, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    (mantissa, exponent.parse().unwrap_or(0))
}

fn format_exponent(exponent: i32, min_digits: usize) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{:0min_digits$}", exponent.unsigned_abs())
}

/// Pads texts on the left to the same length.
fn pad_left(texts: Vec<String>) -> Vec<String> {
    let width = texts.iter().map(String::len).max().unwrap_or(0);
    texts.iter().map(|text| format!("{text:>width$}")).collect()
}

/// Formats all numbers in the same way and pads them to one length. With `plus`, a number without a minus sign gets a
/// plus sign.
fn format_floats(numbers: &[ShortFloat], dtype: DType, plus: bool) -> Vec<String> {
    let finite_numbers = || numbers.iter().filter(|number| number.exact.is_finite());
    let magnitudes = || {
        finite_numbers()
            .map(|number| number.exact.abs())
            .filter(|&magnitude| magnitude != 0.0)
    };
    let max = magnitudes().fold(f64::NAN, f64::max);
    let min = magnitudes().fold(f64::NAN, f64::min);
    // NumPy divides and compares in the numbers' own type.
    let (ratio, small, large) = match dtype {
        DType::F16 => {
            let [ratio, small] = [max / min, 1e-4].map(|x| f16::from_f64(x).to_f64());
            (ratio, small, 1e3)
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "they are numbers of 32 bits"
        )]
        DType::F32 | DType::Complex64 => {
            (f64::from(max as f32 / min as f32), f64::from(1e-4f32), 1e6)
        }
        _ => (max / min, 1e-4, 1e8),
    };
    let is_scientific = max >= large || min < small || ratio > 1000.0;
    let with_sign = |int: &str| match plus && !int.starts_with('-') {
        true => format!("+{int}"),
        false => int.to_owned(),
    };
    // The parts of a number: before the decimal point, after it, and the exponent.
    let digit_parts = |number: &ShortFloat| match is_scientific {
        true => number.scientific_digits(),
        false => {
            let (int, fraction) = number.positional_digits();
            (int, fraction, 0)
        }
    };
    let fraction_len = finite_numbers()
        .map(|number| digit_parts(number).1.len())
        .max()
        .unwrap_or(0);
    let exponent_len =
        finite_numbers().map(|number| digit_parts(number).2.unsigned_abs().to_string().len());
    let exponent_len = exponent_len.max().unwrap_or(0).max(2);
    let words = numbers.iter().map(|number| {
        if !number.exact.is_finite() {
            let text = match number.exact {
                x if x.is_nan() => "nan",
                x if x < 0.0 => "-inf",
                _ => "inf",
            };
            return with_sign(text);
        }
        let (int, fraction, exponent) = digit_parts(number);
        if !is_scientific {
            return format!("{}.{fraction:<fraction_len$}", with_sign(&int));
        }
        // A number with fewer digits than the longest number gets further digits of its exact value, although they are
        // not needed to identify it.
        let text = match fraction.len() < fraction_len {
            true => format!("{:.fraction_len$e}", number.exact),
            false => format!("{int}.{fraction}e{exponent}"),
        };
        let (mantissa, exponent) = split_exponent(&text);
        let point = if mantissa.contains('.') { "" } else { "." };
        format!(
            "{}{point}e{}",
            with_sign(mantissa),
            format_exponent(exponent, exponent_len)
        )
    });
    pad_left(words.collect())
}

impl Elements {
    fn new(
        Element {
            dtype,
            foreign_type,
        }: Element,
        bytes: &[u8],
    ) -> Self {
        match foreign_type {
            Some(ForeignType::Safetensors(name)) => {
                let decode = decoder(name);
                let short_float = |&byte: &u8| {
                    let exact = decode(byte);
                    let short = exact;
                    ShortFloat { exact, short }
                };
                return Self::ShortFloat(bytes.iter().map(short_float).collect(), DType::F64);
            }
            Some(ForeignType::Numpy(numpy)) => {
                return Self::Other(PrintedElements::new(&numpy.element, bytes));
            }
            None => {}
        }
        match dtype {
            DType::Bool => Self::Bool(bytes.iter().map(|&byte| byte != 0).collect()),
            DType::I8 => Self::Int(map_elements(bytes, |b| i8::from_ne_bytes(b).into())),
            DType::U8 => Self::Int(map_elements(bytes, |b| u8::from_ne_bytes(b).into())),
            DType::I16 => Self::Int(map_elements(bytes, |b| i16::from_ne_bytes(b).into())),
            DType::U16 => Self::Int(map_elements(bytes, |b| u16::from_ne_bytes(b).into())),
            DType::I32 => Self::Int(map_elements(bytes, |b| i32::from_ne_bytes(b).into())),
            DType::U32 => Self::Int(map_elements(bytes, |b| u32::from_ne_bytes(b).into())),
            DType::I64 => Self::Int(map_elements(bytes, |b| i64::from_ne_bytes(b).into())),
            DType::U64 => Self::Int(map_elements(bytes, |b| u64::from_ne_bytes(b).into())),
            DType::F16 => Self::ShortFloat(map_elements(bytes, ShortFloat::f16), dtype),
            DType::BF16 => Self::ShortFloat(map_elements(bytes, ShortFloat::bf16), dtype),
            DType::F32 => Self::ShortFloat(map_elements(bytes, ShortFloat::f32), dtype),
            DType::Complex64 => {
                let numbers = map_elements(bytes, ShortFloat::f32);
                Self::Complex(numbers.as_chunks().0.to_vec(), dtype)
            }
            DType::Complex128 => {
                let numbers = map_elements(bytes, ShortFloat::f64);
                Self::Complex(numbers.as_chunks().0.to_vec(), dtype)
            }
            // `DType` can get more types. Types without an arm are shown as f64.
            _ => Self::ShortFloat(map_elements(bytes, ShortFloat::f64), dtype),
        }
    }

    /// Returns the printed texts of the elements of an array, padded to one length.
    fn format_words(&self) -> Vec<String> {
        match self {
            Self::Bool(values) => {
                let word = |&value: &bool| if value { " True" } else { "False" }.to_owned();
                values.iter().map(word).collect()
            }
            Self::Int(values) => pad_left(values.iter().map(i128::to_string).collect()),
            Self::Other(printed) => printed.words.clone(),
            Self::ShortFloat(values, dtype) => format_floats(values, *dtype, false),
            Self::Complex(values, dtype) => {
                let component_values =
                    |at: usize| values.iter().map(|value| value[at]).collect::<Vec<_>>();
                let real_parts = format_floats(&component_values(0), *dtype, false);
                let imaginary_parts = format_floats(&component_values(1), *dtype, true);
                let word = |(real_part, imaginary_part): (String, String)| {
                    let digits = imaginary_part.trim_end();
                    format!("{real_part}{digits}j{}", &imaginary_part[digits.len()..])
                };
                iter::zip(real_parts, imaginary_parts).map(word).collect()
            }
        }
    }

    /// Returns the printed text of the only element of an array without dimensions.
    fn format_scalar(&self) -> String {
        match self {
            Self::Bool(values) if values.contains(&true) => "True".into(),
            Self::Bool(_) => "False".into(),
            Self::Int(values) => values.iter().map(i128::to_string).collect(),
            Self::Other(printed) => printed.scalars.concat(),
            Self::ShortFloat(values, dtype) => values
                .iter()
                .map(|value| value.format_alone(*dtype))
                .collect(),
            Self::Complex(values, dtype) => {
                let part_text = |number: &ShortFloat| {
                    let text = number.format_alone(*dtype);
                    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
                };
                let word = |[real, imaginary]: &[ShortFloat; 2]| {
                    let (re, im) = (part_text(real), part_text(imaginary));
                    match real.exact == 0.0 && real.exact.is_sign_positive() {
                        true => format!("{im}j"),
                        false if im.starts_with('-') => format!("({re}{im}j)"),
                        false => format!("({re}+{im}j)"),
                    }
                };
                values.iter().map(word).collect()
            }
        }
    }

    fn json(&self) -> Vec<Value> {
        let float = |number: &ShortFloat| match number.exact.is_finite() {
            true => Value::from(number.short),
            false => Value::from(number.exact.to_string().to_lowercase()),
        };
        match self {
            Self::Bool(values) => values.iter().map(|&value| value.into()).collect(),
            Self::Int(values) => {
                let integer_json = |&value: &i128| match u64::try_from(value) {
                    Ok(value) => value.into(),
                    Err(_) => i64::try_from(value).map_or(Value::Null, Value::from),
                };
                values.iter().map(integer_json).collect()
            }
            Self::Other(printed) => printed.json.clone(),
            Self::ShortFloat(values, _) => values.iter().map(float).collect(),
            Self::Complex(values, _) => {
                let pair = |value: &[ShortFloat; 2]| value.iter().map(float).collect();
                values.iter().map(pair).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show_array(dtype: DType, shape: &[usize], bytes: &[u8], all: bool) -> ShownArray {
        let mut shown = ShownArray::new(dtype.into(), shape, all);
        // The pieces end within elements.
        for piece in bytes.chunks(7) {
            shown.write(piece).unwrap();
        }
        shown
    }

    fn shown_text<const N: usize>(dtype: DType, shape: &[usize], numbers: &[[u8; N]]) -> String {
        show_array(dtype, shape, numbers.as_flattened(), false).text()
    }

    /// NumPy 2.3 printed these texts.
    #[test]
    fn values_are_printed_as_by_numpy() {
        let f32s = |numbers: &[f32]| numbers.iter().map(|x| x.to_ne_bytes()).collect::<Vec<_>>();
        let f64s = |numbers: &[f64]| numbers.iter().map(|x| x.to_ne_bytes()).collect::<Vec<_>>();
        let (nan, infinity) = (f32::NAN, f32::INFINITY);
        let floats = f32s(&[0.1, 1.0, -2.5, 1e6 / 3.0, 3.0, 0.0]);
        let special = f32s(&[nan, -infinity, 1.5, 2.0]);
        let complex_bytes = f32s(&[1.0, 2.0, -0.5, -3.0]);
        let f64_bytes = f64s(&[std::f64::consts::PI, -1e-5, 1e20, f64::NAN]);
        let f16_bytes = [0.1, -2.0, infinity].map(|x| f16::from_f32(x).to_ne_bytes());
        let bf16_bytes = [0.1, -2.0].map(|x| bf16::from_f32(x).to_ne_bytes());
        let i64_bytes = [i64::MIN, 0, 1, 2].map(i64::to_ne_bytes);
        for (text, expected) in [
            (
                shown_text(DType::F32, &[2, 3], &floats),
                "[[ 1.0000000e-01  1.0000000e+00 -2.5000000e+00]\n \
                 [ 3.3333334e+05  3.0000000e+00  0.0000000e+00]]",
            ),
            (
                shown_text(DType::F64, &[4], &f64_bytes),
                "[ 3.14159265e+00 -1.00000000e-05  1.00000000e+20             nan]",
            ),
            (shown_text(DType::F16, &[3], &f16_bytes), "[ 0.1 -2.   inf]"),
            (shown_text(DType::BF16, &[2], &bf16_bytes), "[ 0.1 -2. ]"),
            (
                shown_text(DType::F32, &[2, 2], &special),
                "[[ nan -inf]\n [ 1.5  2. ]]",
            ),
            (
                shown_text(DType::Complex64, &[2], &complex_bytes),
                "[ 1. +2.j -0.5-3.j]",
            ),
            (
                shown_text(DType::Bool, &[2, 2], &[[1], [0], [0], [1]]),
                "[[ True False]\n [False  True]]",
            ),
            (
                shown_text(DType::I64, &[2, 2], &i64_bytes),
                "[[-9223372036854775808                    0]\n \
                 [                   1                    2]]",
            ),
            (shown_text::<1>(DType::U8, &[2, 0], &[]), "[]"),
            (shown_text(DType::F32, &[], &floats[..1]), "0.1"),
            (shown_text(DType::F64, &[], &f64s(&[1e16])), "1e+16"),
            (
                shown_text(DType::Complex64, &[], &f32s(&[1.0, -2.0])),
                "(1-2j)",
            ),
            (shown_text(DType::Bool, &[], &[[1]]), "True"),
            (
                shown_text(DType::U8, &[30], &[[123]; 30]),
                "[123 123 123 123 123 123 123 123 123 123 123 123 123 123 123 123 123 123\n \
                 123 123 123 123 123 123 123 123 123 123 123 123]",
            ),
        ] {
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn large_arrays_are_shown_by_their_ends() {
        let numbers: Vec<_> = (0..1001i32).map(i32::to_ne_bytes).collect();
        let line = "[   0    1    2 ...  998  999 1000]";
        assert_eq!(shown_text(DType::I32, &[1001], &numbers), line);
        let numbers: Vec<_> = (0..1800i32).map(i32::to_ne_bytes).collect();
        let expected = "[[[   0    1    2 ...    7    8    9]\n  \
                         [  10   11   12 ...   17   18   19]\n  \
                         [  20   21   22 ...   27   28   29]]\n\n";
        let text = shown_text(DType::I32, &[60, 3, 10], &numbers);
        assert!(text.starts_with(expected), "{text}");
        assert!(text.contains("]]\n\n ...\n\n [["), "{text}");
        assert!(
            text.ends_with("[1790 1791 1792 ... 1797 1798 1799]]]"),
            "{text}"
        );
        let shown = show_array(DType::I32, &[60, 3, 10], numbers.as_flattened(), true);
        assert_eq!(
            shown.text().matches(char::is_numeric).count(),
            10 + 90 * 2 + 900 * 3 + 800 * 4
        );
    }

    #[test]
    fn json_has_all_values() {
        let bytes = [1.5f32, f32::NAN, -f32::INFINITY, 0.1].map(f32::to_ne_bytes);
        let shown = show_array(DType::F32, &[2, 2], bytes.as_flattened(), true);
        assert_eq!(shown.json().to_string(), r#"[[1.5,"nan"],["-inf",0.1]]"#);
    }
}
