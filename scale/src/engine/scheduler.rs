//! The scheduler of a Ballista cluster, with the functions of this crate.

use super::cluster::{MAX_MESSAGE_BYTES, session};
use ballista_core::error::{BallistaError, Result};
use ballista_scheduler::{
    cluster::BallistaCluster, config::SchedulerConfig, scheduler_process::start_server,
};
use futures::{FutureExt, future::BoxFuture};
use std::{net::SocketAddr, sync::Arc};

/// The settings of a scheduler.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// The address on which the scheduler listens.
    pub bind: SocketAddr,
    /// The name or address under which executors reach the scheduler.
    pub host: String,
    /// The time in seconds without a heartbeat after which an executor counts as lost and other executors run its
    /// tasks. If all executors are lost, queries fail after this time without any executor.
    pub executor_timeout: u64,
    /// The maximum number of times that a task is tried before its query fails.
    pub attempts: usize,
}

impl Scheduler {
    /// Runs the scheduler. It only returns with an error.
    ///
    /// # Errors
    ///
    /// An error if the scheduler cannot listen on the address.
    pub fn run(self) -> BoxFuture<'static, Result<()>> {
        self.serve().boxed()
    }

    async fn serve(self) -> Result<()> {
        let max_message_bytes = u32::try_from(MAX_MESSAGE_BYTES).unwrap_or(u32::MAX);
        let config = SchedulerConfig {
            bind_host: self.bind.ip().to_string(),
            bind_port: self.bind.port(),
            external_host: self.host,
            executor_timeout_seconds: self.executor_timeout,
            expire_dead_executor_interval_seconds: (self.executor_timeout / 4).clamp(1, 15),
            no_executors_grace_period_seconds: self.executor_timeout,
            task_max_failures: self.attempts,
            stage_max_failures: self.attempts,
            grpc_server_max_decoding_message_size: max_message_bytes,
            grpc_server_max_encoding_message_size: max_message_bytes,
            grpc_client_max_message_size: max_message_bytes,
            override_session_builder: Some(Arc::new(session)),
            ..SchedulerConfig::default()
        };
        let cluster = BallistaCluster::new_from_config(&config).await?;
        let outcome = start_server(cluster, self.bind, Arc::new(config)).await;
        outcome.map_err(|error| {
            BallistaError::General(format!("the scheduler on {} failed: {error}", self.bind))
        })
    }
}
