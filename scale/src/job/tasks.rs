//! The list of tasks: small Parquet files with one row for each shard that is missing.
//!
//! An engine runs each file as one partition. The tasks are in files because the executors of a cluster cannot read a
//! table in this process's memory.

use crate::zarr::Error;
use datafusion::{
    arrow::{
        array::{Int64Array, RecordBatch},
        datatypes::{DataType, Field, Schema},
    },
    parquet::{arrow::ArrowWriter, errors::ParquetError},
};
use std::sync::Arc;

/// Lists the shards in `files` files, or in fewer if there are fewer shards, but in at least one. Neighbouring shards
/// are in one file, so that the cache still has the chunks that a task shares with the task before it. Returns the name
/// and the bytes of each file.
pub(super) fn lists(shards: &[u64], files: usize) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let schema = Arc::new(Schema::new(vec![Field::new(
        "shard",
        DataType::Int64,
        false,
    )]));
    let files = files.clamp(1, shards.len().max(1));
    let list = |number: usize| {
        let dealt = &shards[number * shards.len() / files..(number + 1) * shards.len() / files];
        let dealt = dealt.iter().map(|shard| shard.cast_signed());
        let column = Arc::new(Int64Array::from_iter_values(dealt));
        let rows = RecordBatch::try_new(schema.clone(), vec![column])?;
        let mut writer = ArrowWriter::try_new(Vec::new(), schema.clone(), None)?;
        writer.write(&rows)?;
        Ok::<_, ParquetError>((format!("{number:04}.parquet"), writer.into_inner()?))
    };
    let lists: Result<_, _> = (0..files).map(list).collect();
    lists.map_err(|error| Error::data(format_args!("cannot make a list of tasks: {error}")))
}
