//! The operations that write where indices say, on values of the host and on tensors.
//!
//! | on values | on tensors |
//! |---|---|
//! | [`Backend::tensor_scatter_nd`] | [`Tensor::scatter`] in place, [`Tensor::scattered`] as a new tensor |
//! | [`Backend::scatter_nd`] | [`Tensor::scatter_nd`] |

use crate::{
    Array, Backend, DType, Element, Error, Indices, Plan, Report, Scatter, Tensor,
    shape::check_elements,
    tensor::{Owner, Storage, integers},
};

#[cfg(feature = "gpu")]
use crate::{
    OutOfRange,
    backend::Device,
    gpu::{DeviceBytes, PendingReport},
    ops::index::IndexType,
};

impl Backend {
    /// Scatters `updates` into zeros of `shape`, at the places that `indices` name, with a report of the
    /// index tuples that were out of range: see [`Plan::scatter_nd`].
    ///
    /// ```
    /// use wgslice::{Backend, Scatter};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let (rows, updates) = ([1i32, 3, 1], [10, 20, 30]);
    /// let (sums, report) =
    ///     backend.scatter_nd(&rows[..], &[3, 1], &updates, &[3], &[3], Scatter::default())?;
    /// assert_eq!(sums.data, [0, 40, 0]);
    /// assert_eq!(report.first.unwrap().index, [3]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ScatterError`](crate::ScatterError), [`Error::Length`], or an error of the device; among those
    /// [`Error::DTypeOnDevice`] for elements that it cannot combine so.
    pub fn scatter_nd<'a, T: Element>(
        &self,
        indices: impl Into<Indices<'a>>,
        indices_shape: &[usize],
        updates: &[T],
        updates_shape: &[usize],
        shape: &[usize],
        options: Scatter,
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
        self.on_device_or(on_device, || {
            let run = |dest: &mut [u8]| plan.run_with(T::as_bytes(updates), indices, dest);
            Array::collect(&plan, run)
        })
    }

    /// A copy of `tensor` into which `updates` were scattered, at the places that `indices` name, with a
    /// report of the index tuples that were out of range: see [`Plan::tensor_scatter_nd`], which also does
    /// it in place.
    ///
    /// ```
    /// use wgslice::{Backend, Combine, Scatter};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let options = Scatter { combine: Combine::Update, ..Scatter::default() };
    /// let (table, rows, updates) = ([0, 10, 20, 30, 40], [1i64, 3, 1], [5, 100, 7]);
    /// let (updated, _) = backend
    ///     .tensor_scatter_nd(&table, &[5], &rows[..], &[3, 1], &updates, &[3], options)?;
    /// assert_eq!(updated.data, [0, 7, 20, 100, 40]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Backend::scatter_nd`].
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
        options: Scatter,
    ) -> Result<(Array<T>, Report), Error> {
        let plan = Plan::tensor_scatter_nd(shape, indices_shape, updates_shape, options, T::DTYPE)?;
        let indices = indices.into();
        check_elements("tensor", shape, tensor.len())?;
        check_elements("indices", indices_shape, indices.len())?;
        check_elements("updates", updates_shape, updates.len())?;
        let on_device = || {
            let indices = self.upload_indices(indices, indices_shape)?;
            let updates = self.upload(updates, updates_shape)?;
            let mut tensor = self.upload(tensor, shape)?;
            let report = tensor.scatter(&indices, &updates, options)?;
            Ok((tensor.to_array()?, report.report()?))
        };
        self.on_device_or(on_device, || {
            let run = |dest: &mut [u8]| {
                dest.copy_from_slice(T::as_bytes(tensor));
                plan.run_with(T::as_bytes(updates), indices, dest)
            };
            Array::collect(&plan, run)
        })
    }

    fn upload_indices(&self, indices: Indices<'_>, shape: &[usize]) -> Result<Tensor, Error> {
        match indices {
            Indices::I32(indices) => self.upload(indices, shape),
            Indices::I64(indices) => self.upload(indices, shape),
            Indices::U32(indices) => self.upload(indices, shape),
        }
    }
}

impl Tensor {
    /// Scatters `updates` into this tensor, in place, at the places that `indices` name: see
    /// [`Plan::tensor_scatter_nd`].
    ///
    /// Where another tensor shares the memory, such as a clone, it is copied first: only this one
    /// changes. On a GPU the work is submitted, not waited for, unless the policy is
    /// [`OutOfRange::Error`](crate::OutOfRange::Error).
    ///
    /// ```
    /// use wgslice::{Backend, Combine, Scatter};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let mut table = backend.upload(&[0.5f32; 8], &[4, 2])?;
    /// let rows = backend.upload(&[2u32, 0], &[2, 1])?;
    /// let updates = backend.upload(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    /// table.scatter(&rows, &updates, Scatter::default())?;
    /// assert_eq!(table.to_array::<f32>()?.data, [3.5, 4.5, 0.5, 0.5, 1.5, 2.5, 0.5, 0.5]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ScatterError`](crate::ScatterError); [`Error::IndexDType`], [`Error::OtherDType`] and
    /// [`Error::OtherDevice`] where an argument does not belong here; or an error of the device, among
    /// those [`Error::DTypeOnDevice`] for elements that it cannot combine so. The tensor is then as it was.
    pub fn scatter(
        &mut self,
        indices: &Self,
        updates: &Self,
        options: Scatter,
    ) -> Result<ScatterReport, Error> {
        self.check_goes_with("updates", updates)?;
        let plan = Plan::tensor_scatter_nd(
            self.shape(),
            indices.shape(),
            updates.shape(),
            options,
            self.dtype(),
        )?;
        self.run_scatter(&plan, indices, updates)
    }

