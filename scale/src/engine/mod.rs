//! Runs queries: in this process by DataFusion, or on a Ballista cluster.
//!
//! | module | content |
//! |---|---|
//! | `tables` | makes tables from the files that a query names |
//! | `batches` | decides how many rows are in memory at a time |
//! | `cluster` | makes sessions on a cluster, and checks whether the cluster can be reached |
//! | `objects` | opens files in object stores |
//! | `errors` | extracts error messages from the text that the engines wrap around them |
//! | `rows` | names rows in errors |
//! | [`scheduler`], [`executor`] | the processes of a cluster |
//!
//! Public functions return boxed futures, because every crate that awaits an `async fn` compiles the function's code
//! again, and with it much of the engines. Futures that plan a query are local, because rustc cannot prove that they
//! are `Send`.
//!
//! The plan of a query contains no nodes of this crate, only calls of its functions, which are sent by name. So
//! clients, schedulers and executors only need to know the same functions, which [`functions::all`] lists.

mod batches;
#[cfg(feature = "cluster")]
mod cluster;
mod errors;
#[cfg(feature = "cluster")]
pub mod executor;
#[cfg(feature = "object-stores")]
mod objects;
mod rows;
#[cfg(feature = "cluster")]
pub mod scheduler;
mod tables;

pub use errors::message;

use crate::functions;
use datafusion::{
    dataframe::DataFrame,
    error::{DataFusionError, Result},
    execution::{SessionState, memory_pool::FairSpillPool, runtime_env::RuntimeEnvBuilder},
    logical_expr::LogicalPlan,
    prelude::{SQLOptions, SessionConfig, SessionContext},
};
use futures::{FutureExt, StreamExt, future::LocalBoxFuture};
use std::{future, sync::Arc, thread, time::Duration};

/// The memory limit in bytes for a second run of a cluster's query in this process, which finds the row of an error.
const LOCATING_MEMORY_BYTES: usize = 1 << 30;

/// Runs queries. The same query gives the same result on every engine.
pub struct Engine {
    context: SessionContext,
    /// The memory for one batch of rows, in bytes.
    batch_bytes: usize,
    /// The host and the port of the scheduler. `None` if the engine is in this process.
    scheduler: Option<String>,
}

impl Engine {
    /// Makes an engine in this process that runs up to `threads` tasks at a time.
    ///
    /// # Errors
    ///
    /// An error in DataFusion's settings. No case is known.
    pub fn embedded(threads: usize) -> Result<Self> {
        Self::embedded_with_memory(threads, None)
    }

    /// Makes an engine in this process. Its sorts, joins and other steps together hold up to `memory` bytes, or any
    /// number if it is `None`. Sorts that need more write temporary files. Other steps that need more, such as hash
    /// joins, fail, because they cannot write temporary files. Batches are small enough for several of them to fit into
    /// each thread's part of the memory.
    ///
    /// # Errors
    ///
    /// An error in DataFusion's settings. No case is known.
    pub fn embedded_with_memory(threads: usize, memory: Option<usize>) -> Result<Self> {
        let threads = threads.max(1);
        let config = SessionConfig::new().with_target_partitions(threads);
        let mut runtime = environment();
        if let Some(memory) = memory {
            runtime = runtime.with_memory_pool(Arc::new(FairSpillPool::new(memory)));
        }
        let mut context = SessionContext::new_with_config_rt(config, runtime.build_arc()?);
        functions::register_all(&mut context)?;
        let batch_bytes = batches::bytes_per_batch(memory.map(|memory| memory / threads));
        Ok(Self {
            context,
            batch_bytes,
            scheduler: None,
        })
    }

    /// Returns the session in which queries are planned.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// Plans a query. Its tables are Parquet files, or folders of them, which the query names in quotes.
    ///
    /// # Errors
    ///
    /// An error if the query does more than read tables, cannot be planned, or names a file that cannot be read.
    pub fn query<'a>(&'a self, query: &'a str) -> LocalBoxFuture<'a, Result<DataFrame>> {
        let future = async move {
            let (state, plan) = tables::plan(&self.context, query).await?;
            self.plan(state, plan)
        };
        future.boxed_local()
    }

    /// Runs a query again after it failed with `problem`, if this error names a row only by its number in a batch.
    /// Returns the new error's message, which names a row by its number in a file; this can be another row than before.
    /// Returns `None` if `problem` is another error, if the rows do not come from a file, as after a join, or if the
    /// second run ends without such an error.
    ///
    /// The second run is always in this process, because the tasks of a cluster cannot find out the row numbers in
    /// files. Reading a cluster's tables in this process can take long, so it is logged together with `problem`.
    pub fn locate<'a>(
        &'a self,
        query: &'a str,
        problem: &'a str,
    ) -> LocalBoxFuture<'a, Option<String>> {
        let future = async move {
            if !functions::names_row_of_batch(problem) {
                return None;
            }
            if self.scheduler.is_none() {
                return self.run_with_row_names(query).await;
            }
            log::warn!("{problem}; now reading the tables in this process, to name the row's file");
            let threads = thread::available_parallelism().map_or(1, usize::from);
            let embedded = Self::embedded_with_memory(threads, Some(LOCATING_MEMORY_BYTES)).ok()?;
            embedded.run_with_row_names(query).await
        };
        future.boxed_local()
    }

    async fn run_with_row_names(&self, query: &str) -> Option<String> {
        let (state, plan) = tables::plan(&self.context, query).await.ok()?;
        let query = self.plan(state, rows::with_names(plan).ok()?).ok()?;
        let mut batches = query.execute_stream().await.ok()?;
        while let Some(batch) = batches.next().await {
            if let Err(error) = batch {
                return Some(message(&error)).filter(|problem| functions::names_row(problem));
            }
        }
        None
    }

    fn plan(&self, mut state: SessionState, plan: LogicalPlan) -> Result<DataFrame> {
        let read_only = SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false);
        read_only.verify_plan(&plan)?;
        let optimized = state.optimize(&plan)?;
        let batch_rows = batches::rows_per_batch(&optimized, self.batch_bytes)?;
        let options = state.config_mut().options_mut();
        options.set("datafusion.execution.batch_size", &batch_rows.to_string())?;
        Ok(DataFrame::new(state, plan))
    }

    /// Waits until a cluster has had no executor, or its scheduler has not answered, for the time `patience`. Returns
    /// an error that describes which of the two happened. Waits forever if the engine is in this process. Ballista
    /// itself notices only the loss of the last executor, and only during a query. If there never was an executor, it
    /// lets the query wait forever.
    pub fn lost(
        &self,
        #[cfg_attr(not(feature = "cluster"), expect(unused_variables))] patience: Duration,
    ) -> LocalBoxFuture<'_, DataFusionError> {
        #[cfg(feature = "cluster")]
        if let Some(scheduler) = &self.scheduler {
            return cluster::lost(scheduler, patience).boxed_local();
        }
        future::pending().boxed_local()
    }
}

/// Returns the environment of sessions in every process. With the feature `object-stores`, the sessions also find files
/// in object stores.
fn environment() -> RuntimeEnvBuilder {
    let environment = RuntimeEnvBuilder::new();
    #[cfg(feature = "object-stores")]
    let environment =
        environment.with_object_store_registry(Arc::new(objects::Registry::default()));
    environment
}
