//! The subcommands, one file each, and what they share.

mod convert;
mod gather;
mod gather_nd;
mod job;
mod slice;
mod sql;

use crate::failure::Failure;
use clap::{ArgAction, Parser, Subcommand};
use std::thread;
use tokio::runtime::{Builder, Runtime};

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the work failed
  2  wrong usage";

/// Slices and gathers Zarr stores and tables of tensors that are larger than a machine, with
/// TensorFlow's exact semantics.
#[derive(Debug, Parser)]
#[command(name = "wgslice-scale", version, max_term_width = 90, after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// Say on standard error what the engines do; twice for details
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Slice(slice::Slice),
    Gather(gather::Gather),
    GatherNd(gather_nd::GatherNd),
    Convert(convert::Convert),
    Sql(sql::Sql),
}

pub(crate) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Slice(args) => slice::run(&args),
        Command::Gather(args) => gather::run(&args),
        Command::GatherNd(args) => gather_nd::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Sql(args) => sql::run(&args),
    }
}

/// The number of cores of this machine.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The threads on which an engine runs.
pub(crate) fn runtime(threads: usize) -> Result<Runtime, Failure> {
    // Plans are trees, which the engines walk by recursion.
    const STACK: usize = 16 << 20;
    let mut builder = Builder::new_multi_thread();
    builder
        .worker_threads(threads.max(1))
        .thread_stack_size(STACK);
    let runtime = builder.enable_all().build();
    runtime.map_err(|error| Failure::work(format_args!("cannot start threads: {error}")))
}

/// Reads a number of bytes, as in 500M or 2G, where K, M and G are powers of 1024.
pub(crate) fn memory(text: &str) -> Result<usize, String> {
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let number: Option<usize> = digits.parse().ok();
    number
        .filter(|&number| number > 0)
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| format!("{text:?} is no number of bytes; write one as in 500M or 2G"))
}
