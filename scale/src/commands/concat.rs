//! `wgslice-scale concat` and `wgslice-scale stack`.

use super::job::{self, ResultArgs};
use crate::failure::Failure;
use std::path::PathBuf;
use wgslice_scale::job::{Fingerprint, Operation};

/// Concatenate Zarr arrays along a dimension
///
/// All arrays have the same type, and the same sizes in all other dimensions. The result has the attributes of the
/// first array and, unless the options say otherwise, its compression.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice-scale concat 2025.zarr 2026.zarr -o years.zarr
  wgslice-scale concat left.zarr right.zarr --axis -1 -o wide.zarr")]
pub(crate) struct Concat {
    #[command(flatten)]
    pub(crate) inputs: Inputs,
}

/// Stack Zarr arrays of one shape along a new dimension
///
/// The result has the attributes of the first array and, unless the options say otherwise, its compression.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice-scale stack day-*.zarr -o days.zarr
  wgslice-scale stack red.zarr green.zarr blue.zarr --axis -1 -o pixels.zarr --chunk 64,64,3")]
pub(crate) struct Stack {
    #[command(flatten)]
    pub(crate) inputs: Inputs,
}

/// The arguments for the arrays and the result.
#[derive(Debug, clap::Args)]
pub(crate) struct Inputs {
    /// The folders or URLs of the Zarr arrays, in the order of the result
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,
    /// The dimension of the result along which the arrays are joined; negative ones count from the end
    #[arg(
        long,
        value_name = "AXIS",
        default_value_t = 0,
        allow_hyphen_values = true
    )]
    axis: isize,
    #[command(flatten)]
    result_args: ResultArgs,
}

pub(crate) fn run(args: &Inputs, is_new: bool) -> Result<(), Failure> {
    let Some((first, others)) = args.inputs.split_first() else {
        return Err(Failure::usage("name an array to put into the result"));
    };
    let others = others
        .iter()
        .map(|other| (other.clone(), Fingerprint::Metadata(0)));
    let operation = Operation::Concat {
        others: others.collect(),
        axis: args.axis,
        is_new,
    };
    job::run(operation, first, &args.result_args)
}
