//! Parses slices and small arrays on the command line. Arrays are written as in `0,5,7`, `-1.5` or `[[0, 1], [2, 3]]`,
//! or as NumPy prints them: `array([], shape=(0, 3), dtype=int32)`.

use crate::{
    failure::Failure,
    files::{self, Array, Source},
};
use half::{bf16, f16};
use std::{ffi::OsStr, path::Path, str::FromStr};
use wgslice::{DType, Error};

/// Parses a slice or an index expression: the text in the brackets of `x[…]`, or all of `x[…]`.
pub(crate) fn parse_expression<T: FromStr<Err = Error>>(
    text: &str,
    argument: &str,
) -> Result<T, Failure> {
    text.parse().map_err(|error| match Path::new(text).is_file() {
        true => Failure::usage(format_args!(
            "{argument} is {text}, which is a file: many inputs need a folder for the results, --to DIR"
        )),
        false => Failure::with_context(argument)(error),
    })
}

/// Reads a file, or parses values on the command line. Keeps the file's order of elements.
pub(crate) fn read_in_stored_order(source: &Source) -> Result<Array, Failure> {
    match Literal::parse(source.text()) {
        Some(literal) if !source.path().exists() => literal.array(literal.dtype()),
        _ => Ok(files::read_stored(source)?),
    }
}

/// The values of an array, and its element type if the text names one.
#[derive(Debug, PartialEq)]
pub(crate) struct Literal {
    text: String,
    shape: Vec<usize>,
    numbers: Vec<Number>,
    /// The element type that the text names with `dtype=`.
    dtype: Option<DType>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Bool(bool),
    Int(i128),
    Float(f64),
}

impl Literal {
    /// Parses a number, numbers separated by commas, nested lists, or an array as NumPy prints it. Returns `None` for
    /// any other text.
    pub(crate) fn parse(text: &OsStr) -> Option<Self> {
        let text = text.to_str()?;
        if let Some(arguments) = printed_arguments(text) {
            return Self::from_arguments(text, arguments);
        }
        // Lists have JSON's form, but a JSON parser would reject infinities.
        let is_nested = text.trim_start().starts_with('[');
        let (mut shape, mut numbers) = (Vec::new(), Vec::new());
        if is_nested {
            let mut rest = text;
            shape = parse_list(&mut rest, &mut numbers)?;
            if !rest.trim().is_empty() {
                return None;
            }
        } else {
            for part in text.split(',') {
                numbers.push(parse_number(part)?);
            }
            if text.contains(',') {
                shape.push(numbers.len());
            }
        }
        let text = text.to_owned();
        Some(Self {
            text,
            shape,
            numbers,
            dtype: None,
        })
    }

    /// Parses the arguments of NumPy's `array`: lists or a number, then optionally a type and the shape of an empty
    /// array.
    fn from_arguments(text: &str, arguments: &str) -> Option<Self> {
        let (mut numbers, mut dtype) = (Vec::new(), None);
        let mut rest = arguments.trim_start();
        let mut shape = match rest.starts_with('[') {
            true => parse_list(&mut rest, &mut numbers)?,
            false => {
                let end = rest.find(',').unwrap_or(rest.len());
                numbers.push(parse_number(&rest[..end])?);
                rest = &rest[end..];
                Vec::new()
            }
        };
        while let Some(option) = rest.trim_start().strip_prefix(',') {
            rest = option.trim_start();
            if let Some(sizes) = rest.strip_prefix("shape=(") {
                let (sizes, following) = sizes.split_once(')')?;
                let sizes = sizes
                    .split(',')
                    .map(str::trim)
                    .filter(|size| !size.is_empty());
                let sizes = sizes.map(|size| size.parse().ok());
                shape = sizes.collect::<Option<Vec<usize>>>()?;
                rest = following;
                // NumPy prints the shape only if the array is empty.
                if !(numbers.is_empty() && shape.contains(&0)) {
                    return None;
                }
            } else if let Some(name) = rest.strip_prefix("dtype=") {
                let end = name.find(',').unwrap_or(name.len());
                let word = name[..end].trim().trim_matches(['\'', '"']);
                let word = ["np.", "numpy."]
                    .iter()
                    .find_map(|prefix| word.strip_prefix(prefix))
                    .unwrap_or(word);
                dtype = Some(DType::ALL.into_iter().find(|dtype| dtype.name() == word)?);
                rest = &name[end..];
            } else {
                break;
            }
        }
        rest.trim().is_empty().then(|| Self {
            text: text.to_owned(),
            shape,
            numbers,
            dtype,
        })
    }

