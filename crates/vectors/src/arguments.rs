//! Reads the arguments of a case by name, each as the type that its operation needs.

use crate::reference::Indexing;
use crate::{case::BadLine, step::Step};
use serde_json::{Map, Value};
use wgslice::{options::Combine, spec::TfStridedSlice};

/// The arguments of a case, and the line number for error messages about them.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// The case's line number, which error messages name.
    pub line: usize,
    /// The arguments, by name.
    pub args: &'a Map<String, Value>,
}

impl Arguments<'_> {
    /// Returns a list of integers, such as `begin`.
    ///
    /// # Errors
    ///
    /// Fails if the argument is missing, or is not such a list. The error has the line number.
    pub fn integers(&self, name: &str) -> Result<Vec<i64>, BadLine> {
        let value = self.get(name)?;
        let integers = value
            .as_array()
            .and_then(|list| list.iter().map(Value::as_i64).collect());
        integers.ok_or_else(|| self.wrong_type(name, value, "a list of 64-bit integers"))
    }

    /// Returns a list of sizes, such as `shape`.
    ///
    /// # Errors
    ///
    /// Fails if the argument is missing, or is not such a list. The error has the line number.
    pub fn sizes(&self, name: &str) -> Result<Vec<usize>, BadLine> {
        let value = self.get(name)?;
        sizes(value).ok_or_else(|| self.wrong_type(name, value, "a list of sizes"))
    }

    /// Returns an integer, such as `axis`.
    ///
    /// # Errors
    ///
    /// Fails if the argument is missing, or is not a 64-bit integer. The error has the line number.
    pub fn integer(&self, name: &str) -> Result<i64, BadLine> {
        let value = self.get(name)?;
        value
            .as_i64()
            .ok_or_else(|| self.wrong_type(name, value, "a 64-bit integer"))
    }

    /// Returns an integer that is not negative, such as `batch_dims`.
    ///
    /// # Errors
    ///
    /// Fails if the argument is missing, or is not such an integer. The error has the line number.
    pub fn size(&self, name: &str) -> Result<usize, BadLine> {
        let value = self.integer(name)?;
        usize::try_from(value).map_err(|_| {
            self.bad_line(format!(
                "argument `{name}` is {value}, but must be 0 or more"
            ))
        })
    }

    /// Returns a slice, from `begin`, `end`, `strides` and the five masks.
    ///
    /// # Errors
    ///
    /// Fails if one of these arguments is missing or has another type. The error has the line number.
    pub fn strided_slice(&self) -> Result<TfStridedSlice, BadLine> {
        Ok(TfStridedSlice {
            begin: self.integers("begin")?,
            end: self.integers("end")?,
            strides: self.integers("strides")?,
            begin_mask: self.slice_mask("begin_mask")?,
            end_mask: self.slice_mask("end_mask")?,
            ellipsis_mask: self.slice_mask("ellipsis_mask")?,
            new_axis_mask: self.slice_mask("new_axis_mask")?,
            shrink_axis_mask: self.slice_mask("shrink_axis_mask")?,
        })
    }

    /// Returns the steps of a view. The list is empty if the argument is missing.
    ///
    /// # Errors
    ///
    /// Fails if the argument is not a list of steps. The error has the line number.
    pub fn steps(&self, name: &str) -> Result<Vec<Step>, BadLine> {
        let Some(value) = self.args.get(name) else {
            return Ok(Vec::new());
        };
        let wrong_type = || self.wrong_type(name, value, "a list of the steps of a view");
        let parse_step = |step: &Value| {
            let step = step.as_object().ok_or_else(wrong_type)?;
            if let Some(args) = step.get("strided_slice").and_then(Value::as_object) {
                let args = Arguments { args, ..*self };
                args.strided_slice().map(Step::Slice)
            } else if let Some(permutation) = step.get("transpose").and_then(sizes) {
                Ok(Step::Transpose(permutation))
            } else if let Some(shape) = step.get("broadcast_to").and_then(sizes) {
                Ok(Step::Broadcast(shape))
            } else {
                Err(wrong_type())
            }
        };
        value
            .as_array()
            .ok_or_else(wrong_type)?
            .iter()
            .map(parse_step)
            .collect()
    }

    /// Returns the policies for indices, read from the optional arguments `"negative": "wrap"` and `"out_of_range":
    /// "clamp"`.
    ///
    /// # Errors
    ///
    /// Fails if one of these arguments has another value. The error has the line number.
    pub fn indexing(&self) -> Result<Indexing, BadLine> {
        Ok(Indexing {
            wrap: self.is_given("negative", "wrap")?,
            clamp: self.is_given("out_of_range", "clamp")?,
        })
    }

    /// Returns whether the optional argument `name` is given. Any value except `word` is an error.
    pub(crate) fn is_given(&self, name: &str, word: &str) -> Result<bool, BadLine> {
        match self.args.get(name) {
            None => Ok(false),
            Some(value) if value == word => Ok(true),
            Some(value) => Err(self.wrong_type(name, value, &format!("{word:?}, or left out"))),
        }
    }

    /// Returns the combination in the optional argument `name`, or [`Combine::Update`] without this argument.
    pub(crate) fn combination(&self, name: &str) -> Result<Combine, BadLine> {
        let combinations = [
            Combine::Update,
            Combine::Add,
            Combine::Sub,
            Combine::Mul,
            Combine::Min,
            Combine::Max,
        ];
        let Some(value) = self.args.get(name) else {
            return Ok(Combine::Update);
        };
        let named_combination = combinations
            .into_iter()
            .find(|combine| *value == combine.to_string());
        named_combination
            .ok_or_else(|| self.wrong_type(name, value, "add, sub, mul, min or max, or left out"))
    }

    fn slice_mask(&self, name: &str) -> Result<i32, BadLine> {
        let bits = self.integer(name)?;
        i32::try_from(bits)
            .map_err(|_| self.bad_line(format!("{name} {bits} is not a 32-bit integer")))
    }

    fn get(&self, name: &str) -> Result<&Value, BadLine> {
        self.args
            .get(name)
            .ok_or_else(|| self.bad_line(format!("there is no argument `{name}`")))
    }

    fn wrong_type(&self, name: &str, value: &Value, wanted: &str) -> BadLine {
        self.bad_line(format!("argument `{name}` is {value}, not {wanted}"))
    }

    fn bad_line(&self, reason: String) -> BadLine {
        BadLine {
            line: self.line,
            reason,
        }
    }
}

fn sizes(value: &Value) -> Option<Vec<usize>> {
    let parse_size = |size: &Value| size.as_u64().and_then(|size| usize::try_from(size).ok());
    value.as_array()?.iter().map(parse_size).collect()
}
