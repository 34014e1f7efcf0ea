//! Runs commands that work on whole tensors: they read files, run one operation and write a file.
//!
//! Every such command is a [`Job`]. It names the files and has a function that makes the plan from the files' shapes.
//! The plan rejects invalid arguments before a device is opened, and then runs on the tensors.

use crate::{
    args::{Global, OutputOptions},
    device,
    failure::{Failure, TaskError, WordList},
    files::{self, Array, Element, Indices, Source},
    literal::Literal,
    print, range,
    report::{ArraySummary, Explained, Outcome, Run, list_inputs},
    target::Target,
    times::{Stage, Times},
};
use std::ops::Index;
use wgslice::{Backend, DType, Error, Pending, Plan, Report, Tensor, View, error::InvalidIndex};

type Planner<'a> = dyn Fn(&InputShapes) -> Result<Plan, Error> + 'a;
type Worker<'a> = dyn Fn(&JobTensors, &Plan) -> Result<TensorAndReport, Error> + 'a;

/// The result of an operation, and the library's report.
pub(crate) type TensorAndReport = (Tensor, Pending<Report>);

/// The inputs of a command, and the operation on them.
pub(crate) struct Job<'a> {
    /// The sources of the arrays of values, in the operation's order. If the operation does not convert the arrays, all
    /// must have one element type.
    value_sources: Vec<&'a Source>,
    index_source: Option<&'a Source>,
    /// The source of the item index of each box. In an index tuple, the item index precedes the start indices of the
    /// box.
    item_index_source: Option<&'a Source>,
    /// The mask, and whether the plan takes it before or after the values.
    mask: Option<(Array, MaskPosition)>,
    /// True if the result omits the plan's first dimension, which has size 1.
    omits_first_dim: bool,
    /// The text of the warning about out-of-range tuples. Empty if there are no indices.
    warning_text: &'static str,
    /// True if the operation combines elements. Otherwise it only moves them.
    combines: bool,
    /// True if the operation converts elements.
    converts: bool,
    /// True if the values must have an element type of pictures.
    needs_pictures: bool,
    /// The element type of the result, if it differs from the values' type.
    result_type: Option<DType>,
    /// The command's words for the arguments that the library names in errors.
    words: WordList,
    plan: Box<Planner<'a>>,
    work: Box<Worker<'a>>,
}

/// The position of the mask among the inputs of a plan: before or after the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MaskPosition {
    Before,
    After,
}

impl<'a> Job<'a> {
    /// Makes a job on these arrays of values. The inputs of the plan are the values and then the indices, if
    /// `with_indices` adds any. If the plan changes an array in place, it changes a copy of the first array of values,
    /// and its inputs begin with the second array.
    pub(crate) fn new(
        value_sources: impl IntoIterator<Item = &'a Source>,
        plan: impl Fn(&InputShapes) -> Result<Plan, Error> + 'a,
    ) -> Self {
        let value_sources: Vec<_> = value_sources.into_iter().collect();
        Self {
            words: command_words(&value_sources),
            value_sources,
            index_source: None,
            item_index_source: None,
            mask: None,
            omits_first_dim: false,
            warning_text: "",
            combines: false,
            converts: false,
            needs_pictures: false,
            result_type: None,
            plan: Box::new(plan),
            work: Box::new(JobTensors::run),
        }
    }

    /// Calls `work` with the tensors and the plan, instead of running the plan.
    pub(crate) fn with_work(
        mut self,
        work: impl Fn(&JobTensors, &Plan) -> Result<TensorAndReport, Error> + 'a,
    ) -> Self {
        self.work = Box::new(work);
        self
    }

    /// Adds a mask.
    pub(crate) fn with_mask(mut self, mask: Array, position: MaskPosition) -> Self {
        self.mask = Some((mask, position));
        self
    }

    /// Adds the indices. `warning_text` is the text of the warning about indices out of range.
    pub(crate) fn with_indices(mut self, indices: &'a Source, warning_text: &'static str) -> Self {
        self.index_source = Some(indices);
        self.warning_text = warning_text;
        if let Some(name) = source_name(indices) {
            self.words.add("begins", name.clone());
            self.words
                .add("the first at indices", format!("the first at {name}"));
        }
        self
    }

    /// Adds the item index of each box, for work that crops or pastes boxes.
    pub(crate) fn with_item_indices(mut self, item_indices: Option<&'a Source>) -> Self {
        self.item_index_source = item_indices;
        self
    }

    /// Replaces the library's name for an argument by the user's word in errors. This word takes precedence over the
    /// words that all jobs have.
    pub(crate) fn with_argument_name(mut self, library: &str, command: impl Into<String>) -> Self {
        self.words.put_first(library, command);
        self
    }

