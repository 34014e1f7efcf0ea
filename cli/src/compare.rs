//! `wgslice compare`: reports whether two arrays are equal, and where they differ.

use crate::{
    args::Global,
    failure::{EXIT_DIFFERENT, Failure},
    files::{Array, Element, ForeignType, Source},
    literal,
    pieces::{ReadProblem, SlicedArray},
    print, progress,
    report::ArraySummary,
    units,
    values::{self, ShownArray},
};
use half::{bf16, f16};
use serde_json::{Value, json};
use std::process::ExitCode;
use wgslice::{DType, SliceSpec, spec::SliceItem};

/// Compare two arrays: their shapes, types and elements
///
/// Without a tolerance, elements are equal if their bits are equal: NaN equals itself, 0 and -0
/// differ, and so do arrays of different types. The order of elements and bytes in a file does not
/// matter.
#[derive(Debug, clap::Args)]
#[command(aliases = ["diff", "cmp"])]
#[command(after_help = "\
Examples:
  wgslice compare before.npy after.npy
  wgslice compare model.safetensors#wte tuned.safetensors#wte --tolerance 1e-3
  wgslice compare photo.png result.png --slice '100:200, ::-1'

Exit codes: 0 equal, 1 different, 2 an error, such as a missing file")]
pub(crate) struct Compare {
    /// The first array
    a: Source,
    /// The second array
    b: Source,
    /// Compare this slice of both arrays
    #[arg(long, value_name = "SPEC", allow_hyphen_values = true)]
    slice: Option<String>,
    /// Numbers are equal if they differ by at most N, even if their types differ
    #[arg(long, value_name = "N", value_parser = parse_tolerance)]
    tolerance: Option<f64>,
}

fn parse_tolerance(text: &str) -> Result<f64, String> {
    let parsed = text.parse().ok().filter(|&number: &f64| number >= 0.0);
    parsed.ok_or_else(|| format!("{text:?} is not a number of at least 0"))
}

pub(crate) fn run(global: &Global, args: &Compare) -> Result<ExitCode, Failure> {
    let spec = match &args.slice {
        Some(text) => literal::parse_expression(text, "--slice")?,
        None => SliceSpec::new([SliceItem::Ellipsis]),
    };
    let sources = [&args.a, &args.b];
    let arrays = [
        literal::read_in_stored_order(&args.a)?,
        literal::read_in_stored_order(&args.b)?,
    ];
    let [a, b] = [0, 1].map(|at| {
        let summary = ArraySummary::new(sources[at], arrays[at].shape());
        SlicedArray::new(&arrays[at], &spec).map_err(Failure::with_context(summary))
    });
    let (a, b) = (a?, b?);
    let elements = [0, 1].map(|at| arrays[at].element());
    let is_comparable = a.shape() == b.shape()
        && (args.tolerance.is_some() || elements[0].name() == elements[1].name());
    let mut differences = Differences::default();
    if is_comparable {
        compare_pieces(args, [&a, &b], &arrays, &mut differences)?;
    }
    let comparison = Comparison {
        args,
        is_equal: is_comparable && differences.different_count == 0,
        is_comparable,
        shapes: [a.shape(), b.shape()],
        elements,
        differences,
    };
    if global.json {
        print::print_json(&comparison.json())?;
    } else if !print::is_quiet() {
        comparison.lines().iter().for_each(print::print_line);
    }
    Ok(if comparison.is_equal {
        ExitCode::SUCCESS
    } else {
        EXIT_DIFFERENT.into()
    })
}

