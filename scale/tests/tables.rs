//! Writes tables of tensors for the tests, and reads results.

use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray, FixedSizeListArray, Int64Array, RecordBatch},
        buffer::NullBuffer,
        compute::concat_batches,
        datatypes::{ArrowPrimitiveType, DataType, Field, Schema},
    },
    parquet::{
        arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReaderBuilder},
        file::properties::WriterProperties,
    },
};
use std::{fs::File, path::Path, sync::Arc};
use wgslice_scale::engine::Engine;

/// Makes a column of tensors of this shape from the elements of all tensors. The rows in `null_rows` are null.
pub(crate) fn tensors(
    values: ArrayRef,
    shape: &[usize],
    row_count: usize,
    null_rows: &[usize],
) -> ArrayRef {
    let mut array = values;
    for (axis, &size) in shape.iter().enumerate().rev() {
        let list_count = row_count * shape[..axis].iter().product::<usize>();
        let item_field = Arc::new(Field::new_list_field(array.data_type().clone(), true));
        let validity = (axis == 0 && !null_rows.is_empty()).then(|| {
            NullBuffer::from(
                (0..row_count)
                    .map(|row| !null_rows.contains(&row))
                    .collect::<Vec<_>>(),
            )
        });
        let list = FixedSizeListArray::try_new_with_length(
            item_field,
            size as i32,
            array,
            validity,
            list_count,
        );
        array = Arc::new(list.unwrap());
    }
    array
}

/// Makes a batch of the column `id`, which has the row numbers, and these columns.
pub(crate) fn batch(columns: &[(&str, ArrayRef)]) -> RecordBatch {
    let row_count = columns[0].1.len();
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(0..row_count as i64));
    let mut fields = vec![Field::new("id", DataType::Int64, false)];
    let mut arrays = vec![id];
    for (name, array) in columns {
        fields.push(Field::new(*name, array.data_type().clone(), true));
        arrays.push(Arc::clone(array));
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

/// Writes a batch to a Parquet file, in row groups of up to 64 rows.
pub(crate) fn write(path: &Path, batch: &RecordBatch) {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(64))
        .build();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

/// Reads all rows of a Parquet file.
pub(crate) fn read(path: &Path) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let schema = Arc::clone(reader.schema());
    let batches: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
    concat_batches(&schema, &batches).unwrap()
}

/// Returns the result of a query as one batch. Its columns have the planned query's metadata.
pub(crate) async fn run(engine: &Engine, query: &str) -> Result<RecordBatch, String> {
    let frame = engine
        .query(query)
        .await
        .map_err(|error| error.to_string())?;
    let schema = Arc::new(frame.schema().as_arrow().clone());
    let batches = frame.collect().await.map_err(|error| error.to_string())?;
    let batches: Vec<_> = batches
        .iter()
        .map(|batch| RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec()).unwrap())
        .collect();
    concat_batches(&schema, &batches).map_err(|error| error.to_string())
}

/// Returns the shape of a column's tensors, from the column's Arrow type.
pub(crate) fn shape(data_type: &DataType) -> Vec<usize> {
    match data_type {
        DataType::FixedSizeList(item, length) => {
            [&[*length as usize], &shape(item.data_type())[..]].concat()
        }
        _ => Vec::new(),
    }
}

/// Returns the elements of the tensors of all rows, including null rows.
pub(crate) fn elements<T: ArrowPrimitiveType>(column: &ArrayRef) -> Vec<T::Native> {
    match column.as_fixed_size_list_opt() {
        Some(list) => elements::<T>(list.values()),
        None => column.as_primitive::<T>().values().to_vec(),
    }
}
