//! Reads and writes vector files. Each line of a file holds a call and its expected result.
//!
//! A line is a JSON object; `tests/vectors/README.md` describes its keys. A line that cannot be read is an error; the
//! error gives the line number. Unknown keys are ignored, so files can have additional keys.

use crate::{arguments::Arguments, ops::Operation};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, error, fmt};

/// A shape and its values, row-major.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tensor {
    /// The size of each dimension.
    pub shape: Vec<usize>,
    /// The values. Their number is the product of the sizes. In a case of floating-point elements they are the
    /// elements' bits, each as a signed integer of the element's size.
    pub data: Vec<i64>,
}

/// The expected outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// The call returns this result.
    Success(Tensor),
    /// The call fails with this error.
    Error {
        /// The tag of the error, such as `out_of_range`.
        kind: String,
        /// The message of TensorFlow, or of the reference for a random case. Empty if the line has none.
        message: String,
        /// The result of the gather if out-of-range tuples give zeros. `None` for another operation or error, or if the
        /// line lacks this result.
        zero_fill: Option<Tensor>,
        /// The result of the scatter if the rows of out-of-range tuples are dropped. `None` for another operation or
        /// error, or if the line lacks this result.
        ignore: Option<Tensor>,
    },
}

/// One line of a vector file, or a random case.
#[derive(Clone, Debug)]
pub struct Case {
    /// The line number in the file, from 1. For a random case, the case's number in the seed's sequence, from 0.
    pub line: usize,
    /// The operation that the case calls.
    pub op: Operation,
    /// TensorFlow's name of the element type. A case of floating-point numbers runs in this type, and a conversion runs
    /// in the type of its argument `from`. All other cases run in several types, one for each `Variant`.
    pub dtype: String,
    /// The expected outcome of the call.
    pub expected: Expectation,
    /// The operation's tensors, by name, such as `params` and `indices`.
    pub tensors: BTreeMap<String, Tensor>,
    /// The arguments that are not tensors, by name, such as `axis`.
    pub args: Map<String, Value>,
}

/// The reason why a line is not a case, or why a case does not have valid arguments for its operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// The line number in the file, from 1. For a random case, its number in the seed's sequence, from 0.
    pub line: usize,
    /// The reason, as text.
    pub reason: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl error::Error for BadLine {}

/// Parses the cases of a vector file, one per line. Blank lines are skipped.
pub fn parse(text: &str) -> impl Iterator<Item = Result<Case, BadLine>> {
    text.lines()
        .zip(1..)
        .filter(|(line, _)| !line.trim().is_empty())
        .map(|(line, number)| {
            parse_line(line, number).map_err(|reason| BadLine {
                line: number,
                reason,
            })
        })
}

impl Case {
    /// Makes a case that has no answer yet: its expected result is an empty tensor.
    pub fn new<const N: usize>(
        op: Operation,
        tensors: [(&str, Tensor); N],
        args: Map<String, Value>,
    ) -> Self {
        let owned_name = |(name, tensor): (&str, _)| (name.to_owned(), tensor);
        Self {
            line: 1,
            op,
            dtype: "int32".to_owned(),
            expected: Expectation::Success(Tensor {
                shape: vec![0],
                data: Vec::new(),
            }),
            tensors: tensors.map(owned_name).into(),
            args,
        }
    }

    /// Formats the case as a line of a vector file.
    pub fn to_line(&self) -> String {
        let tensor_json = |(name, tensor): (&String, &Tensor)| {
            let is_arange1 = tensor
                .data
                .iter()
                .copied()
                .eq((1..).take(tensor.data.len()));
            let data = match &tensor.data[..] {
                [_, _, ..] if is_arange1 => "arange1".into(),
                data => serde_json::json!(data),
            };
            let tensor = serde_json::json!({ "shape": tensor.shape, "data": data });
            (name.clone(), tensor)
        };
        let mut line = serde_json::json!({
            "op": self.op.name(),
            "dtype": self.dtype,
            "tensors": self.tensors.iter().map(tensor_json).collect::<Map<_, _>>(),
            "args": self.args,
        });
        match &self.expected {
            Expectation::Success(tensor) => line["expected"] = serde_json::json!(tensor),
            Expectation::Error {
                kind,
                message,
                zero_fill,
                ignore,
            } => {
                line["error"] = true.into();
                line["error_kind"] = kind.as_str().into();
                line["error_message"] = message.as_str().into();
                for (name, tensor) in [("zero_fill", zero_fill), ("ignore", ignore)] {
                    if let Some(tensor) = tensor {
                        line[name] = serde_json::json!(tensor);
                    }
                }
            }
        }
        line.to_string()
    }

