//! `wgslice gather`, `wgslice gather-nd` and `wgslice gather-elements`.

use crate::{
    args::{Along, Global, IndexPolicy, To},
    failure::Failure,
    job::Job,
};
use std::process::ExitCode;
use wgslice::{DType, Error, Pending, Plan, Report, Tensor, options::GatherOptions};

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
    /// The axis of PARAMS; negative ones count from the end [default: N of --batch-dims]
    #[arg(long, value_name = "AXIS", allow_hyphen_values = true)]
    axis: Option<isize>,
    /// Number of leading dimensions that PARAMS and INDICES share; -N: all but the last N of INDICES
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        allow_hyphen_values = true
    )]
    batch_dims: isize,
    #[command(flatten)]
    arguments: Arguments,
}

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
    /// Number of leading dimensions that PARAMS and INDICES share
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        allow_hyphen_values = true
    )]
    batch_dims: usize,
    #[command(flatten)]
    arguments: Arguments,
}

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
    #[command(flatten)]
    along: Along,
    #[command(flatten)]
    arguments: Arguments,
}

/// The arguments of all gathers.
#[derive(Debug, clap::Args)]
struct Arguments {
    /// The array to gather from
    params: String,
    /// The indices
    indices: String,
    #[command(flatten)]
    policy: IndexPolicy,
    #[command(flatten)]
    to: To,
}

type Planned = fn(&[usize], &[usize], GatherOptions, DType) -> Result<Plan, Error>;
type Gathered = fn(&Tensor, &Tensor, GatherOptions) -> Result<(Tensor, Pending<Report>), Error>;

impl Arguments {
    fn run(
        &self,
        global: &Global,
        axis: Option<isize>,
        batch_dims: isize,
        plan: Planned,
        gather: Gathered,
    ) -> Result<ExitCode, Failure> {
        let options = GatherOptions {
            axis,
            batch_dims,
            out_of_range: self.policy.out_of_range.into(),
            negative: self.policy.negative(),
        };
        let job = Job {
            values: &[&self.params],
            indices: Some(&self.indices),
            to: &self.to,
            bad: "became zeros",
        };
        job.run(
            global,
            |shapes| plan(&shapes.values[0], &shapes.indices, options, shapes.dtype),
            |tensors| gather(tensors.value(0), tensors.indices(), options),
        )
    }
}

impl Gather {
    pub(crate) fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        let (axis, batch_dims) = (self.axis, self.batch_dims);
        self.arguments
            .run(global, axis, batch_dims, Plan::gather, Tensor::gather)
    }
}

impl GatherNd {
    pub(crate) fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        let batch_dims = isize::try_from(self.batch_dims).unwrap_or(isize::MAX);
        self.arguments
            .run(global, None, batch_dims, Plan::gather_nd, Tensor::gather_nd)
    }
}

impl GatherElements {
    pub(crate) fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        let (plan, gather) = (Plan::gather_elements, Tensor::gather_elements);
        self.arguments
            .run(global, Some(self.along.axis), 0, plan, gather)
    }
}
