//! An executor of a Ballista cluster, with the functions of this crate.

use super::{cluster::MAX_MESSAGE_BYTES, environment};
use crate::functions;
use ballista_core::{
    error::{BallistaError, Result},
    registry::BallistaFunctionRegistry,
};
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use futures::{FutureExt, future::BoxFuture};
use std::{fs, net::IpAddr, path::PathBuf, sync::Arc};
use tempfile::{Builder, TempDir};

/// The settings of an executor.
#[derive(Clone, Debug)]
pub struct Executor {
    /// The host and the port of the scheduler.
    pub scheduler: (String, u16),
    /// The address on which the executor listens.
    pub bind: IpAddr,
    /// The port on which the executor serves the results of its tasks.
    pub port: u16,
    /// The port on which the executor takes commands from the scheduler.
    pub command_port: u16,
    /// The name or address under which other machines reach the executor. `None` for the address `bind`.
    pub host: Option<String>,
    /// The maximum number of tasks that the executor runs at a time.
    pub cores: usize,
    /// The folder for the results of tasks and for temporary files. `None` for a new temporary folder, which is removed
    /// at the end.
    pub work_dir: Option<PathBuf>,
    /// The memory for all tasks together, in bytes. `None` for most of the memory of the machine.
    pub memory: Option<usize>,
    /// The time in seconds between heartbeats.
    pub heartbeat: u64,
    /// The time in seconds for which the executor tries to reach the scheduler when it starts.
    pub connect_timeout: u16,
}

impl Executor {
    /// Runs the executor until it gets SIGTERM or SIGINT, or the scheduler stops it.
    ///
    /// # Errors
    ///
    /// An error if the scheduler cannot be reached, if the executor cannot listen on an address, or if `work_dir`
    /// cannot be made or its name is not UTF-8.
    pub fn run(self) -> BoxFuture<'static, Result<()>> {
        self.serve().boxed()
    }

    async fn serve(self) -> Result<()> {
        let max_message_bytes = u32::try_from(MAX_MESSAGE_BYTES).unwrap_or(u32::MAX);
        let (work_dir, temp_dir) = match self.work_dir {
            Some(folder) => {
                fs::create_dir_all(&folder)?;
                (folder, None)
            }
            None => {
                // The folder is new, and no other user can read it.
                let folder = Builder::new().prefix("wgslice-executor-").tempdir()?;
                (folder.path().to_owned(), Some(folder))
            }
        };
        let Some(folder) = work_dir.to_str() else {
            return Err(BallistaError::Configuration(format!(
                "{} is no UTF-8",
                work_dir.display()
            )));
        };
        let temporary_folder = work_dir.clone();
        let config = ExecutorProcessConfig {
            bind_host: self.bind.to_string(),
            external_host: Some(self.host.unwrap_or_else(|| self.bind.to_string())),
            port: self.port,
            grpc_port: self.command_port,
            scheduler_host: self.scheduler.0,
            scheduler_port: self.scheduler.1,
            scheduler_connect_timeout_seconds: self.connect_timeout,
            vcores: self.cores,
            work_dir: Some(folder.to_owned()),
            memory_pool_size: self.memory.map(|memory| memory as u64),
            executor_heartbeat_interval_seconds: self.heartbeat,
            grpc_max_decoding_message_size: max_message_bytes,
            grpc_max_encoding_message_size: max_message_bytes,
            override_function_registry: Some(Arc::new(registry())),
            override_runtime_producer: Some(Arc::new(move |_| {
                let environment = environment().with_temp_file_path(&temporary_folder);
                environment.build_arc()
            })),
            ..ExecutorProcessConfig::default()
        };
        let ports = format!(
            "{}, ports {} and {}",
            self.bind, self.port, self.command_port
        );
        let outcome = start_executor_process(Arc::new(config)).await;
        let outcome = outcome.map_err(|error| {
            BallistaError::General(format!("the executor on {ports} failed: {error}"))
        });
        if let Some(Err(error)) = temp_dir.map(TempDir::close) {
            log::warn!("cannot remove {}: {error}", work_dir.display());
        }
        outcome
    }
}

/// Returns the built-in functions and this crate's functions. The latter are added individually, because
/// [`functions::register_all`] cannot add functions to Ballista's registry.
fn registry() -> BallistaFunctionRegistry {
    let mut registry = BallistaFunctionRegistry::default();
    for function in functions::all() {
        registry
            .scalar_functions
            .insert(function.name().to_owned(), function);
    }
    registry
}
