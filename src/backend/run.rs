//! Runs plans on host values: chooses the device by the backend's costs, and falls back to the CPU if the device fails.
//! `Backend::stream` has code of its own for the CPU and the GPU, because it runs a slice piece by piece, and
//! `Backend::slice` for the CPU, because it needs no plan there.

use super::Backend;
use crate::{Array, Element, Error, Indices, Plan, Report, cpu::Dest, shape::check_elements};
#[cfg(feature = "gpu")]
use crate::{Gpu, Pending, Tensor, backend::Device};

/// The host values that a plan runs on. Each argument has the length that the plan needs.
#[derive(Clone, Copy)]
pub(crate) struct Inputs<'a, T> {
    /// The input of a slice or a crop, the params of a gather, the updates of a scatter, the value of an update, or
    /// the `dy` of a gradient.
    pub(crate) source: &'a [T],
    /// The index tuples of a gather, a crop or a scatter. `None` for other plans.
    pub(crate) indices: Option<Indices<'a>>,
    /// The array of which an in-place plan changes a copy. `None` for other plans.
    pub(crate) dest: Option<&'a [T]>,
}

impl<'a, T: Element> Inputs<'a, T> {
    /// The inputs of a plan that needs neither indices nor a destination.
    pub(crate) fn of(source: &'a [T]) -> Self {
        Self {
            source,
            indices: None,
            dest: None,
        }
    }

    /// Checks that each argument has as many elements as the plan needs.
    pub(crate) fn check(&self, plan: &Plan) -> Result<(), Error> {
        check_elements("source", &plan.source, self.source.len())?;
        if let Some(tuples) = plan.tuples() {
            let found = self.indices.map_or(0, |indices| indices.len());
            check_elements("indices", tuples.indices, found)?;
        }
        if plan.is_in_place() {
            check_elements("dest", &plan.shape, self.dest.map_or(0, <[T]>::len))?;
        }
        Ok(())
    }
}

impl Backend {
    /// Runs a plan on host values, on the device that [`Backend::device_for`] chooses. If this fails with an error of
    /// the device and the backend has a fallback, the CPU runs the plan.
    pub(crate) fn run<T: Element, U: Element>(
        &self,
        plan: Plan,
        inputs: Inputs<'_, T>,
    ) -> Result<(Array<U>, Report), Error> {
        let (data, report) = U::collect(plan.shape.iter().product(), |result| {
            #[cfg(feature = "gpu")]
            if let Device::Gpu(gpu) = self.device_for(&plan) {
                let result = result.all();
                return match self.run_on_device(gpu, &plan, inputs, result) {
                    Err(error) if self.may_fall_back(&error) => {
                        self.run_on_cpu(&plan, inputs, result.into())
                    }
                    outcome => outcome,
                };
            }
            self.run_on_cpu(&plan, inputs, result)
        })?;
        let shape = plan.shape;
        Ok((Array { shape, data }, report))
    }

    fn run_on_cpu<T: Element>(
        &self,
        plan: &Plan,
        inputs: Inputs<'_, T>,
        mut result: Dest<'_>,
    ) -> Result<Report, Error> {
        if let Some(dest) = inputs.dest {
            let bytes = result.all();
            bytes.copy_from_slice(T::as_bytes(dest));
            result = bytes.into();
        }
        let indices = inputs.indices.unwrap_or(Indices::I32(&[]));
        plan.run_on_threads(T::as_bytes(inputs.source), indices, result, self.threads)
    }

    /// Runs a plan without indices on the CPU.
    pub(crate) fn run_slice<'d>(
        &self,
        plan: &Plan,
        source: &[u8],
        dest: impl Into<Dest<'d>>,
    ) -> Result<(), Error> {
        plan.run_on_threads(source, Indices::I32(&[]), dest.into(), self.threads)
            .map(drop)
    }
}

