//! `zarr_shard(job, shard)`: computes a shard of a job's result.

use crate::{
    job::{Outcome, Prepared, compute},
    zarr::Error,
};
use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray, BooleanArray, StructArray, UInt64Array},
        datatypes::{DataType, Field, Fields, UInt64Type},
    },
    common::cast::as_int64_array,
    error::{DataFusionError, Result},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
    scalar::ScalarValue,
};
use std::sync::Arc;

/// Computes the shard with this number and writes it in one step, unless the job has written it already. The job is an
/// [`Order`](crate::job::Order) as JSON. The value is a struct with the fields of an [`Outcome`].
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct ZarrShard {
    signature: Signature,
}

impl Default for ZarrShard {
    fn default() -> Self {
        // The function writes a shard, so a planner must not drop or merge its calls, or evaluate them while planning.
        let signature =
            Signature::exact(vec![DataType::Utf8, DataType::Int64], Volatility::Volatile);
        Self { signature }
    }
}

impl ScalarUDFImpl for ZarrShard {
    fn name(&self) -> &str {
        "zarr_shard"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Struct(outcome_fields()))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [job, shards] = &args.args[..] else {
            return Err(DataFusionError::Execution(
                "zarr_shard takes a job and a shard".into(),
            ));
        };
        let shards = shards.to_array(args.number_rows)?;
        let shards = as_int64_array(&shards)?;
        let text = match job {
            ColumnarValue::Scalar(ScalarValue::Utf8(Some(text))) => Arc::from(&**text),
            job => {
                let jobs = job.to_array(args.number_rows)?;
                let jobs = jobs.as_string::<i32>();
                let is_one_text = jobs
                    .iter()
                    .all(|job| job.is_some() && job == jobs.iter().next().flatten());
                if jobs.is_empty() || !is_one_text {
                    return Err(DataFusionError::Execution(
                        "zarr_shard's job must be one text".into(),
                    ));
                }
                Arc::<str>::from(jobs.value(0))
            }
        };
        let prepared = Prepared::of(&text).map_err(failure)?;
        let outcomes = shards.iter().map(|shard| {
            let shard = shard.and_then(|shard| u64::try_from(shard).ok());
            let shard = shard.ok_or_else(|| Error::usage("a shard is a number from 0 on"));
            compute(&prepared, shard?)
        });
        let outcomes: std::result::Result<Vec<_>, Error> = outcomes.collect();
        Ok(ColumnarValue::Array(column(&outcomes.map_err(failure)?)))
    }
}

/// Converts an error to one of DataFusion's. A cluster retries a task only if the task's error is an I/O error.
fn failure(error: Error) -> DataFusionError {
    match error {
        Error::Io(error) => DataFusionError::IoError(error),
        error => DataFusionError::Execution(error.to_string()),
    }
}

fn outcome_fields() -> Fields {
    let count = |name| Field::new(name, DataType::UInt64, false);
    Fields::from(vec![
        Field::new("computed", DataType::Boolean, false),
        count("chunks_read"),
        count("chunks_copied"),
        count("bytes_read"),
        count("bytes_written"),
        count("out_of_range"),
    ])
}

fn column(outcomes: &[Outcome]) -> ArrayRef {
    let count = |field: fn(&Outcome) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(outcomes.iter().map(field)))
    };
    let computed: Vec<bool> = outcomes.iter().map(|outcome| outcome.computed).collect();
    Arc::new(StructArray::new(
        outcome_fields(),
        vec![
            Arc::new(BooleanArray::from(computed)),
            count(|outcome| outcome.chunks_read),
            count(|outcome| outcome.chunks_copied),
            count(|outcome| outcome.bytes_read),
            count(|outcome| outcome.bytes_written),
            count(|outcome| outcome.out_of_range),
        ],
        None,
    ))
}

/// Reads the outcomes from a column of the function's values.
///
/// # Errors
///
/// An error if the column has another type.
pub fn outcomes(column: &ArrayRef) -> Result<Vec<Outcome>> {
    let values = column
        .as_struct_opt()
        .filter(|values| values.columns().len() == 6);
    let wrong_type =
        || DataFusionError::Internal("zarr_shard has answered with another type".into());
    let values = values.ok_or_else(wrong_type)?;
    let computed = values.column(0).as_boolean_opt().ok_or_else(wrong_type)?;
    let count = |number: usize| {
        values
            .column(number)
            .as_primitive_opt::<UInt64Type>()
            .ok_or_else(wrong_type)
    };
    let (chunks_read, chunks_copied) = (count(1)?, count(2)?);
    let (bytes_read, bytes_written, out_of_range) = (count(3)?, count(4)?, count(5)?);
    let outcome = |row: usize| Outcome {
        computed: computed.value(row),
        chunks_read: chunks_read.value(row),
        chunks_copied: chunks_copied.value(row),
        bytes_read: bytes_read.value(row),
        bytes_written: bytes_written.value(row),
        out_of_range: out_of_range.value(row),
    };
    Ok((0..values.len()).map(outcome).collect())
}
