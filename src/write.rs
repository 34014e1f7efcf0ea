//! The operations that write into slices, on values of the host and on tensors. Those that write where
//! indices say are in `scatter`.
//!
//! | on values | on tensors |
//! |---|---|
//! | [`Backend::strided_slice_update`] | [`Tensor::update`] in place, [`Tensor::updated`] as a new tensor |
//! | [`Backend::strided_slice_grad`] | [`Tensor::strided_slice_grad`] |

#[cfg(feature = "gpu")]
use crate::backend::Device;
use crate::{
    Array, Backend, Element, Error, Plan, SliceSpec, Tensor,
    shape::check_elements,
    tensor::{Owner, Storage},
};

impl Backend {
    /// Slices values by where a block begins and how large it is, as TensorFlow's `tf.slice`: see
    /// [`SliceSpec::block`].
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let block = Backend::cpu().slice(&[1, 2, 3, 4, 5, 6], &[2, 3], &[0, 1], &[-1, 2])?;
    /// assert_eq!((block.shape, block.data), (vec![2, 2], vec![2, 3, 5, 6]));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`SliceSpec::block`] and [`Backend::strided_slice`].
    pub fn slice<T: Element>(
        &self,
        input: &[T],
        shape: &[usize],
        begin: &[i64],
        size: &[i64],
    ) -> Result<Array<T>, Error> {
        self.strided_slice(input, shape, &SliceSpec::block(shape, begin, size)?)
    }

    /// A copy of `input` in which the slice `spec` was replaced by `value`, as TensorFlow's
    /// `tensor_strided_slice_update`: see [`Plan::strided_slice_update`], which also does it in place.
    ///
    /// ```
    /// use wgslice::{slice, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let x = [1, 2, 3, 4, 5, 6];
    /// let updated = backend.strided_slice_update(&x, &[2, 3], &slice![.., 1..], &[0, 9], &[2])?;
    /// assert_eq!(updated.data, [1, 0, 9, 4, 0, 9]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Plan::strided_slice_update`]; [`Error::Length`], or an error of the device.
    pub fn strided_slice_update<T: Element>(
        &self,
        input: &[T],
        shape: &[usize],
        spec: &SliceSpec,
        value: &[T],
        value_shape: &[usize],
    ) -> Result<Array<T>, Error> {
        let plan = Plan::strided_slice_update(shape, spec, value_shape, T::DTYPE)?;
        check_elements("input", shape, input.len())?;
        check_elements("value", value_shape, value.len())?;
        let on_device = || {
            let mut tensor = self.upload(input, shape)?;
            tensor.update(spec, &self.upload(value, value_shape)?)?;
            tensor.to_array()
        };
        self.on_device_or(on_device, || {
            let run = |dest: &mut [u8]| {
                dest.copy_from_slice(T::as_bytes(input));
                plan.run(T::as_bytes(value), dest)
            };
            Array::collect(&plan, run).map(|(array, ())| array)
        })
    }

    /// The gradient of the slice `spec` of an array of this shape: `dy` where the slice takes its
    /// elements from, and zeros everywhere else; see [`Plan::strided_slice_grad`].
    ///
    /// ```
    /// use wgslice::{slice, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let gradient = backend.strided_slice_grad(&[2, 3], &slice![1, ..; -2], &[0.5f32, 0.25], &[2])?;
    /// assert_eq!(gradient.data, [0.0, 0.0, 0.0, 0.25, 0.0, 0.5]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Plan::strided_slice_grad`]; [`Error::Length`], or an error of the device.
    pub fn strided_slice_grad<T: Element>(
        &self,
        shape: &[usize],
        spec: &SliceSpec,
        dy: &[T],
        dy_shape: &[usize],
    ) -> Result<Array<T>, Error> {
        let plan = Plan::strided_slice_grad(shape, spec, dy_shape, T::DTYPE)?;
        check_elements("dy", dy_shape, dy.len())?;
        let on_device = || {
            let dy = self.upload(dy, dy_shape)?;
            dy.strided_slice_grad(shape, spec)?.to_array()
        };
        self.on_device_or(on_device, || {
            let run = |dest: &mut [u8]| plan.run(T::as_bytes(dy), dest);
            Array::collect(&plan, run).map(|(array, ())| array)
        })
    }

