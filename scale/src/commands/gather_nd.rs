//! `wgslice-scale gather-nd`.

use super::job::{self, IndexPolicy, ResultArgs};
use crate::failure::Failure;
use std::path::PathBuf;
use wgslice_scale::job::{Fingerprint, Operation};

/// Gather the slices of a Zarr array that index tuples select: TensorFlow's gather_nd
///
/// The last dimension of INDICES holds the tuples. Each task sorts its tuples by the chunk that they point into, and
/// reads each chunk once. Zarr's vindex with coordinate arrays is this gather: broadcast the arrays and stack them
/// along a new last axis to get INDICES. In vindex, negative coordinates count from the end, and an out-of-range one is
/// an error.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice-scale gather-nd volume.zarr points.npy -o values.zarr
  wgslice-scale gather-nd a.zarr ijk.npy -o b.zarr --negative wrap --out-of-range error
  wgslice-scale gather-nd params.zarr tuples.zarr -o rows.zarr --batch-dims 1 --out-of-range error")]
pub(crate) struct GatherNd {
    /// The folder or URL of the Zarr array to gather from
    #[arg(value_name = "PARAMS")]
    params: PathBuf,
    /// The index tuples: a Zarr array or an .npy file of integers
    #[arg(value_name = "INDICES")]
    indices: PathBuf,
    /// Number of leading dimensions that PARAMS and INDICES share
    #[arg(long, value_name = "N", default_value_t = 0)]
    batch_dims: usize,
    #[command(flatten)]
    policy: IndexPolicy,
    #[command(flatten)]
    result_args: ResultArgs,
}

pub(crate) fn run(args: &GatherNd) -> Result<(), Failure> {
    let operation = Operation::GatherNd {
        indices: args.indices.clone(),
        indices_fingerprint: Fingerprint::Metadata(0),
        batch_dims: args.batch_dims,
        out_of_range: args.policy.out_of_range(),
        wrap: args.policy.wraps(),
    };
    job::run(operation, &args.params, &args.result_args)
}
