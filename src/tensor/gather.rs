//! Gathers from tensors.

use super::{Storage, Tensor, indices::run_with, report::LazyReport};
#[cfg(feature = "gpu")]
use crate::backend::Device;
use crate::{
    Error, Plan, Report,
    options::{GatherNdOptions, GatherOptions},
};

impl Tensor {
    /// Gathers from this tensor, TensorFlow's `params`, the slices that the tuples in `indices` select.
    ///
    /// On a GPU the work is submitted, not waited for, unless the policy is
    /// [`OutOfRange::Error`](crate::options::OutOfRange::Error).
    ///
    /// # Errors
    ///
    /// [`GatherError`](crate::error::GatherError); [`Error::IndexDType`] for indices that are not i32, i64 or
    /// u32; [`Error::DeviceMismatch`] for indices on another device; or an error of the device.
    pub fn gather_nd(&self, indices: &Self, options: GatherNdOptions) -> Result<Gathered, Error> {
        self.view().gather_nd(indices, options)
    }

    /// Gathers from this tensor, TensorFlow's `params`, the slices that `indices` select along a dimension. The errors
    /// are those of [`Tensor::gather_nd`].
    ///
    /// ```
    /// use wgslice::{options::GatherOptions, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let images = backend.upload(&[1u8, 2, 3, 4, 5, 6], &[2, 3])?;
    /// let channels = backend.upload(&[2u32, 1, 0], &[3])?;
    /// let options = GatherOptions { axis: Some(-1), ..GatherOptions::default() };
    /// let swapped = images.gather(&channels, options)?.tensor;
    /// assert_eq!(swapped.to_array::<u8>()?.data, [3, 2, 1, 6, 5, 4]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    pub fn gather(&self, indices: &Self, options: GatherOptions) -> Result<Gathered, Error> {
        self.view().gather(indices, options)
    }

    /// [`Tensor::gather`] with [`GatherOptions::batch`]: batch `b` of `indices` selects from batch `b` of this tensor. The
    /// errors are those of [`Tensor::gather`].
    pub fn batch_gather(&self, indices: &Self) -> Result<Gathered, Error> {
        self.gather(indices, GatherOptions::batch(indices.shape.len()))
    }

    /// Runs the plan of a gather from this tensor.
    pub(crate) fn gathered(&self, plan: &Plan, indices: &Self) -> Result<Gathered, Error> {
        let index = self.index_type(indices)?;
        match (&self.backend.device, &self.storage, &indices.storage) {
            #[cfg(feature = "gpu")]
            (Device::Gpu(gpu), Storage::Device(params), Storage::Device(tuples)) => {
                let (dest, pending) = gpu.gather(plan, params, tuples, index)?;
                Ok(Gathered {
                    tensor: self.result(plan, Storage::Device(dest)),
                    report: LazyReport::new(pending, plan.policy().out_of_range)?,
                })
            }
            _ => {
                let mut dest = self.backend.host_pool.take(plan.result_bytes())?;
                let indices = (index, &*indices.bytes()?);
                let report = run_with(plan, &self.bytes()?, indices, dest.as_mut())?;
                Ok(Gathered {
                    tensor: self.result(plan, Storage::Pooled(dest.into())),
                    report: LazyReport::Known(report),
                })
            }
        }
    }
}

/// The result of a gather, and its report of out-of-range tuples.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Gathered {
    /// The slices, in the order of the tuples.
    pub tensor: Tensor,
    report: LazyReport,
}

impl Gathered {
    /// Reports how many tuples were out of range, and the first of them. Waits until the device has finished the
    /// gather.
    ///
    /// # Errors
    ///
    /// An error of the device.
    pub fn report(&self) -> Result<Report, Error> {
        self.report.get()
    }

    /// [`Gathered::report`], with its errors, without blocking: for programs that run in a browser or in an async
    /// runtime.
    #[cfg(feature = "gpu")]
    pub async fn report_async(&self) -> Result<Report, Error> {
        self.report.get_async().await
    }
}
