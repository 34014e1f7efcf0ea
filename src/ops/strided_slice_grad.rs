//! `strided_slice_grad`: the values of `dy` at the positions of a slice, and zeros everywhere else.
//!
//! The walk is the same as for `strided_slice_update`, but the elements that it leaves out become zeros. The semantics
//! are the same as in TensorFlow 2.21's `StridedSliceGrad`, for any rank.

use super::methods::{host_methods, tensor_methods};
use crate::{
    DType, Error, Plan, SliceSpec, View, error,
    moves::{Effect, Move, Operation},
    shape,
    walk::{MAX_UNIT, Walk},
};

impl Plan {
    /// Plans the gradient of the slice `spec` of an array of this shape: an array of the same shape with the values
    /// of `dy` at the positions of the slice, and zeros everywhere else.
    ///
    /// `dy` must have the shape of the slice.
    ///
    /// ```
    /// use wgslice::{slice, DType, Plan};
    ///
    /// let plan = Plan::slice_grad(&[5], &slice![..; -2], &[3], DType::I32)?;
    /// let mut gradient = [0xff; 5];
    /// plan.run_cpu(&[(&[1, 2, 3]).into()], &mut [(&mut gradient).into()])?;
    /// assert_eq!(gradient, [3, 0, 2, 0, 1]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]: the error that TensorFlow raises for the slice, then `DyShape`;
    /// [`Error::ShapeTooLarge`].
    #[doc(alias = "strided_slice_grad")]
    pub fn slice_grad(
        shape: &[usize],
        spec: &SliceSpec,
        dy: &[usize],
        dtype: DType,
    ) -> Result<Self, Error> {
        let element_bytes = dtype.size();
        let dest = spec.view(shape)?;
        if dy != dest.shape {
            return Err(error::spec::dy_shape(dy, &dest.shape));
        }
        // The zeros are written in units too, so the size of the result must be a multiple of a unit.
        let max_unit =
            shape::common_power_of_two(MAX_UNIT, [shape::elements(shape)? * element_bytes]);
        let make_walk = || Walk::between(&View::whole(dy), &dest, element_bytes, max_unit);
        let walk = (!dest.is_empty()).then(make_walk);
        Ok(Self::from_move(Move::of_grad(shape, dtype, dy, walk)))
    }
}

impl Move {
    /// Makes the move that writes units of an array of shape `dy_shape` to an array of `shape` by `walk`, and zeros
    /// everywhere else.
    pub(crate) fn of_grad(
        shape: &[usize],
        dtype: DType,
        dy_shape: &[usize],
        walk: Option<Walk>,
    ) -> Self {
        Self {
            operation: Operation::StridedSliceGrad,
            shape: shape.to_vec(),
            dtype,
            source: dy_shape.to_vec(),
            walk,
            effect: Effect::Fill,
            conversion: None,
            indices: None,
        }
    }
}

host_methods! {
    /// Returns the gradient of the slice `spec` of an array of shape `shape`: the values of `dy` at the positions of
    /// the slice, and zeros everywhere else. See [`Plan::slice_grad`].
    ///
    /// ```
    /// use wgslice::{slice, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let gradient = backend.slice_grad(&[2, 3], &slice![1, ..; -2], (&[0.5f32, 0.25], &[2]))?;
    /// assert_eq!(gradient.data, [0.0, 0.0, 0.0, 0.25, 0.0, 0.5]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Plan::slice_grad`]; [`Error::Length`]; or an error of the device.
    #[doc(alias = "strided_slice_grad")]
    fn slice_grad(by shape: &[usize], by spec: &SliceSpec, rows dy: T)
        -> made = |dtype| Plan::slice_grad(shape, spec, dy, dtype), [dy];
}

tensor_methods! {
    /// Returns the gradient of the slice `spec` of a tensor of shape `shape`: see [`Plan::slice_grad`]. On a GPU the
    /// call submits the work and does not wait for it.
    ///
    /// # Errors
    ///
    /// The errors of [`Plan::slice_grad`], or an error of the device.
    #[doc(alias = "strided_slice_grad")]
    fn slice_grad(of dy, by shape: &[usize], by spec: &SliceSpec, lead dy)
        -> made = |dtype| Plan::slice_grad(shape, spec, dy.shape(), dtype), [dy];
}
