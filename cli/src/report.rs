//! The report of a run: one line for people, or one JSON object.

use crate::{
    args::{Global, OutputOptions},
    failure::Failure,
    files::{Element, Source},
    print,
    times::Times,
    units,
    values::ShownArray,
};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::{fmt, iter};
use wgslice::{Backend, Plan, Report};

/// The work that an operation has done or, with `--explain`, would do.
#[derive(Debug)]
pub(crate) enum Outcome {
    Done(Box<Run>, Option<ShownArray>),
    Explained(Box<Explained>),
    /// The work of several operations, each with its output options.
    Several(Vec<(Self, OutputOptions)>),
}

impl Outcome {
    /// Prints the report, and the values if they are not in a file.
    pub(crate) fn print(
        self,
        global: &Global,
        output_options: &OutputOptions,
    ) -> Result<(), Failure> {
        match self {
            Self::Done(run, values) => run.print(global.json, output_options, values.as_ref()),
            Self::Explained(explained) => explained.print(global.json),
            Self::Several(outcomes) => outcomes
                .into_iter()
                .try_for_each(|(outcome, output_options)| outcome.print(global, &output_options)),
        }
    }

    /// Returns the number of bytes of the result.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Done(run, _) => run.output.shape.iter().product::<usize>() * run.element.size(),
            Self::Explained(_) => 0,
            Self::Several(outcomes) => outcomes.iter().map(|(outcome, _)| outcome.bytes()).sum(),
        }
    }
}

/// A run that succeeded.
#[derive(Debug, Serialize)]
pub(crate) struct Run {
    inputs: Vec<ArraySummary>,
    output: ArraySummary,
    #[serde(rename = "dtype", serialize_with = "serialize_name")]
    element: Element,
    device: String,
    #[serde(skip)]
    is_on_cpu: bool,
    reason: String,
    /// The error that made the CPU replace the device, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback: Option<String>,
    seconds: Times,
    /// The number of pieces in which a slice was processed. `None` for other operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pieces: Option<usize>,
    /// The number of index tuples, and how many are out of range. `None` if the operation has no indices.
    #[serde(skip_serializing_if = "Option::is_none")]
    out_of_range: Option<OutOfRange>,
    /// The values of a result that is not written to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Value>,
}

fn serialize_name<S: Serializer>(element: &Element, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(element.name())
}

/// The path and the shape of an array.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ArraySummary {
    /// The path. `None` if the values are printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    pub(crate) shape: Vec<usize>,
}

impl ArraySummary {
    pub(crate) fn new(source: &Source, shape: &[usize]) -> Self {
        Self {
            path: Some(source.to_string()),
            shape: shape.to_vec(),
        }
    }

    fn output(output_options: &OutputOptions, element: Element, shape: &[usize]) -> Self {
        Self {
            path: output_options
                .path_for(element, shape)
                .map(|path| path.display().to_string()),
            shape: shape.to_vec(),
        }
    }
}

#[derive(Debug, Serialize)]
struct OutOfRange {
    rows: usize,
    bad: usize,
    first: Option<FirstInvalid>,
}

/// The first out-of-range tuple, with its integers from the file, which can be uint64.
#[derive(Debug, Serialize)]
struct FirstInvalid {
    row: usize,
    position: Vec<usize>,
    index: Vec<i128>,
}

