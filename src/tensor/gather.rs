//! Gathering from tensors, and what that says later of tuples that were out of range.

use super::{Owner, Storage, Tensor};
use crate::{DType, Error, Gather, GatherNd, Indices, Plan, Report};
use std::borrow::Cow;

#[cfg(feature = "gpu")]
use crate::{
    backend::Device,
    gpu::{DeviceBytes, PendingReport},
    ops::index::{IndexType, OutOfRange},
};
#[cfg(feature = "gpu")]
use std::sync::Arc;

impl Tensor {
    /// Gathers from this tensor, as `params`, the slices that the tuples in `indices` point at.
    ///
    /// On a GPU the work is submitted, not waited for, unless the policy is
    /// [`OutOfRange::Error`](crate::OutOfRange::Error).
    ///
    /// # Errors
    ///
    /// [`GatherError`](crate::GatherError); [`Error::IndexDType`] for indices that are not i32, i64 or
    /// u32; [`Error::OtherDevice`] where they live elsewhere; or an error of the device.
    pub fn gather_nd(&self, indices: &Self, options: GatherNd) -> Result<Gathered, Error> {
        self.view().gather_nd(indices, options)
    }

    /// Gathers from this tensor, as `params`, the slices along a dimension that `indices` name.
    ///
    /// ```
    /// use wgslice::{Backend, Gather};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let images = backend.upload(&[1u8, 2, 3, 4, 5, 6], &[2, 3])?;
    /// let channels = backend.upload(&[2u32, 1, 0], &[3])?;
    /// let options = Gather { axis: Some(-1), ..Gather::default() };
    /// let swapped = images.gather(&channels, options)?.tensor;
    /// assert_eq!(swapped.to_array::<u8>()?.data, [3, 2, 1, 6, 5, 4]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Tensor::gather_nd`].
    pub fn gather(&self, indices: &Self, options: Gather) -> Result<Gathered, Error> {
        self.view().gather(indices, options)
    }

    /// Gathers from each batch of this tensor what the same batch of `indices` names:
    /// [`Tensor::gather`] with [`Gather::batch`].
    ///
    /// # Errors
    ///
    /// As [`Tensor::gather_nd`].
    pub fn batch_gather(&self, indices: &Self) -> Result<Gathered, Error> {
        self.gather(indices, Gather::batch(indices.shape.len()))
    }

    /// What a plan of this tensor gathers.
    pub(crate) fn gathered(&self, plan: &Plan, indices: &Self) -> Result<Gathered, Error> {
        if indices.backend.device != self.backend.device {
            return Err(Error::OtherDevice {
                argument: "indices",
            });
        }
        let found = indices.dtype;
        if !matches!(found, DType::I32 | DType::I64 | DType::U32) {
            return Err(Error::IndexDType { found });
        }
        match (&self.backend.device, &self.storage, &indices.storage) {
            #[cfg(feature = "gpu")]
            (Device::Gpu(gpu), Storage::Device(params), Storage::Device(tuples)) => {
                let index = match found {
                    DType::I32 => IndexType::I32,
                    DType::U32 => IndexType::U32,
                    _ => IndexType::I64,
                };
                let (dest, pending) = gpu.gather(plan, params, tuples, index)?;
                let mut gathered = Gathered {
                    tensor: self.result(plan, Storage::Device(dest)),
                    report: GatherReport::Pending(Arc::new(pending), tuples.clone()),
                };
                if plan.policy().out_of_range == OutOfRange::Error {
                    gathered.report = GatherReport::Known(gathered.report()?);
                }
                Ok(gathered)
            }
            _ => {
                let mut dest = self.backend.spare.take(plan.result_bytes())?;
                let bytes = indices.bytes()?;
                let mut run =
                    |indices: Indices<'_>| plan.run_with(&self.bytes()?, indices, dest.as_mut());
                let report = match found {
                    DType::I32 => run(Indices::I32(&integers(&bytes)))?,
                    DType::U32 => run(Indices::U32(&integers(&bytes)))?,
                    _ => run(Indices::I64(&integers(&bytes)))?,
                };
                Ok(Gathered {
                    tensor: self.result(plan, Storage::Host(Owner::new(dest))),
                    report: GatherReport::Known(report),
                })
            }
        }
    }
}

/// Bytes as integers: in place where they are aligned, and they are unless a caller's memory map
/// begins at an odd place.
pub(crate) fn integers<T: bytemuck::AnyBitPattern + bytemuck::NoUninit>(
    bytes: &[u8],
) -> Cow<'_, [T]> {
    match bytemuck::try_cast_slice(bytes) {
        Ok(integers) => Cow::Borrowed(integers),
        Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(bytes)),
    }
}

/// The result of a gather, and what it says of tuples that were out of range.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Gathered {
    /// The slices, in the order of the tuples.
    pub tensor: Tensor,
    report: GatherReport,
}

#[derive(Clone, Debug)]
enum GatherReport {
    Known(Report),
    /// And the tuples, shared so that nothing is written where the report will look for the bad one.
    #[cfg(feature = "gpu")]
    Pending(
        Arc<PendingReport>,
        #[expect(dead_code, reason = "held, not read")] DeviceBytes,
    ),
}

impl Gathered {
    /// How many tuples were out of range, and which was the first. Waits for the device if need
    /// be.
    ///
    /// # Errors
    ///
    /// An error of the device.
    pub fn report(&self) -> Result<Report, Error> {
        match &self.report {
            GatherReport::Known(report) => Ok(report.clone()),
            #[cfg(feature = "gpu")]
            GatherReport::Pending(pending, _) => pending.wait(),
        }
    }

    /// [`Gathered::report`] without blocking: for programs that run in a browser, or on an executor.
    ///
    /// # Errors
    ///
    /// As [`Gathered::report`].
    #[cfg(feature = "gpu")]
    pub async fn report_async(&self) -> Result<Report, Error> {
        match &self.report {
            GatherReport::Known(report) => Ok(report.clone()),
            GatherReport::Pending(pending, _) => pending.ready().await,
        }
    }
}
