//! `strided_slice_grad`: the values of a slice, put back where a slice takes them, into zeros.
//!
//! What goes where are the [`Pairs`] of `strided_slice_update`; but everything between them is written
//! too, so that each element of the result is written once. Semantics as TensorFlow 2.21 has them in
//! `StridedSliceGrad`, for any rank.

use crate::{
    DType, Error, Plan, SliceSpec, SpecError, View,
    pairs::Pairs,
    plan::{self, Rows},
    shape,
};

impl Plan {
    /// Plans the gradient of the slice `spec` of an array of this shape: an array of the same shape that
    /// holds the values of `dy` where the slice takes its elements from, and zeros everywhere else.
    ///
    /// `dy` must have the shape of the slice.
    ///
    /// ```
    /// use wgslice::{slice, DType, Plan};
    ///
    /// let plan = Plan::strided_slice_grad(&[5], &slice![..; -2], &[3], DType::U8)?;
    /// let mut gradient = [0xff; 5];
    /// plan.run(&[1, 2, 3], &mut gradient)?;
    /// assert_eq!(gradient, [3, 0, 2, 0, 1]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SpecError`]: those that TensorFlow raises for the slice, then [`SpecError::DyShape`];
    /// [`Error::ShapeTooLarge`].
    pub fn strided_slice_grad(
        shape: &[usize],
        spec: &SliceSpec,
        dy: &[usize],
        dtype: DType,
    ) -> Result<Self, Error> {
        let element = dtype.size();
        let dest = spec.view(shape)?;
        if dy != dest.shape {
            return Err(SpecError::DyShape {
                found: dy.to_vec(),
                needed: dest.shape,
            }
            .into());
        }
        let elements = shape::elements(shape)?;
        let pairs = match dest.shape.contains(&0) {
            true => None,
            false => Some(Pairs::of(&View::of(dy)?, &dest, element, elements)),
        };
        let unit = match &pairs {
            Some(pairs) => pairs.unit,
            // Whole words: a device binds a word of what is not read, and that may be all there is.
            None => shape::common_power_of_two(4, [elements * element]),
        };
        let rows = match elements {
            0 => Rows::NONE,
            _ => Rows {
                unit,
                count: 1,
                run: elements * element / unit,
                step: 1,
            },
        };
        Ok(Self {
            shape: shape.to_vec(),
            element,
            source: dy.to_vec(),
            rows,
            map: plan::Map::StridedSliceGrad(Map { pairs }),
        })
    }
}

/// What is not zero, if anything is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Map {
    pub(crate) pairs: Option<Pairs>,
}
