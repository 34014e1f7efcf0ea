//! The options of the commands that make a Zarr array, and the functions that run these commands.

use super::{RunArgs, cores, missing_feature, print};
use crate::failure::Failure;
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::{
    fmt::Display,
    io::{Write, stderr},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};
use wgslice::DType;
#[cfg(feature = "cluster")]
use wgslice_scale::engine::message;
use wgslice_scale::{
    job::{
        self, Conversion, DeviceChoice, Form, How, Operation, Order, Prepared, Record, State,
        Summary,
    },
    zarr::{self, Error},
};

/// The options for the result of a job, and for how it is computed.
#[derive(Debug, clap::Args)]
pub(crate) struct ResultArgs {
    /// The folder or URL of the Zarr array to make
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) form: FormArgs,
    /// The device that slices and gathers chunks
    #[arg(long, value_enum, default_value_t = Device::Auto, value_name = "DEVICE")]
    device: Device,
    #[command(flatten)]
    run_args: RunArgs,
    /// Replace an array, or another job's unfinished result, at OUT. A complete result of this job is computed again;
    /// an unfinished one is continued
    #[arg(long)]
    overwrite: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print what would be read and written, and stop
    #[arg(long)]
    explain: bool,
}

/// The options for the form of a new array.
#[derive(Debug, clap::Args)]
pub(crate) struct FormArgs {
    /// The shape of a shard, as in 512,512,512 [default: a few chunks, at most 32 MiB]
    #[arg(long, value_name = "SIZES")]
    shard: Option<Sizes>,
    /// The shape of the chunks within shards [default: like the source's]
    #[arg(long, value_name = "SIZES")]
    chunk: Option<Sizes>,
    /// The compression of chunks [default: like the source's]
    #[arg(long, value_enum, value_name = "CODEC")]
    codec: Option<Codec>,
}

impl FormArgs {
    pub(crate) fn is_given(&self) -> bool {
        self.shard.is_some() || self.chunk.is_some() || self.codec.is_some()
    }
}

/// Sizes separated by commas.
#[derive(Clone, Debug)]
pub(crate) struct Sizes(pub(crate) Vec<usize>);

impl std::str::FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self(Vec::new()));
        }
        let size = |part: &str| {
            let part = part.trim();
            part.parse().map_err(|_| format!("{part:?} is no size"))
        };
        text.split(',')
            .map(size)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// The options for converting elements.
#[derive(Debug, clap::Args)]
pub(crate) struct ConversionArgs {
    /// Convert the elements to TYPE: u8, i8, u16, i16, f16, bf16 or f32. Numbers are rounded to the nearest, ties to
    /// even, and integers saturate
    #[arg(long = "as", value_name = "TYPE")]
    to: Option<String>,
    /// Multiply by X before the conversion; for elements of u8 and i8
    #[arg(long, value_name = "X", requires = "to", allow_hyphen_values = true)]
    scale: Option<f32>,
    /// Add X after the multiplication
    #[arg(long, value_name = "X", requires = "to", allow_hyphen_values = true)]
    bias: Option<f32>,
}

