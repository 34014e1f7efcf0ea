//! Gathers from host values, on the CPU or on a device.

use crate::{
    Array, Backend, Element, Error, Indices, Plan, Report,
    options::{GatherNdOptions, GatherOptions},
    shape::check_elements,
};

impl Backend {
    /// Gathers host values by index tuples. The report counts the tuples that were out of range.
    ///
    /// ```
    /// use wgslice::{options::GatherNdOptions, Backend};
    ///
    /// let params = [10, 11, 12, 20, 21, 22];
    /// let indices = [1i64, 0, 5, 0]; // (1, 0) and (5, 0)
    /// let (array, report) =
    ///     Backend::cpu().gather_nd(&params, &[2, 3], &indices[..], &[2, 2], GatherNdOptions::default())?;
    /// assert_eq!(array.data, [20, 0]);
    /// assert_eq!(report.out_of_range, 1);
    /// assert_eq!(report.first.unwrap().index, [5, 0]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`GatherError`](crate::error::GatherError), [`Error::Length`], or an error of the device.
    pub fn gather_nd<'a, T: Element>(
        &self,
        params: &[T],
        params_shape: &[usize],
        indices: impl Into<Indices<'a>>,
        indices_shape: &[usize],
        options: GatherNdOptions,
    ) -> Result<(Array<T>, Report), Error> {
        let plan = Plan::gather_nd(params_shape, indices_shape, options, T::DTYPE)?;
        let indices = (indices.into(), indices_shape);
        self.gather_by(&plan, (params, params_shape), indices)
    }

    /// Gathers host values along a dimension. The report counts the indices that were out of range.
    ///
    /// ```
    /// use wgslice::{options::{GatherOptions, NegativeIndex}, Backend};
    ///
    /// let params = [10, 11, 12, 20, 21, 22];
    /// let options = GatherOptions { axis: Some(1), negative: NegativeIndex::Wrap, ..GatherOptions::default() };
    /// let (array, report) = Backend::cpu().gather(&params, &[2, 3], &[-1i32, 0][..], &[2], options)?;
    /// assert_eq!(array.data, [12, 10, 22, 20]);
    /// assert_eq!((report.tuples, report.out_of_range), (2, 0));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`GatherError`](crate::error::GatherError), [`Error::Length`], or an error of the device.
    pub fn gather<'a, T: Element>(
        &self,
        params: &[T],
        params_shape: &[usize],
        indices: impl Into<Indices<'a>>,
        indices_shape: &[usize],
        options: GatherOptions,
    ) -> Result<(Array<T>, Report), Error> {
        let plan = Plan::gather(params_shape, indices_shape, options, T::DTYPE)?;
        let indices = (indices.into(), indices_shape);
        self.gather_by(&plan, (params, params_shape), indices)
    }

    /// [`Backend::gather`] with [`GatherOptions::batch`]: batch `b` of `indices` selects from batch `b` of `params`. The
    /// errors are those of [`Backend::gather`].
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let scores = [0.1f32, 0.7, 0.2, 0.5, 0.3, 0.2];
    /// let best = [1i32, 0];
    /// let (array, _) = Backend::cpu().batch_gather(&scores, &[2, 3], &best[..], &[2, 1])?;
    /// assert_eq!(array.data, [0.7, 0.5]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    pub fn batch_gather<'a, T: Element>(
        &self,
        params: &[T],
        params_shape: &[usize],
        indices: impl Into<Indices<'a>>,
        indices_shape: &[usize],
    ) -> Result<(Array<T>, Report), Error> {
        let options = GatherOptions::batch(indices_shape.len());
        self.gather(params, params_shape, indices, indices_shape, options)
    }

    /// Runs the plan of a gather. `params`, of shape `params_shape`, is the plan's whole source, of which a view may
    /// have selected a part.
    pub(crate) fn gather_by<T: Element>(
        &self,
        plan: &Plan,
        (params, params_shape): (&[T], &[usize]),
        (indices, indices_shape): (Indices<'_>, &[usize]),
    ) -> Result<(Array<T>, Report), Error> {
        check_elements("params", params_shape, params.len())?;
        check_elements("indices", indices_shape, indices.len())?;
        let on_device = || {
            let params = self.upload(params, params_shape)?;
            let indices = self.upload_indices(indices, indices_shape)?;
            let gathered = params.gathered(plan, &indices)?;
            Ok((gathered.tensor.to_array()?, gathered.report()?))
        };
        self.on_device_or(self.device_for(plan), on_device, || {
            let run = |dest: &mut [u8]| plan.run_cpu_with(T::as_bytes(params), indices, dest);
            Array::collect(&plan.shape, run)
        })
    }
}
