//! Vector files: the call and the expected result of each line.
//!
//! A line is a JSON object; `tests/vectors/README.md` describes its keys. A bad line is an error with its line
//! number. Unknown keys are ignored, so that files may have more.

use crate::{arguments::Arguments, ops::Operation};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, error, fmt};

/// A shape and its values, row-major.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tensor {
    /// Its sizes.
    pub shape: Vec<usize>,
    /// Its values.
    pub data: Vec<i64>,
}

/// The expected result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// A result.
    Success(Tensor),
    /// An error.
    Error {
        /// Its tag.
        kind: String,
        /// TensorFlow's text.
        message: String,
        /// The result if bad index rows become zeros.
        zero_fill: Option<Tensor>,
        /// The result if bad index rows are dropped.
        ignore: Option<Tensor>,
    },
}

/// One line of a vector file.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its line number in the file, from 1.
    pub line: usize,
    /// The operation.
    pub op: Operation,
    /// The element type in TensorFlow.
    pub dtype: String,
    /// The expected result.
    pub expected: Expectation,
    /// The tensors, by name.
    pub tensors: BTreeMap<String, Tensor>,
    /// The other arguments, by name.
    pub args: Map<String, Value>,
}

/// A line that is not a case, or a case without something that its operation needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Its line number in the file, from 1.
    pub line: usize,
    /// The error.
    pub reason: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl error::Error for BadLine {}

/// The cases of a vector file, one per line; empty lines are skipped.
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
    /// A case without an expected result.
    pub fn new<const N: usize>(
        op: Operation,
        tensors: [(&str, Tensor); N],
        args: Map<String, Value>,
    ) -> Self {
        let named = |(name, tensor): (&str, _)| (name.to_owned(), tensor);
        Self {
            line: 1,
            op,
            dtype: "int32".to_owned(),
            expected: Expectation::Success(Tensor {
                shape: vec![0],
                data: Vec::new(),
            }),
            tensors: tensors.map(named).into(),
            args,
        }
    }

    /// The case as a line of a vector file.
    pub fn to_line(&self) -> String {
        let tensor = |(name, tensor): (&String, &Tensor)| {
            let counted = tensor
                .data
                .iter()
                .copied()
                .eq((1..).take(tensor.data.len()));
            let data = match &tensor.data[..] {
                [_, _, ..] if counted => "arange1".into(),
                data => serde_json::json!(data),
            };
            let tensor = serde_json::json!({ "shape": tensor.shape, "data": data });
            (name.clone(), tensor)
        };
        let mut line = serde_json::json!({
            "op": self.op.name(),
            "dtype": self.dtype,
            "tensors": self.tensors.iter().map(tensor).collect::<Map<_, _>>(),
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

    /// A tensor by its name, as in `input`.
    ///
    /// # Errors
    ///
    /// An error with the line number.
    pub fn tensor(&self, name: &str) -> Result<&Tensor, BadLine> {
        self.tensors
            .get(name)
            .ok_or_else(|| self.bad(format!("there is no tensor `{name}`")))
    }

    /// The other arguments.
    pub fn arguments(&self) -> Arguments<'_> {
        Arguments {
            line: self.line,
            args: &self.args,
        }
    }

    /// An error about this case, with its line.
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

fn parse_line(text: &str, line: usize) -> Result<Case, String> {
    // Each line is a document of its own to the parser, whose line number would mislead.
    let raw: RawCase = serde_json::from_str(text).map_err(|e| {
        let (reason, column) = (e.to_string(), e.column());
        let reason = reason.split(" at line ").next().unwrap_or(&reason);
        format!("{reason} (column {column})")
    })?;
    let op =
        Operation::named(&raw.op).ok_or_else(|| format!("there is no operation `{}`", raw.op))?;
    let expected = match (raw.expected, raw.error) {
        (Some(expected), false) => Expectation::Success(resolve("expected", expected)?),
        (None, true) => Expectation::Error {
            kind: raw.error_kind.ok_or("an error needs an `error_kind`")?,
            message: raw.error_message.unwrap_or_default(),
            zero_fill: raw.zero_fill.map(|t| resolve("zero_fill", t)).transpose()?,
            ignore: raw.ignore.map(|t| resolve("ignore", t)).transpose()?,
        },
        (Some(_), true) => return Err("both `expected` and `error` are given".into()),
        (None, false) => return Err("neither `expected` nor `error` is given".into()),
    };
    let tensors = raw.tensors.into_iter().map(|(name, t)| {
        let tensor = resolve(&name, t)?;
        Ok((name, tensor))
    });
    Ok(Case {
        line,
        op,
        dtype: raw.dtype,
        expected,
        tensors: tensors.collect::<Result<_, String>>()?,
        args: raw.args,
    })
}

/// The most elements of a tensor: `"arange"` lets a short line request any amount of memory.
const MAX_ELEMENTS: usize = 1 << 24;

fn resolve(name: &str, raw: RawTensor) -> Result<Tensor, String> {
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
