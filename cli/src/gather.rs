//! `wgslice gather`.

use crate::{
    args::{Gather, Global},
    failure::Failure,
    job::Job,
};
use std::process::ExitCode;
use wgslice::Plan;

pub(crate) fn run(global: &Global, args: &Gather) -> Result<ExitCode, Failure> {
    let options = wgslice::Gather {
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
