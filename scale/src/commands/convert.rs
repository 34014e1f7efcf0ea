//! `wgslice-scale convert`.

use super::job::{self, FormArgs, HowArgs};
use crate::failure::Failure;
use std::path::PathBuf;
use wgslice_scale::job::to_npy;

/// Convert an .npy file to a Zarr array, or a Zarr array to an .npy file
///
/// Neither has to fit the memory. What IN is decides the direction. An .npy file is written beside
/// and renamed, so that it appears whole or not at all.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice-scale convert array.npy -o array.zarr --shard 512,512,512 --chunk 64,64,64
  wgslice-scale convert array.zarr -o array.npy --memory 500M")]
pub(crate) struct Convert {
    /// The .npy file, or the folder of the Zarr array
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The folder of the Zarr array to make, or the .npy file
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    #[command(flatten)]
    form: FormArgs,
    #[command(flatten)]
    how: HowArgs,
}

pub(crate) fn run(args: &Convert) -> Result<(), Failure> {
    if !args.input.is_dir() {
        return job::convert(&args.input, &args.output, &args.form, &args.how);
    }
    if args.form.is_given() {
        return Err(Failure::usage(
            "an .npy file has no shards, chunks or codec: drop --shard, --chunk and --codec",
        ));
    }
    let how = &args.how;
    let summary = to_npy(&args.input, &args.output, how.threads(), how.memory, how.overwrite)?;
    job::show(&summary, how.json)
}
