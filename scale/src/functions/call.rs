//! One call of a function: its arguments while the query is planned, and its rows while the query runs.

use crate::tensor::{Column, Integers, TensorType};
use datafusion::{
    arrow::{
        array::{Array, ArrayRef, Float64Array, Int64Array, new_null_array},
        buffer::Buffer,
        datatypes::{DataType, FieldRef},
    },
    common::{ScalarValue, plan_err},
    error::{DataFusionError, Result},
    logical_expr::ColumnarValue,
};
use serde_json::Value;
use std::{ops::RangeInclusive, sync::Arc};
use wgslice::{Error, Plan, Report, Values, ValuesMut, View};

/// The arguments that a function accepts.
pub(super) struct Usage {
    pub(super) name: &'static str,
    /// The call, as in `gather(params, indices [, options])`.
    pub(super) example: &'static str,
    /// The number of tensors, which are the first arguments.
    pub(super) tensor_count: usize,
    /// The possible numbers of texts after the tensors.
    pub(super) text_counts: RangeInclusive<usize>,
    /// True if another argument, of any type, can follow the texts and name the row in errors.
    pub(super) names_rows: bool,
}

impl Usage {
    /// Returns the usage of a function whose arguments are a tensor and then texts, such as a slice in Python's
    /// notation.
    pub(super) const fn of_tensor(
        name: &'static str,
        example: &'static str,
        text_counts: RangeInclusive<usize>,
    ) -> Self {
        Self {
            name,
            example,
            tensor_count: 1,
            text_counts,
            names_rows: false,
        }
    }

    /// Returns the usage of a function whose arguments are two tensors and then texts. One of the tensors holds indices
    /// or a mask. An argument of any type can follow and name the row in errors.
    pub(super) const fn of_indices(
        name: &'static str,
        example: &'static str,
        text_counts: RangeInclusive<usize>,
    ) -> Self {
        Self {
            tensor_count: 2,
            names_rows: true,
            ..Self::of_tensor(name, example, text_counts)
        }
    }

    /// Returns the position of the argument that names the row. Optional texts that a call leaves out count as
    /// arguments before it.
    pub(super) fn name_position(&self) -> usize {
        self.tensor_count + self.text_counts.end()
    }
}

/// The arguments of a call that are known when the query is planned: the types of the tensors, and the texts.
pub(super) struct Call {
    pub(super) tensors: Vec<TensorType>,
    /// For each tensor, its value if it is given as a literal text.
    constants: Vec<Option<ConstantTensor>>,
    texts: Vec<String>,
}

impl Call {
    pub(super) fn parse(
        usage: &Usage,
        fields: &[FieldRef],
        literals: &[Option<&ScalarValue>],
    ) -> Result<Self> {
        let Usage { name, example, .. } = *usage;
        let min_arguments = usage.tensor_count + usage.text_counts.start();
        let max_arguments = usage.name_position() + usize::from(usage.names_rows);
        if !(min_arguments..=max_arguments).contains(&fields.len()) {
            return plan_err!(
                "{name} has {} arguments: call it as {example}",
                fields.len()
            );
        }
        let arguments = fields.iter().zip(literals);
        let tensors =
            arguments
                .clone()
                .take(usage.tensor_count)
                .map(|(field, literal)| match text(literal) {
                    Some(text) => {
                        ConstantTensor::parse(text).map(|it| (it.tensor.clone(), Some(it)))
                    }
                    None => Ok((TensorType::of(field)?, None)),
                });
        let tensors = tensors.collect::<Result<(_, _)>>();
        let texts = arguments
            .take(usage.name_position())
            .skip(usage.tensor_count);
        let texts = texts.enumerate().map(|(at, (_, literal))| match text(literal) {
            Some(text) => Ok(text.to_owned()),
            None => plan_err!(
                "argument {} must be a literal text, because the type of the result depends on it: call it as {example}",
                usage.tensor_count + at + 1
            ),
        });
        let call = texts.collect::<Result<_>>().and_then(|texts| {
            let (tensors, constants) = tensors?;
            Ok(Self {
                tensors,
                constants,
                texts,
            })
        });
        call.map_err(naming_function(name))
    }

