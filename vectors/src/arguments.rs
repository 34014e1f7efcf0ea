//! The arguments of a case, by their names and types.

use crate::case::BadLine;
use serde_json::{Map, Value};
use wgslice::reference::{Indexing, Spec};

/// Arguments, and the line that complaints name.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// Where they come from.
    pub line: usize,
    /// The arguments, by name.
    pub args: &'a Map<String, Value>,
}

/// `begin`, `end`, `strides` and the five masks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// As TensorFlow's.
    pub begin: Vec<i64>,
    /// As TensorFlow's.
    pub end: Vec<i64>,
    /// As TensorFlow's.
    pub strides: Vec<i64>,
    /// Of begin, end, ellipsis, new axis and shrink axis.
    pub masks: [i32; 5],
}

const MASKS: [&str; 5] = [
    "begin_mask",
    "end_mask",
    "ellipsis_mask",
    "new_axis_mask",
    "shrink_axis_mask",
];

/// One step of a view.
#[derive(Clone, Debug)]
pub enum Step {
    /// A slice.
    Slice(Encoded),
    /// The dimensions in another order.
    Transpose(Vec<usize>),
    /// To a larger shape.
    Broadcast(Vec<usize>),
}

impl Arguments<'_> {
    /// A list of integers, as in `begin`.
    ///
    /// # Errors
    ///
    /// Names the line.
    pub fn integers(&self, name: &str) -> Result<Vec<i64>, BadLine> {
        let value = self.get(name)?;
        let integers = value
            .as_array()
            .and_then(|list| list.iter().map(Value::as_i64).collect());
        integers.ok_or_else(|| self.not(name, value, "a list of 64-bit integers"))
    }

    /// A list of sizes, as in `shape`.
    ///
    /// # Errors
    ///
    /// Names the line.
    pub fn sizes(&self, name: &str) -> Result<Vec<usize>, BadLine> {
        let value = self.get(name)?;
        sizes(value).ok_or_else(|| self.not(name, value, "a list of sizes"))
    }

    /// An integer, as in `axis`.
    ///
    /// # Errors
    ///
    /// Names the line.
    pub fn integer(&self, name: &str) -> Result<i64, BadLine> {
        let value = self.get(name)?;
        value
            .as_i64()
            .ok_or_else(|| self.not(name, value, "a 64-bit integer"))
    }

    /// An integer that is not negative, as in `batch_dims`.
    ///
    /// # Errors
    ///
    /// Names the line.
    pub fn size(&self, name: &str) -> Result<usize, BadLine> {
        let value = self.integer(name)?;
        usize::try_from(value).map_err(|_| {
            self.bad(format!(
                "argument `{name}` is {value}, but must be 0 or more"
            ))
        })
    }

    /// A slice.
    ///
    /// # Errors
    ///
    /// Names the line.
    pub fn encoded(&self) -> Result<Encoded, BadLine> {
        let mut masks = [0; 5];
        for (mask, name) in masks.iter_mut().zip(MASKS) {
            let bits = self.integer(name)?;
            *mask = i32::try_from(bits)
                .map_err(|_| self.bad(format!("{name} {bits} is not a 32-bit integer")))?;
        }
        Ok(Encoded {
            begin: self.integers("begin")?,
            end: self.integers("end")?,
            strides: self.integers("strides")?,
            masks,
        })
    }

    /// The steps of a view; none where the argument is left out.
    ///
    /// # Errors
    ///
    /// Names the line.
    pub fn steps(&self, name: &str) -> Result<Vec<Step>, BadLine> {
        let Some(value) = self.args.get(name) else {
            return Ok(Vec::new());
        };
        let wrong = || self.not(name, value, "a list of the steps of a view");
        let step = |step: &Value| {
            let step = step.as_object().ok_or_else(wrong)?;
            if let Some(args) = step.get("strided_slice").and_then(Value::as_object) {
                let args = Arguments { args, ..*self };
                args.encoded().map(Step::Slice)
            } else if let Some(permutation) = step.get("transpose").and_then(sizes) {
                Ok(Step::Transpose(permutation))
            } else if let Some(shape) = step.get("broadcast_to").and_then(sizes) {
                Ok(Step::Broadcast(shape))
            } else {
                Err(wrong())
            }
        };
        value
            .as_array()
            .ok_or_else(wrong)?
            .iter()
            .map(step)
            .collect()
    }

    /// How indices are read: `"negative": "wrap"` and `"out_of_range": "clamp"`.
    ///
    /// # Errors
    ///
    /// Names the line.
    pub fn indexing(&self) -> Result<Indexing, BadLine> {
        Ok(Indexing {
            wrap: self.says("negative", "wrap")?,
            clamp: self.says("out_of_range", "clamp")?,
        })
    }

    fn says(&self, name: &str, word: &str) -> Result<bool, BadLine> {
        match self.args.get(name) {
            None => Ok(false),
            Some(value) if value == word => Ok(true),
            Some(value) => Err(self.not(name, value, &format!("{word:?}, or left out"))),
        }
    }

    fn get(&self, name: &str) -> Result<&Value, BadLine> {
        self.args
            .get(name)
            .ok_or_else(|| self.bad(format!("there is no argument `{name}`")))
    }

    fn not(&self, name: &str, value: &Value, wanted: &str) -> BadLine {
        self.bad(format!("argument `{name}` is {value}, not {wanted}"))
    }

    fn bad(&self, reason: String) -> BadLine {
        BadLine {
            line: self.line,
            reason,
        }
    }
}

fn sizes(value: &Value) -> Option<Vec<usize>> {
    let size = |size: &Value| size.as_u64().and_then(|size| usize::try_from(size).ok());
    value.as_array()?.iter().map(size).collect()
}

impl Encoded {
    /// The same for the reference.
    pub fn spec(&self) -> Spec<'_> {
        let [
            begin_mask,
            end_mask,
            ellipsis_mask,
            new_axis_mask,
            shrink_axis_mask,
        ] = self.masks;
        Spec {
            begin: &self.begin,
            end: &self.end,
            strides: &self.strides,
            begin_mask,
            end_mask,
            ellipsis_mask,
            new_axis_mask,
            shrink_axis_mask,
        }
    }
}
