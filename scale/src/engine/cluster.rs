//! Makes sessions on a Ballista cluster, and checks whether the cluster can be reached.

use super::{Engine, batches, environment};
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
    execution::{SessionState, SessionStateBuilder},
    prelude::{SessionConfig, SessionContext},
};
use futures::{FutureExt, future::BoxFuture};
use std::{
    io,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};

/// The size in bytes of the largest message between the processes of a cluster. A message holds a whole batch of rows.
pub(super) const MAX_MESSAGE_BYTES: usize = 256 << 20;

/// The default port of a scheduler.
const DEFAULT_PORT: u16 = 50050;

/// The time in seconds between tests of an idle connection. The tests detect failed machines, because these do not
/// close their connections.
const KEEPALIVE_SECONDS: usize = 10;

impl Engine {
    /// Makes an engine on a Ballista cluster. `url` is the scheduler's address, as in `df://host:port`; the port
    /// defaults to 50050. Each step of a query is split into up to `partitions` tasks, and each task runs on one core.
    ///
    /// The tables of a query are files. The client, the scheduler and all executors must see each file under the same
    /// name.
    ///
    /// # Errors
    ///
    /// An error for a `url` of another form. An unreachable scheduler is only noticed when a query runs.
    pub fn cluster(url: &str, partitions: usize) -> BoxFuture<'_, Result<Self>> {
        Self::connected(url, partitions).boxed()
    }

    async fn connected(url: &str, partitions: usize) -> Result<Self> {
        let address = url
            .strip_prefix("df://")
            .map(|host| host.trim_end_matches('/'));
        let Some(address) = address.filter(|address| !address.is_empty()) else {
            return Err(DataFusionError::Configuration(format!(
                "{url:?} is no address of a scheduler: write it as df://host:50050"
            )));
        };
        let has_port = address
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let scheduler = if has_port {
            address.to_owned()
        } else {
            format!("{address}:{DEFAULT_PORT}")
        };
        let config = SessionConfig::new_with_ballista()
            .with_target_partitions(partitions.max(1))
            // With a larger maximum, a task would take as many partitions as its executor has free cores, and need
            // memory for all of them.
            .set_usize(BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK, 1)
            .set_usize(BALLISTA_CLIENT_GRPC_MAX_MESSAGE_SIZE, MAX_MESSAGE_BYTES)
            .set_usize(
                BALLISTA_CLIENT_GRPC_HTTP2_KEEPALIVE_INTERVAL_SECONDS,
                KEEPALIVE_SECONDS,
            );
        let state = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(environment().build_arc()?)
            .with_default_features()
            .build();
        let mut context = SessionContext::remote_with_state(url, state).await?;
        // The functions are registered only now, because `remote_with_state` replaces all functions with the built-in
        // ones.
        functions::register_all(&mut context)?;
        Ok(Self {
            context,
            batch_bytes: batches::bytes_per_batch(None),
            scheduler: Some(scheduler),
        })
    }

    /// Sets the memory in bytes that executors have for each of their cores. With little memory, queries use small
    /// batches.
    #[must_use]
    pub fn with_memory(self, memory: usize) -> Self {
        Self {
            batch_bytes: batches::bytes_per_batch(Some(memory)),
            ..self
        }
    }
}

/// Makes the scheduler's session, with the functions of this crate in addition to the built-in ones.
pub(super) fn session(config: SessionConfig) -> Result<SessionState> {
    let builder = SessionStateBuilder::new()
        .with_config(config)
        .with_default_features();
    let mut state = builder.with_runtime_env(environment().build_arc()?).build();
    functions::register_all(&mut state)?;
    Ok(state)
}

/// Waits until the scheduler has had no executor, or has not answered, for the time `patience`. Returns an error that
/// describes which of the two happened.
pub(super) async fn lost(scheduler: &str, patience: Duration) -> DataFusionError {
    const POLL_INTERVAL: Duration = Duration::from_secs(1);
    let mut last_ready = Instant::now();
    loop {
        let readiness = timeout(patience, is_ready(scheduler)).await;
        let problem = match readiness {
            Ok(Ok(true)) => {
                last_ready = Instant::now();
                String::new()
            }
            Ok(Ok(false)) => "has no executor".to_owned(),
            Ok(Err(error)) => format!("does not answer ({error})"),
            Err(_) => "does not answer".to_owned(),
        };
        if last_ready.elapsed() >= patience {
            return DataFusionError::Execution(format!(
                "the scheduler at {scheduler} {problem}, for {} s: start executors, and run this again",
                patience.as_secs()
            ));
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Returns whether the scheduler has an executor.
async fn is_ready(scheduler: &str) -> io::Result<bool> {
    let mut connection = TcpStream::connect(scheduler).await?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {scheduler}\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).await?;
    let mut status = [0; "HTTP/1.1 200".len()];
    connection.read_exact(&mut status).await?;
    Ok(status.ends_with(b" 200"))
}