impl Run {
    pub(crate) fn new(
        inputs: impl Into<Vec<ArraySummary>>,
        output_options: &OutputOptions,
        shape: &[usize],
        element: Element,
        backend: &Backend,
        seconds: Times,
    ) -> Self {
        Self {
            inputs: inputs.into(),
            output: ArraySummary::output(output_options, element, shape),
            element,
            device: backend.to_string(),
            is_on_cpu: backend.is_cpu(),
            reason: units::space_units(backend.reason()),
            fallback: None,
            seconds,
            pieces: None,
            out_of_range: None,
            values: None,
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

    /// Adds the library's report. `first_tuple` is the first out-of-range tuple, with its integers from the file.
    pub(crate) fn with_report(mut self, report: Report, first_tuple: Vec<i128>) -> Self {
        self.out_of_range = Some(OutOfRange {
            rows: report.tuples,
            bad: report.out_of_range,
            first: report.first.map(|first| FirstInvalid {
                row: first.tuple,
                position: first.position,
                index: first_tuple,
            }),
        });
        self
    }

    /// Prints the values, if they are not in a file, and the report. The report goes to standard error if standard
    /// output has the result.
    fn print(
        mut self,
        json: bool,
        output_options: &OutputOptions,
        values: Option<&ShownArray>,
    ) -> Result<(), Failure> {
        if let Some(why) = &self.fallback {
            print::print_note(format_args!("warning: finished on the CPU: {why}"));
        }
        if json {
            self.values = values.map(ShownArray::json);
            let text = serde_json::to_string(&self).map_err(Failure::usage)?;
            match output_options.is_stdout() {
                true => print::print_line_to_stderr(text),
                false => print::print_line(text),
            }
            return Ok(());
        }
        if let Some(values) = values {
            print::print_line(values.text());
        }
        let print_line =
            |line: fmt::Arguments<'_>| match values.is_some() || output_options.is_stdout() {
                true => print::print_line_to_stderr(line),
                false => print::print_line(line),
            };
        if !print::is_quiet() {
            print_line(format_args!("{self}"));
        }
        if print::is_verbose() {
            print_line(format_args!("  on {}: {}", self.device, self.reason));
            let inputs: Vec<String> = self.inputs.iter().map(ArraySummary::to_string).collect();
            print_line(format_args!("  from {}", inputs.join(", ")));
            print_line(format_args!("  {}", self.seconds));
            if let Some(pieces) = self.pieces {
                print_line(format_args!(
                    "  in {}",
                    units::format_count(pieces, "piece")
                ));
            }
        }
        Ok(())
    }

    fn device_in_short(&self) -> &'static str {
        match (&self.fallback, self.is_on_cpu) {
            (Some(_), _) => "CPU, as the GPU failed",
            (None, true) => "CPU",
            (None, false) => "GPU",
        }
    }
}

/// The work that a command would do, for `--explain`.
#[derive(Debug, Serialize)]
pub(crate) struct Explained {
    inputs: Vec<ArraySummary>,
    output: ArraySummary,
    #[serde(rename = "dtype", serialize_with = "serialize_name")]
    element: Element,
    device: String,
    reason: String,
    /// The number of bytes of the inputs.
    input_bytes: usize,
    /// The number of bytes of the inputs that would be read, if no element is read twice.
    read_bytes: usize,
    written_bytes: usize,
    /// The estimated time of the work on the device in seconds, without reading and writing files.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_seconds: Option<f64>,
    /// The library's description of each plan.
    plans: Vec<String>,
}

/// Estimates the seconds that a plan takes on the backend. Returns `None` in a build without the feature `gpu`.
#[cfg(feature = "gpu")]
fn estimate(backend: &Backend, plan: &Plan) -> Option<f64> {
    let costs = wgslice::cost::CostModel::HARDWARE;
    Some(match backend.estimate(plan) {
        Some(estimate) => estimate.device,
        None => costs.estimate(plan).cpu,
    })
}

#[cfg(not(feature = "gpu"))]
fn estimate(_: &Backend, _: &Plan) -> Option<f64> {
    None
}

