//! The common part of all functions on tensors. Each row of the result comes from the same row of the arguments.
//!
//! Rows with a null argument are removed before a function runs, and restored as nulls afterwards, because their
//! elements are unspecified and could be indices out of range. Functions with `RUNS_ON_NULL_ROWS` run on these rows
//! too.

use super::{
    call::{self, Batch, Call, Usage},
    shapes::TensorFromArrow,
};
use crate::tensor::{Column, Layout, TensorType, zeroed};
use datafusion::{
    arrow::{
        array::{Array, ArrayRef, BooleanArray},
        buffer::{Buffer, MutableBuffer, NullBuffer},
        compute::filter,
        datatypes::{DataType, FieldRef},
        util::display::array_value_to_string,
    },
    common::{ScalarValue, exec_err, internal_err, plan_err},
    error::{DataFusionError, Result},
    logical_expr::{
        ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
        ScalarUDFImpl, Signature, Volatility,
        expr::ScalarFunction,
        lit,
        simplify::{ExprSimplifyResult, SimplifyContext},
    },
};
use std::{fmt::Debug, hash::Hash, sync::Arc};
use wgslice::{Report, error::InvalidIndex, options::OutOfRange};

/// A function on tensors.
pub(super) trait TensorFunction:
    Clone + Debug + PartialEq + Eq + Hash + Send + Sync + 'static
{
    const USAGE: Usage;

    /// True if the function accepts every element value. Otherwise rows with a null argument are removed first, because
    /// the values in them are unspecified.
    const RUNS_ON_NULL_ROWS: bool = false;

    /// True if the result has the same bytes as the first argument. Then `run` is not called.
    const KEEPS_BYTES: bool = false;

    /// Changes the type of an argument, for a function that interprets a column differently from the column's field.
    fn retype_arguments(_: &mut Call) -> Result<()> {
        Ok(())
    }

    /// Checks the arguments of a call and returns the type of its result.
    fn result_type(call: &Call) -> Result<TensorType>;

    /// Writes the result of all rows to `result`, which holds zeros. Returns a problem with the elements of a row, such
    /// as an index out of range, if that is an error. Not called if there are no rows.
    fn run(_: &Call, _: &Batch, _: &mut [u8]) -> Result<Option<RowProblem>> {
        internal_err!("{} moves no bytes", Self::USAGE.name)
    }
}

/// A problem with the elements of a row.
pub(super) struct RowProblem {
    /// The number of the row in the batch. `None` if one tensor of indices, or one mask, was used for all rows.
    pub(super) row: Option<usize>,
    /// The part of the error's text that follows the name of the row.
    pub(super) problem: String,
}

