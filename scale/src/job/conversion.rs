//! Converts elements while they are copied from the source to the result.

use crate::zarr::{Error, Source};
use serde::{Deserialize, Serialize};
use wgslice::{DType, Plan};

/// The conversion of each element `x`, or of `x * scale + bias`, to another type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversion {
    /// The name of the result's type.
    to: String,
    /// The scale and the bias as text, which every process parses to the same `f32`. `None` if numbers are not scaled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scaled: Option<[String; 2]>,
}

impl Conversion {
    /// Makes the conversion to `dtype`. A missing scale is 1 and a missing bias is 0; if both are missing, numbers are
    /// not scaled.
    pub fn new(dtype: DType, scale: Option<f32>, bias: Option<f32>) -> Self {
        let is_scaled = scale.is_some() || bias.is_some();
        let texts = [scale.unwrap_or(1.0), bias.unwrap_or(0.0)].map(|number| number.to_string());
        Self {
            to: dtype.name().to_owned(),
            scaled: is_scaled.then_some(texts),
        }
    }

    /// Returns the library's conversion for the elements of a source, and the type of the result.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the elements can only be moved, or the library does not support the conversion.
    pub(super) fn for_source(
        &self,
        source: &Source,
    ) -> Result<(wgslice::Conversion, DType), Error> {
        let from = source.numeric_dtype()?;
        let refused = |problem: String| Error::usage(format_args!("--as: {problem}"));
        let to = DType::ALL.into_iter().find(|dtype| dtype.name() == self.to);
        let to = to.ok_or_else(|| refused(format!("{} is no type of elements", self.to)))?;
        let conversion = match &self.scaled {
            None => wgslice::Conversion::to(to),
            Some(texts) => {
                let mut numbers = [0.0_f32; 2];
                for (number, text) in numbers.iter_mut().zip(texts) {
                    *number = text
                        .parse()
                        .map_err(|_| refused(format!("{text:?} is no number")))?;
                }
                let [scale, bias] = numbers.map(|number| [number]);
                wgslice::Conversion::scaled(to, 0, &scale, &bias)
            }
        };
        // Whether the types fit does not depend on the shape, so one element is enough to check them.
        let plan = Plan::contiguous(&[1], from)?.converted(&conversion);
        plan.map_err(|error| refused(error.to_string()))?;
        Ok((conversion, to))
    }
}
