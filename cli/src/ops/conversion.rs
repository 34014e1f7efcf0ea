//! Defines the options of operations that convert elements to another type.

use crate::{
    args::{parse_fraction, parse_number},
    job::Job,
};
use clap::ValueEnum;
use wgslice::{Conversion, DType, Error, Plan};

/// The options for the element type of the result.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Conversion")]
pub(crate) struct ConversionOptions {
    /// Convert numbers to bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32 or float64
    #[arg(id = "as", long, value_name = "DTYPE", value_parser = dtype_with_name)]
    result: Option<DType>,
    /// The rule for integers and bool: nearest (the nearest number, ties to even, or the limit of the
    /// type) or numpy (as astype: fractions are truncated, and integers wrap)
    /// [default: nearest]
    #[arg(long, value_enum, value_name = "RULE", requires = "as", hide_possible_values = true,
        conflicts_with_all = ["scale", "bias", "normalize"])]
    cast: Option<Cast>,
    #[command(flatten)]
    scaling: Scaling,
}

/// How numbers are converted to another type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Cast {
    Nearest,
    Numpy,
}

/// The scale and the bias that are applied before numbers are rounded to another type.
#[derive(Debug, Default, clap::Args)]
struct Scaling {
    /// Multiply numbers by this, as in 1/255: one number for all, or one for each position of the axis
    /// [default: 1]
    #[arg(long, value_name = "N,M,...", value_delimiter = ',', allow_hyphen_values = true,
        value_parser = parse_fraction, requires = "as")]
    scale: Vec<f32>,
    /// Add this after scaling [default: 0]
    #[arg(long, value_name = "N,M,...", value_delimiter = ',', allow_hyphen_values = true,
        value_parser = parse_fraction, requires = "as")]
    bias: Vec<f32>,
    /// Subtract the mean of a training set and divide by its standard deviation, as neural networks expect: imagenet,
    /// with three channels. Without --as, the result is float32
    #[arg(long, value_enum, value_name = "SET", conflicts_with_all = ["scale", "bias"],
        hide_possible_values = true)]
    normalize: Option<Normalization>,
    /// The axis of the input that has scales and biases; negative ones count from the end
    /// [default: -1]
    #[arg(long, value_name = "AXIS", allow_hyphen_values = true, value_parser = parse_number::<isize>)]
    scale_axis: Option<isize>,
}

/// A training set of pictures, with the mean and the standard deviation of its channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Normalization {
    Imagenet,
}

impl Normalization {
    /// Returns the mean and the standard deviation of each channel, for numbers from 0 to 1.
    fn mean_and_deviation(self) -> ([f64; 3], [f64; 3]) {
        match self {
            Self::Imagenet => ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        }
    }

    /// Returns the scales and the biases for numbers from 0 to `max`.
    fn scales_and_biases(self, max: f64) -> [Vec<f32>; 2] {
        #[expect(clippy::cast_possible_truncation, reason = "it rounds to f32")]
        let to_f32 = |number: f64| number as f32;
        let (mean, deviation) = self.mean_and_deviation();
        let scale = deviation.map(|deviation| to_f32(1.0 / (max * deviation)));
        let bias = [0, 1, 2].map(|at| to_f32(-mean[at] / deviation[at]));
        [scale.into(), bias.into()]
    }
}

/// A conversion that the user asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WantedConversion<'a> {
    /// The type of the result.
    pub(super) result: DType,
    cast: Option<Cast>,
    scaling: &'a Scaling,
    /// The number of leading dimensions that the user does not see.
    hidden_dim_count: isize,
}

impl WantedConversion<'_> {
    /// Returns the conversion of an array of this type.
    fn conversion_from(self, source_type: DType) -> Conversion {
        let Self {
            result,
            cast,
            scaling,
            hidden_dim_count,
        } = self;
        let or_default = |list: &[f32], one| match list {
            [] => vec![one],
            list => list.to_vec(),
        };
        let [scale, bias] = match scaling.normalize {
            // Floats are taken as numbers from 0 to 1.
            Some(normalization) => normalization.scales_and_biases(match source_type {
                DType::U8 => u8::MAX.into(),
                DType::U16 => u16::MAX.into(),
                _ => 1.0,
            }),
            None if scaling.scale.is_empty() && scaling.bias.is_empty() => {
                return match cast {
                    Some(Cast::Numpy) => Conversion::astype(result),
                    Some(Cast::Nearest) | None => Conversion::to(result),
                };
            }
            None => [
                or_default(&scaling.scale, 1.0),
                or_default(&scaling.bias, 0.0),
            ],
        };
        let axis_argument = scaling.scale_axis.unwrap_or(-1);
        let axis = if axis_argument < 0 {
            axis_argument
        } else {
            axis_argument.saturating_add(hidden_dim_count)
        };
        Conversion::scaled(result, axis, &scale, &bias)
    }
}

impl ConversionOptions {
    /// Returns the conversion, if the user asks for one.
    pub(crate) fn wanted_conversion(&self) -> Option<WantedConversion<'_>> {
        self.wanted_after_hidden_dims(0)
    }

    /// Does the same as [`Self::wanted_conversion`], for an array with `hidden_dim_count` leading dimensions that the
    /// user does not see.
    pub(super) fn wanted_after_hidden_dims(
        &self,
        hidden_dim_count: isize,
    ) -> Option<WantedConversion<'_>> {
        let default_type = self.scaling.normalize.map(|_| DType::F32);
        Some(WantedConversion {
            result: self.result.or(default_type)?,
            cast: self.cast,
            scaling: &self.scaling,
            hidden_dim_count,
        })
    }
}

/// Returns the plan. If the user asks for a conversion, the plan also converts elements of the type `source_type`.
pub(super) fn convert_plan(
    plan: Plan,
    wanted: Option<WantedConversion<'_>>,
    source_type: DType,
) -> Result<Plan, Error> {
    match wanted {
        Some(wanted) => plan.converted(&wanted.conversion_from(source_type)),
        None => Ok(plan),
    }
}

/// Returns the job. If the user asks for a conversion, the job gets the type of the result and the options' names for
/// errors.
pub(super) fn convert_job<'a>(job: Job<'a>, wanted: Option<WantedConversion<'_>>) -> Job<'a> {
    let Some(wanted) = wanted else {
        return job;
    };
    let job = job.with_argument_name("scale and bias are", "--scale and --bias are");
    let job = job.with_argument_name("of the conversion is", "(--scale-axis) is");
    let job = match wanted.scaling.normalize {
        Some(_) => job.for_pictures(),
        None => job,
    };
    job.with_conversion_to(wanted.result)
}

/// Returns the element type with this NumPy or Rust name.
fn dtype_with_name(name: &str) -> Result<DType, String> {
    let named_types = DType::ALL.into_iter();
    let mut named_types =
        named_types.filter(|dtype| dtype.name() == name || dtype.to_string() == name);
    named_types
        .next()
        .ok_or_else(|| format!("{name} is not an element type, such as float32 or f16"))
}