    /// Returns whether the text names an element type with `dtype=`.
    pub(crate) fn has_type(&self) -> bool {
        self.dtype.is_some()
    }

    /// Returns the type that the text names, or else the type that NumPy would give the array.
    pub(crate) fn dtype(&self) -> DType {
        if let Some(dtype) = self.dtype {
            return dtype;
        }
        let has_any = |predicate: fn(&Number) -> bool| self.numbers.iter().any(predicate);
        if has_any(|number| matches!(number, Number::Float(_))) || self.numbers.is_empty() {
            DType::F64
        } else if has_any(|number| matches!(number, Number::Int(_))) {
            DType::I64
        } else {
            DType::Bool
        }
    }

    /// Returns the array, with elements of this type. Fails if a value does not fit the type.
    pub(crate) fn array(&self, dtype: DType) -> Result<Array, Failure> {
        let mut bytes = Vec::new();
        for &number in &self.numbers {
            bytes.extend(number.bytes(dtype).ok_or_else(|| {
                let (text, dtype) = (&self.text, dtype.name());
                Failure::usage(format_args!(
                    "{text} is not an array of {dtype}: a value does not fit"
                ))
            })?);
        }
        Array::new(dtype, self.shape.clone(), bytes)
            .ok_or_else(|| Failure::usage(format_args!("{} is not an array", self.text)))
    }
}

/// Returns the arguments of `array(…)` or `np.array(…)`, or `None` for any other text.
fn printed_arguments(text: &str) -> Option<&str> {
    let text = text.trim();
    let text = ["np.", "numpy."]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
        .unwrap_or(text);
    text.strip_prefix("array(")?.strip_suffix(')')
}

fn parse_number(text: &str) -> Option<Number> {
    match text.trim() {
        "true" | "True" => Some(Number::Bool(true)),
        "false" | "False" => Some(Number::Bool(false)),
        text => match text.parse() {
            Ok(int) => Some(Number::Int(int)),
            Err(_) => text.parse().ok().map(Number::Float),
        },
    }
}

/// Parses a list at the start of `rest`, advances `rest` past it and returns its shape. Returns `None` if it is not a
/// list of items with equal shapes.
fn parse_list(rest: &mut &str, numbers: &mut Vec<Number>) -> Option<Vec<usize>> {
    /// The maximum depth of lists. Arrays have fewer dimensions in practice, and the limit keeps a long text from
    /// overflowing the stack.
    const MAX_DEPTH: usize = 32;
    fn parse_nested(
        rest: &mut &str,
        numbers: &mut Vec<Number>,
        depth: usize,
    ) -> Option<Vec<usize>> {
        *rest = rest.trim_start();
        let Some(inside) = rest.strip_prefix('[') else {
            let end = rest.find([',', ']'])?;
            numbers.push(parse_number(&rest[..end])?);
            *rest = &rest[end..];
            return Some(Vec::new());
        };
        *rest = inside.trim_start();
        if depth == MAX_DEPTH {
            return None;
        }
        let (mut count, mut common_shape) = (0, None);
        while !rest.starts_with(']') {
            let item_shape = parse_nested(rest, numbers, depth + 1)?;
            if *common_shape.get_or_insert_with(|| item_shape.clone()) != item_shape {
                return None;
            }
            count += 1;
            *rest = rest.trim_start();
            match rest.strip_prefix(',') {
                Some(after_comma) => *rest = after_comma.trim_start(),
                None if rest.starts_with(']') => {}
                None => return None,
            }
        }
        *rest = &rest[1..];
        Some(
            [count]
                .into_iter()
                .chain(common_shape.unwrap_or_default())
                .collect(),
        )
    }
    parse_nested(rest, numbers, 0)
}

