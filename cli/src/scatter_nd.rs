//! `wgslice scatter-nd`.

use crate::{
    args::{Global, IndexPolicy, Sizes, To},
    failure::Failure,
    job::Job,
};
use std::process::ExitCode;
use wgslice::{
    Plan, Tensor,
    options::{Combine, ScatterOptions},
};

/// Scatter UPDATES to the positions of the tuples in INDICES
///
/// Into zeros of a shape, which adds updates of the same position, or into a copy of an array,
/// which keeps the last one. INDICES and UPDATES are .npy, .png or FILE.safetensors#TENSOR.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  wgslice scatter-nd rows.npy gradients.npy -o sum.npy --shape 50257,768 --combine add
  wgslice scatter-nd places.npy values.npy -o changed.npy --into array.npy
  wgslice scatter-nd places.npy values.npy -o sum.npy --into array.npy --combine add")]
pub(crate) struct ScatterNd {
    /// The index tuples
    pub(crate) indices: String,
    /// The values
    pub(crate) updates: String,
    /// Scatter into zeros of this shape
    #[arg(
        long,
        value_name = "N,M,...",
        required_unless_present = "into",
        conflicts_with = "into"
    )]
    pub(crate) shape: Option<Sizes>,
    /// Scatter into a copy of this array
    #[arg(long, value_name = "IN")]
    pub(crate) into: Option<String>,
    /// How an update is combined with its position [default: with --shape add, else update]
    #[arg(long, value_enum, value_name = "HOW")]
    combine: Option<Combination>,
    #[command(flatten)]
    pub(crate) policy: IndexPolicy,
    #[command(flatten)]
    pub(crate) to: To,
}

impl ScatterNd {
    pub(crate) fn combine(&self) -> Combine {
        match (self.combine, &self.into) {
            (None, None) => Combine::Add,
            (None, Some(_)) => Combine::Update,
            (Some(combination), _) => combination.into(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Combination {
    /// Replaces the old value; the last update counts
    Update,
    /// Adds the update
    Add,
    /// Subtracts the update
    Sub,
    /// Multiplies by the update
    Mul,
    /// Keeps the smaller value
    Min,
    /// Keeps the larger value
    Max,
}

impl From<Combination> for Combine {
    fn from(combination: Combination) -> Self {
        match combination {
            Combination::Update => Self::Update,
            Combination::Add => Self::Add,
            Combination::Sub => Self::Sub,
            Combination::Mul => Self::Mul,
            Combination::Min => Self::Min,
            Combination::Max => Self::Max,
        }
    }
}

pub(crate) fn run(global: &Global, args: &ScatterNd) -> Result<ExitCode, Failure> {
    let options = ScatterOptions {
        combine: Some(args.combine()),
        out_of_range: args.policy.out_of_range.into(),
        negative: args.policy.negative(),
        ..ScatterOptions::default()
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
                let (mut tensor, updates) = (tensors.value(0).clone(), tensors.value(1));
                let report = tensor.tensor_scatter_nd(tensors.indices(), updates, options)?;
                Ok((tensor, report))
            },
        ),
        (None, shape) => {
            // The argument parser requires `--shape` or `--into`.
            let shape = shape.as_ref().map_or(&[][..], |shape| &shape.0);
            job.run(
                global,
                |shapes| {
                    let updates = &shapes.values[0];
                    Plan::scatter_nd(shape, &shapes.indices, updates, options, shapes.dtype)
                },
                |tensors| Tensor::scatter_nd(shape, tensors.indices(), tensors.value(0), options),
            )
        }
    }
}