    /// Returns the types of the first two tensors. The function must have at least two.
    pub(super) fn two_tensors(&self) -> (&TensorType, &TensorType) {
        (&self.tensors[0], &self.tensors[1])
    }

    /// Returns the number of true elements of tensor `number`, if it is a mask given as a literal text.
    pub(super) fn true_count(&self, number: usize) -> Option<usize> {
        let booleans = self.constants[number].as_ref()?.booleans.iter();
        Some(booleans.filter(|&&is_true| is_true).count())
    }

    /// Returns text `number`, counted from 0 after the tensors. A text that is left out is empty.
    pub(super) fn text(&self, number: usize) -> &str {
        self.texts.get(number).map_or("", String::as_str)
    }
}

fn text<'a>(literal: &Option<&'a ScalarValue>) -> Option<&'a str> {
    literal.and_then(|literal| literal.try_as_str().flatten())
}

/// Returns a function that prefixes an error of a call with the function's name.
pub(super) fn naming_function(name: &str) -> impl Fn(DataFusionError) -> DataFusionError {
    move |error| match error {
        DataFusionError::Plan(problem) => DataFusionError::Plan(format!("{name}: {problem}")),
        DataFusionError::Execution(problem) => {
            DataFusionError::Execution(format!("{name}: {problem}"))
        }
        other => other,
    }
}

/// Converts an error of the library about a call's shapes or options to an error of the planned query.
pub(super) fn refused(error: Error) -> DataFusionError {
    DataFusionError::Plan(error.to_string())
}

/// Converts an error of the library about a batch to an error of the running query.
pub(super) fn failed(error: Error) -> DataFusionError {
    DataFusionError::Execution(error.to_string())
}

/// The rows of a batch for which a function is called.
pub(super) struct Batch {
    pub(super) rows: usize,
    pub(super) columns: Vec<Column>,
}

impl Batch {
    /// Views a column as one array with the rows as its first dimension.
    pub(super) fn view(&self, number: usize) -> Result<View, Error> {
        let column = &self.columns[number];
        let shape = column.tensor().shape();
        let rows = self.shape(number);
        match column.repeats() {
            true => View::new(shape)?.broadcast_to(&rows),
            false => View::new(&rows),
        }
    }

    /// Runs a plan whose source is the first column.
    pub(super) fn run(
        &self,
        plan: &Plan,
        indices: Option<Values<'_>>,
        result: &mut [u8],
    ) -> Result<Report> {
        run_on(plan, &self.columns[0].bytes(), indices, result)
    }

    /// Returns the integers of a column. If the column has one row for the whole batch and `is_per_row` is true, its
    /// integers are repeated for each row.
    pub(super) fn integers(&self, number: usize, is_per_row: bool) -> Result<Integers> {
        let column = &self.columns[number];
        let integers = column.integers()?;
        Ok(match column.repeats() && is_per_row {
            true => integers.repeated(self.rows),
            false => integers,
        })
    }

    /// Returns the index tuples of a column, each preceded by the number of its row. A row has `tuples_per_row` index
    /// tuples of `depth` integers.
    pub(super) fn tuples_with_rows(
        &self,
        number: usize,
        tuples_per_row: usize,
        depth: usize,
    ) -> Result<Vec<i64>> {
        let indices = self.integers(number, true)?.to_i64();
        let mut with_rows = Vec::with_capacity(indices.len() + self.rows * tuples_per_row);
        for tuple in 0..self.rows * tuples_per_row {
            with_rows.push((tuple / tuples_per_row) as i64);
            with_rows.extend_from_slice(&indices[tuple * depth..][..depth]);
        }
        Ok(with_rows)
    }

    /// Returns the bytes of all rows of a column. If the column has one row for the whole batch, its bytes are
    /// repeated.
    pub(super) fn repeated_bytes(&self, number: usize) -> Buffer {
        let bytes = self.columns[number].bytes();
        match self.columns[number].repeats() {
            true => Buffer::from_vec(bytes.repeat(self.rows)),
            false => bytes,
        }
    }

    /// Returns the shape of a column: the number of rows, then the shape of each tensor.
    pub(super) fn shape(&self, number: usize) -> Vec<usize> {
        [&[self.rows], self.columns[number].tensor().shape()].concat()
    }
}

