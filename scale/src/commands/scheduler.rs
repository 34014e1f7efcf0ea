//! `wgslice-scale scheduler`.

use super::{cores, runtime, signal};
use crate::failure::Failure;
use std::net::SocketAddr;
use wgslice_scale::engine::scheduler;

/// Start the scheduler of a cluster
///
/// It assigns tasks to executors, and runs until SIGTERM or SIGINT. It keeps no state on disk: when it ends, running
/// queries fail and can be run again.
///
/// Anyone who can connect to its port can read the files that the executors can read, so keep it on a trusted network.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice-scale scheduler
  wgslice-scale scheduler --bind 0.0.0.0:50050 --host scheduler.local")]
pub(crate) struct SchedulerArgs {
    /// Listen on this address
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:50050")]
    bind: SocketAddr,
    /// The name under which executors reach this machine [default: the address of --bind]
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Consider an executor lost after this many seconds without a heartbeat, and fail queries after as many seconds
    /// without any executor. Must exceed two heartbeats
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    executor_timeout: u64,
    /// Try a task this many times before its query fails
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = super::count)]
    attempts: usize,
}

pub(crate) fn run(args: SchedulerArgs) -> Result<(), Failure> {
    let scheduler = scheduler::Scheduler {
        bind: args.bind,
        host: args.host.unwrap_or_else(|| args.bind.ip().to_string()),
        executor_timeout: args.executor_timeout,
        attempts: args.attempts,
    };
    let runtime = runtime(cores())?;
    let outcome = runtime.block_on(async {
        tokio::select! {
            outcome = scheduler.run() => outcome.map_err(Failure::work),
            name = signal() => {
                log::info!("ended by {name}");
                Ok(())
            }
        }
    });
    // Executors keep their connections open, so this does not wait for them to close.
    runtime.shutdown_background();
    outcome
}
