//! Values of the host, put where a backend works.

use crate::{
    Backend, DType, Element, Error, SliceSpec, Tensor, View,
    backend::Device,
    shape,
    shape::check_elements,
    tensor::{Owner, Storage},
};

impl Backend {
    /// Puts values on the device, as a tensor that stays there.
    ///
    /// # Errors
    ///
    /// [`Error::Length`], or an error of the device.
    pub fn upload<T: Element>(&self, values: &[T], shape: &[usize]) -> Result<Tensor, Error> {
        check_elements("values", shape, values.len())?;
        let bytes = T::as_bytes(values);
        let storage = match &self.device {
            Device::Cpu => {
                let mut dest = self.spare.take(bytes.len())?;
                dest.as_mut().copy_from_slice(bytes);
                Storage::Host(Owner::new(dest))
            }
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => Storage::Device(gpu.upload(shape, T::DTYPE.size(), bytes)?),
        };
        Ok(Tensor::new(self, T::DTYPE, shape, storage))
    }

    /// Slices values of the host on their way to the device: only what is selected is put there, in one
    /// move, and the tensor is the result.
    ///
    /// ```
    /// use wgslice::{slice, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let batch = backend.upload_slice(&[1, 2, 3, 4, 5, 6], &[3, 2], &slice![1.., ..; -1])?;
    /// assert_eq!(batch.to_array::<i32>()?.data, [4, 3, 6, 5]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SpecError`](crate::SpecError), [`Error::Length`], or an error of the device.
    pub fn upload_slice<T: Element>(
        &self,
        values: &[T],
        shape: &[usize],
        spec: &SliceSpec,
    ) -> Result<Tensor, Error> {
        self.upload_view(values, &spec.view(shape)?)
    }

    /// Puts what a view selects of values of the host on the device, in one move.
    ///
    /// # Errors
    ///
    /// [`Error::Length`], or an error of the device.
    pub fn upload_view<T: Element>(&self, values: &[T], view: &View) -> Result<Tensor, Error> {
        let plan = view.plan(T::DTYPE);
        check_elements("values", view.source(), values.len())?;
        let bytes = T::as_bytes(values);
        let storage = match &self.device {
            Device::Cpu => {
                let mut dest = self.spare.take(plan.result_bytes())?;
                plan.run(bytes, dest.as_mut())?;
                Storage::Host(Owner::new(dest))
            }
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => Storage::Device(gpu.upload_slice(&plan, bytes)?),
        };
        Ok(Tensor::new(self, T::DTYPE, plan.shape(), storage))
    }

    /// Puts the bytes of a row-major array on the device, in the machine's byte order.
    ///
    /// On the CPU the tensor keeps `bytes` and copies nothing, so that a memory-mapped file is read
    /// where it is touched.
    ///
    /// # Errors
    ///
    /// [`Error::Length`], or an error of the device.
    pub fn adopt(
        &self,
        dtype: DType,
        shape: &[usize],
        bytes: impl AsRef<[u8]> + Send + Sync + 'static,
    ) -> Result<Tensor, Error> {
        let needed = shape::elements(shape)? * dtype.size();
        shape::check_length("bytes", shape, "bytes", needed, bytes.as_ref().len())?;
        let storage = match &self.device {
            Device::Cpu => Storage::Host(Owner::callers(bytes)),
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => Storage::Device(gpu.upload(shape, dtype.size(), bytes.as_ref())?),
        };
        Ok(Tensor::new(self, dtype, shape, storage))
    }
}