/// Compares two slices of one shape, piece by piece.
fn compare_pieces(
    args: &Compare,
    [a, b]: [&SlicedArray<'_>; 2],
    arrays: &[Array; 2],
    differences: &mut Differences,
) -> Result<(), Failure> {
    /// The size of a piece in bytes: pieces of both arrays fit into a cache.
    const PIECE_BYTES: usize = 1 << 20;
    /// The size of a piece in bytes if an array is in Fortran order. The rows of such an array are scattered over the
    /// file, so longer pieces are faster.
    const FORTRAN_PIECE_BYTES: usize = 1 << 26;
    let is_fortran = |array: &Array| array.stored().is_some_and(|stored| stored.column_major);
    let piece_bytes = if arrays.iter().any(is_fortran) {
        FORTRAN_PIECE_BYTES
    } else {
        PIECE_BYTES
    };
    let elements = [0, 1].map(|at| arrays[at].element());
    let [a_size, b_size] = elements.map(Element::size);
    // Elements of zero bytes cannot differ.
    if a_size == 0 || b_size == 0 {
        return Ok(());
    }
    let element_count: usize = a.shape().iter().product();
    // Each piece has the same number of elements of both arrays.
    let pieces = a.cut_into_pieces((piece_bytes / a_size.max(b_size)).max(1) * a_size);
    progress::with_byte_bar(element_count * a_size, |progress| {
        let mut begin = 0;
        for piece in &pieces {
            let read = |sliced: &SlicedArray<'_>, source: &Source| {
                sliced.read(piece).map_err(|problem| match problem {
                    ReadProblem::File(error) => {
                        Failure::usage(format_args!("cannot read {source}: {error}"))
                    }
                    ReadProblem::Library(error) => Failure::with_context(source)(error),
                })
            };
            let bytes = [read(a, &args.a)?, read(b, &args.b)?];
            let is_same_type = elements[0] == elements[1];
            if !(is_same_type && bytes[0] == bytes[1]) {
                let element_pairs = bytes[0]
                    .chunks_exact(a_size)
                    .zip(bytes[1].chunks_exact(b_size));
                for (at, (a, b)) in element_pairs.enumerate() {
                    if !(is_same_type && a == b) {
                        differences.add(begin + at, [a, b], elements, args.tolerance);
                    }
                }
            }
            begin += bytes[0].len() / a_size;
            progress.advance_by(bytes[0].len());
        }
        Ok(())
    })
}

/// A pair of elements, and their index in row-major order.
#[derive(Debug)]
struct ElementPair {
    flat_index: usize,
    bytes: [Vec<u8>; 2],
}

/// The differences found among pairs of elements with different bits or types.
#[derive(Debug, Default)]
struct Differences {
    /// The number of pairs that are not equal.
    different_count: usize,
    first_different: Option<ElementPair>,
    /// The pair whose numbers differ most, even if they are equal within the tolerance.
    largest: Option<(f64, ElementPair)>,
}

impl Differences {
    fn add(
        &mut self,
        flat_index: usize,
        bytes: [&[u8]; 2],
        elements: [Element; 2],
        tolerance: Option<f64>,
    ) {
        let numbers = [0, 1].map(|i| Number::read_element(elements[i], bytes[i]));
        let difference = Number::difference(numbers);
        let pair = || ElementPair {
            flat_index,
            bytes: bytes.map(<[u8]>::to_vec),
        };
        let is_equal = match (tolerance, difference) {
            (Some(tolerance), Some(difference)) => difference <= tolerance,
            _ => false,
        };
        if !is_equal {
            self.different_count += 1;
            self.first_different.get_or_insert_with(pair);
        }
        if let Some(difference) = difference
            && self
                .largest
                .as_ref()
                .is_none_or(|(largest, _)| difference > *largest)
        {
            self.largest = Some((difference, pair()));
        }
    }
}

/// The result of a comparison, which is printed as text or as JSON.
struct Comparison<'a> {
    args: &'a Compare,
    is_equal: bool,
    /// True if the elements were compared.
    is_comparable: bool,
    shapes: [&'a [usize]; 2],
    elements: [Element; 2],
    differences: Differences,
}

