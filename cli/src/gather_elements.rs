//! `wgslice gather-elements`.

use crate::{
    args::{Global, IndexPolicy, To},
    failure::Failure,
    job::Job,
};
use std::process::ExitCode;
use wgslice::Plan;

/// Gather single elements of PARAMS along one axis: ONNX's GatherElements, torch.gather
///
/// PARAMS and INDICES are .npy, .png or FILE.safetensors#TENSOR, of the same rank. The result has
/// the shape of INDICES, which may be longer than PARAMS along the axis alone.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice gather-elements scores.npy best.npy -o top.npy --axis 1
  wgslice gather-elements data.npy indices.npy -o out.npy --axis -1 --negative wrap")]
pub(crate) struct GatherElements {
    /// The array to gather from
    pub(crate) params: String,
    /// The indices
    pub(crate) indices: String,
    /// The axis that the indices count along; negative ones count from the end
    #[arg(
        long,
        value_name = "AXIS",
        default_value_t = 0,
        allow_hyphen_values = true
    )]
    pub(crate) axis: isize,
    #[command(flatten)]
    pub(crate) policy: IndexPolicy,
    #[command(flatten)]
    pub(crate) to: To,
}

pub(crate) fn run(global: &Global, args: &GatherElements) -> Result<ExitCode, Failure> {
    let options = wgslice::options::GatherOptions {
        axis: Some(args.axis),
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
        |shapes| Plan::gather_elements(&shapes.values[0], &shapes.indices, options, shapes.dtype),
        |tensors| tensors.value(0).gather_elements(tensors.indices(), options),
    )
}
