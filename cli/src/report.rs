//! What a run says of itself: one line for people, or one JSON object.

use crate::{failure::Failure, print};
use serde::Serialize;
use std::{fmt, time::Duration};

/// A run that came to its end.
#[derive(Debug, Serialize)]
pub(crate) struct Run {
    pub(crate) inputs: Vec<Described>,
    pub(crate) output: Described,
    pub(crate) dtype: String,
    pub(crate) device: String,
    pub(crate) reason: String,
    pub(crate) seconds: Times,
    /// Of a gather: the tuples that were out of range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) out_of_range: Option<OutOfRange>,
}

/// An array and where it is.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Described {
    pub(crate) path: String,
    pub(crate) shape: Vec<usize>,
}

/// How long each stage took. On the CPU nothing is uploaded, and a file that is mapped into memory
/// is read while it is worked on.
#[derive(Debug, Serialize)]
pub(crate) struct Times {
    #[serde(serialize_with = "seconds")]
    pub(crate) read: Duration,
    #[serde(serialize_with = "seconds")]
    pub(crate) upload: Duration,
    #[serde(serialize_with = "seconds")]
    pub(crate) dispatch: Duration,
    #[serde(serialize_with = "seconds")]
    pub(crate) readback: Duration,
    #[serde(serialize_with = "seconds")]
    pub(crate) write: Duration,
}

fn seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

#[derive(Debug, Serialize)]
pub(crate) struct OutOfRange {
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

impl From<wgslice::Report> for OutOfRange {
    fn from(report: wgslice::Report) -> Self {
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

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stages = [
            ("read", self.read),
            ("upload", self.upload),
            ("dispatch", self.dispatch),
            ("readback", self.readback),
            ("write", self.write),
        ];
        for (at, (stage, time)) in stages.into_iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            let seconds = time.as_secs_f64();
            if seconds < 1.0 {
                write!(f, "{comma}{stage} {:.1} ms", seconds * 1e3)?;
            } else {
                write!(f, "{comma}{stage} {seconds:.2} s")?;
            }
        }
        Ok(())
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
