//! Runs a whole job on a cluster, as a query. Each task is a call of [`zarr_shard`].

use super::{Order, Outcome, Prepared, Record, Summary, run::RunInProgress};
use crate::{
    engine::{Engine, message},
    functions::zarr_shard,
    zarr::Error,
};
use datafusion::{error::DataFusionError, prelude::ParquetReadOptions};
use futures::{FutureExt, StreamExt, future::BoxFuture};
use url::Url;

/// Computes the missing shards on an engine, and finishes the result. `missing` is from [`Record::missing`].
/// `max_lists` is the maximum number of task lists to write; the best is about four for each task that runs at a time.
///
/// # Errors
///
/// The error of a task or of the engine; [`Error::Io`]; [`Error::Data`] if answers are missing. Finished shards stay,
/// so the next run computes only the missing ones.
pub fn run_on<'a>(
    engine: &'a Engine,
    record: Record,
    prepared: &'a Prepared,
    missing: &'a [u64],
    max_lists: usize,
) -> BoxFuture<'a, Result<Summary, Error>> {
    compute_on_cluster(engine, record, prepared, missing, max_lists).boxed()
}

async fn compute_on_cluster(
    engine: &Engine,
    record: Record,
    prepared: &Prepared,
    missing: &[u64],
    max_lists: usize,
) -> Result<Summary, Error> {
    let run_in_progress = RunInProgress::new(prepared, missing);
    let mut outcomes = Vec::new();
    if !missing.is_empty() {
        let folder = record.write_tasks(missing, max_lists)?;
        let query_result = query(engine, prepared.order(), &folder).await;
        outcomes = query_result.map_err(|error| task_error(&error))?;
        if outcomes.len() != missing.len() {
            return Err(Error::data(format_args!(
                "the engine has answered for {} of {} tasks: run the command again, which computes the missing ones",
                outcomes.len(),
                missing.len()
            )));
        }
    }
    run_in_progress.finish(record, prepared, &outcomes)
}

/// Runs the tasks and returns their outcomes.
async fn query(
    engine: &Engine,
    order: &Order,
    folder: &str,
) -> Result<Vec<Outcome>, DataFusionError> {
    let order_json = serde_json::to_string(order);
    let order_json = order_json.map_err(|error| DataFusionError::External(error.into()))?;
    let order_json = order_json.replace('\'', "''");
    let context = engine.context();
    // DataFusion treats a path with `[`, `*` or `?` as a pattern, but not a URL. `from_directory_path` fails if the
    // folder is a URL already.
    let folder = Url::from_directory_path(folder).map_or_else(|()| folder.to_owned(), String::from);
    context
        .register_parquet("tasks", folder, ParquetReadOptions::default())
        .await?;
    let sql = format!("SELECT zarr_shard('{order_json}', shard) AS outcome FROM tasks");
    let mut batches = context.sql(&sql).await?.execute_stream().await?;
    let mut outcomes = Vec::new();
    while let Some(batch) = batches.next().await {
        outcomes.extend(zarr_shard::outcomes(batch?.column(0))?);
    }
    Ok(outcomes)
}

/// Returns the error of a task, without the text that the engine wraps around it.
fn task_error(error: &DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::Execution(_) => Error::data(message(error)),
        DataFusionError::IoError(error) => {
            Error::Io(std::io::Error::new(error.kind(), error.to_string()))
        }
        other => Error::data(other),
    }
}
