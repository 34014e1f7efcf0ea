//! `wgslice-scale executor`.

use super::{cores, memory, runtime};
use crate::failure::Failure;
use std::{net::IpAddr, path::PathBuf};
use wgslice_scale::engine::executor;

/// Start an executor of a cluster
///
/// It runs the tasks that the scheduler assigns to it, until SIGTERM or SIGINT. If it is killed or its machine fails,
/// other executors run its tasks again.
///
/// Anyone who can connect to its ports can read the results of its tasks, so keep it on a trusted network.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice-scale executor --scheduler 127.0.0.1:50050 --cores 4 --memory 8G
  wgslice-scale executor --scheduler scheduler.local:50050 --bind 0.0.0.0 --host worker-1.local")]
pub(crate) struct Executor {
    /// The scheduler
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50050", value_parser = host_and_port)]
    scheduler: (String, u16),
    /// Run N tasks at a time [default: one for each core]
    #[arg(long, value_name = "N", value_parser = super::count)]
    cores: Option<usize>,
    /// Memory for the sorts, joins and other state of all tasks together, as in 500M or 2GiB; the batches between tasks
    /// are not included [default: most of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    memory: Option<usize>,
    /// Keep the results of tasks in this folder [default: a new one, removed at the end]
    #[arg(long, value_name = "FOLDER")]
    work_dir: Option<PathBuf>,
    /// Listen on this address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    bind: IpAddr,
    /// Serve the results of tasks on this port
    #[arg(long, value_name = "PORT", default_value_t = 50051)]
    bind_port: u16,
    /// Listen on this port for the scheduler's commands
    #[arg(long, value_name = "PORT", default_value_t = 50052)]
    command_port: u16,
    /// The name under which others reach this machine [default: the address of --bind]
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Seconds between heartbeats to the scheduler
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    heartbeat: u64,
    /// Wait up to this many seconds for the scheduler at the start
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    wait: u16,
}

pub(crate) fn run(args: Executor) -> Result<(), Failure> {
    let task_count = args.cores.unwrap_or_else(cores);
    let executor = executor::Executor {
        scheduler: args.scheduler,
        bind: args.bind,
        port: args.bind_port,
        command_port: args.command_port,
        host: args.host,
        cores: task_count,
        work_dir: args.work_dir,
        memory: args.memory,
        heartbeat: args.heartbeat,
        connect_timeout: args.wait,
    };
    // There is one more thread than tasks, so that heartbeats are sent while all tasks compute.
    let runtime = runtime(task_count.saturating_add(1))?;
    let outcome = runtime.block_on(executor.run()).map_err(Failure::work);
    runtime.shutdown_background();
    outcome
}

fn host_and_port(text: &str) -> Result<(String, u16), String> {
    let parts = text.rsplit_once(':');
    let parts = parts.and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?)));
    parts
        .filter(|(host, _)| !host.is_empty())
        .ok_or_else(|| format!("{text:?} is no address as in host:50050"))
}