impl Comparison<'_> {
    fn lines(&self) -> Vec<String> {
        let &Self {
            args,
            is_equal,
            is_comparable,
            shapes,
            elements,
            ref differences,
        } = self;
        let (a, b) = (&args.a, &args.b);
        if !is_comparable {
            let [shape_a, shape_b] = shapes.map(units::format_dims);
            let [type_a, type_b] = elements.map(Element::name);
            let mut lines = Vec::new();
            if shapes[0] != shapes[1] {
                lines.push(format!("{a} is {shape_a}, {b} is {shape_b}"));
            }
            if type_a != type_b {
                lines.push(format!("{a} holds {type_a}, {b} holds {type_b}"));
            }
            return lines;
        }
        let element_count: usize = shapes[0].iter().product();
        let mut lines = vec![match (is_equal, args.tolerance) {
            (false, None) => format!(
                "{} of {} differ",
                differences.different_count,
                units::format_count(element_count, "element")
            ),
            (false, Some(tolerance)) => format!(
                "{} of {} differ by more than {tolerance}",
                differences.different_count,
                units::format_count(element_count, "element")
            ),
            (true, None) => format!(
                "equal: {} {}",
                units::format_dims(shapes[0]),
                elements[0].name()
            ),
            (true, Some(tolerance)) => {
                format!(
                    "equal within {tolerance}: {}",
                    units::format_dims(shapes[0])
                )
            }
        }];
        let pair_text = |pair: &ElementPair| {
            let [a, b] = [0, 1].map(|i| element_text(elements[i], &pair.bytes[i]));
            format!("{a} and {b}")
        };
        let position_text = |pair: &ElementPair| match shapes[0] {
            [] => String::new(),
            shape => format!(" at {:?}", position_of_element(pair.flat_index, shape)),
        };
        if let Some(first) = &differences.first_different {
            lines.push(format!(
                "the first{}: {}",
                position_text(first),
                pair_text(first)
            ));
        }
        if let Some((difference, pair)) = differences
            .largest
            .as_ref()
            .filter(|(largest, _)| *largest > 0.0)
        {
            let (position, text) = (position_text(pair), pair_text(pair));
            lines.push(format!(
                "the largest difference, {difference},{position}: {text}"
            ));
        }
        lines
    }

    fn json(&self) -> Value {
        let &Self {
            args,
            shapes,
            elements,
            ref differences,
            ..
        } = self;
        let input_json = |source: &Source, at: usize| json!({"path": source.to_string(), "shape": shapes[at], "dtype": elements[at].name()});
        let mut report = json!({
            "inputs": [input_json(&args.a, 0), input_json(&args.b, 1)],
            "equal": self.is_equal,
        });
        if !self.is_comparable {
            return report;
        }
        let pair_json = |pair: &ElementPair| {
            let values = [0, 1].map(|i| element_json(elements[i], &pair.bytes[i]));
            json!({"position": position_of_element(pair.flat_index, shapes[0]), "values": values})
        };
        report["elements"] = shapes[0].iter().product::<usize>().into();
        report["different"] = differences.different_count.into();
        report["first"] = differences
            .first_different
            .as_ref()
            .map_or(Value::Null, pair_json);
        report["largest"] =
            differences
                .largest
                .as_ref()
                .map_or(Value::Null, |(difference, pair)| {
                    let mut largest = pair_json(pair);
                    // JSON has no infinity, so it is written as a string.
                    largest["difference"] = match difference.is_finite() {
                        true => (*difference).into(),
                        false => "inf".into(),
                    };
                    largest
                });
        report
    }
}

/// Returns the position of the element with index `flat` in an array of this shape.
fn position_of_element(mut flat: usize, shape: &[usize]) -> Vec<usize> {
    let mut position = vec![0; shape.len()];
    for (coordinate, size) in position.iter_mut().zip(shape).rev() {
        (*coordinate, flat) = (flat % size, flat / size);
    }
    position
}

fn shown_element(element: Element, bytes: &[u8]) -> ShownArray {
    let mut shown = ShownArray::new(element, &[], true);
    // A single element fits into memory, so this cannot fail.
    let _ = shown.write(bytes);
    shown
}

fn element_text(element: Element, bytes: &[u8]) -> String {
    shown_element(element, bytes).text()
}

fn element_json(element: Element, bytes: &[u8]) -> Value {
    shown_element(element, bytes).json()
}

/// The numeric value of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Int(i128),
    Float(f64),
    Complex([f64; 2]),
}

