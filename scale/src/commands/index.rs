//! `wgslice-scale index`.

use super::job::{self, ConversionArgs, ResultArgs};
use crate::failure::Failure;
use std::path::PathBuf;
use wgslice_scale::job::Operation;

/// Select by lists of positions and masks of dimensions, like Zarr's oindex
///
/// EXPR is a slice whose entries can be lists of positions or of True and False, or an NDSel message. Chunks without
/// selected positions are not read. For indices in a file, see gather.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice-scale index a.zarr '[0, 5, 7], ...' -o b.zarr
  wgslice-scale index a.zarr '::2, [3, 1, -1], [True, False, True]' --outer -o b.zarr
  wgslice-scale index a.zarr '{\"kind\": \"box\", \"inclusive_min\": [2, 0], \"shape\": [3, 5]}' -o b.zarr")]
pub(crate) struct Index {
    /// The folder or URL of the Zarr array to select from
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The content of the brackets of x[...], or an NDSel message: a selection of zarr-indexing as JSON
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    spec: String,
    /// Select all combinations of several lists. Without this option they are rejected, because NumPy would pair them
    #[arg(long)]
    outer: bool,
    /// Put the dimensions of the selection in this order, as in 2,0,1: NumPy's transpose
    #[arg(long, value_name = "AXES", value_delimiter = ',')]
    transpose: Option<Vec<usize>>,
    #[command(flatten)]
    conversion: ConversionArgs,
    #[command(flatten)]
    result_args: ResultArgs,
}

pub(crate) fn run(args: &Index) -> Result<(), Failure> {
    let operation = Operation::Index {
        spec: args.spec.clone(),
        outer: args.outer,
        axes: args.transpose.clone(),
        conversion: args.conversion.read()?,
    };
    job::run(operation, &args.input, &args.result_args)
}
