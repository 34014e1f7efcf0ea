//! Slices of host values, on the CPU or on a device.

use crate::{
    Array, Backend, Element, Error, Plan, SliceSpec, View, backend::Device, shape::check_elements,
};

impl Backend {
    /// Slices host values into a new array.
    ///
    /// # Errors
    ///
    /// [`SpecError`](crate::error::SpecError), [`Error::Length`], or an error of the device.
    pub fn slice<T: Element>(
        &self,
        input: &[T],
        shape: &[usize],
        spec: &SliceSpec,
    ) -> Result<Array<T>, Error> {
        self.run_plan(input, &Plan::slice(shape, spec, T::DTYPE)?)
    }

    /// Copies the block that begins at `begin` and has `size`, as TensorFlow's `tf.slice`: [`Backend::slice`]
    /// with the rules and errors of [`SliceSpec::block`].
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let block = Backend::cpu().slice_block(&[1, 2, 3, 4, 5, 6], &[2, 3], &[0, 1], &[-1, 2])?;
    /// assert_eq!((block.shape, block.data), (vec![2, 2], vec![2, 3, 5, 6]));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    pub fn slice_block<T: Element>(
        &self,
        input: &[T],
        shape: &[usize],
        begin: &[i64],
        size: &[i64],
    ) -> Result<Array<T>, Error> {
        self.slice(input, shape, &SliceSpec::block(shape, begin, size)?)
    }

    /// Copies the elements that a view selects from host values.
    ///
    /// ```
    /// use wgslice::{slice, Backend, View};
    ///
    /// let transposed = View::new(&[2, 3])?.transpose(&[1, 0])?;
    /// let last = transposed.slice(&slice![-1])?;
    /// let array = Backend::cpu().run_view(&[1, 2, 3, 4, 5, 6], &last)?;
    /// assert_eq!(array.data, [3, 6]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Length`], or an error of the device.
    pub fn run_view<T: Element>(&self, input: &[T], view: &View) -> Result<Array<T>, Error> {
        self.run_plan(input, &view.plan(T::DTYPE))
    }

    fn run_plan<T: Element>(&self, input: &[T], plan: &Plan) -> Result<Array<T>, Error> {
        check_elements("input", &plan.source, input.len())?;
        let input = T::as_bytes(input);
        let run = |dest: &mut [u8]| match self.device_for(plan) {
            Device::Cpu => plan.run_cpu(input, dest),
            #[cfg(all(feature = "gpu", target_arch = "wasm32"))]
            Device::Gpu(gpu) => gpu.wait(),
            // A stream uploads only the parts of the input that the slice needs, while the device works on earlier
            // parts.
            #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
            Device::Gpu(_) => {
                let mut left = dest;
                let sink = |bytes: &[u8]| {
                    let (now, rest) = std::mem::take(&mut left).split_at_mut(bytes.len());
                    now.copy_from_slice(bytes);
                    left = rest;
                    Ok::<_, Error>(())
                };
                let stream = self.stream_plan(plan.clone());
                stream.run(|range| Ok(&input[range]), sink).map(drop)
            }
        };
        Array::collect(&plan.shape, run).map(|(array, ())| array)
    }
}