    /// Sets whether elements are combined.
    pub(crate) fn with_combination(mut self, combines: bool) -> Self {
        self.combines = combines;
        self
    }

    /// Sets that the values are converted to this type.
    pub(crate) fn with_conversion_to(self, result_type: DType) -> Self {
        Self {
            converts: true,
            ..self.with_result_type(result_type)
        }
    }

    /// Requires that the values have an element type of pictures: uint8, uint16 or a float type.
    pub(crate) fn for_pictures(mut self) -> Self {
        self.needs_pictures = true;
        self
    }

    /// Sets the element type of the result, which differs from the values' type.
    pub(crate) fn with_result_type(mut self, result_type: DType) -> Self {
        self.result_type = Some(result_type);
        self
    }

    /// Omits the first dimension from the result. In the plan, it has size 1.
    pub(crate) fn without_first_dim(mut self) -> Self {
        self.omits_first_dim = true;
        self
    }
}

/// The shapes of the inputs, and the element type of the values.
#[derive(Debug)]
pub(crate) struct InputShapes {
    pub(crate) dtype: DType,
    /// The element types of all values. They differ only in a job that converts its values.
    pub(crate) dtypes: Vec<DType>,
    values: Vec<Vec<usize>>,
    /// The shape of the indices. Empty if there are none.
    pub(crate) indices: Vec<usize>,
}

impl InputShapes {
    pub(crate) fn make_views(&self) -> Result<Vec<View>, Error> {
        self.values.iter().map(|shape| View::new(shape)).collect()
    }
}

/// Returns the shape of an array of values.
impl Index<usize> for InputShapes {
    type Output = [usize];

    fn index(&self, at: usize) -> &[usize] {
        &self.values[at]
    }
}

/// The tensors of a job on a device.
#[derive(Debug)]
pub(crate) struct JobTensors {
    values: Vec<Tensor>,
    indices: Option<Tensor>,
    mask: Option<(Tensor, MaskPosition)>,
}

impl JobTensors {
    /// Runs a plan. An in-place plan changes a copy of the first tensor.
    pub(crate) fn run(&self, plan: &Plan) -> Result<TensorAndReport, Error> {
        let (in_place_input, values) = self.values.split_at(plan.is_in_place().into());
        let mask_at = |position| {
            let mask = self.mask.as_ref().filter(|mask| mask.1 == position);
            mask.map(|(mask, _)| mask)
        };
        let inputs = mask_at(MaskPosition::Before).into_iter().chain(values);
        let inputs = inputs
            .chain(mask_at(MaskPosition::After))
            .chain(&self.indices);
        let inputs: Vec<&Tensor> = inputs.collect();
        if let [x] = in_place_input {
            let mut x = x.clone();
            let report = Tensor::run_into(plan, &inputs, &mut [&mut x])?;
            return Ok((x, report));
        }
        let (mut results, report) = Tensor::run(plan, &inputs)?;
        Ok((results.swap_remove(0), report))
    }

    /// Returns the tensors of values.
    pub(crate) fn value_tensors(&self) -> &[Tensor] {
        &self.values
    }

    /// Returns the tensor of the indices, or the first tensor of values if the job has no indices.
    pub(crate) fn indices(&self) -> &Tensor {
        self.indices.as_ref().unwrap_or(&self.values[0])
    }
}

/// Returns a tensor of values.
impl Index<usize> for JobTensors {
    type Output = Tensor;

    fn index(&self, at: usize) -> &Tensor {
        &self.values[at]
    }
}

