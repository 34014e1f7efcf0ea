//! Writes the lists of tasks for a cluster: small Parquet files with one row for each missing shard.
//!
//! An engine runs each file as one partition. The tasks are in files because the executors of a cluster cannot read a
//! table in this process's memory.

use super::lists;
use crate::zarr::Error;
use datafusion::{
    arrow::{
        array::{Int64Array, RecordBatch},
        datatypes::{DataType, Field, Schema},
    },
    parquet::{arrow::ArrowWriter, errors::ParquetError},
};
use std::sync::Arc;

/// Divides shards into up to `max_lists` [`lists`]. Returns the name and the bytes of a file for each list.
pub(super) fn files(shards: &[u64], max_lists: usize) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let schema = Arc::new(Schema::new(vec![Field::new(
        "shard",
        DataType::Int64,
        false,
    )]));
    let file = |(number, list_shards): (usize, &[u64])| {
        let list_shards = list_shards.iter().map(|shard| shard.cast_signed());
        let column = Arc::new(Int64Array::from_iter_values(list_shards));
        let rows = RecordBatch::try_new(schema.clone(), vec![column])?;
        let mut writer = ArrowWriter::try_new(Vec::new(), schema.clone(), None)?;
        writer.write(&rows)?;
        Ok::<_, ParquetError>((format!("{number:04}.parquet"), writer.into_inner()?))
    };
    let files: Result<_, _> = lists(shards, max_lists).enumerate().map(file).collect();
    files.map_err(|error| Error::data(format_args!("cannot make a list of tasks: {error}")))
}
