//! Scatters into tensors.

use super::{Tensor, indices::run_with, report::LazyReport};
use crate::{Error, Plan, Report, options::ScatterOptions};
#[cfg(feature = "gpu")]
use {super::Storage, crate::backend::Device};

impl Tensor {
    /// Scatters `updates` into this tensor, in place, at the positions in `indices`: see
    /// [`Plan::tensor_scatter_nd`].
    ///
    /// Only this tensor changes: memory shared with another tensor, such as a clone, is copied first.
    /// On a GPU the work is submitted, not waited for, unless the policy is
    /// [`OutOfRange::Error`](crate::options::OutOfRange::Error).
    ///
    /// ```
    /// use wgslice::{options::{Combine, ScatterOptions}, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let mut table = backend.upload(&[0.5f32; 8], &[4, 2])?;
    /// let rows = backend.upload(&[2u32, 0], &[2, 1])?;
    /// let updates = backend.upload(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    /// table.scatter(&rows, &updates, ScatterOptions::default())?;
    /// assert_eq!(table.to_array::<f32>()?.data, [3.5, 4.5, 0.5, 0.5, 1.5, 2.5, 0.5, 0.5]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ScatterError`](crate::error::ScatterError); [`Error::IndexDType`], [`Error::DTypeMismatch`] or [`Error::DeviceMismatch`]
    /// for an argument that does not match this tensor; or an error of the device, such as [`Error::DTypeOnDevice`] for
    /// element types that the device cannot combine. An error leaves the tensor unchanged.
    pub fn scatter(
        &mut self,
        indices: &Self,
        updates: &Self,
        options: ScatterOptions,
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

    /// [`Tensor::scatter`] into a copy, with the same errors. This tensor does not change.
    pub fn scattered(
        &self,
        indices: &Self,
        updates: &Self,
        options: ScatterOptions,
    ) -> Result<(Self, ScatterReport), Error> {
        // The clone shares the memory, so `scatter` copies the memory before changing it.
        let mut scattered = self.clone();
        let report = scattered.scatter(indices, updates, options)?;
        Ok((scattered, report))
    }

    /// Scatters this tensor, as `updates`, into zeros of `shape`, at the positions in `indices`: see
    /// [`Plan::scatter_nd`]. The errors are those of [`Tensor::scatter`].
    pub fn scatter_nd(
        &self,
        indices: &Self,
        shape: &[usize],
        options: ScatterOptions,
    ) -> Result<(Self, ScatterReport), Error> {
        let plan = Plan::scatter_nd(indices.shape(), self.shape(), shape, options, self.dtype())?;
        let storage = match &self.backend.device {
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => Storage::Device(gpu.allocate(shape, plan.element)?),
            _ => (self.backend).host_storage(plan.result_bytes(), |_| Ok(()))?,
        };
        let mut sums = self.result(&plan, storage);
        let report = sums.run_scatter(&plan, indices, self)?;
        Ok((sums, report))
    }

    pub(crate) fn run_scatter(
        &mut self,
        plan: &Plan,
        indices: &Self,
        updates: &Self,
    ) -> Result<ScatterReport, Error> {
        let index = self.index_type(indices)?;
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
                let in_place = dest.is_unshared();
                let tuples = (tuples, index);
                let (changed, pending) = gpu.scatter(plan, updates, tuples, dest, in_place)?;
                let report = LazyReport::new(pending, plan.policy().out_of_range)?;
                *dest = changed;
                Ok(ScatterReport(report))
            }
            _ => {
                let (tuples, updates) = (indices.bytes()?, updates.bytes()?);
                let dest = self.host_bytes_mut()?;
                let report = run_with(plan, &updates, (index, &*tuples), dest)?;
                Ok(ScatterReport(LazyReport::Known(report)))
            }
        }
    }
}

/// The report of a scatter: which index tuples were out of range.
///
/// On a GPU the report keeps the index tensor alive, to read the first out-of-range tuple from it.
#[derive(Debug)]
pub struct ScatterReport(LazyReport);

impl ScatterReport {
    /// Reports how many tuples were out of range, and the first of them. Waits until the device has finished the
    /// scatter.
    ///
    /// # Errors
    ///
    /// An error of the device.
    pub fn report(&self) -> Result<Report, Error> {
        self.0.get()
    }

    /// [`ScatterReport::report`], with its errors, without blocking: for programs that run in a browser or in an async
    /// runtime.
    #[cfg(feature = "gpu")]
    pub async fn report_async(&self) -> Result<Report, Error> {
        self.0.get_async().await
    }
}
