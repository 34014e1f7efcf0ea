//! `wgslice gather`.

use crate::{
    args::{Global, IndexPolicy, To},
    failure::Failure,
    job::Job,
};
use std::process::ExitCode;
use wgslice::Plan;

/// Gather slices of PARAMS along one axis: TensorFlow's gather, NumPy's take
///
/// PARAMS and INDICES are .npy, .png or FILE.safetensors#TENSOR. INDICES may have any shape,
/// which replaces the axis in the result.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice gather photo.png columns.npy -o picked.npy --axis 1
  wgslice gather model.safetensors#wte.weight ids.npy -o rows.npy
  wgslice gather params.npy best.npy -o top.npy --axis -1 --batch-dims 1 --negative wrap")]
pub(crate) struct Gather {
    /// The array to gather from
    pub(crate) params: String,
    /// The indices
    pub(crate) indices: String,
    /// The axis of PARAMS; negative ones count from the end [default: N of --batch-dims]
    #[arg(long, value_name = "AXIS", allow_hyphen_values = true)]
    pub(crate) axis: Option<isize>,
    /// Number of leading dimensions that PARAMS and INDICES share; -N: all but the last N of INDICES
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        allow_hyphen_values = true
    )]
    pub(crate) batch_dims: isize,
    #[command(flatten)]
    pub(crate) policy: IndexPolicy,
    #[command(flatten)]
    pub(crate) to: To,
}

pub(crate) fn run(global: &Global, args: &Gather) -> Result<ExitCode, Failure> {
    let options = wgslice::options::GatherOptions {
        axis: args.axis,
        batch_dims: args.batch_dims,
        out_of_range: args.policy.out_of_range.into(),
        negative: args.policy.negative(),
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
        |shapes| Plan::gather(&shapes.values[0], &shapes.indices, options, shapes.dtype),
        |tensors| tensors.value(0).gather(tensors.indices(), options),
    )
}
