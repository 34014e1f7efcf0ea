//! Runs a whole job.

use super::{Explanation, Order, Outcome, Prepared, Record};
use crate::{
    engine::{Engine, message},
    functions::zarr_shard,
    zarr::Error,
};
use datafusion::{error::DataFusionError, prelude::ParquetReadOptions};
use futures::{FutureExt, StreamExt, future::BoxFuture};
use serde::Serialize;
use std::{fmt, time::Instant};
use url::Url;

/// What a run has read, computed and written, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// The number of shards of the result.
    pub shards: u64,
    /// The number of shards that were computed.
    pub computed: u64,
    /// The number of shards that existed already.
    pub stood: u64,
    /// The number of chunks that were read.
    pub chunks_read: u64,
    /// The number of read chunks whose stored bytes were copied to the result, without compressing them anew.
    pub chunks_copied: u64,
    /// The number of bytes that were read from the source, as they are stored there.
    pub bytes_read: u64,
    /// The bytes of the shards that were computed, as they are stored.
    pub bytes_written: u64,
    /// The number of index tuples that were out of range and gave zeros in the shards that were computed.
    pub out_of_range: u64,
    /// The time of the run in seconds.
    pub seconds: f64,
}

impl Summary {
    fn add(&mut self, outcome: &Outcome) {
        if outcome.computed {
            self.computed += 1;
        }
        self.chunks_read += outcome.chunks_read;
        self.chunks_copied += outcome.chunks_copied;
        self.bytes_read += outcome.bytes_read;
        self.bytes_written += outcome.bytes_written;
        self.out_of_range += outcome.out_of_range;
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mega = |bytes: u64| bytes as f64 / 1e6;
        write!(
            f,
            "{} of {} shards computed, {} stood already: {} chunks of {:.1} MB read, {:.1} MB written in {:.1} s",
            self.computed,
            self.shards,
            self.stood,
            self.chunks_read,
            mega(self.bytes_read),
            mega(self.bytes_written),
            self.seconds
        )
    }
}

/// Computes the missing shards on an engine, and finishes the result. `missing` is from [`Record::missing`]. The tasks of
/// this process share `prepared` if it is from [`Prepared::of`] or [`Prepared::begun`]. `files` is the most lists of
/// tasks to write. About four for each task that runs at a time are best.
///
/// # Errors
///
/// The error of a task, or of the engine. Finished shards stay, so that the next run only computes the others.
pub fn run<'a>(
    engine: &'a Engine,
    record: Record,
    prepared: &'a Prepared,
    missing: &'a [u64],
    files: usize,
) -> BoxFuture<'a, Result<Summary, Error>> {
    compute(engine, record, prepared, missing, files).boxed()
}

async fn compute(
    engine: &Engine,
    record: Record,
    prepared: &Prepared,
    missing: &[u64],
    files: usize,
) -> Result<Summary, Error> {
    let began = Instant::now();
    let mut summary = Summary {
        shards: prepared.shards(),
        ..Summary::default()
    };
    summary.stood = summary.shards - missing.len() as u64;
    if !missing.is_empty() {
        let folder = record.write_tasks(missing, files)?;
        let outcomes = query(engine, prepared.order(), &folder, &mut summary).await;
        let answered = outcomes.map_err(|error| explained(&error))?;
        if answered != missing.len() {
            return Err(Error::data(format_args!(
                "the engine has answered for {answered} of {} tasks: run the command again, which computes the \
                 missing ones",
                missing.len()
            )));
        }
        summary.stood = summary.shards - summary.computed;
    }
    record.finish(&prepared.order().job)?;
    summary.seconds = began.elapsed().as_secs_f64();
    Ok(summary)
}

/// Runs the tasks, and adds their outcomes to `summary`. Returns the number of tasks that have answered.
async fn query(
    engine: &Engine,
    order: &Order,
    folder: &str,
    summary: &mut Summary,
) -> Result<usize, DataFusionError> {
    let text = serde_json::to_string(order);
    let text = text.map_err(|error| DataFusionError::External(error.into()))?;
    let text = text.replace('\'', "''");
    let context = engine.context();
    // DataFusion takes a path with `[`, `*` or `?` for a pattern, but not a URL. What is a URL already is no path.
    let folder = Url::from_directory_path(folder).map_or_else(|()| folder.to_owned(), String::from);
    context
        .register_parquet("tasks", folder, ParquetReadOptions::default())
        .await?;
    let query = format!("SELECT zarr_shard('{text}', shard) AS outcome FROM tasks");
    let mut outcomes = context.sql(&query).await?.execute_stream().await?;
    let mut answered = 0;
    while let Some(batch) = outcomes.next().await {
        for outcome in zarr_shard::outcomes(batch?.column(0))? {
            summary.add(&outcome);
            answered += 1;
        }
    }
    Ok(answered)
}

/// Returns the error of a task, without the text that the engine puts around it.
fn explained(error: &DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::Execution(_) => Error::data(message(error)),
        DataFusionError::IoError(error) => {
            Error::Io(std::io::Error::new(error.kind(), error.to_string()))
        }
        other => Error::data(other),
    }
}

impl Prepared {
    /// Returns what the job will read and write.
    ///
    /// # Errors
    ///
    /// Those of reading a gather's indices: [`Error::Data`] if an index is out of range and the job refuses that;
    /// [`Error::Io`].
    pub fn explain(&self) -> Result<Explanation, Error> {
        Explanation::of(self)
    }
}
