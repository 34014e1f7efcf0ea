//! Sessions on a Ballista cluster.

use super::{Engine, batches};
use crate::functions;
use ballista::prelude::SessionContextExt;
use ballista_core::{
    config::{
        BALLISTA_CLIENT_GRPC_HTTP2_KEEPALIVE_INTERVAL_SECONDS,
        BALLISTA_CLIENT_GRPC_MAX_MESSAGE_SIZE, BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK,
    },
    extension::SessionConfigExt,
};
use datafusion::{
    error::{DataFusionError, Result},
    execution::{SessionState, SessionStateBuilder, runtime_env::RuntimeEnv},
    prelude::{SessionConfig, SessionContext},
};
use std::sync::Arc;

/// The largest message between the processes of a cluster, in bytes. A message has a whole batch of rows.
pub(super) const MAX_MESSAGE: usize = 256 << 20;

/// How often a connection without traffic is tested, in seconds. A machine that is gone does not close its connections.
const KEEPALIVE: usize = 10;

impl Engine {
    /// An engine on a Ballista cluster, given the scheduler's address as `df://host:port`. A query is cut into up to
    /// `partitions` tasks at each step, each of which runs on one core.
    ///
    /// The tables of a query are files that the client, the scheduler and all executors see under the same name.
    ///
    /// # Errors
    ///
    /// A url that is none. Whether the scheduler is there shows only when a query runs.
    pub async fn cluster(url: &str, partitions: usize) -> Result<Self> {
        if !url.starts_with("df://") {
            return Err(DataFusionError::Configuration(format!(
                "{url:?} is no address of a scheduler: write it as df://host:50050"
            )));
        }
        let config = SessionConfig::new_with_ballista()
            .with_target_partitions(partitions.max(1))
            // Otherwise a task takes as many partitions as its executor has free cores, and so as much more memory.
            .set_usize(BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK, 1)
            .set_usize(BALLISTA_CLIENT_GRPC_MAX_MESSAGE_SIZE, MAX_MESSAGE)
            .set_usize(
                BALLISTA_CLIENT_GRPC_HTTP2_KEEPALIVE_INTERVAL_SECONDS,
                KEEPALIVE,
            );
        let state = SessionStateBuilder::new()
            .with_config(config)
            .with_default_features()
            .build();
        let mut context = SessionContext::remote_with_state(url, state).await?;
        // After the connection, which replaces all functions by the built-in ones.
        functions::register_all(&mut context)?;
        Ok(Self {
            context,
            batch: batches::memory_of(None),
        })
    }

    /// The same engine for executors that have this much memory for each core, in bytes.
    #[must_use]
    pub fn with_memory(self, memory: usize) -> Self {
        Self {
            batch: batches::memory_of(Some(memory)),
            ..self
        }
    }
}

/// A session of the scheduler, with the functions of this crate beside the built-in ones.
pub(super) fn session(config: SessionConfig) -> Result<SessionState> {
    let builder = SessionStateBuilder::new()
        .with_config(config)
        .with_default_features();
    let mut state = builder
        .with_runtime_env(Arc::new(RuntimeEnv::default()))
        .build();
    functions::register_all(&mut state)?;
    Ok(state)
}
