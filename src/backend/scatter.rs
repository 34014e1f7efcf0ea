//! Scatters of host values, on the CPU or on a device.

use crate::{
    Array, Backend, Element, Error, Indices, Plan, Report, options::ScatterOptions,
    shape::check_elements,
};

impl Backend {
    /// Scatters `updates` into zeros of `shape`, at the positions in `indices`: see [`Plan::scatter_nd`].
    /// The report counts the index tuples that were out of range.
    ///
    /// ```
    /// use wgslice::{options::ScatterOptions, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let (rows, updates) = ([1i32, 3, 1], [10, 20, 30]);
    /// let (sums, report) =
    ///     backend.scatter_nd(&rows[..], &[3, 1], &updates, &[3], &[3], ScatterOptions::default())?;
    /// assert_eq!(sums.data, [0, 40, 0]);
    /// assert_eq!(report.first.unwrap().index, [3]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ScatterError`](crate::error::ScatterError), [`Error::Length`], or an error of the device, such as
    /// [`Error::DTypeOnDevice`] for element types that the device cannot combine.
    pub fn scatter_nd<'a, T: Element>(
        &self,
        indices: impl Into<Indices<'a>>,
        indices_shape: &[usize],
        updates: &[T],
        updates_shape: &[usize],
        shape: &[usize],
        options: ScatterOptions,
    ) -> Result<(Array<T>, Report), Error> {
        let plan = Plan::scatter_nd(indices_shape, updates_shape, shape, options, T::DTYPE)?;
        let indices = indices.into();
        check_elements("indices", indices_shape, indices.len())?;
        check_elements("updates", updates_shape, updates.len())?;
        let on_device = || {
            let indices = self.upload_indices(indices, indices_shape)?;
            let updates = self.upload(updates, updates_shape)?;
            let (sums, report) = updates.scatter_nd(&indices, shape, options)?;
            Ok((sums.to_array()?, report.report()?))
        };
        self.on_device_or(&self.device, on_device, || {
            let run = |dest: &mut [u8]| plan.run_cpu_with(T::as_bytes(updates), indices, dest);
            Array::collect(&plan.shape, run)
        })
    }

    /// Scatters `updates` into a copy of `tensor`, at the positions in `indices`, by the rules of
    /// [`Plan::tensor_scatter_nd`]. The report counts the index tuples that were out of range. The errors are those of
    /// [`Backend::scatter_nd`].
    ///
    /// ```
    /// use wgslice::{options::{Combine, ScatterOptions}, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let options = ScatterOptions { combine: Combine::Update, ..ScatterOptions::default() };
    /// let (table, rows, updates) = ([0, 10, 20, 30, 40], [1i64, 3, 1], [5, 100, 7]);
    /// let (updated, _) = backend
    ///     .tensor_scatter_nd(&table, &[5], &rows[..], &[3, 1], &updates, &[3], options)?;
    /// assert_eq!(updated.data, [0, 7, 20, 100, 40]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    #[expect(
        clippy::too_many_arguments,
        reason = "three arrays, each with its shape, as everywhere"
    )]
    pub fn tensor_scatter_nd<'a, T: Element>(
        &self,
        tensor: &[T],
        shape: &[usize],
        indices: impl Into<Indices<'a>>,
        indices_shape: &[usize],
        updates: &[T],
        updates_shape: &[usize],
        options: ScatterOptions,
    ) -> Result<(Array<T>, Report), Error> {
        let plan = Plan::tensor_scatter_nd(shape, indices_shape, updates_shape, options, T::DTYPE)?;
        self.scatter_by(&plan, tensor, indices.into(), updates)
    }

    /// Runs the plan of a scatter on a copy of `tensor`.
    pub(crate) fn scatter_by<T: Element>(
        &self,
        plan: &Plan,
        tensor: &[T],
        indices: Indices<'_>,
        updates: &[T],
    ) -> Result<(Array<T>, Report), Error> {
        let indices_shape = plan.tuples().map_or(&[][..], |tuples| tuples.indices);
        check_elements("tensor", &plan.shape, tensor.len())?;
        check_elements("indices", indices_shape, indices.len())?;
        check_elements("updates", &plan.source, updates.len())?;
        let on_device = || {
            let indices = self.upload_indices(indices, indices_shape)?;
            let updates = self.upload(updates, &plan.source)?;
            let mut tensor = self.upload(tensor, &plan.shape)?;
            let report = tensor.run_scatter(plan, &indices, &updates)?;
            Ok((tensor.to_array()?, report.report()?))
        };
        self.on_device_or(&self.device, on_device, || {
            let run = |dest: &mut [u8]| {
                dest.copy_from_slice(T::as_bytes(tensor));
                plan.run_cpu_with(T::as_bytes(updates), indices, dest)
            };
            Array::collect(&plan.shape, run)
        })
    }
}