impl Job<'_> {
    /// Runs the job: makes the plan from the shapes, then does the work on the tensors. If the device fails and the
    /// user did not choose a device, the CPU does the work. With `--explain`, the plan is described and no work is
    /// done.
    pub(crate) fn run(
        self,
        global: &Global,
        output_options: &OutputOptions,
    ) -> Result<Outcome, Failure> {
        let mut times = Times::default();
        let read_inputs = times.measure(Stage::Read, || self.read())?;
        let inputs = read_inputs.summaries.clone();
        let context = list_inputs(&inputs);
        let element = read_inputs.values[0].element();
        let element = self.result_type.map_or(element, Into::into);
        let is_foreign = |array: &&Array| array.element().foreign_type.is_some();
        if let Some(array) = read_inputs
            .values
            .iter()
            .find(is_foreign)
            .filter(|_| self.converts)
        {
            return Err(Failure::usage(format_args!(
                "{} is moved, but not converted: leave out --as",
                array.element().name()
            )));
        }
        let has_picture_type = |array: &&Array| {
            use DType::{BF16, F16, F32, F64, U8, U16};
            matches!(array.dtype(), U8 | U16 | F16 | BF16 | F32 | F64)
        };
        if self.needs_pictures
            && let Some(array) = read_inputs
                .values
                .iter()
                .find(|array| !has_picture_type(array))
        {
            return Err(Failure::usage(format_args!(
                "--normalize is for pictures: uint8, uint16, or floats from 0 to 1, not {}; give --scale \
                 and --bias",
                array.element().name()
            )));
        }
        if self.combines && element.foreign_type.is_some() {
            return Err(Failure::usage(format_args!(
                "{} can be moved, but not combined: use --combine update",
                element.name()
            )));
        }
        let plan =
            (self.plan)(&read_inputs.shapes).map_err(|error| self.to_failure(&context, error))?;

        let backend = device::open_for(global, &plan)?;
        if output_options.explain {
            let shape = self.result_shape(plan.shape());
            let bytes = read_inputs.bytes();
            let explanation = Explained::new(
                inputs,
                bytes,
                output_options,
                shape,
                &backend,
                &[&plan],
                element,
            );
            return Ok(Outcome::Explained(Box::new(explanation)));
        }
        // The output is created before the work, so that an output that cannot be written fails early.
        let (origin, shape) = (
            read_inputs.values[0].origin().clone(),
            self.result_shape(plan.shape()),
        );
        let mut output = Target::create(output_options, global.json, &origin, element, shape)?;
        let mut fallback = None;
        let mut outcome = self.run_and_write(read_inputs, &plan, &backend, &mut output, &mut times);
        if let Err(TaskError::Library(error)) = &outcome
            && device::may_fall_back(global, error)?
        {
            fallback = Some(self.words.translate(&self.error_text(error)));
            // Nothing has been written yet: the output is written last, and its errors are not device errors.
            let cpu = device::cpu_backend(global);
            outcome = self.run_and_write(self.read()?, &plan, &cpu, &mut output, &mut times);
        }
        let (shape, report) = outcome.map_err(|error| match error {
            TaskError::Library(error) => self.to_failure(&context, error),
            TaskError::Command(failure) => failure,
        })?;
        let values = times.measure(Stage::Write, || output.finish())?;

        let mut run = Run::new(inputs, output_options, &shape, element, &backend, times);
        if self.index_source.is_some() {
            self.warn_about_report(&report)?;
            let first_tuple = match &report.first {
                Some(first) => self.first_tuple_in_file(first, report.tuples)?,
                None => Vec::new(),
            };
            run = run.with_report(report, first_tuple);
        }
        Ok(Outcome::Done(Box::new(run.with_fallback(fallback)), values))
    }

    /// Returns the shape of the result for the shape in the plan.
    fn result_shape<'s>(&self, shape: &'s [usize]) -> &'s [usize] {
        match (self.omits_first_dim, shape) {
            (true, [_, rest @ ..]) => rest,
            _ => shape,
        }
    }

    /// Converts an error of the library to the command's terms.
    fn to_failure(&self, context: &str, error: Error) -> Failure {
        Failure::Refused {
            context: context.to_owned(),
            problem: self.words.translate(&self.error_text(&error)),
            error: Box::new(error),
        }
    }

    /// Returns the text of an error of the library, with the integers of the first out-of-range tuple as they are in
    /// the files.
    fn error_text(&self, error: &Error) -> String {
        let text = error.to_string();
        let Error::InvalidIndices(report) = error else {
            return text;
        };
        let first_invalid = report.first.as_ref();
        let first_invalid_and_tuple = first_invalid.and_then(|first_invalid| {
            Some((
                first_invalid,
                self.first_tuple_in_file(first_invalid, report.tuples)
                    .ok()?,
            ))
        });
        match first_invalid_and_tuple {
            Some((first_invalid, tuple)) => {
                let (from, to) = (
                    format!("= {:?}", first_invalid.index),
                    format!("= {tuple:?}"),
                );
                text.replacen(&from, &to, 1)
            }
            None => text,
        }
    }

    /// Returns the integers of the first out-of-range tuple as they are in the files. The library gets uint64 values
    /// above the maximum of int64 as that maximum.
    fn first_tuple_in_file(
        &self,
        first: &InvalidIndex,
        tuples: usize,
    ) -> Result<Vec<i128>, Failure> {
        let mut tuple: Vec<i128> = first.index.iter().map(|&index| index.into()).collect();
        if !first.index.contains(&i64::MAX) {
            return Ok(tuple);
        }
        let mut column = 0;
        for source in self.item_index_source.into_iter().chain(self.index_source) {
            let array = read_typed_array(source)?;
            let element_count: usize = array.shape().iter().product();
            let column_count = element_count.checked_div(tuples).unwrap_or(0);
            let numbers = files::unsigned_numbers(&array, first.tuple * column_count, column_count)
                .unwrap_or_default();
            for (index, index_in_file) in tuple.iter_mut().skip(column).zip(numbers) {
                *index = index_in_file.into();
            }
            column += column_count;
        }
        Ok(tuple)
    }

    fn warn_about_report(&self, report: &Report) -> Result<(), Failure> {
        if let Some(first) = &report.first {
            let Report {
                tuples,
                out_of_range,
                ..
            } = report;
            let shape: Vec<String> = self
                .result_shape(&first.shape)
                .iter()
                .map(usize::to_string)
                .collect();
            let (warning_text, shape) = (self.warning_text, shape.join(","));
            let text = format!(
                "{out_of_range} of {tuples} {warning_text}, the first at {first} of the array [{shape}]"
            );
            let tuple = self.first_tuple_in_file(first, *tuples)?;
            let text = text.replacen(&format!("= {:?}", first.index), &format!("= {tuple:?}"), 1);
            let is_below_zero = first.index.iter().any(|&index| index < 0);
            let hint = match is_below_zero && self.warning_text.starts_with("index") {
                true => "; --negative wrap counts negative ones from the end",
                false => "",
            };
            print::print_note(format_args!(
                "warning: {}{hint}",
                self.words.translate(&text)
            ));
        }
        Ok(())
    }

    /// Warns if the conversion to `result_type` makes the numbers of an array useless: if all are from -1 to 1 and have
    /// fractions, or if most are beyond the type's range.
    fn warn_of_loss(&self, result_type: DType) -> Result<(), Failure> {
        let read_inputs = self.read()?;
        let arrays = self.value_sources.iter().zip(&read_inputs.values);
        let mut losses = arrays.filter_map(|(source, array)| {
            Some((source, range::describe_loss(array, result_type)?))
        });
        if let Some((source, loss)) = losses.next() {
            let name = source_name(source).unwrap_or_default();
            print::print_note(format_args!("warning: {name} holds {loss}"));
        }
        Ok(())
    }

    fn read(&self) -> Result<ReadInputs, Failure> {
        let operands = self
            .value_sources
            .iter()
            .map(|&source| FileOrValues::read(source));
        let operands = operands.collect::<Result<Vec<_>, _>>()?;
        // Values without a type get the type of the first operand that has one.
        let array_type = operands.iter().find_map(|operand| match operand {
            FileOrValues::Array(array) => Some(array.element()),
            FileOrValues::Literal(_) => None,
        });
        let values = operands.into_iter().zip(&self.value_sources);
        let values = values.map(|(operand, source)| {
            let array = operand.array(array_type)?;
            Ok::<_, Failure>(array.with_handles(source)?)
        });
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let mut summaries: Vec<ArraySummary> = self
            .value_sources
            .iter()
            .zip(&values)
            .map(|(source, array)| ArraySummary::new(source, array.shape()))
            .collect();
        let mut shapes = InputShapes {
            dtype: values[0].dtype(),
            dtypes: values.iter().map(Array::dtype).collect(),
            values: values.iter().map(|array| array.shape().to_vec()).collect(),
            indices: Vec::new(),
        };
        for (source, array) in self.value_sources.iter().zip(&values) {
            let (type_name, first_type_name) = (array.element().name(), values[0].element().name());
            if type_name != first_type_name && !self.converts {
                let first_source = &self.value_sources[0];
                return Err(Failure::usage(format_args!(
                    "{source} holds {type_name}, but {first_source} holds {first_type_name}: make them one type, as by \
                     `wgslice convert --as {first_type_name}`"
                )));
            }
        }
        let mut indices = None;
        if let Some(source) = self.index_source {
            let array = read_typed_array(source)?;
            let tuples = files::to_indices(&array)
                .map_err(|error| Failure::usage(format_args!("{source}: {error}")))?;
            shapes.indices = array.shape().to_vec();
            summaries.push(ArraySummary::new(source, array.shape()));
            indices = Some(tuples);
        }
        Ok(ReadInputs {
            values,
            indices,
            shapes,
            summaries,
        })
    }

    /// Runs the operation and writes the result's elements to the output. Returns the shape of the result, and the
    /// report.
    fn run_and_write(
        &self,
        read_inputs: ReadInputs,
        plan: &Plan,
        backend: &Backend,
        output: &mut Target,
        times: &mut Times,
    ) -> Result<(Vec<usize>, Report), TaskError> {
        let tensors = times.measure(Stage::Upload, || {
            let tensors = read_inputs.upload_inputs(backend, self.mask.as_ref())?;
            backend.wait()?;
            Ok::<_, TaskError>(tensors)
        })?;
        let (tensor, report) = times.measure(Stage::Dispatch, || {
            let result = (self.work)(&tensors, plan)?;
            backend.wait()?;
            Ok::<_, TaskError>(result)
        })?;
        let (bytes, report) = times.measure(Stage::Readback, || {
            let report = report.wait()?;
            Ok::<_, TaskError>((tensor.bytes()?, report))
        })?;
        if self.converts && range::may_have_lost_differences(tensor.dtype(), &bytes) {
            self.warn_of_loss(tensor.dtype())?;
        }
        times.measure(Stage::Write, || output.write(&bytes))?;
        Ok((tensor.shape().to_vec(), report))
    }
}