impl ConversionArgs {
    pub(crate) fn read(&self) -> Result<Option<Conversion>, Failure> {
        let Some(name) = &self.to else {
            return Ok(None);
        };
        let found = DType::ALL
            .into_iter()
            .find(|dtype| dtype.name() == name || dtype.to_string() == *name);
        let dtype = found.ok_or_else(|| {
            Failure::usage(format_args!(
                "--as is {name}, but must be u8, i8, u16, i16, f16, bf16 or f32"
            ))
        })?;
        Ok(Some(Conversion::new(dtype, self.scale, self.bias)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Codec {
    /// No compression
    None,
    /// gzip at level 5
    Gzip,
    /// Zstandard at level 3
    Zstd,
    /// Blosc with LZ4 at level 5, on shuffled bytes
    Blosc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Device {
    /// A hardware GPU if there is one and if the estimated time to open it and process a chunk is less than the CPU's,
    /// else the CPU. Opening takes longer than most chunks
    Auto,
    /// The CPU
    Cpu,
    /// A GPU, which may be a software adapter
    Gpu,
}

/// The options for the meaning of indices.
#[derive(Debug, clap::Args)]
pub(crate) struct IndexPolicy {
    /// The policy for an index tuple out of range
    #[arg(long, value_enum, default_value_t = Policy::Zero, value_name = "POLICY")]
    out_of_range: Policy,
    /// The meaning of a negative index
    #[arg(long, value_enum, default_value_t = Negative::OutOfRange, value_name = "MEANING")]
    negative: Negative,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Policy {
    /// Its slice becomes zeros, with a warning
    Zero,
    /// The job fails
    Error,
    /// Its indices move to the nearest end of their dimensions
    Clamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Negative {
    /// It is out of range, as in TensorFlow
    OutOfRange,
    /// It counts from the end, as in NumPy and ONNX
    Wrap,
}

impl IndexPolicy {
    pub(crate) fn out_of_range(&self) -> job::OutOfRange {
        self.out_of_range.into()
    }

    pub(crate) fn wraps(&self) -> bool {
        self.negative == Negative::Wrap
    }
}

impl From<Policy> for job::OutOfRange {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Zero => Self::Zero,
            Policy::Error => Self::Error,
            Policy::Clamp => Self::Clamp,
        }
    }
}

impl From<&FormArgs> for Form {
    fn from(args: &FormArgs) -> Self {
        let sizes = |sizes: &Option<Sizes>| sizes.as_ref().map(|Sizes(sizes)| sizes.clone());
        Self {
            shard: sizes(&args.shard),
            chunk: sizes(&args.chunk),
            codec: args.codec.map(|codec| match codec {
                Codec::None => zarr::Codec::None,
                Codec::Gzip => zarr::Codec::Gzip,
                Codec::Zstd => zarr::Codec::Zstd,
                Codec::Blosc => zarr::Codec::Blosc,
            }),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Usage(_) => Self::usage(error),
            Error::Data(_) | Error::Io(_) => Self::work(error),
        }
    }
}

/// Makes an array by an operation on `source`, with the options in `args`.
pub(crate) fn run(operation: Operation, source: &Path, args: &ResultArgs) -> Result<(), Failure> {
    let how = How {
        device: match args.device {
            Device::Auto => DeviceChoice::Auto,
            Device::Cpu => DeviceChoice::Cpu,
            Device::Gpu => DeviceChoice::Gpu,
        },
        threads: 1,
        // A cluster retries tasks itself.
        attempts: if args.run_args.cluster.is_some() {
            1
        } else {
            4
        },
        memory: None,
        cache: 0,
        ahead: 0,
    };
    let form = Form::from(&args.form);
    let prepared = Prepared::create(operation, source, &args.output, &form, how)?;
    if args.explain {
        return show(&prepared.explain()?, args.json);
    }
    make(prepared, &args.run_args, args.overwrite, args.json)
}

/// The maximum number of bytes of decoded chunks that a process keeps for later shards.
const CACHE_BYTES: usize = 256 << 20;

/// The maximum number of bytes that a process requests from remote stores in advance.
const AHEAD_BYTES: usize = 128 << 20;

/// Computes the missing shards of a job's result.
pub(crate) fn make(
    prepared: Prepared,
    run_args: &RunArgs,
    overwrite: bool,
    json: bool,
) -> Result<(), Failure> {
    if run_args.cluster.is_some() && cfg!(not(feature = "cluster")) {
        return Err(missing_feature("cluster"));
    }
    let Order { job, mut how, .. } = prepared.order().clone();
    if how.device == DeviceChoice::Gpu && cfg!(not(feature = "gpu")) {
        return Err(missing_feature("gpu"));
    }
    let (task_bytes, shards) = (prepared.task_bytes(), prepared.shards());
    if let Some(memory) = run_args.memory.filter(|&memory| memory < task_bytes) {
        return Err(Failure::usage(format_args!(
            "--memory is {memory} bytes, but one task needs {}M: give it so much, or make smaller \
             shards with --shard",
            task_bytes.div_ceil(1_000_000)
        )));
    }
    let record = match Record::begin(&job, overwrite)? {
        State::Open(record) => record,
        State::Complete if json => {
            let summary = Summary {
                shards,
                stood: shards,
                ..Summary::default()
            };
            return print_json(&summary);
        }
        State::Complete => {
            return print(format_args!(
                "{} is complete: nothing to compute",
                job.result.display()
            ));
        }
    };
    // If the memory is limited, the cache gets at most half of the memory that one task leaves, and early requests to a
    // remote store get at most a quarter.
    let free_bytes = run_args.memory.map(|memory| memory - task_bytes);
    how.cache = free_bytes.map_or(CACHE_BYTES, |free_bytes| CACHE_BYTES.min(free_bytes / 2));
    if prepared.is_remote() {
        how.ahead = free_bytes.map_or(AHEAD_BYTES, |free_bytes| AHEAD_BYTES.min(free_bytes / 4));
    }
    if run_args.cluster.is_none() {
        // On a cluster, each task has the memory of one core of its executor, so the tasks of a process need no common
        // limit.
        how.memory = run_args.memory.map(|memory| memory - how.cache - how.ahead);
    }
    let missing = record.missing(&prepared)?;
    let threads = run_args.threads.unwrap_or_else(cores);
    if run_args.cluster.is_none() {
        // If there are fewer tasks than threads, the tasks divide the threads among them.
        how.threads = (threads / missing.len().max(1)).max(1);
    }
    let prepared = prepared.begun(&record, how)?;
    let summary = if run_args.cluster.is_some() {
        on_cluster(run_args, record, &prepared, &missing)?
    } else {
        let max_lists = run_args.partitions.unwrap_or(threads.saturating_mul(4));
        let _bar = Bar::start(&prepared, missing.len() as u64);
        job::run(record, &prepared, &missing, threads, max_lists)?
    };
    // If standard error cannot be written to, the warning is lost, but the result is complete.
    let warn = |warning: &dyn Display| {
        let _ = writeln!(stderr(), "warning: {warning}");
    };
    for warning in zarr::stale(&job.result, &job.metadata) {
        warn(&warning);
    }
    if summary.out_of_range > 0 {
        let problem = match job.operation {
            Operation::Crop { .. } => {
                "boxes extend beyond the array, and their elements there became zeros"
            }
            _ => "index tuples are out of range and became zeros",
        };
        warn(&format_args!("{} {problem}", summary.out_of_range));
    }
    show(&summary, json)
}

/// Computes the missing shards on a cluster.
#[cfg(feature = "cluster")]
fn on_cluster(
    run_args: &RunArgs,
    record: Record,
    prepared: &Prepared,
    missing: &[u64],
) -> Result<Summary, Failure> {
    let run_args = RunArgs {
        memory: None,
        ..run_args.clone()
    };
    super::runtime(cores())?.block_on(async {
        let engine = super::engine(&run_args).await?;
        let max_lists = engine.context().copied_config().target_partitions();
        tokio::select! {
            summary = job::run_on(&engine, record, prepared, missing, max_lists) => Ok(summary?),
            error = engine.lost(run_args.patience()) => Err(Failure::work(message(&error))),
        }
    })
}

#[cfg(not(feature = "cluster"))]
fn on_cluster(_: &RunArgs, _: Record, _: &Prepared, _: &[u64]) -> Result<Summary, Failure> {
    Err(missing_feature("cluster"))
}

/// Prints a summary or an explanation.
pub(crate) fn show(value: &(impl Display + Serialize), json: bool) -> Result<(), Failure> {
    if json {
        print_json(value)
    } else {
        print(value)
    }
}

fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(serde_json::to_string(value).map_err(Failure::work)?)
}

/// A progress bar that counts this process's finished tasks and is drawn by its own thread. It is hidden if standard
/// error is not a terminal.
struct Bar {
    is_stopped: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Bar {
    fn start(prepared: &Arc<Prepared>, tasks: u64) -> Self {
        let is_stopped = Arc::new(AtomicBool::new(false));
        let (stop_flag, prepared) = (is_stopped.clone(), prepared.clone());
        let thread = thread::spawn(move || {
            let bar = ProgressBar::new(tasks);
            if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} {eta}") {
                bar.set_style(style);
            }
            while !stop_flag.load(Ordering::Relaxed) {
                bar.set_position(prepared.done());
                thread::park_timeout(Duration::from_millis(100));
            }
            bar.finish_and_clear();
        });
        Self {
            is_stopped,
            thread: Some(thread),
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread only draws, so nothing is lost if it panicked.
            let _ = thread.join();
        }
    }
}
