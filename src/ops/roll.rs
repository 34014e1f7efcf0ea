//! roll: shifts elements along axes, and those that leave an array at one end come in at the other, as in TensorFlow's
//! `tf.roll` and `numpy.roll`: `result[(i + shift) mod size] = x[i]`. TensorFlow 2.21 takes shifts modulo 2^32; here they
//! are whole, as in NumPy.

use super::{assembly::Run, concat::check_axis};
use crate::{
    Array, ArrayRef, Assembly, Backend, DType, Element, Error, Tensor, TensorView, View, error,
    plan::Operation,
};

impl Assembly {
    /// The elements of `x`, moved by `shifts[i]` positions along each `axes[i]`, and around the ends. Negative shifts
    /// move towards the beginning, negative axes count from the end, and the shifts of equal axes add up.
    ///
    /// ```
    /// use wgslice::{Assembly, DType, View};
    ///
    /// let rolled = Assembly::roll(&View::new(&[5])?, &[2], &[0], DType::I32)?;
    /// let mut result = [0; 5];
    /// rolled.run_cpu(&[&[1, 2, 3, 4, 5]], &mut result)?;
    /// assert_eq!(result, [4, 5, 1, 2, 3]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`axis` for a scalar, then `shifts`, then `axis`, then `pieces` if more than 15 axes are
    /// rolled at once).
    pub fn roll(x: &View, shifts: &[i64], axes: &[isize], dtype: DType) -> Result<Self, Error> {
        let rank = x.shape.len();
        if rank == 0 {
            return Err(error::assembly::axis(0, rank));
        }
        if shifts.len() != axes.len() {
            return Err(error::assembly::shifts(shifts.len(), axes.len()));
        }
        let mut by = vec![0; rank];
        for (&shift, &axis) in shifts.iter().zip(axes) {
            let axis = check_axis(axis, rank)?;
            // Sizes are far below 2^63.
            let size = x.shape[axis].max(1) as i64;
            by[axis] = (by[axis] + shift.rem_euclid(size)) % size;
        }
        let runs = by.iter().zip(&x.shape).map(|(&by, &size)| {
            let by = usize::try_from(by).unwrap_or(0);
            let run = |first, to, count| Run {
                first,
                step: 1,
                to,
                count,
            };
            vec![run(0, by, size - by), run(size - by, 0, by)]
        });
        let mut assembly = Self::new(Operation::Roll, x.shape.clone(), dtype);
        // An empty array has no pieces, in whatever dimension it is empty.
        if !x.is_empty() {
            let runs = runs.map(|runs| runs.into_iter().filter(|run| run.count > 0).collect());
            assembly.put_runs(x, &runs.collect::<Vec<_>>())?;
        }
        Ok(assembly)
    }
}

impl Backend {
    /// Rolls host values: see [`Assembly::roll`].
    ///
    /// # Errors
    ///
    /// As [`Assembly::roll`]; [`Error::Length`]; or an error of the device.
    pub fn roll<'a, T: Element>(
        &self,
        x: impl Into<ArrayRef<'a, T>>,
        shifts: &[i64],
        axes: &[isize],
    ) -> Result<Array<T>, Error> {
        let (values, view) = x.into().memory("x")?;
        self.assemble(&Assembly::roll(&view, shifts, axes, T::DTYPE)?, &[&values])
    }
}

impl Tensor {
    /// Rolls this tensor: see [`Assembly::roll`].
    ///
    /// # Errors
    ///
    /// As [`Assembly::roll`], or an error of the device.
    pub fn roll(&self, shifts: &[i64], axes: &[isize]) -> Result<Self, Error> {
        self.view().roll(shifts, axes)
    }
}

impl TensorView {
    /// Rolls the selection, as [`Tensor::roll`] does, without copying it first.
    ///
    /// # Errors
    ///
    /// As [`Tensor::roll`].
    pub fn roll(&self, shifts: &[i64], axes: &[isize]) -> Result<Tensor, Error> {
        let assembly = Assembly::roll(self.view(), shifts, axes, self.dtype())?;
        Tensor::assemble(&assembly, &[self.tensor()])
    }
}