/// Returns the command's words for the first array, which the library calls by several names.
pub(crate) fn command_words(value_sources: &[&Source]) -> WordList {
    let mut words = WordList::default();
    if let Some(name) = value_sources.first().and_then(|first| source_name(first)) {
        for word in ["x", "params", "the source", "the destination"] {
            words.add(word, name.clone());
        }
    }
    words
}

/// Returns the name of an array for messages: its file's name, without folders, or `None` for values on the command
/// line.
pub(crate) fn source_name(source: &Source) -> Option<String> {
    if source.is_stdin() {
        return Some("standard input".into());
    }
    let is_file = source.path().exists() || Literal::parse(source.text()).is_none();
    is_file.then(|| source.name())
}

/// An array with a type, or values on the command line that have no type yet.
enum FileOrValues {
    Array(Array),
    Literal(Literal),
}

impl FileOrValues {
    /// Reads a file. If there is no file with this name, tries to parse the name as values.
    fn read(source: &Source) -> Result<Self, Failure> {
        match Literal::parse(source.text()) {
            Some(literal) if !source.path().exists() => Ok(match literal.has_type() {
                true => Self::Array(literal.array(literal.dtype())?),
                false => Self::Literal(literal),
            }),
            _ => Ok(Self::Array(files::read_array(source)?)),
        }
    }

