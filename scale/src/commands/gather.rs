//! `wgslice-scale gather`.

use super::job::{self, IndexPolicy, ResultArgs};
use crate::failure::Failure;
use std::path::PathBuf;
use wgslice_scale::job::{Fingerprint, Operation};

/// Gather slices of a Zarr array along one axis: TensorFlow's gather, NumPy's take
///
/// Each task sorts its indices by the chunk that they point into, and reads each chunk once. For random single rows of
/// a table, a columnar store such as Lance reads less.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice-scale gather table.zarr ids.npy -o rows.zarr
  wgslice-scale gather volume.zarr slices.npy -o picked.zarr --axis 1 --out-of-range error
  wgslice-scale gather params.zarr best.zarr -o top.zarr --axis -1 --batch-dims 1 --negative wrap")]
pub(crate) struct Gather {
    /// The folder or URL of the Zarr array to gather from
    #[arg(value_name = "PARAMS")]
    params: PathBuf,
    /// The indices: a Zarr array or an .npy file of integers
    #[arg(value_name = "INDICES")]
    indices: PathBuf,
    /// The axis of PARAMS; negative ones count from the end [default: N of --batch-dims]
    #[arg(long, value_name = "AXIS", allow_hyphen_values = true)]
    axis: Option<isize>,
    /// Number of leading dimensions that PARAMS and INDICES share; -N means all except the last N of INDICES
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        allow_hyphen_values = true
    )]
    batch_dims: isize,
    #[command(flatten)]
    policy: IndexPolicy,
    #[command(flatten)]
    result_args: ResultArgs,
}

pub(crate) fn run(args: &Gather) -> Result<(), Failure> {
    let operation = Operation::Gather {
        indices: args.indices.clone(),
        indices_fingerprint: Fingerprint::Metadata(0),
        axis: args.axis,
        batch_dims: args.batch_dims,
        out_of_range: args.policy.out_of_range(),
        wrap: args.policy.wraps(),
    };
    job::run(operation, &args.params, &args.result_args)
}