    /// [`Tensor::scatter`] as a new tensor: this one stays as it is.
    ///
    /// # Errors
    ///
    /// As [`Tensor::scatter`].
    pub fn scattered(
        &self,
        indices: &Self,
        updates: &Self,
        options: Scatter,
    ) -> Result<(Self, ScatterReport), Error> {
        // A clone shares the memory, which is therefore copied.
        let mut scattered = self.clone();
        let report = scattered.scatter(indices, updates, options)?;
        Ok((scattered, report))
    }

    /// Scatters this tensor, as `updates`, into zeros of `shape`, at the places that `indices` name: see
    /// [`Plan::scatter_nd`].
    ///
    /// # Errors
    ///
    /// As [`Tensor::scatter`].
    pub fn scatter_nd(
        &self,
        indices: &Self,
        shape: &[usize],
        options: Scatter,
    ) -> Result<(Self, ScatterReport), Error> {
        let plan = Plan::scatter_nd(indices.shape(), self.shape(), shape, options, self.dtype())?;
        let storage = match &self.backend.device {
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => Storage::Device(gpu.allocate(shape, plan.element)?),
            _ => Storage::Host(Owner::new(self.backend.spare.take(plan.result_bytes())?)),
        };
        let mut sums = self.result(&plan, storage);
        let report = sums.run_scatter(&plan, indices, self)?;
        Ok((sums, report))
    }

    fn run_scatter(
        &mut self,
        plan: &Plan,
        indices: &Self,
        updates: &Self,
    ) -> Result<ScatterReport, Error> {
        if indices.backend.device != self.backend.device {
            let argument = "indices";
            return Err(Error::OtherDevice { argument });
        }
        let found = indices.dtype();
        if !matches!(found, DType::I32 | DType::I64 | DType::U32) {
            return Err(Error::IndexDType { found });
        }
        match (
            &self.backend.device,
            &mut self.storage,
            &indices.storage,
            &updates.storage,
        ) {
            #[cfg(feature = "gpu")]
            (
                Device::Gpu(gpu),
                Storage::Device(dest),
                Storage::Device(tuples),
                Storage::Device(updates),
            ) => {
                let index = match found {
                    DType::I32 => IndexType::I32,
                    DType::U32 => IndexType::U32,
                    _ => IndexType::I64,
                };
                let in_place = dest.is_unshared();
                let tuples = (tuples, index);
                let (changed, pending) = gpu.scatter(plan, updates, tuples, dest, in_place)?;
                ScatterReport::of(plan, pending, changed, dest)
            }
            _ => {
                let (tuples, updates) = (indices.bytes()?, updates.bytes()?);
                let dest = self.host_bytes_mut()?;
                let mut run = |indices: Indices<'_>| plan.run_with(&updates, indices, dest);
                let report = match found {
                    DType::I32 => run(Indices::I32(&integers(&tuples)))?,
                    DType::U32 => run(Indices::U32(&integers(&tuples)))?,
                    _ => run(Indices::I64(&integers(&tuples)))?,
                };
                Ok(ScatterReport(State::Known(report)))
            }
        }
    }
}

/// What a scatter says of index tuples that were out of range.
///
/// On a GPU it holds on to the tensor of indices, to name the first of them.
#[derive(Debug)]
pub struct ScatterReport(State);

#[derive(Debug)]
enum State {
    Known(Report),
    #[cfg(feature = "gpu")]
    Pending(Box<PendingReport>),
}

impl ScatterReport {
    /// The report of a scatter that was submitted, and its result in the place of `dest`: at once, unless
    /// the policy says that it must first be known that there is no error.
    #[cfg(feature = "gpu")]
    fn of(
        plan: &Plan,
        pending: PendingReport,
        changed: DeviceBytes,
        dest: &mut DeviceBytes,
    ) -> Result<Self, Error> {
        let state = match plan.policy().out_of_range {
            OutOfRange::Error => State::Known(pending.wait()?),
            OutOfRange::Zero | OutOfRange::Clamp => State::Pending(Box::new(pending)),
        };
        *dest = changed;
        Ok(Self(state))
    }

    /// How many tuples were out of range, and which was the first. Waits for the device if need be.
    ///
    /// # Errors
    ///
    /// An error of the device.
    pub fn report(&self) -> Result<Report, Error> {
        match &self.0 {
            State::Known(report) => Ok(report.clone()),
            #[cfg(feature = "gpu")]
            State::Pending(pending) => pending.wait(),
        }
    }

    /// [`ScatterReport::report`] without blocking: for programs that run in a browser, or on an executor.
    ///
    /// # Errors
    ///
    /// As [`ScatterReport::report`].
    #[cfg(feature = "gpu")]
    pub async fn report_async(&self) -> Result<Report, Error> {
        match &self.0 {
            State::Known(report) => Ok(report.clone()),
            State::Pending(pending) => pending.ready().await,
        }
    }
}
