//! The report of a run: one line for people, or one JSON object.

use crate::{failure::Failure, print, times::Times};
use serde::Serialize;
use std::{fmt, path::Path};
use wgslice::{Backend, DType, Report};

/// A run that succeeded.
#[derive(Debug, Serialize)]
pub(crate) struct Run {
    inputs: Vec<Described>,
    output: Described,
    dtype: String,
    device: String,
    reason: String,
    /// The error after which the CPU replaced the device, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback: Option<String>,
    seconds: Times,
    /// The number of pieces in which a slice was processed. `None` for other operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pieces: Option<usize>,
    /// The number of index tuples, and those of them out of range. `None` if the operation has no indices.
    #[serde(skip_serializing_if = "Option::is_none")]
    out_of_range: Option<OutOfRange>,
}

/// The path and the shape of an array.
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

/// The first out-of-range tuple.
#[derive(Debug, Serialize)]
struct First {
    row: usize,
    position: Vec<usize>,
    index: Vec<i64>,
}

impl From<Report> for OutOfRange {
    fn from(report: Report) -> Self {
        Self {
            rows: report.tuples,
            bad: report.out_of_range,
            first: report.first.map(|first| First {
                row: first.tuple,
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
        shape: &[usize],
        dtype: DType,
        backend: &Backend,
        seconds: Times,
    ) -> Self {
        Self {
            inputs: inputs.into(),
            output: Described::new(&output.display().to_string(), shape),
            dtype: dtype.name().to_owned(),
            device: backend.to_string(),
            reason: backend.reason().to_owned(),
            fallback: None,
            seconds,
            pieces: None,
            out_of_range: None,
        }
    }

    pub(crate) fn in_pieces(mut self, pieces: usize) -> Self {
        self.pieces = Some(pieces);
        self
    }

    pub(crate) fn with_fallback(mut self, why: Option<String>) -> Self {
        self.fallback = why;
        self
    }

    pub(crate) fn with_report(mut self, report: Report) -> Self {
        self.out_of_range = Some(report.into());
        self
    }

    pub(crate) fn print(&self, json: bool) -> Result<(), Failure> {
        if let Some(why) = &self.fallback {
            print::line_to_stderr(format_args!("warning: finished on the CPU: {why}"));
        }
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
            pieces,
            ..
        } = self;
        let inputs: Vec<String> = inputs.iter().map(|input| shape(&input.shape)).collect();
        let (inputs, output) = (inputs.join(", "), shape(&output.shape));
        write!(
            f,
            "{inputs} -> {output} {dtype} on {device} ({reason}): {seconds}"
        )?;
        match pieces {
            Some(pieces @ 2..) => write!(f, ", in {pieces} pieces"),
            _ => Ok(()),
        }
    }
}

/// Formats a shape, as in `[2,3]`.
pub(crate) fn shape(shape: &[usize]) -> String {
    let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("[{}]", dims.join(","))
}

/// Writes the path and the shape, for errors.
impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.path, shape(&self.shape))
    }
}
