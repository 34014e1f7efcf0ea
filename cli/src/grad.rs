//! `wgslice grad`.

use crate::{
    args::{Global, Sizes, To},
    failure::Failure,
    job::Job,
};
use std::process::ExitCode;
use wgslice::{Plan, Tensor};

/// The gradient of a slice: zeros of the input's shape with DY where the slice was
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice grad dy.npy '1:, ::-2' --shape 480,640 -o dx.npy")]
pub(crate) struct Grad {
    /// The gradient of the slice's result
    pub(crate) dy: String,
    /// The content of the brackets of x[...]
    #[arg(allow_hyphen_values = true)]
    pub(crate) spec: String,
    /// The shape of x
    #[arg(long, value_name = "N,M,...")]
    pub(crate) shape: Sizes,
    #[command(flatten)]
    pub(crate) to: To,
}

pub(crate) fn run(global: &Global, args: &Grad) -> Result<ExitCode, Failure> {
    let spec = args.spec.parse().map_err(Failure::refused("SPEC"))?;
    let shape = &args.shape.0;
    let job = Job {
        values: &[&args.dy],
        indices: None,
        to: &args.to,
        bad: "",
    };
    job.run(
        global,
        |shapes| Plan::slice_grad(shape, &spec, &shapes.values[0], shapes.dtype),
        |tensors| Tensor::slice_grad(shape, &spec, tensors.value(0)),
    )
}