    /// Returns the tensor with this name, such as `input`.
    ///
    /// # Errors
    ///
    /// Fails if the case has no tensor of this name. The error has the line number.
    pub fn tensor(&self, name: &str) -> Result<&Tensor, BadLine> {
        self.tensors
            .get(name)
            .ok_or_else(|| self.bad(format!("there is no tensor `{name}`")))
    }

    /// Returns the arguments that are not tensors.
    pub fn arguments(&self) -> Arguments<'_> {
        Arguments {
            line: self.line,
            args: &self.args,
        }
    }

    /// Makes an error about this case, with its line number.
    pub fn bad(&self, reason: impl Into<String>) -> BadLine {
        BadLine {
            line: self.line,
            reason: reason.into(),
        }
    }
}

#[derive(Deserialize)]
struct RawTensor {
    shape: Vec<usize>,
    data: Value,
}

#[derive(Deserialize)]
struct RawCase {
    op: String,
    dtype: String,
    tensors: BTreeMap<String, RawTensor>,
    args: Map<String, Value>,
    expected: Option<RawTensor>,
    #[serde(default)]
    error: bool,
    error_kind: Option<String>,
    error_message: Option<String>,
    zero_fill: Option<RawTensor>,
    ignore: Option<RawTensor>,
}

fn parse_line(text: &str, line_number: usize) -> Result<Case, String> {
    // The parser gets each line as a separate document, so its messages name line 1. That number is removed, because it
    // would mislead.
    let raw_case: RawCase = serde_json::from_str(text).map_err(|e| {
        let (reason, column) = (e.to_string(), e.column());
        let reason = reason.split(" at line ").next().unwrap_or(&reason);
        format!("{reason} (column {column})")
    })?;
    let op = Operation::named(&raw_case.op)
        .ok_or_else(|| format!("there is no operation `{}`", raw_case.op))?;
    let expected = match (raw_case.expected, raw_case.error) {
        (Some(expected), false) => Expectation::Success(resolve_tensor("expected", expected)?),
        (None, true) => Expectation::Error {
            kind: raw_case
                .error_kind
                .ok_or("an error needs an `error_kind`")?,
            message: raw_case.error_message.unwrap_or_default(),
            zero_fill: raw_case
                .zero_fill
                .map(|t| resolve_tensor("zero_fill", t))
                .transpose()?,
            ignore: raw_case
                .ignore
                .map(|t| resolve_tensor("ignore", t))
                .transpose()?,
        },
        (Some(_), true) => return Err("both `expected` and `error` are given".into()),
        (None, false) => return Err("neither `expected` nor `error` is given".into()),
    };
    let tensors = raw_case.tensors.into_iter().map(|(name, t)| {
        let tensor = resolve_tensor(&name, t)?;
        Ok((name, tensor))
    });
    Ok(Case {
        line: line_number,
        op,
        dtype: raw_case.dtype,
        expected,
        tensors: tensors.collect::<Result<_, String>>()?,
        args: raw_case.args,
    })
}

/// The largest number of elements of a tensor in a vector file. Without this limit, a short line with `"arange"` could
/// request any amount of memory.
const MAX_ELEMENTS: usize = 1 << 24;

fn resolve_tensor(name: &str, raw: RawTensor) -> Result<Tensor, String> {
    let shape = raw.shape;
    let count = if shape.contains(&0) {
        Some(0)
    } else {
        shape
            .iter()
            .try_fold(1_usize, |count, &size| count.checked_mul(size))
    };
    let count = count
        .filter(|&count| count <= MAX_ELEMENTS)
        .ok_or_else(|| {
            format!("tensor `{name}` has shape {shape:?}: more than {MAX_ELEMENTS} elements")
        })?;
    let data: Vec<i64> = match &raw.data {
        Value::String(text) if text == "arange" => (0..).take(count).collect(),
        Value::String(text) if text == "arange1" => (1..).take(count).collect(),
        Value::Array(list) => list
            .iter()
            .map(|value| {
                value.as_i64().ok_or_else(|| {
                    format!("tensor `{name}` has the value {value}, not a 64-bit integer")
                })
            })
            .collect::<Result<_, _>>()?,
        _ => {
            return Err(format!(
                "the data of tensor `{name}` must be \"arange\", \"arange1\" or a list of integers"
            ));
        }
    };
    if data.len() != count {
        let length = data.len();
        return Err(format!(
            "tensor `{name}` has {length} values, but its shape {shape:?} needs {count}"
        ));
    }
    Ok(Tensor { shape, data })
}
