//! `wgslice scatter-nd`.

use crate::{
    args::{Global, ScatterNd},
    failure::Failure,
    job::Job,
};
use std::process::ExitCode;
use wgslice::{Plan, Scatter};

pub(crate) fn run(global: &Global, args: &ScatterNd) -> Result<ExitCode, Failure> {
    let options = Scatter {
        combine: args.combine(),
        out_of_range: args.policy.out_of_range.into(),
        negative: args.policy.negative(),
        ..Scatter::default()
    };
    let job = Job {
        values: &[&args.updates],
        indices: Some(&args.indices),
        output: args.to.output(),
        explain: args.to.explain,
        bad: "were dropped",
    };
    match (&args.into, &args.shape) {
        (Some(into), _) => Job {
            values: &[into, &args.updates],
            ..job
        }
        .run(
            global,
            |shapes| {
                let [tensor, updates] = [&shapes.values[0], &shapes.values[1]];
                Plan::tensor_scatter_nd(tensor, &shapes.indices, updates, options, shapes.dtype)
            },
            |tensors| {
                let (tensor, updates) = (tensors.value(0), tensors.value(1));
                tensor.scattered(tensors.indices(), updates, options)
            },
        ),
        (None, shape) => {
            // The command line does not parse without one of them.
            let shape = shape.as_ref().map_or(&[][..], |shape| &shape.0);
            job.run(
                global,
                |shapes| {
                    let updates = &shapes.values[0];
                    Plan::scatter_nd(&shapes.indices, updates, shape, options, shapes.dtype)
                },
                |tensors| {
                    tensors
                        .value(0)
                        .scatter_nd(tensors.indices(), shape, options)
                },
            )
        }
    }
}
