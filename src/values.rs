//! Values in, values out: slices and gathers of values of the host, wherever they are done.

use crate::{
    Array, Backend, Element, Error, Gather, GatherNd, Indices, Plan, Report, SliceSpec, View,
    backend::Device, shape::check_elements,
};

impl Backend {
    /// Slices values: values in, values out.
    ///
    /// # Errors
    ///
    /// [`SpecError`](crate::SpecError), [`Error::Length`], or an error of the device.
    pub fn strided_slice<T: Element>(
        &self,
        input: &[T],
        shape: &[usize],
        spec: &SliceSpec,
    ) -> Result<Array<T>, Error> {
        self.run_plan(input, &Plan::strided_slice(shape, spec, T::DTYPE)?)
    }

    /// Moves what a view selects: values in, values out.
    ///
    /// ```
    /// use wgslice::{slice, Backend, View};
    ///
    /// let transposed = View::of(&[2, 3])?.transpose(&[1, 0])?;
    /// let last = transposed.strided_slice(&slice![-1])?;
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
            Device::Cpu => plan.run(input, dest),
            #[cfg(all(feature = "gpu", target_arch = "wasm32"))]
            Device::Gpu(gpu) => gpu.wait(),
            // Only what is selected goes to the device, and only the result comes back.
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
        Array::collect(plan, run).map(|(array, ())| array)
    }

    /// Gathers values: values in, values out, with a report of the index tuples that were out of
    /// range.
    ///
    /// ```
    /// use wgslice::{Backend, GatherNd};
    ///
    /// let params = [10, 11, 12, 20, 21, 22];
    /// let indices = [1i64, 0, 5, 0]; // (1, 0) and (5, 0)
    /// let (array, report) =
    ///     Backend::cpu().gather_nd(&params, &[2, 3], &indices[..], &[2, 2], GatherNd::default())?;
    /// assert_eq!(array.data, [20, 0]);
    /// assert_eq!(report.bad, 1);
    /// assert_eq!(report.first.unwrap().index, [5, 0]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`GatherError`](crate::GatherError), [`Error::Length`], or an error of the device.
    pub fn gather_nd<'a, T: Element>(
        &self,
        params: &[T],
        params_shape: &[usize],
        indices: impl Into<Indices<'a>>,
        indices_shape: &[usize],
        options: GatherNd,
    ) -> Result<(Array<T>, Report), Error> {
        let plan = Plan::gather_nd(params_shape, indices_shape, options, T::DTYPE)?;
        let indices = (indices.into(), indices_shape);
        self.gather_by(&plan, (params, params_shape), indices)
    }

    /// Gathers values along a dimension: values in, values out, with a report of the indices that were
    /// out of range.
    ///
    /// ```
    /// use wgslice::{Backend, Gather, Negative};
    ///
    /// let params = [10, 11, 12, 20, 21, 22];
    /// let options = Gather { axis: Some(1), negative: Negative::Wrap, ..Gather::default() };
    /// let (array, report) = Backend::cpu().gather(&params, &[2, 3], &[-1i32, 0][..], &[2], options)?;
    /// assert_eq!(array.data, [12, 10, 22, 20]);
    /// assert_eq!((report.rows, report.bad), (2, 0));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`GatherError`](crate::GatherError), [`Error::Length`], or an error of the device.
    pub fn gather<'a, T: Element>(
        &self,
        params: &[T],
        params_shape: &[usize],
        indices: impl Into<Indices<'a>>,
        indices_shape: &[usize],
        options: Gather,
    ) -> Result<(Array<T>, Report), Error> {
        let plan = Plan::gather(params_shape, indices_shape, options, T::DTYPE)?;
        let indices = (indices.into(), indices_shape);
        self.gather_by(&plan, (params, params_shape), indices)
    }

    /// Gathers from each batch of `params` what the same batch of `indices` names: [`Backend::gather`]
    /// with [`Gather::batch`].
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let scores = [0.1f32, 0.7, 0.2, 0.5, 0.3, 0.2];
    /// let best = [1i32, 0];
    /// let (array, _) = Backend::cpu().batch_gather(&scores, &[2, 3], &best[..], &[2, 1])?;
    /// assert_eq!(array.data, [0.7, 0.5]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Backend::gather`].
    pub fn batch_gather<'a, T: Element>(
        &self,
        params: &[T],
        params_shape: &[usize],
        indices: impl Into<Indices<'a>>,
        indices_shape: &[usize],
    ) -> Result<(Array<T>, Report), Error> {
        let options = Gather::batch(indices_shape.len());
        self.gather(params, params_shape, indices, indices_shape, options)
    }

    /// Runs the plan of a gather, on the CPU or with tensors on the device. Params are the source of the
    /// plan's view, with its shape.
    #[cfg_attr(
        not(feature = "gpu"),
        expect(unused_variables, reason = "there is no device")
    )]
    pub(crate) fn gather_by<T: Element>(
        &self,
        plan: &Plan,
        (params, params_shape): (&[T], &[usize]),
        (indices, indices_shape): (Indices<'_>, &[usize]),
    ) -> Result<(Array<T>, Report), Error> {
        check_elements("params", params_shape, params.len())?;
        #[cfg(feature = "gpu")]
        if let Device::Gpu(_) = self.device_for(plan) {
            check_elements("indices", indices_shape, indices.len())?;
            let on_device = || {
                let params = self.upload(params, params_shape)?;
                let indices = match indices {
                    Indices::I32(indices) => self.upload(indices, indices_shape)?,
                    Indices::I64(indices) => self.upload(indices, indices_shape)?,
                    Indices::U32(indices) => self.upload(indices, indices_shape)?,
                };
                let gathered = params.gathered(plan, &indices)?;
                Ok((gathered.tensor.to_array()?, gathered.report()?))
            };
            match on_device() {
                Err(error) if self.may_fall_back(&error) => {}
                outcome => return outcome,
            }
        }
        let run = |dest: &mut [u8]| plan.run_with(T::as_bytes(params), indices, dest);
        Array::collect(plan, run)
    }
}