#[cfg(feature = "gpu")]
impl Backend {
    /// Runs a plan on host values without blocking: for programs that run in a browser or in an async runtime. For
    /// example, [`Plan::gather`] makes the plan of [`Backend::gather`], and a [converting](Plan::converted) plan does the
    /// work of [`Backend::convert`]. The device and the fallback are chosen as in those calls.
    ///
    /// Operations of several plans have no such call yet: `concat`, `stack`, `pad`, `roll`, `tile`, `repeat`,
    /// `boolean_mask`, `compress`, `select`, `masked_scatter`, and outer expressions of `index`. Upload the values, and
    /// call the same operation on tensors: it submits, and does not wait.
    ///
    /// `source` holds the values that the plan reads, [`Plan::source_bytes`] bytes in total. `indices` are those of a
    /// gather, a crop (in the order of its [`Boxes`](crate::options::Boxes)) or a scatter. `dest` is the array that a
    /// plan changes [in place](Plan::is_in_place): the result is a changed copy of it. Plans that do not need `indices`
    /// or `dest` ignore them. `T` is the element type of the source, and `U` the element type of the result: the same
    /// unless the plan converts.
    ///
    /// ```
    /// use wgslice::{options::GatherOptions, Backend, DType, Indices, Plan};
    ///
    /// # async fn example(backend: Backend) -> Result<(), wgslice::Error> {
    /// let plan = Plan::gather(&[3], &[2], GatherOptions::default(), DType::F32)?;
    /// let ids = Indices::I32(&[2, 7]);
    /// let (array, report) = backend.run_async(&plan, &[0.5f32, 1.5, 2.5], Some(ids), None).await?;
    /// assert_eq!((array.data, report.out_of_range), (vec![2.5f32, 0.0], 1));
    /// # Ok(())
    /// # }
    /// # pollster::block_on(example(Backend::auto()))?;
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Length`] for an argument that does not have as many values as the plan needs; [`Error::Argument`] if
    /// the plan is for elements of another type; the errors of the operation.
    pub async fn run_async<T: Element, U: Element>(
        &self,
        plan: &Plan,
        source: &[T],
        indices: Option<Indices<'_>>,
        dest: Option<&[T]>,
    ) -> Result<(Array<U>, Report), Error> {
        let inputs = Inputs {
            source,
            indices,
            dest: dest.filter(|_| plan.is_in_place()),
        };
        inputs.check(plan)?;
        plan.check_types(T::DTYPE, U::DTYPE)?;
        if *self.device_for(plan) != Device::Cpu {
            let running = async {
                let (tensor, report) = self.submit(plan, inputs)?;
                let report = report.await?;
                Ok((tensor.to_array_async().await?, report))
            };
            match running.await {
                Err(error) if self.may_fall_back(&error) => {}
                outcome => return outcome,
            }
        }
        Array::collect(&plan.shape, |result| self.run_on_cpu(plan, inputs, result))
    }

    fn run_on_device<T: Element>(
        &self,
        gpu: &Gpu,
        plan: &Plan,
        inputs: Inputs<'_, T>,
        result: &mut [u8],
    ) -> Result<Report, Error> {
        gpu.opened().check_may_block(
            "the result of an operation on host values",
            "Backend::run_async with a plan of the operation, or the operation on tensors, which does not wait",
        )?;
        #[cfg(not(target_arch = "wasm32"))]
        if plan.is_slice() {
            return self.run_stream(plan, T::as_bytes(inputs.source), result);
        }
        let (tensor, report) = self.submit(plan, inputs)?;
        tensor.read(result.into())?;
        report.wait()
    }

    /// Uploads the values to the device, and submits the plan.
    fn submit<T: Element>(
        &self,
        plan: &Plan,
        inputs: Inputs<'_, T>,
    ) -> Result<(Tensor, Pending<Report>), Error> {
        // With late errors no call here waits: the caller waits for the report before it hands out the result.
        let backend = self.clone().with_late_errors();
        let source = backend.upload((inputs.source, &plan.source))?;
        let indices = plan.tuples().map(|tuples| {
            let indices = inputs.indices.unwrap_or(Indices::I32(&[]));
            backend.upload_indices(indices, tuples.indices)
        });
        let indices = indices.transpose()?;
        let Some(dest) = inputs.dest else {
            return source.make(plan, indices.as_ref());
        };
        let mut tensor = backend.upload((dest, &plan.shape))?;
        let report = tensor.change(plan, &source, indices.as_ref())?;
        Ok((tensor, report))
    }

    /// Runs a slice as a stream. While the device works on earlier pieces, the host uploads the next piece: the bytes
    /// of the source that the piece needs, with the short gaps between them.
    #[cfg(not(target_arch = "wasm32"))]
    fn run_stream(
        &self,
        plan: &Plan,
        input: &[u8],
        mut result: &mut [u8],
    ) -> Result<Report, Error> {
        let sink = |bytes: &[u8]| {
            let (now, rest) = std::mem::take(&mut result).split_at_mut(bytes.len());
            now.copy_from_slice(bytes);
            result = rest;
            Ok::<_, Error>(())
        };
        self.stream_plan(plan.clone())
            .run(|range| Ok(&input[range]), sink)?;
        plan.report(Default::default(), |_| Vec::new())
    }

    fn upload_indices(&self, indices: Indices<'_>, shape: &[usize]) -> Result<Tensor, Error> {
        match indices {
            Indices::I32(indices) => self.upload((indices, shape)),
            Indices::I64(indices) => self.upload((indices, shape)),
            Indices::U32(indices) => self.upload((indices, shape)),
            Indices::Mask(mask) => self.upload((mask, shape)),
        }
    }
}
