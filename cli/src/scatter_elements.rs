//! `wgslice scatter-elements`.

use crate::{
    args::{Global, IndexPolicy, To},
    failure::Failure,
    job::Job,
    scatter_nd::Combination,
};
use std::process::ExitCode;
use wgslice::Plan;

/// Scatter single elements of UPDATES into a copy of DATA along one axis: ONNX's ScatterElements
///
/// DATA, INDICES and UPDATES are .npy, .png or FILE.safetensors#TENSOR, of the same rank. There is
/// an update for each index.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice scatter-elements data.npy indices.npy updates.npy -o out.npy --axis 1
  wgslice scatter-elements sums.npy bins.npy ones.npy -o counts.npy --combine add")]
pub(crate) struct ScatterElements {
    /// The array to scatter into; its file does not change
    pub(crate) data: String,
    /// The indices
    pub(crate) indices: String,
    /// The values
    pub(crate) updates: String,
    /// The axis that the indices count along; negative ones count from the end
    #[arg(
        long,
        value_name = "AXIS",
        default_value_t = 0,
        allow_hyphen_values = true
    )]
    pub(crate) axis: isize,
    /// How an update is combined with its position
    #[arg(long, value_enum, default_value_t = Combination::Update, value_name = "HOW")]
    combine: Combination,
    #[command(flatten)]
    pub(crate) policy: IndexPolicy,
    #[command(flatten)]
    pub(crate) to: To,
}

pub(crate) fn run(global: &Global, args: &ScatterElements) -> Result<ExitCode, Failure> {
    let options = wgslice::options::ScatterOptions {
        axis: Some(args.axis),
        combine: Some(args.combine.into()),
        out_of_range: args.policy.out_of_range.into(),
        negative: args.policy.negative(),
        ..wgslice::options::ScatterOptions::default()
    };
    let job = Job {
        values: &[&args.data, &args.updates],
        indices: Some(&args.indices),
        output: args.to.output(),
        explain: args.to.explain,
        bad: "were dropped",
    };
    job.run(
        global,
        |shapes| Plan::scatter_elements(&shapes.values[0], &shapes.indices, options, shapes.dtype),
        |tensors| {
            let mut changed = tensors.value(0).clone();
            let report = changed.scatter_elements(tensors.indices(), tensors.value(1), options)?;
            Ok((changed, report))
        },
    )
}
