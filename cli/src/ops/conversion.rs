//! Conversions on the way: the options by which operations make another element type.

use crate::{
    args::{fraction, number},
    job::Job,
};
use wgslice::{Conversion, DType, Error, Plan};

/// Another element type for the result.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Conversion on the way")]
pub(crate) struct As {
    /// Convert numbers to uint8, int8, uint16, int16, float16, bfloat16 or float32
    #[arg(id = "as", long, value_name = "DTYPE", value_parser = named)]
    result: Option<DType>,
    #[command(flatten)]
    scaling: Scaling,
}

/// What becomes of numbers before they are rounded to another type.
#[derive(Debug, clap::Args)]
pub(crate) struct Scaling {
    /// What numbers of uint8 and int8 are multiplied by: one for all, or one for each position of the
    /// axis [default: 1]
    #[arg(long, value_name = "N,M,...", value_delimiter = ',', allow_hyphen_values = true,
        value_parser = fraction, requires = "as")]
    scale: Vec<f32>,
    /// What is added then [default: 0]
    #[arg(long, value_name = "N,M,...", value_delimiter = ',', allow_hyphen_values = true,
        value_parser = fraction, requires = "as")]
    bias: Vec<f32>,
    /// The axis of the first array that has scales and biases; negative ones count from the end
    /// [default: -1]
    #[arg(long, value_name = "AXIS", allow_hyphen_values = true, value_parser = number::<isize>,
        requires = "as")]
    scale_axis: Option<isize>,
}

impl Scaling {
    /// The conversion of an array that has `before` dimensions before those that the user knows.
    pub(super) fn conversion(&self, result: DType, before: isize) -> Conversion {
        let or = |list: &[f32], one| match list {
            [] => vec![one],
            list => list.to_vec(),
        };
        let (scale, bias) = (&self.scale, &self.bias);
        match scale.is_empty() && bias.is_empty() {
            true => Conversion::to(result),
            false => {
                let given = self.scale_axis.unwrap_or(-1);
                let axis = if given < 0 {
                    given
                } else {
                    given.saturating_add(before)
                };
                Conversion::scaled(result, axis, &or(scale, 1.0), &or(bias, 0.0))
            }
        }
    }
}

impl As {
    pub(crate) fn is_given(&self) -> bool {
        self.result.is_some()
    }

    pub(crate) fn conversion(&self) -> Option<(DType, Conversion)> {
        self.conversion_behind(0)
    }

    /// As [`Scaling::conversion`], if there is a type.
    pub(super) fn conversion_behind(&self, before: isize) -> Option<(DType, Conversion)> {
        let result = self.result?;
        Some((result, self.scaling.conversion(result, before)))
    }
}

/// The plan, with its elements converted if the user wants that.
pub(super) fn converted(
    plan: Plan,
    conversion: Option<&(DType, Conversion)>,
) -> Result<Plan, Error> {
    match conversion {
        Some((_, conversion)) => plan.converted(conversion),
        None => Ok(plan),
    }
}

/// The job, which says that its values are converted if the user wants that.
pub(super) fn converting<'a>(job: Job<'a>, conversion: Option<DType>) -> Job<'a> {
    let Some(result) = conversion else {
        return job;
    };
    let job = job.calling("scale and bias are", "--scale and --bias are");
    let job = job.calling("of the conversion is", "(--scale-axis) is");
    job.converting(result)
}

/// The element type of this name, NumPy's or Rust's.
pub(super) fn named(name: &str) -> Result<DType, String> {
    let found = DType::ALL.into_iter();
    let mut found = found.filter(|dtype| dtype.name() == name || dtype.to_string() == name);
    found
        .next()
        .ok_or_else(|| format!("{name} is no element type, such as float32 or f16"))
}
