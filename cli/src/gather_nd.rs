//! `wgslice gather-nd`.

use crate::{
    args::{Global, IndexPolicy, To},
    failure::Failure,
    job::Job,
};
use std::process::ExitCode;
use wgslice::Plan;

/// Gather the slices of PARAMS at the positions of the tuples in INDICES
///
/// PARAMS and INDICES are .npy, .png or FILE.safetensors#TENSOR. The last dimension of INDICES
/// holds the tuples; they must be integers.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice gather-nd model.safetensors#wte.weight ids.npy -o rows.npy
  wgslice gather-nd params.npy indices.npy -o out.npy --batch-dims 1
  wgslice gather-nd params.npy indices.npy -o out.npy --out-of-range error --json")]
pub(crate) struct GatherNd {
    /// The array to gather from
    pub(crate) params: String,
    /// The index tuples
    pub(crate) indices: String,
    /// Number of leading dimensions that PARAMS and INDICES share
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        allow_hyphen_values = true
    )]
    pub(crate) batch_dims: usize,
    #[command(flatten)]
    pub(crate) policy: IndexPolicy,
    #[command(flatten)]
    pub(crate) to: To,
}

pub(crate) fn run(global: &Global, args: &GatherNd) -> Result<ExitCode, Failure> {
    let options = wgslice::options::GatherOptions {
        batch_dims: isize::try_from(args.batch_dims).unwrap_or(isize::MAX),
        out_of_range: args.policy.out_of_range.into(),
        negative: args.policy.negative(),
        ..wgslice::options::GatherOptions::default()
    };
    let job = Job {
        values: &[&args.params],
        indices: Some(&args.indices),
        output: args.to.output(),
        explain: args.to.explain,
        bad: "became zeros",
    };
    job.run(
        global,
        |shapes| Plan::gather_nd(&shapes.values[0], &shapes.indices, options, shapes.dtype),
        |tensors| tensors.value(0).gather_nd(tensors.indices(), options),
    )
}
