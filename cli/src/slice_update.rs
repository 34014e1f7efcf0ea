//! `wgslice slice-update`.

use crate::{
    args::{Global, SliceUpdate},
    failure::Failure,
    job::Job,
};
use std::process::ExitCode;
use wgslice::Plan;

pub(crate) fn run(global: &Global, args: &SliceUpdate) -> Result<ExitCode, Failure> {
    let spec = args.spec.parse().map_err(Failure::refused("SPEC"))?;
    let job = Job {
        values: &[&args.input, &args.value],
        indices: None,
        output: args.to.output(),
        explain: args.to.explain,
        bad: "",
    };
    job.run(
        global,
        |shapes| {
            let [input, value] = [&shapes.values[0], &shapes.values[1]];
            Plan::strided_slice_update(input, &spec, value, shapes.dtype)
        },
        |tensors| tensors.value(0).updated(&spec, tensors.value(1)),
    )
}
