//! The arguments of a case, by their names and types.

use super::case::BadLine;
use serde_json::{Map, Value};
use wgslice::reference::{Indexing, Spec};

/// Arguments, and the line that complaints name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a> {
    pub(crate) line: usize,
    pub(crate) args: &'a Map<String, Value>,
}

/// `begin`, `end`, `strides` and the five masks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Encoded {
    pub(crate) begin: Vec<i64>,
    pub(crate) end: Vec<i64>,
    pub(crate) strides: Vec<i64>,
    /// In the order of [`MASKS`].
    pub(crate) masks: [i32; 5],
}

pub(crate) const MASKS: [&str; 5] = [
    "begin_mask",
    "end_mask",
    "ellipsis_mask",
    "new_axis_mask",
    "shrink_axis_mask",
];

/// One step of a view.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Slice(Encoded),
    Transpose(Vec<usize>),
    Broadcast(Vec<usize>),
}

impl Arguments<'_> {
    /// A list of integers, as in `begin`.
    pub(crate) fn integers(&self, name: &str) -> Result<Vec<i64>, BadLine> {
        let value = self.get(name)?;
        let integers = value
            .as_array()
            .and_then(|list| list.iter().map(Value::as_i64).collect());
        integers.ok_or_else(|| self.not(name, value, "a list of 64-bit integers"))
    }

    /// A list of sizes, as in `shape`.
    pub(crate) fn sizes(&self, name: &str) -> Result<Vec<usize>, BadLine> {
        let value = self.get(name)?;
        sizes(value).ok_or_else(|| self.not(name, value, "a list of sizes"))
    }

    /// An integer, as in `axis`.
    pub(crate) fn integer(&self, name: &str) -> Result<i64, BadLine> {
        let value = self.get(name)?;
        value
            .as_i64()
            .ok_or_else(|| self.not(name, value, "a 64-bit integer"))
    }

    /// An integer that is not negative, as in `batch_dims`.
    pub(crate) fn size(&self, name: &str) -> Result<usize, BadLine> {
        let value = self.integer(name)?;
        usize::try_from(value).map_err(|_| {
            self.bad(format!(
                "argument `{name}` is {value}, but must be 0 or more"
            ))
        })
    }

    /// A slice.
    pub(crate) fn encoded(&self) -> Result<Encoded, BadLine> {
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
    pub(crate) fn steps(&self, name: &str) -> Result<Vec<Step>, BadLine> {
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
    pub(crate) fn indexing(&self) -> Result<Indexing, BadLine> {
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
    pub(crate) fn spec(&self) -> Spec<'_> {
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