impl Number {
    /// Returns the bytes of an element, or `None` if the type does not have this value.
    fn bytes(self, dtype: DType) -> Option<Vec<u8>> {
        let int = match self {
            Self::Bool(value) => Some(i128::from(value)),
            Self::Int(value) => Some(value),
            Self::Float(_) => None,
        };
        #[expect(clippy::cast_precision_loss, reason = "as in NumPy")]
        let float = match self {
            Self::Bool(value) => f64::from(u8::from(value)),
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        };
        #[expect(clippy::cast_possible_truncation, reason = "as in NumPy")]
        let as_f32 = float as f32;
        Some(match dtype {
            DType::Bool => vec![u8::try_from(int?).ok().filter(|&value| value < 2)?],
            DType::I8 => i8::try_from(int?).ok()?.to_ne_bytes().into(),
            DType::U8 => u8::try_from(int?).ok()?.to_ne_bytes().into(),
            DType::I16 => i16::try_from(int?).ok()?.to_ne_bytes().into(),
            DType::U16 => u16::try_from(int?).ok()?.to_ne_bytes().into(),
            DType::I32 => i32::try_from(int?).ok()?.to_ne_bytes().into(),
            DType::U32 => u32::try_from(int?).ok()?.to_ne_bytes().into(),
            DType::I64 => i64::try_from(int?).ok()?.to_ne_bytes().into(),
            DType::U64 => u64::try_from(int?).ok()?.to_ne_bytes().into(),
            DType::F16 => f16::from_f64(float).to_ne_bytes().into(),
            DType::BF16 => bf16::from_f64(float).to_ne_bytes().into(),
            DType::F32 => as_f32.to_ne_bytes().into(),
            DType::F64 => float.to_ne_bytes().into(),
            DType::Complex64 => [as_f32, 0.0].map(f32::to_ne_bytes).concat(),
            DType::Complex128 => [float, 0.0].map(f64::to_ne_bytes).concat(),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_arrays() {
        for (text, dtype, shape, bytes) in [
            ("7", DType::U8, &[][..], &[7][..]),
            ("1, 2,255", DType::U8, &[3], &[1, 2, 255]),
            ("[[1,2],[3,-4],]", DType::I8, &[2, 2], &[1, 2, 3, 252]),
            ("[]", DType::U8, &[0], &[]),
            ("[true, False]", DType::Bool, &[2], &[1, 0]),
            ("1.5", DType::BF16, &[], &0x3fc0u16.to_ne_bytes()),
            ("-inf", DType::F16, &[], &0xfc00u16.to_ne_bytes()),
            ("2", DType::F32, &[], &2f32.to_ne_bytes()),
            ("array([1, 2])", DType::U8, &[2], &[1, 2]),
            (
                "np.array([[1], [2]], dtype=np.uint8)",
                DType::U8,
                &[2, 1],
                &[1, 2],
            ),
            ("array(3, dtype='int8')", DType::I8, &[], &[3]),
            (
                "array([], shape=(0, 3), dtype=bool)",
                DType::Bool,
                &[0, 3],
                &[],
            ),
            (
                "array([], dtype=float32, shape=(2, 0))",
                DType::F32,
                &[2, 0],
                &[],
            ),
        ] {
            let literal = Literal::parse(text.as_ref()).expect(text);
            let array = literal.array(dtype).unwrap();
            assert_eq!((array.shape(), array.bytes()), (shape, bytes), "{text}");
        }
        let dtype = |text: &str| Literal::parse(text.as_ref()).map(|literal| literal.dtype());
        assert_eq!(dtype("1,2"), Some(DType::I64));
        assert_eq!(dtype("1,2.5"), Some(DType::F64));
        assert_eq!(dtype("true"), Some(DType::Bool));
        assert_eq!(dtype("array([1], dtype=uint16)"), Some(DType::U16));
        assert_eq!(dtype("array([], shape=(0, 3))"), Some(DType::F64));
    }

    #[test]
    fn other_texts_and_values_that_do_not_fit_are_rejected() {
        let deep_list = "[".repeat(100_000);
        for text in [
            "",
            "x.npy",
            "1,",
            "[1",
            "[1]]",
            "[[1],[2,3]]",
            "[1,[2]]",
            "[,]",
            "array()",
            "array([1], shape=(1,))",
            "array([], shape=(2, 3))",
            "array([1], dtype=int7)",
            "array([1], copy=True)",
            "array([1])]",
            &deep_list,
        ] {
            assert_eq!(Literal::parse(text.as_ref()), None, "{text:.9}");
        }
        for (text, dtype) in [("256", DType::U8), ("1.5", DType::I32), ("2", DType::Bool)] {
            let literal = Literal::parse(text.as_ref()).unwrap();
            let error = literal.array(dtype).unwrap_err().to_string();
            assert!(
                error.contains(text) && error.contains(dtype.name()),
                "{error}"
            );
        }
    }
}