impl RowProblem {
    /// Returns the first tuple out of range in a batch's report as a problem, if it is an error under `policy`.
    /// `locate` returns the tuple's row, its position in the indices of the row, and its integers. `shape` is the shape
    /// that the tuples index.
    pub(super) fn outside(
        report: Report,
        policy: OutOfRange,
        shape: &[usize],
        locate: impl FnOnce(&InvalidIndex) -> (Option<usize>, Vec<usize>, Vec<i64>),
    ) -> Option<Self> {
        let first = report.first.filter(|_| policy == OutOfRange::Error)?;
        let (row, position, tuple) = locate(&first);
        let (count, tuples) = (report.out_of_range, report.tuples);
        let problem = format!(
            "the indices at {position:?} are {tuple:?}, which is out of range of {shape:?} ({count} of the {tuples} index \
             tuples of the batch are): correct them, or choose 'out_of_range=zero' or 'out_of_range=clamp'"
        );
        Some(Self { row, problem })
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Function<F> {
    function: F,
    signature: Signature,
}

impl<F: TensorFunction> Function<F> {
    pub(super) fn new(function: F) -> Self {
        Self {
            function,
            signature: Signature::variadic_any(Volatility::Immutable),
        }
    }

    fn call(fields: &[FieldRef], literals: &[Option<&ScalarValue>]) -> Result<(Call, TensorType)> {
        let mut call = Call::parse(&F::USAGE, fields, literals)?;
        let result = F::retype_arguments(&mut call).and_then(|()| F::result_type(&call));
        let result = result.map_err(call::naming_function(F::USAGE.name))?;
        if result.elements() == 0 {
            return plan_err!(
                "{}: the result has shape {:?}, which is empty: DataFusion loses count of the rows of such columns",
                F::USAGE.name,
                result.shape()
            );
        }
        Ok((call, result))
    }
}

impl<F: TensorFunction> ScalarUDFImpl for Function<F> {
    fn name(&self) -> &str {
        F::USAGE.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} depends on its literals", F::USAGE.name)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let (_, result) = Self::call(args.arg_fields, args.scalar_arguments)?;
        Ok(Arc::new(result.field(F::USAGE.name)))
    }

    /// Writes the shapes and permutations from the metadata of the arguments' fields into the query, as calls of
    /// `tensor_from_arrow`, because this metadata does not reach the executors of a cluster.
    fn simplify(&self, mut args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let mut is_changed = false;
        if F::USAGE.name != TensorFromArrow::USAGE.name {
            for arg in args.iter_mut().take(F::USAGE.tensor_count) {
                let (_, field) = arg.to_field(info.schema().as_ref())?;
                if let Some(tensor) = TensorType::of(&field)
                    .ok()
                    .filter(|tensor| tensor.layout() == Layout::Extension)
                {
                    let from_arrow =
                        Arc::new(ScalarUDF::new_from_impl(Function::new(TensorFromArrow)));
                    let parameters = lit(tensor.parameters());
                    let nested = ScalarFunction::new_udf(from_arrow, vec![arg.clone(), parameters]);
                    *arg = Expr::ScalarFunction(nested);
                    is_changed = true;
                }
            }
        }
        Ok(match is_changed {
            true => {
                let this = Arc::new(ScalarUDF::new_from_impl(Function::new(
                    self.function.clone(),
                )));
                ExprSimplifyResult::Simplified(Expr::ScalarFunction(ScalarFunction::new_udf(
                    this, args,
                )))
            }
            false => ExprSimplifyResult::Original(args),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let literals = args.args.iter().map(|value| match value {
            ColumnarValue::Scalar(scalar) => Some(scalar),
            ColumnarValue::Array(_) => None,
        });
        let literals: Vec<_> = literals.collect();
        let (call, result) = Self::call(&args.arg_fields, &literals)?;
        if !result.is_stored_as(args.return_type()) {
            return exec_err!(
                "{} was planned with a result of type {}, and now makes {}: the shape of an argument was lost, because \
                 it was in field metadata; write it into the query, as in {}",
                F::USAGE.name,
                args.return_type(),
                result.data_type(),
                TensorFromArrow::USAGE.example
            );
        }
        let is_scalar = literals[..F::USAGE.tensor_count]
            .iter()
            .all(Option::is_some);
        let rows = if is_scalar { 1 } else { args.number_rows };
        let array = evaluate::<F>(&call, &result, &args.args, rows)?;
        match is_scalar {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
                &array, 0,
            )?)),
            false => Ok(ColumnarValue::Array(array)),
        }
    }
}

