//! Updates and gradients of slices of host values, on the CPU or on a device.

use crate::{Array, Backend, Element, Error, Plan, SliceSpec, shape::check_elements};

impl Backend {
    /// A copy of `input` with the slice `spec` replaced by `value`, as TensorFlow's `tensor_strided_slice_update`, by
    /// the rules of [`Plan::slice_update`].
    ///
    /// ```
    /// use wgslice::{slice, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let x = [1, 2, 3, 4, 5, 6];
    /// let updated = backend.slice_update(&x, &[2, 3], &slice![.., 1..], &[0, 9], &[2])?;
    /// assert_eq!(updated.data, [1, 0, 9, 4, 0, 9]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Plan::slice_update`]; [`Error::Length`], or an error of the device.
    pub fn slice_update<T: Element>(
        &self,
        input: &[T],
        shape: &[usize],
        spec: &SliceSpec,
        value: &[T],
        value_shape: &[usize],
    ) -> Result<Array<T>, Error> {
        let plan = Plan::slice_update(shape, spec, value_shape, T::DTYPE)?;
        check_elements("input", shape, input.len())?;
        check_elements("value", value_shape, value.len())?;
        let on_device = || {
            let mut tensor = self.upload(input, shape)?;
            tensor.slice_update(spec, &self.upload(value, value_shape)?)?;
            tensor.to_array()
        };
        self.on_device_or(&self.device, on_device, || {
            let run = |dest: &mut [u8]| {
                dest.copy_from_slice(T::as_bytes(input));
                plan.run_cpu(T::as_bytes(value), dest)
            };
            Array::collect(&plan.shape, run).map(|(array, ())| array)
        })
    }

    /// The gradient of the slice `spec` of an array of shape `shape`: the values of `dy` at the positions of the slice,
    /// and zeros everywhere else. See [`Plan::slice_grad`].
    ///
    /// ```
    /// use wgslice::{slice, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let gradient = backend.slice_grad(&[2, 3], &slice![1, ..; -2], &[0.5f32, 0.25], &[2])?;
    /// assert_eq!(gradient.data, [0.0, 0.0, 0.0, 0.25, 0.0, 0.5]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Plan::slice_grad`]; [`Error::Length`], or an error of the device.
    pub fn slice_grad<T: Element>(
        &self,
        shape: &[usize],
        spec: &SliceSpec,
        dy: &[T],
        dy_shape: &[usize],
    ) -> Result<Array<T>, Error> {
        let plan = Plan::slice_grad(shape, spec, dy_shape, T::DTYPE)?;
        check_elements("dy", dy_shape, dy.len())?;
        let on_device = || {
            let dy = self.upload(dy, dy_shape)?;
            dy.slice_grad(shape, spec)?.to_array()
        };
        self.on_device_or(&self.device, on_device, || {
            let run = |dest: &mut [u8]| plan.run_cpu(T::as_bytes(dy), dest);
            Array::collect(&plan.shape, run).map(|(array, ())| array)
        })
    }
}
