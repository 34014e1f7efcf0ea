//! `strided_slice_update`: writes a value into a slice of an array, in place.
//!
//! The value is broadcast to the shape of the slice, and the [`Walk`] pairs its elements with the elements of the
//! slice. Only the positions of the slice are written. The semantics are the same as in TensorFlow 2.21's
//! `tensor_strided_slice_update` and `variable[spec].assign(value)`, for any rank.

use super::methods::{host_methods, tensor_methods};
use crate::{
    DType, Error, IntoView, Plan, SliceSpec, View, error,
    moves::{Effect, Move, Operation},
    walk::{MAX_UNIT, Walk},
};

impl Plan {
    /// Plans writing a value of shape `value` into the slice `spec` of an array of this shape.
    ///
    /// The value is the source of the plan, and the array is the destination, which is changed in place. The rest of
    /// the array is kept. The value is broadcast to the slice; if it has more dimensions, leading dimensions of size 1
    /// are dropped first. An empty slice accepts a value of any shape, as in TensorFlow.
    ///
    /// ```
    /// use wgslice::{slice, DType, Plan};
    ///
    /// // x[::-1, 1] = 7 for x of shape [2, 3]
    /// let plan = Plan::slice_update(&[2, 3], &slice![..; -1, 1], &[], DType::I32)?;
    /// let mut x = [1, 2, 3, 4, 5, 6];
    /// plan.run_cpu(&[(&[7]).into()], &mut [(&mut x).into()])?;
    /// assert_eq!(x, [1, 7, 3, 4, 7, 6]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]: the error that TensorFlow raises for the slice, then `Broadcast`; [`Error::ShapeTooLarge`].
    #[doc(alias("strided_slice_update", "assign"))]
    pub fn slice_update(
        shape: &[usize],
        spec: &SliceSpec,
        value: impl IntoView,
        dtype: DType,
    ) -> Result<Self, Error> {
        let dest = spec.view(shape)?;
        let value = value.into_view()?;
        let update = match dest.is_empty() {
            true => Move::of_update(&value, dest, dtype),
            false => Move::of_update(&broadcast_to_slice(&value, &dest.shape)?, dest, dtype),
        };
        Ok(Self::from_view(update, &value))
    }
}

impl Move {
    /// Plans writing the elements of the view `source` to the elements of the view `dest`, which selects no element
    /// twice. The views have the same shape, unless `dest` is empty.
    pub(crate) fn of_update(source: &View, dest: View, dtype: DType) -> Self {
        let make_walk = || Walk::between(source, &dest, dtype.size(), MAX_UNIT);
        Self {
            operation: Operation::StridedSliceUpdate,
            walk: (!dest.is_empty()).then(make_walk),
            shape: dest.source,
            dtype,
            source: source.source.clone(),
            effect: Effect::Update,
            conversion: None,
            indices: None,
        }
    }
}

host_methods! {
    /// Returns a copy of `input` with the slice `spec` replaced by `value`, like TensorFlow's
    /// `tensor_strided_slice_update`, by the rules of [`Plan::slice_update`].
    ///
    /// ```
    /// use wgslice::{slice, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let x = (&[1, 2, 3, 4, 5, 6], &[2, 3]);
    /// let updated = backend.slice_update(x, &slice![.., 1..], (&[0, 9], &[2]))?;
    /// assert_eq!(updated.data, [1, 0, 9, 4, 0, 9]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Plan::slice_update`]; [`Error::Length`]; or an error of the device.
    #[doc(alias("strided_slice_update", "assign"))]
    fn slice_update(rows input: T, by spec: &SliceSpec, view value: T)
        -> made = |dtype| Plan::slice_update(input, spec, value, dtype), [value, input];
}

tensor_methods! {
    /// Writes `value` into a slice of this tensor, in place, as TensorFlow's `variable[spec].assign(value)` does: see
    /// [`Plan::slice_update`].
    ///
    /// Only this tensor changes: memory shared with another tensor, such as a clone or a slice, is copied first, and
    /// [`Report::copied`](crate::Report::copied) has the number of bytes. On a GPU the call submits the work and does
    /// not wait for it.
    ///
    /// ```
    /// use wgslice::{slice, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let mut cache = backend.upload((&[0.0f32; 6], &[3, 2]))?;
    /// cache.slice_update(&slice![1], &backend.upload((&[1.0f32, 2.0], &[2]))?)?;
    /// assert_eq!(cache.to_vec::<f32>()?, [0.0, 0.0, 1.0, 2.0, 0.0, 0.0]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Plan::slice_update`]; [`Error::Argument`] for a value that does not match this tensor; or an
    /// error of the device. An error leaves the tensor unchanged.
    #[doc(alias("strided_slice_update", "assign"))]
    fn slice_update(self x, by spec: &SliceSpec, like value)
        -> changed = |dtype| Plan::slice_update(x.shape(), spec, value.layout(), dtype), [value];
}

/// Returns the view of a value after broadcasting it to the shape of a slice. Leading dimensions of size 1 that the
/// slice does not have are dropped first.
pub(super) fn broadcast_to_slice(value: &View, slice_shape: &[usize]) -> Result<View, Error> {
    let mut view = value.clone();
    while view.shape.len() > slice_shape.len() && view.shape[0] == 1 {
        view.shape.remove(0);
        view.strides.remove(0);
    }
    // The error shows all dimensions of the value, including those dropped above.
    view.broadcast_to(slice_shape)
        .map_err(|_| error::view::broadcast(&value.shape, slice_shape))
}
