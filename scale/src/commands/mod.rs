//! The subcommands, one file each, and the functions that they share.

mod concat;
mod convert;
mod crop;
#[cfg(feature = "cluster")]
mod executor;
mod gather;
mod gather_nd;
mod index;
mod job;
#[cfg(feature = "cluster")]
mod scheduler;
mod slice;
#[cfg(feature = "sql")]
mod sql;

use crate::failure::Failure;
use bytesize::ByteSize;
use clap::{ArgAction, Parser, Subcommand, value_parser};
#[cfg(not(feature = "cluster"))]
use std::ffi::OsString;
#[cfg(feature = "sql")]
use std::time::Duration;
use std::{
    fmt::Display,
    io::{ErrorKind, Write, stdout},
    thread,
};
#[cfg(unix)]
use tokio::signal::unix;
use tokio::{
    runtime::{Builder, Runtime},
    signal::ctrl_c,
};
#[cfg(feature = "sql")]
use wgslice_scale::engine::Engine;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the work failed
  2  wrong usage";

/// Slices and gathers Zarr stores that are larger than a machine, with TensorFlow's exact semantics; with the feature
/// sql, also tables of tensors.
#[derive(Debug, Parser)]
#[command(name = "wgslice-scale", version, max_term_width = 90, after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// Log the work of the engines on standard error; twice for details
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The options for where a command's work runs.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Where it runs")]
pub(crate) struct RunArgs {
    /// Run on the cluster with this scheduler, as in df://host:50050 [default: in this process]
    #[arg(long, value_name = "URL", hide = cfg!(not(feature = "cluster")))]
    pub(crate) cluster: Option<String>,
    /// Use N threads in this process [default: one for each core]
    #[arg(long, value_name = "N", value_parser = count, conflicts_with = "cluster")]
    pub(crate) threads: Option<usize>,
    /// Split each step into up to N tasks [default: one for each thread; 64 on a cluster]
    #[arg(long, value_name = "N", value_parser = partitions)]
    pub(crate) partitions: Option<usize>,
    /// The memory of this process, as in 500M or 2GiB; on a cluster, the memory of an executor for each of its cores
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub(crate) memory: Option<usize>,
    /// Give up when the cluster has had no executor for N seconds
    #[arg(long, value_name = "N", default_value_t = 60, hide = cfg!(not(feature = "cluster")), value_parser = value_parser!(u64).range(1..))]
    pub(crate) wait: u64,
}

impl RunArgs {
    /// Returns how long to wait for a cluster without executors.
    #[cfg(feature = "sql")]
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs(self.wait)
    }
}

/// The default number of tasks for a step on a cluster. It is large enough for some tens of cores. It is small enough
/// for shuffles, which have the square of this number of blocks.
#[cfg(feature = "cluster")]
pub(crate) const CLUSTER_PARTITIONS: usize = 64;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Slice(slice::Slice),
    Index(index::Index),
    Gather(gather::Gather),
    GatherNd(gather_nd::GatherNd),
    Crop(crop::Crop),
    Concat(concat::Concat),
    Stack(concat::Stack),
    Convert(convert::Convert),
    #[cfg(feature = "sql")]
    Sql(sql::Sql),
    #[cfg(feature = "cluster")]
    Scheduler(scheduler::SchedulerArgs),
    #[cfg(feature = "cluster")]
    Executor(executor::Executor),
    #[cfg(not(feature = "sql"))]
    #[command(hide = true)]
    Sql(Absent),
    #[cfg(not(feature = "cluster"))]
    #[command(hide = true)]
    Scheduler(Absent),
    #[cfg(not(feature = "cluster"))]
    #[command(hide = true)]
    Executor(Absent),
}

/// The arguments of a subcommand that this build leaves out. They are not parsed.
#[cfg(not(feature = "cluster"))]
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Absent {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<OsString>,
}