impl Number {
    /// Reads an element. Returns `None` if it is not a number.
    fn read_element(element: Element, bytes: &[u8]) -> Option<Self> {
        fn as_int<const N: usize, T: Into<i128>>(
            bytes: &[u8],
            decode: fn([u8; N]) -> T,
        ) -> Option<Number> {
            Some(Number::Int(decode(bytes.try_into().ok()?).into()))
        }
        let to_float = |bytes: &[u8]| Some(f64::from(f32::from_ne_bytes(bytes.try_into().ok()?)));
        let to_double = |bytes: &[u8]| Some(f64::from_ne_bytes(bytes.try_into().ok()?));
        let to_half_bits = |bytes: &[u8]| Some(u16::from_ne_bytes(bytes.try_into().ok()?));
        match element.foreign_type {
            Some(ForeignType::Safetensors(name)) => {
                return Some(Self::Float(values::decode_8_bit(name, *bytes.first()?)));
            }
            Some(ForeignType::Numpy(_)) => return None,
            None => {}
        }
        match element.dtype {
            DType::Bool => as_int(bytes, |b: [u8; 1]| b[0] != 0),
            DType::I8 => as_int(bytes, i8::from_ne_bytes),
            DType::U8 => as_int(bytes, u8::from_ne_bytes),
            DType::I16 => as_int(bytes, i16::from_ne_bytes),
            DType::U16 => as_int(bytes, u16::from_ne_bytes),
            DType::I32 => as_int(bytes, i32::from_ne_bytes),
            DType::U32 => as_int(bytes, u32::from_ne_bytes),
            DType::I64 => as_int(bytes, i64::from_ne_bytes),
            DType::U64 => as_int(bytes, u64::from_ne_bytes),
            DType::F16 => Some(Self::Float(f16::from_bits(to_half_bits(bytes)?).to_f64())),
            DType::BF16 => Some(Self::Float(bf16::from_bits(to_half_bits(bytes)?).to_f64())),
            DType::F32 => to_float(bytes).map(Self::Float),
            DType::F64 => to_double(bytes).map(Self::Float),
            DType::Complex64 => Some(Self::Complex([
                to_float(&bytes[..4])?,
                to_float(&bytes[4..])?,
            ])),
            DType::Complex128 => Some(Self::Complex([
                to_double(&bytes[..8])?,
                to_double(&bytes[8..])?,
            ])),
            _ => None,
        }
    }

    fn real_and_imaginary(self) -> [f64; 2] {
        match self {
            #[expect(
                clippy::cast_precision_loss,
                reason = "as in NumPy, if the other number is a float"
            )]
            Self::Int(number) => [number as f64, 0.0],
            Self::Float(number) => [number, 0.0],
            Self::Complex(parts) => parts,
        }
    }

    /// Returns the distance between two numbers, or 0 if both are NaN. Returns `None` if only one of them is NaN, or if
    /// an element is not a number.
    fn difference([a, b]: [Option<Self>; 2]) -> Option<f64> {
        let float_distance = |a: f64, b: f64| match (a.is_nan(), b.is_nan()) {
            (true, true) => Some(0.0),
            (false, false) if a == b => Some(0.0),
            (false, false) => Some((a - b).abs()),
            _ => None,
        };
        match (a?, b?) {
            #[expect(
                clippy::cast_precision_loss,
                reason = "the distance is printed and compared with a tolerance"
            )]
            (Self::Int(a), Self::Int(b)) => Some(a.abs_diff(b) as f64),
            (a, b) => {
                let ([a, i], [b, j]) = (a.real_and_imaginary(), b.real_and_imaginary());
                Some(float_distance(a, b)?.hypot(float_distance(i, j)?))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_large_infinite_nan_and_complex_numbers() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        for (a, b, expected) in [
            (
                Number::Int(i128::from(u64::MAX)),
                Number::Int(-1),
                Some(18_446_744_073_709_551_616.0),
            ),
            (Number::Int(3), Number::Float(2.5), Some(0.5)),
            (Number::Float(nan), Number::Float(nan), Some(0.0)),
            (Number::Float(nan), Number::Float(1.0), None),
            (Number::Float(inf), Number::Float(inf), Some(0.0)),
            (Number::Float(inf), Number::Float(-inf), Some(inf)),
            (Number::Float(0.0), Number::Float(-0.0), Some(0.0)),
            (
                Number::Complex([3.0, 0.0]),
                Number::Complex([0.0, 4.0]),
                Some(5.0),
            ),
            (Number::Complex([3.0, nan]), Number::Int(3), None),
        ] {
            assert_eq!(
                Number::difference([Some(a), Some(b)]),
                expected,
                "{a:?} {b:?}"
            );
            assert_eq!(
                Number::difference([Some(b), Some(a)]),
                expected,
                "{b:?} {a:?}"
            );
        }
        assert_eq!(Number::difference([None, Some(Number::Int(1))]), None);
    }
}
