//! The list of tasks: small Parquet files with one row for each shard that is missing.
//!
//! An engine runs a file as one partition, and a cluster reads the files itself: a table in this process's memory would
//! not reach it.

use crate::zarr::Error;
use datafusion::{
    arrow::{
        array::{Int64Array, RecordBatch},
        datatypes::{DataType, Field, Schema},
    },
    parquet::arrow::ArrowWriter,
};
use std::{fs::File, path::Path, sync::Arc};

/// Writes the shards to up to `files` files, each of neighbours: one task finds the chunks that it shares with the task
/// before it in the cache.
pub(super) fn write(folder: &Path, shards: &[u64], files: usize) -> Result<(), Error> {
    let schema = Arc::new(Schema::new(vec![Field::new(
        "shard",
        DataType::Int64,
        false,
    )]));
    let files = files.clamp(1, shards.len().max(1));
    for number in 0..files {
        let path = folder.join(format!("{number:04}.parquet"));
        let failed = |error: &dyn std::fmt::Display| {
            let error = std::io::Error::other(error.to_string());
            Error::io(format_args!("cannot write {}", path.display()), &error)
        };
        let dealt = &shards[number * shards.len() / files..(number + 1) * shards.len() / files];
        let dealt = dealt.iter().map(|shard| shard.cast_signed());
        let column = Arc::new(Int64Array::from_iter_values(dealt));
        let rows =
            RecordBatch::try_new(schema.clone(), vec![column]).map_err(|error| failed(&error))?;
        let file = File::create(&path).map_err(|error| failed(&error))?;
        let mut writer =
            ArrowWriter::try_new(file, schema.clone(), None).map_err(|error| failed(&error))?;
        writer.write(&rows).map_err(|error| failed(&error))?;
        writer.close().map_err(|error| failed(&error))?;
    }
    Ok(())
}