fn evaluate<F: TensorFunction>(
    call: &Call,
    result: &TensorType,
    arguments: &[ColumnarValue],
    rows: usize,
) -> Result<ArrayRef> {
    let names = arguments.get(F::USAGE.name_position());
    let values = &arguments[..F::USAGE.tensor_count];
    let mut arrays = values.iter().map(call::array).collect::<Result<Vec<_>>>()?;
    let repeats: Vec<_> = values
        .iter()
        .map(|value| matches!(value, ColumnarValue::Scalar(_)))
        .collect();
    let mut nulls = None;
    for (array, repeats) in arrays.iter().zip(&repeats) {
        if *repeats && array.is_null(0) {
            return Ok(call::null_rows(result, rows));
        }
        if !repeats {
            nulls = NullBuffer::union(nulls.as_ref(), array.nulls());
        }
    }
    let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
    let columns = |arrays: &[ArrayRef]| {
        let columns = arrays.iter().zip(&call.tensors).zip(&repeats);
        let columns = columns.map(|((array, tensor), &repeats)| {
            let column = Column::of(array, tensor.clone())?;
            Ok(if repeats { column.repeated() } else { column })
        });
        columns
            .collect::<Result<Vec<_>>>()
            .map_err(call::naming_function(F::USAGE.name))
    };
    let all_columns = columns(&arrays)?;
    let Some(nulls) = nulls.filter(|_| !F::RUNS_ON_NULL_ROWS) else {
        // No rows are removed: there are no null rows, or the function accepts every value.
        let nulls =
            NullBuffer::union_many(arrays.iter().zip(&repeats).map(
                |(array, repeats)| match repeats {
                    true => None,
                    false => array.nulls(),
                },
            ));
        let batch = Batch {
            rows,
            columns: all_columns,
        };
        let bytes = run::<F>(call, result, &batch, |row| row_name(names, row))?;
        return Column::array(result, rows, bytes, nulls);
    };
    let is_valid = BooleanArray::new(nulls.inner().clone(), None);
    for (array, _) in arrays
        .iter_mut()
        .zip(&repeats)
        .filter(|(_, repeats)| !**repeats)
    {
        *array = filter(array, &is_valid)?;
    }
    let batch = Batch {
        rows: is_valid.true_count(),
        columns: columns(&arrays)?,
    };
    let original_row = |row: usize| nulls.valid_indices().nth(row).unwrap_or(row);
    let bytes = run::<F>(call, result, &batch, |row| {
        row_name(names, original_row(row))
    })?;
    Column::array(result, rows, spread_rows(&bytes, &nulls, rows), Some(nulls))
}

/// Returns `rows` rows: the rows of `dense`, in order, at the valid positions, and zeros elsewhere.
fn spread_rows(dense: &[u8], valid: &NullBuffer, rows: usize) -> Buffer {
    let row_bytes = dense.len() / (rows - valid.null_count()).max(1);
    let mut spread = MutableBuffer::from_len_zeroed(rows * row_bytes);
    for (row, bytes) in valid
        .valid_indices()
        .zip(dense.chunks_exact(row_bytes.max(1)))
    {
        spread.as_slice_mut()[row * row_bytes..][..row_bytes].copy_from_slice(bytes);
    }
    spread.into()
}

/// Names row `row` of the batch in an error: by its value in `names`, or by its number if no argument names rows.
fn row_name(names: Option<&ColumnarValue>, row: usize) -> Result<String> {
    let Some(names) = names else {
        return Ok(format!("{row} of the batch"));
    };
    let names = names.to_array(row + 1)?;
    Ok(array_value_to_string(&names, row)?)
}

/// Computes the bytes of the result. `name` returns the name of a row of `batch` for errors.
fn run<F: TensorFunction>(
    call: &Call,
    result: &TensorType,
    batch: &Batch,
    name: impl Fn(usize) -> Result<String>,
) -> Result<Buffer> {
    let function = F::USAGE.name;
    if F::KEEPS_BYTES {
        return Ok(batch.columns[0].bytes());
    }
    let row_bytes = result.elements() * result.dtype().size();
    let total_bytes = row_bytes.checked_mul(batch.rows);
    let Some(mut buffer) = total_bytes.and_then(|bytes| zeroed(bytes).ok()) else {
        return Err(DataFusionError::ResourcesExhausted(format!(
            "{function}: {} rows of shape {:?} cannot be allocated: lower datafusion.execution.batch_size",
            batch.rows,
            result.shape()
        )));
    };
    if batch.rows == 0 {
        return Ok(buffer.into());
    }
    let row_problem =
        F::run(call, batch, buffer.as_slice_mut()).map_err(call::naming_function(function))?;
    let Some(RowProblem { row, problem }) = row_problem else {
        return Ok(buffer.into());
    };
    let place = match row {
        Some(row) => format!("row {}", name(row)?),
        None => "every row".to_owned(),
    };
    exec_err!("{function}: in {place}, {problem}")
}