/// Returns the array of an argument that holds tensors, including null rows. A scalar becomes an array of one row.
pub(super) fn array(value: &ColumnarValue) -> Result<ArrayRef> {
    match value {
        ColumnarValue::Array(array) => Ok(Arc::clone(array)),
        ColumnarValue::Scalar(ScalarValue::FixedSizeList(array)) => {
            Ok(Arc::clone(array) as ArrayRef)
        }
        ColumnarValue::Scalar(scalar) => match text(&Some(scalar)) {
            Some(text) => ConstantTensor::parse(text)?.array(),
            None => scalar.to_array(),
        },
    }
}

/// A tensor written as nested lists. Its elements are booleans, or `i64`, or `f64` if any number has a fraction or an
/// exponent or is out of the range of `i64`.
struct ConstantTensor {
    tensor: TensorType,
    values: Vec<f64>,
    integers: Vec<i64>,
    booleans: Vec<bool>,
}

impl ConstantTensor {
    fn parse(text: &str) -> Result<Self> {
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            return plan_err!(
                "{text:?} is no tensor: write nested lists of numbers, as in '[[0, 1], [2, 3]]'"
            );
        };
        let mut shape = Vec::new();
        let mut first = &value;
        while let Value::Array(items) = first {
            shape.push(items.len());
            let Some(item) = items.first() else { break };
            first = item;
        }
        let mut elements = Vec::new();
        let has_shape = flatten(&value, &shape, &mut elements);
        let booleans: Vec<bool> = elements.iter().filter_map(|it| it.as_bool()).collect();
        let values: Vec<f64> = elements.iter().filter_map(|it| it.as_f64()).collect();
        if !has_shape || elements.len() != booleans.len().max(values.len()) {
            return plan_err!(
                "{text:?} is no tensor: all its lists at one depth must have the same length, and numbers, or true and \
                 false"
            );
        }
        let integers: Option<Vec<i64>> = elements.iter().map(|it| it.as_i64()).collect();
        let element = match integers {
            _ if !booleans.is_empty() => DataType::Boolean,
            Some(_) => DataType::Int64,
            None => DataType::Float64,
        };
        Ok(Self {
            tensor: TensorType::new(element, &shape)?,
            values,
            integers: integers.unwrap_or_default(),
            booleans,
        })
    }

    fn array(self) -> Result<ArrayRef> {
        let values: ArrayRef = match self.tensor.element() {
            DataType::Boolean => {
                let bytes: Vec<u8> = self.booleans.into_iter().map(u8::from).collect();
                return Column::array(&self.tensor, 1, Buffer::from_vec(bytes), None);
            }
            DataType::Int64 => Arc::new(Int64Array::from(self.integers)),
            _ => Arc::new(Float64Array::from(self.values)),
        };
        let bytes = values.to_data().buffers()[0].clone();
        Column::array(&self.tensor, 1, bytes, None)
    }
}

/// Collects the elements of nested lists. Returns `false` if the lists do not have this shape.
fn flatten<'a>(value: &'a Value, shape: &[usize], elements: &mut Vec<&'a Value>) -> bool {
    match (value, shape.split_first()) {
        (Value::Array(items), Some((&size, rest))) => {
            items.len() == size && items.iter().all(|item| flatten(item, rest, elements))
        }
        (Value::Array(_), None) | (_, Some(_)) => false,
        (element, None) => {
            elements.push(element);
            true
        }
    }
}

/// Makes a result whose `rows` rows are all null.
pub(super) fn null_rows(tensor: &TensorType, rows: usize) -> ArrayRef {
    new_null_array(&tensor.data_type(), rows)
}

/// Runs a plan on a source and index tuples of any alignment.
pub(super) fn run_on(
    plan: &Plan,
    source: &[u8],
    indices: Option<Values<'_>>,
    result: &mut [u8],
) -> Result<Report> {
    let source = Values::from_bytes(plan.inputs()[0].dtype, source);
    let inputs: Vec<_> = [Some(source), indices].into_iter().flatten().collect();
    plan.run_cpu(&inputs, &mut [ValuesMut::from_bytes(plan.dtype(), result)])
        .map_err(failed)
}