    /// Does an operation on the device if there is one, and on the CPU if there is none or it may stand
    /// in.
    pub(crate) fn on_device_or<R>(
        &self,
        on_device: impl FnOnce() -> Result<R, Error>,
        on_cpu: impl FnOnce() -> Result<R, Error>,
    ) -> Result<R, Error> {
        #[cfg(feature = "gpu")]
        if !self.is_cpu() {
            match on_device() {
                Err(error) if self.may_fall_back(&error) => {}
                outcome => return outcome,
            }
        }
        #[cfg(not(feature = "gpu"))]
        drop(on_device);
        on_cpu()
    }
}

impl Tensor {
    /// Slices by where a block begins and how large it is, as TensorFlow's `tf.slice`: see
    /// [`SliceSpec::block`].
    ///
    /// # Errors
    ///
    /// As [`SliceSpec::block`] and [`Tensor::slice`].
    pub fn slice_block(&self, begin: &[i64], size: &[i64]) -> Result<Self, Error> {
        self.slice(&SliceSpec::block(self.shape(), begin, size)?)
    }

    /// Writes `value` into a slice of this tensor, in place, as TensorFlow's
    /// `variable[spec].assign(value)`: see [`Plan::strided_slice_update`].
    ///
    /// Where another tensor shares the memory, such as a clone, it is copied first: only this one
    /// changes. On a GPU the work is submitted, not waited for.
    ///
    /// ```
    /// use wgslice::{slice, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let mut cache = backend.upload(&[0.0f32; 6], &[3, 2])?;
    /// cache.update(&slice![1], &backend.upload(&[1.0f32, 2.0], &[2])?)?;
    /// assert_eq!(cache.to_array::<f32>()?.data, [0.0, 0.0, 1.0, 2.0, 0.0, 0.0]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Plan::strided_slice_update`]; [`Error::OtherDType`] and [`Error::OtherDevice`] where the
    /// value does not belong here; or an error of the device. The tensor is then as it was.
    pub fn update(&mut self, spec: &SliceSpec, value: &Self) -> Result<(), Error> {
        let plan = self.update_plan(spec, value)?;
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
                plan.run(&value, dest)?;
            }
        }
        Ok(())
    }

    /// [`Tensor::update`] as a new tensor: this one stays as it is.
    ///
    /// # Errors
    ///
    /// As [`Tensor::update`].
    pub fn updated(&self, spec: &SliceSpec, value: &Self) -> Result<Self, Error> {
        // A clone shares the memory, which is therefore copied.
        let mut updated = self.clone();
        updated.update(spec, value)?;
        Ok(updated)
    }

    fn update_plan(&self, spec: &SliceSpec, value: &Self) -> Result<Plan, Error> {
        self.check_goes_with("value", value)?;
        Plan::strided_slice_update(self.shape(), spec, value.shape(), self.dtype())
    }

    /// The gradient of the slice `spec` of a tensor of this shape, of which this tensor is `dy`: see
    /// [`Plan::strided_slice_grad`]. On a GPU the work is submitted, not waited for.
    ///
    /// # Errors
    ///
    /// As [`Plan::strided_slice_grad`], or an error of the device.
    pub fn strided_slice_grad(&self, shape: &[usize], spec: &SliceSpec) -> Result<Self, Error> {
        let plan = Plan::strided_slice_grad(shape, spec, self.shape(), self.dtype())?;
        self.moved(&plan)
    }

    /// Checks that an argument lives where this tensor does and has elements like it.
    pub(crate) fn check_goes_with(
        &self,
        argument: &'static str,
        other: &Self,
    ) -> Result<(), Error> {
        if other.backend.device != self.backend.device {
            return Err(Error::OtherDevice { argument });
        }
        let (found, needed) = (other.dtype(), self.dtype());
        if found != needed {
            return Err(Error::OtherDType {
                argument,
                found,
                needed,
            });
        }
        Ok(())
    }

    /// The bytes of a tensor on the CPU, which are its own from here on.
    pub(crate) fn host_bytes_mut(&mut self) -> Result<&mut [u8], Error> {
        if let Storage::Host(owner) = &mut self.storage
            && owner.bytes_mut().is_none()
        {
            let mut copy = self.backend.spare.take(owner.bytes().len())?;
            copy.as_mut().copy_from_slice(owner.bytes());
            *owner = Owner::new(copy);
        }
        match &mut self.storage {
            Storage::Host(owner) => Ok(owner.bytes_mut().unwrap_or_default()),
            #[cfg(feature = "gpu")]
            Storage::Device(_) => Ok(&mut []),
        }
    }
}