    fn array(self, element: Option<Element>) -> Result<Array, Failure> {
        match self {
            Self::Array(array) => Ok(array),
            Self::Literal(literal) => {
                let element = element.unwrap_or_else(|| literal.dtype().into());
                match element.foreign_type {
                    None => literal.array(element.dtype),
                    Some(name) => Err(Failure::usage(format_args!(
                        "values of {name} cannot be written on the command line: give a file"
                    ))),
                }
            }
        }
    }
}

/// Reads an array whose type does not depend on other arrays.
pub(crate) fn read_typed_array(source: &Source) -> Result<Array, Failure> {
    FileOrValues::read(source)?.array(None)
}

/// The inputs of a job, after they were read.
struct ReadInputs {
    values: Vec<Array>,
    indices: Option<Indices>,
    shapes: InputShapes,
    summaries: Vec<ArraySummary>,
}

impl ReadInputs {
    /// Returns the number of bytes of the values and the indices.
    fn bytes(&self) -> usize {
        let values = self.values.iter().map(|array| array.bytes().len());
        let indices = match &self.indices {
            Some(Indices::I32(tuples)) => size_of_val(&tuples[..]),
            Some(Indices::I64(tuples)) => size_of_val(&tuples[..]),
            None => 0,
        };
        values.sum::<usize>() + indices
    }

    fn upload_inputs(
        self,
        backend: &Backend,
        mask: Option<&(Array, MaskPosition)>,
    ) -> Result<JobTensors, Error> {
        let shape = &self.shapes.indices;
        let indices = match &self.indices {
            Some(Indices::I32(tuples)) => Some(backend.upload((tuples, shape))?),
            Some(Indices::I64(tuples)) => Some(backend.upload((tuples, shape))?),
            None => None,
        };
        let upload = |array: Array| {
            let (dtype, shape) = (array.dtype(), array.shape().to_vec());
            Tensor::from_bytes(backend, array, dtype, &shape)
        };
        Ok(JobTensors {
            values: self
                .values
                .into_iter()
                .map(upload)
                .collect::<Result<_, _>>()?,
            indices,
            mask: mask
                .map(|(mask, position)| {
                    let (bytes, dtype) = (mask.bytes().to_vec(), mask.dtype());
                    let mask = Tensor::from_bytes(backend, bytes, dtype, mask.shape());
                    Ok::<_, Error>((mask?, *position))
                })
                .transpose()?,
        })
    }
}
