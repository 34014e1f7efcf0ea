//! `wgslice grad`.

use crate::{
    args::{Global, Grad},
    failure::Failure,
    job::Job,
};
use std::process::ExitCode;
use wgslice::Plan;

pub(crate) fn run(global: &Global, args: &Grad) -> Result<ExitCode, Failure> {
    let spec = args.spec.parse().map_err(Failure::refused("SPEC"))?;
    let shape = &args.shape.0;
    let job = Job {
        values: &[&args.dy],
        indices: None,
        output: args.to.output(),
        explain: args.to.explain,
        bad: "",
    };
    job.run(
        global,
        |shapes| Plan::strided_slice_grad(shape, &spec, &shapes.values[0], shapes.dtype),
        |tensors| tensors.value(0).strided_slice_grad(shape, &spec),
    )
}
