//! What a run says of itself: one line for people, or one JSON object.

use crate::{failure::Failure, print, times::Times};
use serde::Serialize;
use std::{fmt, path::Path};
use wgslice::{Report, Tensor};

/// A run that came to its end.
#[derive(Debug, Serialize)]
pub(crate) struct Run {
    inputs: Vec<Described>,
    output: Described,
    dtype: String,
    device: String,
    reason: String,
    seconds: Times,
    /// Of a gather: the tuples that were out of range.
    #[serde(skip_serializing_if = "Option::is_none")]
    out_of_range: Option<OutOfRange>,
}

/// An array and where it is.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Described {
    pub(crate) path: String,
    pub(crate) shape: Vec<usize>,
}

impl Described {
    pub(crate) fn new(path: &str, shape: &[usize]) -> Self {
        Self {
            path: path.to_owned(),
            shape: shape.to_vec(),
        }
    }
}

#[derive(Debug, Serialize)]
struct OutOfRange {
    rows: usize,
    bad: usize,
    first: Option<First>,
}

/// The first tuple that was out of range.
#[derive(Debug, Serialize)]
struct First {
    row: usize,
    position: Vec<usize>,
    index: Vec<i64>,
}

impl From<Report> for OutOfRange {
    fn from(report: Report) -> Self {
        Self {
            rows: report.rows,
            bad: report.bad,
            first: report.first.map(|first| First {
                row: first.row,
                position: first.position,
                index: first.index,
            }),
        }
    }
}

impl Run {
    pub(crate) fn new(
        inputs: impl Into<Vec<Described>>,
        output: &Path,
        result: &Tensor,
        seconds: Times,
        report: Option<Report>,
    ) -> Self {
        Self {
            inputs: inputs.into(),
            output: Described::new(&output.display().to_string(), result.shape()),
            dtype: result.dtype().to_string(),
            device: result.backend().to_string(),
            reason: result.backend().reason().to_owned(),
            seconds,
            out_of_range: report.map(OutOfRange::from),
        }
    }

    pub(crate) fn print(&self, json: bool) -> Result<(), Failure> {
        if json {
            print::json(self)
        } else {
            print::line(self);
            Ok(())
        }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            inputs,
            output,
            dtype,
            device,
            reason,
            seconds,
            ..
        } = self;
        let inputs: Vec<String> = inputs.iter().map(|input| shape(&input.shape)).collect();
        let (inputs, output) = (inputs.join(", "), shape(&output.shape));
        write!(
            f,
            "{inputs} -> {output} {dtype} on {device} ({reason}): {seconds}"
        )
    }
}

/// A shape as `[2,3]`.
pub(crate) fn shape(shape: &[usize]) -> String {
    let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("[{}]", dims.join(","))
}

/// An array and where it is, for errors.
impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.path, shape(&self.shape))
    }
}
