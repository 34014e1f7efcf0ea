//! `wgslice-scale convert`.

use super::{
    RunArgs, cores, count,
    job::{self, FormArgs},
    memory, runtime, signal,
};
use crate::failure::Failure;
use std::{fs, path::PathBuf};
use wgslice_scale::{
    job::{DeviceChoice, Form, How, Operation, Prepared, Summary, to_npy},
    partial,
    zarr::is_store,
};

/// Convert an .npy file to a Zarr array, or a Zarr array to an .npy file
///
/// Neither has to fit into memory. The type of IN decides the direction. An .npy file is written under a temporary name
/// and then renamed, so that it appears as a whole or not at all.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice-scale convert array.npy -o array.zarr --shard 512,512,512 --chunk 64,64,64
  wgslice-scale convert array.zarr -o array.npy --memory 500M")]
pub(crate) struct Convert {
    /// The .npy file, or the folder or URL of the Zarr array
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The folder or URL of the Zarr array to make, or the .npy file
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    #[command(flatten)]
    form: FormArgs,
    /// Use N threads [default: one for each core]
    #[arg(long, value_name = "N", value_parser = count)]
    threads: Option<usize>,
    /// The maximum memory of all threads together, as in 500M or 2GiB
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    memory: Option<usize>,
    /// Replace a file, an array, or another job's unfinished result at OUT. A complete result of this job is computed
    /// again; an unfinished one is continued
    #[arg(long)]
    overwrite: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Convert) -> Result<(), Failure> {
    let (memory, overwrite) = (args.memory, args.overwrite);
    if is_store(&args.input) {
        if args.form.is_given() {
            return Err(Failure::usage(
                "an .npy file has no shards, chunks or codec: drop --shard, --chunk and --codec",
            ));
        }
        return job::show(&write_npy(args)?, args.json);
    }
    let form = Form::from(&args.form);
    let how = How {
        device: DeviceChoice::Cpu,
        threads: 1,
        attempts: 4,
        memory: None,
        cache: 0,
        ahead: 0,
    };
    let run_args = RunArgs {
        cluster: None,
        threads: args.threads,
        partitions: None,
        memory,
        wait: 0,
    };
    let prepared = Prepared::create(Operation::Convert, &args.input, &args.output, &form, how)?;
    job::make(prepared, &run_args, overwrite, args.json)
}

/// Writes the `.npy` file. SIGINT or SIGTERM stops the conversion, and leaves no unfinished file.
fn write_npy(args: &Convert) -> Result<Summary, Failure> {
    let (input, output) = (args.input.clone(), args.output.clone());
    let (memory, overwrite) = (args.memory, args.overwrite);
    let threads = args.threads.unwrap_or_else(cores);
    let partial_path = partial::beside(&output);
    let runtime = runtime(1)?;
    let outcome = runtime.block_on(async {
        let write = tokio::task::spawn_blocking(move || {
            to_npy(&input, &output, threads, memory, overwrite)
        });
        tokio::select! {
            outcome = write => outcome.map_err(Failure::work)?.map_err(Failure::from),
            name = signal() => {
                // Removing the file is safe: the writing threads have it open and write to the unlinked file until
                // this process ends.
                let _ = fs::remove_file(&partial_path);
                Err(Failure::work(format_args!("ended by {name}; nothing was written")))
            }
        }
    });
    runtime.shutdown_background();
    outcome
}
