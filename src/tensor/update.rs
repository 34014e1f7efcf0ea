//! Updates of slices in place, and gradients of slices, on tensors.

use super::Tensor;
use crate::{Error, Plan, SliceSpec};
#[cfg(feature = "gpu")]
use {super::Storage, crate::backend::Device};

impl Tensor {
    /// Writes `value` into a slice of this tensor, in place, as TensorFlow's
    /// `variable[spec].assign(value)`: see [`Plan::slice_update`].
    ///
    /// Only this tensor changes: memory shared with another tensor, such as a clone, is copied first.
    /// On a GPU the work is submitted, not waited for.
    ///
    /// ```
    /// use wgslice::{slice, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let mut cache = backend.upload(&[0.0f32; 6], &[3, 2])?;
    /// cache.slice_update(&slice![1], &backend.upload(&[1.0f32, 2.0], &[2])?)?;
    /// assert_eq!(cache.to_array::<f32>()?.data, [0.0, 0.0, 1.0, 2.0, 0.0, 0.0]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Plan::slice_update`]; [`Error::DTypeMismatch`] or [`Error::DeviceMismatch`] for a value
    /// that does not match this tensor; or an error of the device. An error leaves the tensor unchanged.
    pub fn slice_update(&mut self, spec: &SliceSpec, value: &Self) -> Result<(), Error> {
        self.check_goes_with("value", value)?;
        let plan = Plan::slice_update(self.shape(), spec, value.shape(), self.dtype())?;
        if plan.rows.count == 0 {
            return Ok(());
        }
        match (&self.backend.device, &mut self.storage, &value.storage) {
            #[cfg(feature = "gpu")]
            (Device::Gpu(gpu), Storage::Device(dest), Storage::Device(value)) => {
                let in_place = dest.is_unshared();
                *dest = gpu.update(&plan, value, dest, in_place)?;
            }
            _ => {
                let value = value.bytes()?;
                let dest = self.host_bytes_mut()?;
                plan.run_cpu(&value, dest)?;
            }
        }
        Ok(())
    }

    /// [`Tensor::slice_update`] of a copy, with the same errors. This tensor does not change.
    pub fn updated(&self, spec: &SliceSpec, value: &Self) -> Result<Self, Error> {
        // The clone shares the memory, so `slice_update` copies the memory before changing it.
        let mut updated = self.clone();
        updated.slice_update(spec, value)?;
        Ok(updated)
    }

    /// The gradient of the slice `spec` of a tensor of shape `shape`, with this tensor as `dy`: see
    /// [`Plan::slice_grad`]. On a GPU the work is submitted, not waited for.
    ///
    /// # Errors
    ///
    /// As [`Plan::slice_grad`], or an error of the device.
    pub fn slice_grad(&self, shape: &[usize], spec: &SliceSpec) -> Result<Self, Error> {
        let plan = Plan::slice_grad(shape, spec, self.shape(), self.dtype())?;
        self.moved(&plan)
    }

    /// Checks that an argument has the device and the element type of this tensor.
    pub(crate) fn check_goes_with(
        &self,
        argument: &'static str,
        other: &Self,
    ) -> Result<(), Error> {
        self.check_same_device(argument, other)?;
        let (found, needed) = (other.dtype(), self.dtype());
        if found != needed {
            return Err(Error::DTypeMismatch {
                argument,
                found,
                needed,
            });
        }
        Ok(())
    }

    /// The bytes of a tensor on the CPU, for writing. They are copied first if another tensor shares them, or if they
    /// are the caller's.
    pub(super) fn host_bytes_mut(&mut self) -> Result<&mut [u8], Error> {
        if self.storage.host_mut().is_none() {
            let bytes = self.storage.host();
            let copy = |dest: &mut [u8]| {
                dest.copy_from_slice(bytes);
                Ok(())
            };
            self.storage = self.backend.host_storage(bytes.len(), copy)?;
        }
        Ok(self.storage.host_mut().unwrap_or_default())
    }
}