pub(crate) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Slice(args) => slice::run(&args),
        Command::Index(args) => index::run(&args),
        Command::Gather(args) => gather::run(&args),
        Command::GatherNd(args) => gather_nd::run(&args),
        Command::Crop(args) => crop::run(&args),
        Command::Concat(args) => concat::run(&args.inputs, false),
        Command::Stack(args) => concat::run(&args.inputs, true),
        Command::Convert(args) => convert::run(&args),
        #[cfg(feature = "sql")]
        Command::Sql(args) => sql::run(&args),
        #[cfg(feature = "cluster")]
        Command::Scheduler(args) => scheduler::run(args),
        #[cfg(feature = "cluster")]
        Command::Executor(args) => executor::run(args),
        #[cfg(not(feature = "sql"))]
        Command::Sql(_) => Err(missing_feature("sql")),
        #[cfg(not(feature = "cluster"))]
        Command::Scheduler(_) | Command::Executor(_) => Err(missing_feature("cluster")),
    }
}

/// Returns the error for a request that needs a feature that this build leaves out.
pub(crate) fn missing_feature(feature: &str) -> Failure {
    Failure::usage(format_args!(
        "this command was built without the feature {feature:?}: build it with --features {feature}"
    ))
}

/// Returns the number of cores of this machine.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Starts a runtime for futures, such as an engine's futures, with this many threads.
pub(crate) fn runtime(threads: usize) -> Result<Runtime, Failure> {
    // The size of a thread's stack in bytes. It is large because the engines walk the trees of plans recursively.
    const STACK_BYTES: usize = 16 << 20;
    let mut builder = Builder::new_multi_thread();
    builder
        .worker_threads(threads.max(1))
        .thread_stack_size(STACK_BYTES);
    let runtime = builder.enable_all().build();
    runtime.map_err(|error| Failure::work(format_args!("cannot start threads: {error}")))
}

/// Makes an engine in this process, or on the cluster that `run_args` names.
#[cfg(feature = "sql")]
pub(crate) async fn engine(run_args: &RunArgs) -> Result<Engine, Failure> {
    let threads = run_args.threads.unwrap_or_else(cores);
    match &run_args.cluster {
        None => {
            Engine::embedded_with_memory(run_args.partitions.unwrap_or(threads), run_args.memory)
                .map_err(Failure::usage)
        }
        #[cfg(feature = "cluster")]
        Some(url) => {
            let engine = Engine::cluster(url, run_args.partitions.unwrap_or(CLUSTER_PARTITIONS))
                .await
                .map_err(Failure::usage)?;
            Ok(match run_args.memory {
                Some(memory) => engine.with_memory(memory),
                None => engine,
            })
        }
        #[cfg(not(feature = "cluster"))]
        Some(_) => Err(missing_feature("cluster")),
    }
}

/// Waits for SIGINT (Ctrl-C) or SIGTERM and returns its name.
pub(crate) async fn signal() -> &'static str {
    #[cfg(unix)]
    if let Ok(mut terminate) = unix::signal(unix::SignalKind::terminate()) {
        return tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            () = wait_for_interrupt() => "SIGINT",
        };
    }
    // If SIGTERM cannot be handled, this waits only for Ctrl-C.
    wait_for_interrupt().await;
    "SIGINT"
}

/// Waits for Ctrl-C. Never returns if Ctrl-C cannot be handled.
async fn wait_for_interrupt() {
    if ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

/// Parses a number of bytes above 0, as the command `wgslice` does: K, M and G are powers of 1000, and KiB, MiB and GiB
/// are powers of 1024.
pub(crate) fn memory(text: &str) -> Result<usize, String> {
    let bytes = text.parse().ok().map(|ByteSize(bytes)| bytes);
    let bytes = bytes.and_then(|bytes| isize::try_from(bytes).ok());
    bytes
        .filter(|&bytes| bytes > 0)
        .map(isize::unsigned_abs)
        .ok_or_else(|| {
            format!(
                "{text:?} is no number of bytes that a machine has; write one as in 500M or 2GiB"
            )
        })
}

/// Parses a number of threads, cores or attempts. The maximum is far above the threads that a machine can run.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    number_up_to(text, 4096)
}

/// Parses the number of tasks for a step. It is limited because the engines make a queue for each task.
fn partitions(text: &str) -> Result<usize, String> {
    number_up_to(text, 65_536)
}

fn number_up_to(text: &str, max: usize) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if (1..=max).contains(&number) => Ok(number),
        _ => Err(format!("{text:?} is no number from 1 to {max}")),
    }
}

/// Writes a line to standard output. It is not an error if the reader has closed the pipe.
pub(crate) fn print(line: impl Display) -> Result<(), Failure> {
    match writeln!(stdout(), "{line}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::work(format_args!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}
