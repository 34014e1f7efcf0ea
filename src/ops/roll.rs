//! roll: shifts elements along axes, as in TensorFlow's `tf.roll` and `numpy.roll`. Elements that leave an array at one
//! end return at the other end: `result[(i + shift) mod size] = x[i]`. TensorFlow 2.21 uses shifts modulo 2^32. In this
//! crate shifts are 64-bit numbers, as in NumPy.

use super::{
    assembly::PositionRun,
    concat::check_axis,
    methods::{host_methods, tensor_methods},
};
use crate::prelude::*;
use crate::{
    DType, Error, IntoView, Plan, error,
    moves::Operation,
    plan::{ArraySpec, Steps},
};

impl Plan {
    /// Plans a shift of the elements of `x` by `shifts[i]` positions along each `axes[i]`, wrapping around at the ends.
    /// Negative shifts move towards the beginning, negative axes count from the end, and the shifts of equal axes add
    /// up.
    ///
    /// ```
    /// use wgslice::{DType, Plan};
    ///
    /// let rolled = Plan::roll(&[5], &[2], &[0], DType::I32)?;
    /// let mut result = [0; 5];
    /// rolled.run_cpu(&[(&[1, 2, 3, 4, 5]).into()], &mut [(&mut result).into()])?;
    /// assert_eq!(result, [4, 5, 1, 2, 3]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`Axis` for a scalar, then `Shifts`, then `Axis`, then `Pieces` if more than 15 axes are
    /// rolled); [`Error::ShapeTooLarge`].
    pub fn roll(
        x: impl IntoView,
        shifts: &[i64],
        axes: &[isize],
        dtype: DType,
    ) -> Result<Self, Error> {
        let x = x.into_view()?;
        let rank = x.shape.len();
        if rank == 0 {
            return Err(error::assembly::axis_out_of_range(0, rank));
        }
        if shifts.len() != axes.len() {
            return Err(error::assembly::wrong_shift_count(shifts.len(), axes.len()));
        }
        let mut axis_shifts = vec![0; rank];
        for (&shift, &axis) in shifts.iter().zip(axes) {
            let axis = check_axis(axis, rank)?;
            // Sizes are far below 2^63.
            let size = x.shape[axis].max(1) as i64;
            axis_shifts[axis] = (axis_shifts[axis] + shift.rem_euclid(size)) % size;
        }
        let runs = axis_shifts.iter().zip(&x.shape).map(|(&shift, &size)| {
            let shift = usize::try_from(shift).unwrap_or(0);
            let run = |first, to, count| PositionRun {
                first,
                step: 1,
                to,
                count,
            };
            vec![run(0, shift, size - shift), run(size - shift, 0, shift)]
        });
        let input = ArraySpec::new("x", &x, dtype);
        let output = ArraySpec::result(&x.shape, dtype);
        let mut plan = Steps::new(Operation::Named("roll"), vec![input], output);
        // An empty array has no pieces, whichever dimension is empty.
        if !x.is_empty() {
            let runs = runs.map(|dim_runs: Vec<PositionRun>| {
                dim_runs.into_iter().filter(|run| run.count > 0).collect()
            });
            plan.put_runs(&x, &runs.collect::<Vec<_>>())?;
        }
        Ok(plan.plan())
    }
}

host_methods! {
    /// Rolls host values: see [`Plan::roll`].
    ///
    /// # Errors
    ///
    /// The errors of [`Plan::roll`]; [`Error::Length`]; or an error of the device.
    fn roll(view x: T, by shifts: &[i64], by axes: &[isize])
        -> made = |dtype| Plan::roll(x, shifts, axes, dtype), [x];
}

tensor_methods! {
    /// Rolls this tensor: see [`Plan::roll`].
    ///
    /// # Errors
    ///
    /// The errors of [`Plan::roll`], or an error of the device.
    fn roll(self x, by shifts: &[i64], by axes: &[isize]) -> made = |dtype| Plan::roll(x.layout(), shifts, axes, dtype), [x];
}
