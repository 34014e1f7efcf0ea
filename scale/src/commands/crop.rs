//! `wgslice-scale crop`.

use super::job::{self, ConversionArgs, Policy, ResultArgs, Sizes};
use crate::failure::Failure;
use std::path::PathBuf;
use wgslice_scale::job::{Fingerprint, Operation};

/// Crop many boxes of one shape out of a Zarr array: jax.lax.dynamic_slice for each row of BEGINS
///
/// The last dimension of BEGINS has a number for each of --size: the start of a box in the leading dimensions of IN.
/// The result has the other dimensions of BEGINS, then the dimensions of a box. Each task sorts its boxes by the chunks
/// that they overlap, and reads each chunk once. With --as, zeros outside IN stay zeros, whatever --bias is.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice-scale crop volume.zarr begins.npy --size 64,64,64 -o patches.zarr
  wgslice-scale crop scan.zarr cells.npy --size 1,32,32 -o cells.zarr --out-of-range clamp
  wgslice-scale crop photo.zarr faces.npy --size 224,224 -o faces.zarr --as f32 --scale 0.00392157")]
pub(crate) struct Crop {
    /// The folder or URL of the Zarr array to crop
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The start of each box: a Zarr array or an .npy file of integers
    #[arg(value_name = "BEGINS")]
    begins: PathBuf,
    /// The size of every box in the leading dimensions of IN; along the other dimensions, a box has all positions
    #[arg(long, value_name = "N,M,...")]
    size: Sizes,
    /// For a box that extends beyond IN: zero writes zeros for the elements outside and prints a warning, error fails,
    /// and clamp shifts the box inside. A negative start is outside of IN
    #[arg(long, value_enum, default_value_t = Policy::Zero, value_name = "zero|error|clamp", hide_possible_values = true)]
    out_of_range: Policy,
    #[command(flatten)]
    conversion: ConversionArgs,
    #[command(flatten)]
    result_args: ResultArgs,
}

pub(crate) fn run(args: &Crop) -> Result<(), Failure> {
    let operation = Operation::Crop {
        begins: args.begins.clone(),
        begins_fingerprint: Fingerprint::Metadata(0),
        sizes: args.size.0.clone(),
        out_of_range: args.out_of_range.into(),
        conversion: args.conversion.read()?,
    };
    job::run(operation, &args.input, &args.result_args)
}
