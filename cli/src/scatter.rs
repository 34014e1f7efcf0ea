//! `wgslice scatter-nd` and `wgslice scatter-elements`.

use crate::{
    args::{Along, Global, IndexPolicy, Sizes, To},
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
    /// Scatter into zeros of this shape
    #[arg(
        long,
        value_name = "N,M,...",
        required_unless_present = "into",
        conflicts_with = "into"
    )]
    shape: Option<Sizes>,
    /// Scatter into a copy of this array
    #[arg(long, value_name = "IN")]
    into: Option<String>,
    #[command(flatten)]
    arguments: Arguments,
}

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
    data: String,
    #[command(flatten)]
    along: Along,
    #[command(flatten)]
    arguments: Arguments,
}

/// The arguments of both scatters.
#[derive(Debug, clap::Args)]
struct Arguments {
    /// The indices
    indices: String,
    /// The values
    updates: String,
    /// How an update is combined with its position [default: update; into zeros, add]
    #[arg(long, value_enum, value_name = "HOW")]
    combine: Option<Combination>,
    #[command(flatten)]
    policy: IndexPolicy,
    #[command(flatten)]
    to: To,
}

impl Arguments {
    fn options(&self, axis: Option<isize>) -> ScatterOptions {
        ScatterOptions {
            axis,
            combine: self.combine.map(Combine::from),
            out_of_range: self.policy.out_of_range.into(),
            negative: self.policy.negative(),
            ..ScatterOptions::default()
        }
    }

    fn job<'a>(&'a self, values: &'a [&str]) -> Job<'a> {
        Job {
            values,
            indices: Some(&self.indices),
            to: &self.to,
            bad: "were dropped",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Combination {
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

impl ScatterNd {
    pub(crate) fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        let options = self.arguments.options(None);
        let updates = &*self.arguments.updates;
        if let Some(into) = &self.into {
            return self.arguments.job(&[into, updates]).run(
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
            );
        }
        // The argument parser requires `--shape` or `--into`.
        let shape = self.shape.as_ref().map_or(&[][..], |shape| &shape.0);
        self.arguments.job(&[updates]).run(
            global,
            |shapes| {
                let updates = &shapes.values[0];
                Plan::scatter_nd(shape, &shapes.indices, updates, options, shapes.dtype)
            },
            |tensors| Tensor::scatter_nd(shape, tensors.indices(), tensors.value(0), options),
        )
    }
}

impl ScatterElements {
    pub(crate) fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        let options = self.arguments.options(Some(self.along.axis));
        self.arguments
            .job(&[&self.data, &self.arguments.updates])
            .run(
                global,
                |shapes| {
                    let data = &shapes.values[0];
                    Plan::scatter_elements(data, &shapes.indices, options, shapes.dtype)
                },
                |tensors| {
                    let (mut data, updates) = (tensors.value(0).clone(), tensors.value(1));
                    let report = data.scatter_elements(tensors.indices(), updates, options)?;
                    Ok((data, report))
                },
            )
    }
}
