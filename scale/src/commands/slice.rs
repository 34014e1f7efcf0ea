//! `wgslice-scale slice`.

use super::job::{self, ConversionArgs, ResultArgs};
use crate::failure::Failure;
use std::path::PathBuf;
use wgslice_scale::job::Operation;

/// Slice a Zarr array into another
///
/// Each shard of the result is one task, and is written as a whole. If the command is interrupted, run the same command
/// again to compute the missing shards.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice-scale slice a.zarr '::2, 100:0:-3, ...' -o b.zarr --explain
  wgslice-scale slice a.zarr '0, ..., ::-1' -o b.zarr --shard 512,512 --chunk 64,64 --codec blosc
  wgslice-scale slice a.zarr ':, ::2, ::2' --transpose 2,0,1 -o b.zarr
  wgslice-scale slice photos.zarr '..., ::-1' --as f32 --scale 0.00392157 --bias -0.5 -o b.zarr
  wgslice-scale slice s3://bucket/a.zarr '::10' -o s3://bucket/b.zarr --threads 16
  wgslice-scale slice a.zarr '::10' -o b.zarr --cluster df://host:50050")]
pub(crate) struct Slice {
    /// The folder or URL of the Zarr array to slice
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The slice in Python's notation: the content of the brackets of x[...]
    #[arg(allow_hyphen_values = true)]
    spec: String,
    /// Put the dimensions of the slice in this order, as in 2,0,1: NumPy's transpose
    #[arg(long, value_name = "AXES", value_delimiter = ',')]
    transpose: Option<Vec<usize>>,
    #[command(flatten)]
    conversion: ConversionArgs,
    #[command(flatten)]
    result_args: ResultArgs,
}

pub(crate) fn run(args: &Slice) -> Result<(), Failure> {
    let operation = Operation::Slice {
        spec: args.spec.clone(),
        axes: args.transpose.clone(),
        conversion: args.conversion.read()?,
    };
    job::run(operation, &args.input, &args.result_args)
}