impl Explained {
    /// Describes the work on `inputs`: the arrays of values and the indices, which have `input_bytes` bytes in total.
    pub(crate) fn new(
        inputs: impl Into<Vec<ArraySummary>>,
        input_bytes: usize,
        output_options: &OutputOptions,
        shape: &[usize],
        backend: &Backend,
        plans: &[&Plan],
        element: Element,
    ) -> Self {
        let written_bytes = shape.iter().product::<usize>() * element.size();
        let is_in_place = plans.iter().any(|plan| plan.is_in_place());
        let explain = |plan: &&Plan| backend.explain(plan);
        Self {
            inputs: inputs.into(),
            output: ArraySummary::output(output_options, element, shape),
            element,
            device: backend.to_string(),
            reason: units::space_units(backend.reason()),
            input_bytes,
            read_bytes: match is_in_place {
                true => input_bytes,
                false => input_bytes.min(written_bytes),
            },
            written_bytes,
            estimated_seconds: plans.iter().map(|plan| estimate(backend, plan)).sum(),
            plans: plans.iter().map(explain).collect(),
        }
    }

    fn print(&self, json: bool) -> Result<(), Failure> {
        if json {
            return print::print_json(self);
        }
        let [read, input, written] =
            [self.read_bytes, self.input_bytes, self.written_bytes].map(units::format_bytes);
        let shape = units::format_dims(&self.output.shape);
        let dtype = self.element.name();
        print::print_line(format_args!(
            "{shape} {dtype}: reads {read} of {input}, writes {written}"
        ));
        let time = self.estimated_seconds.map_or_else(String::new, |seconds| {
            format!("about {}, ", units::format_seconds(seconds))
        });
        let device = &self.device;
        print::print_line(format_args!("  {device}: {time}plus reading and writing"));
        if print::is_verbose() {
            print::print_line(format_args!("  because {}", self.reason));
            for (at, plan) in self.plans.iter().enumerate() {
                print::print_line(format_args!("plan {at}: {plan}"));
            }
        }
        Ok(())
    }
}

/// The maximum width, in columns, of the line for people, so that it fits a terminal.
const COLUMNS: usize = 79;

/// Writes one line about the written array.
impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            output,
            element,
            seconds,
            ..
        } = self;
        let elements: usize = output.shape.iter().product();
        let description = format!(
            "{} {}, {}, {} ({})",
            units::format_dims(&output.shape),
            element.name(),
            units::format_bytes(elements * element.size()),
            units::format_seconds(seconds.total_seconds()),
            self.device_in_short(),
        );
        match &output.path {
            Some(path) => f.write_str(&file_line(path, &description)),
            None => f.write_str(&description),
        }
    }
}

/// Returns a line about a file. It fits a terminal if `summary` is short.
pub(crate) fn file_line(path: &str, summary: &str) -> String {
    let columns = COLUMNS.saturating_sub(2 + summary.chars().count());
    format!("{}  {summary}", shorten_path(path, columns))
}

/// Cuts off the beginning of a path that has more than `columns` characters. Replaces control characters, which could
/// move the cursor.
fn shorten_path(path: &str, columns: usize) -> String {
    let path: Vec<char> = path
        .chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect();
    match path.len().checked_sub(columns) {
        None | Some(0) => path.into_iter().collect(),
        Some(excess) => iter::once('…')
            .chain(path.into_iter().skip(excess + 1))
            .collect(),
    }
}

/// Lists the inputs of an operation for its errors: all, or the first two if there are more than three.
pub(crate) fn list_inputs(inputs: &[ArraySummary]) -> String {
    const MAX_LISTED_INPUTS: usize = 3;
    let shown_count = if inputs.len() > MAX_LISTED_INPUTS {
        2
    } else {
        MAX_LISTED_INPUTS
    };
    let names: Vec<String> = inputs
        .iter()
        .take(shown_count)
        .map(ArraySummary::to_string)
        .collect();
    let names = names.join(", ");
    match inputs.len().checked_sub(shown_count) {
        None | Some(0) => names,
        Some(more) => format!("{names} and {more} more"),
    }
}

/// Writes the path and the shape, for errors.
impl fmt::Display for ArraySummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.as_deref().unwrap_or_default();
        write!(f, "{path} ({})", units::format_shape(&self.shape))
    }
}
