//! tile repeats an array as a whole, as in TensorFlow's `tf.tile`: `[1, 2]` tiled twice is `[1, 2, 1, 2]`. repeat
//! repeats each position along an axis, as in `tf.repeat` with a single count: `[1, 2]` repeated twice is `[1, 1, 2,
//! 2]`.

use super::{
    concat::check_axis,
    methods::{host_methods, tensor_methods},
};
use crate::prelude::*;
use crate::{
    DType, Error, IntoView, Plan, View, error,
    moves::Operation,
    plan::{ArraySpec, Steps},
    shape,
};

impl Plan {
    /// Plans `multiples[d]` copies of `x` along each dimension d.
    ///
    /// ```
    /// use wgslice::{DType, Plan};
    ///
    /// let tiled = Plan::tile(&[2], &[2], DType::I32)?;
    /// let mut result = [0; 4];
    /// tiled.run_cpu(&[(&[1, 2]).into()], &mut [(&mut result).into()])?;
    /// assert_eq!(result, [1, 2, 1, 2]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`Entries`) if there is not one multiple for each dimension; [`Error::ShapeTooLarge`].
    pub fn tile(x: impl IntoView, multiples: &[usize], dtype: DType) -> Result<Self, Error> {
        let x = x.into_view()?;
        let (multiple_count, rank) = (multiples.len(), x.shape.len());
        if multiple_count != rank {
            return Err(error::assembly::wrong_entry_count(
                "multiples",
                multiple_count,
                rank,
            ));
        }
        // Before each dimension, the view gets another dimension with stride 0, along which the copies repeat.
        let mut repeated_view = x.clone();
        for (d, &multiple) in multiples.iter().enumerate() {
            repeated_view.shape.insert(2 * d, multiple);
            repeated_view.strides.insert(2 * d, 0);
        }
        let shape = x.shape.iter().zip(multiples);
        let shape = shape.map(|(&size, &multiple)| size.saturating_mul(multiple));
        Self::plan_repeat(
            Operation::Named("tile"),
            &x,
            repeated_view,
            shape.collect(),
            dtype,
        )
    }

    /// Plans an array with each position of `x` along `axis` repeated `times` times. A negative `axis` counts from the
    /// end. A scalar is repeated as an array of one element.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`Axis`); [`Error::ShapeTooLarge`].
    #[doc(alias = "repeat_interleave")]
    pub fn repeat(
        x: impl IntoView,
        times: usize,
        axis: isize,
        dtype: DType,
    ) -> Result<Self, Error> {
        let x = x.into_view()?;
        let mut repeated_view = x.clone();
        if repeated_view.shape.is_empty() {
            repeated_view.shape.push(1);
            repeated_view.strides.push(0);
        }
        let axis = check_axis(axis, repeated_view.shape.len())?;
        let mut shape = repeated_view.shape.clone();
        repeated_view.shape.insert(axis + 1, times);
        repeated_view.strides.insert(axis + 1, 0);
        shape[axis] = shape[axis].saturating_mul(times);
        Self::plan_repeat(Operation::Named("repeat"), &x, repeated_view, shape, dtype)
    }

    /// Plans the copy of `repeated_view`, a view of `x` that repeats elements, to an array of this shape.
    fn plan_repeat(
        operation: Operation,
        x: &View,
        mut repeated_view: View,
        shape: Vec<usize>,
        dtype: DType,
    ) -> Result<Self, Error> {
        shape::elements(&shape)?;
        shape::elements(&repeated_view.shape)?;
        repeated_view.normalize();
        let input = ArraySpec::new("x", x, dtype);
        let mut plan = Steps::new(operation, vec![input], ArraySpec::result(&shape, dtype));
        plan.put(0, &repeated_view, View::whole(&repeated_view.shape));
        Ok(plan.plan())
    }
}

host_methods! {
    /// Tiles host values: see [`Plan::tile`].
    ///
    /// # Errors
    ///
    /// The errors of [`Plan::tile`]; [`Error::Length`]; or an error of the device.
    fn tile(view x: T, by multiples: &[usize]) -> made = |dtype| Plan::tile(x, multiples, dtype), [x];

    /// Repeats positions of host values: see [`Plan::repeat`].
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let wide = Backend::cpu().repeat((&[1, 2, 3, 4], &[2, 2]), 2, 1)?;
    /// assert_eq!((wide.shape, wide.data), (vec![2, 4], vec![1, 1, 2, 2, 3, 3, 4, 4]));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Plan::repeat`]; [`Error::Length`]; or an error of the device.
    #[doc(alias = "repeat_interleave")]
    fn repeat(view x: T, by times: usize, by axis: isize)
        -> made = |dtype| Plan::repeat(x, times, axis, dtype), [x];
}

tensor_methods! {
    /// Tiles this tensor: see [`Plan::tile`].
    ///
    /// # Errors
    ///
    /// The errors of [`Plan::tile`], or an error of the device.
    fn tile(self x, by multiples: &[usize]) -> made = |dtype| Plan::tile(x.layout(), multiples, dtype), [x];

    /// Repeats positions of this tensor: see [`Plan::repeat`].
    ///
    /// # Errors
    ///
    /// The errors of [`Plan::repeat`], or an error of the device.
    #[doc(alias = "repeat_interleave")]
    fn repeat(self x, by times: usize, by axis: isize) -> made = |dtype| Plan::repeat(x.layout(), times, axis, dtype), [x];
}
