//! Runs plans on host values: chooses the device by the backend's costs and falls back to the CPU if the device fails.
//! `Backend::stream` has its own code for the CPU and for a GPU, because it runs a slice piece by piece.
//! `Backend::slice` has its own code for the CPU, because it needs no plan there.

use super::Backend;
use crate::prelude::*;
use crate::{
    Array, DType, Element, Error, Plan, Report, Values, ValuesMut,
    cpu::{Dest, Indices, Pieces},
    error,
    moves::Move,
    shape::check_elements,
};
#[cfg(feature = "gpu")]
use crate::{Gpu, Pending, Tensor, backend::Device};

/// The host values that a plan runs on.
#[derive(Clone, Copy)]
struct HostArguments<'v, 'a> {
    inputs: &'v [Values<'a>],
    /// The array that an in-place plan copies and changes. `None` for other plans, and if the result's memory already
    /// has the array.
    changed_array: Option<Values<'a>>,
}

impl Backend {
    /// Runs a plan on host values. `values` are the inputs of the plan in order, followed by the array that the plan
    /// changes in place, if it changes one. The call changes a copy of that array. Returns the first output and the
    /// report. Like all calls on host values, it chooses the device by the backend's [costs](Self::with_costs) and can
    /// fall back to the CPU.
    ///
    /// ```
    /// use wgslice::{options::GatherOptions, slice, Backend, Conversion, DType, Plan};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let rows = Plan::gather(&[3, 2], &[2], GatherOptions::default(), DType::I8)?;
    /// let rows = rows.converted(&Conversion::scaled(DType::F32, 0, &[0.5, 1.0, 2.0], &[0.0]))?;
    /// let (table, ids) = ([-1i8, 2, 3, 4, 5, 6], [2i32, 0]);
    /// let (gathered, report) = backend.run::<f32>(&rows, &[(&table).into(), (&ids).into()])?;
    /// assert_eq!((gathered.data, report.out_of_range), (vec![10.0, 12.0, -0.5, 1.0], 0));
    ///
    /// let update = Plan::slice_update(&[3], &slice![1..], &[2], DType::I32)?;
    /// let (updated, _) = backend.run::<i32>(&update, &[(&[8, 9]).into(), (&[1, 2, 3]).into()])?;
    /// assert_eq!(updated.data, [1, 8, 9]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] if the number or the types of the values, or `T`, do not fit the plan; [`Error::Length`] if
    /// an array has more or fewer elements than its shape in the plan; the errors of the operation or of the
    /// device.
    pub fn run<T: Element>(
        &self,
        plan: &Plan,
        values: &[Values<'_>],
    ) -> Result<(Array<T>, Report), Error> {
        let arguments = Self::split_arguments(plan, T::DTYPE, values)?;
        let pieces = self.pieces(plan, arguments);
        Array::collect(plan.shape(), pieces, |result| {
            self.run_to(plan, arguments, result)
        })
    }

    /// Like [`Self::run`], for a plan that was made for these values. On the CPU the values are not checked again.
    pub(crate) fn run_checked<T: Element>(
        &self,
        plan: Plan,
        inputs: &[Values<'_>],
    ) -> Result<(Array<T>, Report), Error> {
        if !self.is_cpu() || plan.is_in_place() {
            return self.run(&plan, inputs);
        }
        let arguments = HostArguments {
            inputs,
            changed_array: None,
        };
        let len = plan.shape().iter().product();
        let (data, report) = T::collect(len, plan.pieces(), |result| {
            self.run_on_cpu(&plan, arguments, result)
        })?;
        let shape = plan.into_shape();
        Ok((Array { shape, data }, report))
    }

    /// Runs a plan like [`Backend::run`], but writes the first output to the caller's memory. If the plan changes an
    /// array in place, `result` is this array, and `values` does not contain it.
    ///
    /// The operating system maps and clears new memory for a large result page by page, which can take longer than the
    /// operation. A program that repeatedly makes results of the same size saves this time if it reuses one vector.
    ///
    /// ```
    /// use wgslice::{options::GatherOptions, slice, Backend, DType, Plan};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let rows = Plan::gather(&[3, 2], &[2], GatherOptions::default(), DType::I32)?;
    /// let table = [1, 2, 3, 4, 5, 6];
    /// let mut batch = vec![0; 4];
    /// for ids in [[2u32, 0], [1, 7]] {
    ///     let report = backend.run_into(&rows, &[(&table).into(), (&ids).into()], &mut batch)?;
    ///     println!("{batch:?}, {} out of range", report.out_of_range);
    /// }
    /// assert_eq!(batch, [3, 4, 0, 0]);
    ///
    /// let update = Plan::slice_update(&[4], &slice![1..3], &[2], DType::I32)?;
    /// backend.run_into(&update, &[(&[8, 9]).into()], &mut batch)?;
    /// assert_eq!(batch, [3, 8, 9, 0]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Backend::run`]; [`Error::Length`] if `result` has more or fewer elements than the output. After
    /// an error the contents of `result` are unspecified, but an array that the plan changes in place is unchanged.
    pub fn run_into<T: Element>(
        &self,
        plan: &Plan,
        values: &[Values<'_>],
        result: &mut [T],
    ) -> Result<Report, Error> {
        check_elements("result", plan.shape(), result.len())?;
        let arguments = match plan.is_in_place() {
            true => {
                Self::check_result(plan, T::DTYPE)?;
                plan.check_inputs(values)?;
                HostArguments {
                    inputs: values,
                    changed_array: None,
                }
            }
            false => Self::split_arguments(plan, T::DTYPE, values)?,
        };
        ValuesMut::from(result).with_bytes(|bytes| {
            // A device changes a copy, so that the fallback to the CPU can start from the unchanged array.
            #[cfg(feature = "gpu")]
            if plan.is_in_place() && *self.device_for(plan) != Device::Cpu {
                let old_bytes = bytes.to_vec();
                let old_values = Some(Values::from_bytes(plan.dtype(), &old_bytes));
                let inputs = arguments.inputs;
                return self.run_to(
                    plan,
                    HostArguments {
                        inputs,
                        changed_array: old_values,
                    },
                    bytes.into(),
                );
            }
            self.run_to(plan, arguments, bytes.into())
        })
    }

    fn run_to(
        &self,
        plan: &Plan,
        arguments: HostArguments<'_, '_>,
        result: Dest<'_>,
    ) -> Result<Report, Error> {
        #[cfg(feature = "gpu")]
        if let Device::Gpu(gpu) = self.device_for(plan) {
            let result = result.all();
            return match self.run_on_device(gpu, plan, arguments, result) {
                Err(error) if self.may_fall_back(&error) => {
                    self.run_on_cpu(plan, arguments, result.into())
                }
                outcome => outcome,
            };
        }
        self.run_on_cpu(plan, arguments, result)
    }

    fn check_result(plan: &Plan, result_dtype: DType) -> Result<(), Error> {
        let needed_type = plan.dtype();
        match result_dtype == needed_type {
            true => Ok(()),
            false => Err(error::value::dtype_mismatch(
                "the result",
                result_dtype,
                needed_type,
            )),
        }
    }

    /// Splits the values of a plan into its inputs and the array that it changes.
    fn split_arguments<'v, 'a>(
        plan: &Plan,
        result_dtype: DType,
        values: &'v [Values<'a>],
    ) -> Result<HostArguments<'v, 'a>, Error> {
        Self::check_result(plan, result_dtype)?;
        let (inputs, changed_array) = match values.split_last() {
            Some((changed_array, inputs)) if plan.is_in_place() => (inputs, Some(*changed_array)),
            _ => (values, None),
        };
        plan.check_inputs(inputs)?;
        if let Some(changed_array) = changed_array {
            if changed_array.dtype() != plan.dtype() {
                let (found, needed) = (changed_array.dtype(), plan.dtype());
                return Err(error::value::dtype_mismatch("dest", found, needed));
            }
            check_elements("dest", plan.shape(), changed_array.len())?;
        }
        Ok(HostArguments {
            inputs,
            changed_array,
        })
    }

    /// Returns the pieces that are copied to a new result.
    fn pieces(&self, plan: &Plan, arguments: HostArguments<'_, '_>) -> Pieces {
        let pieces = match arguments.changed_array {
            Some(array) => Pieces::of_result(array.len(), plan.dtype(), || Pieces::WithoutZeros),
            None => plan.pieces(),
        };
        // Choosing the device can take longer than a small plan.
        #[cfg(feature = "gpu")]
        if pieces == Pieces::WithoutZeros && *self.device_for(plan) != Device::Cpu {
            return Pieces::WithZeros;
        }
        pieces
    }

    fn run_on_cpu(
        &self,
        plan: &Plan,
        arguments: HostArguments<'_, '_>,
        mut result: Dest<'_>,
    ) -> Result<Report, Error> {
        if let Some(changed_array) = arguments.changed_array {
            result = result.filled_from(changed_array.bytes, self.threads).into();
        }
        let mut other_outputs = match plan.single_move() {
            Some(_) => Vec::new(),
            None => plan.outputs()[1..]
                .iter()
                .map(|output| vec![0; output.bytes()])
                .collect(),
        };
        let run =
            |outputs: &mut [Dest<'_>]| plan.run_steps(arguments.inputs, outputs, self.threads);
        match &mut other_outputs[..] {
            [] => run(&mut [result]),
            other_outputs => {
                let other_outputs = other_outputs
                    .iter_mut()
                    .map(|bytes: &mut Vec<u8>| Dest::Old(bytes));
                run(&mut core::iter::once(result)
                    .chain(other_outputs)
                    .collect::<Vec<_>>())
            }
        }
    }

    /// Runs a move without indices on the CPU.
    pub(crate) fn run_slice<'d>(
        &self,
        step_move: &Move,
        source: &[u8],
        dest: impl Into<Dest<'d>>,
    ) -> Result<(), Error> {
        step_move
            .run_on_threads(source, Indices::I32(&[]), dest.into(), self.threads)
            .map(drop)
    }
}

#[cfg(feature = "gpu")]
impl Backend {
    /// Like [`Backend::run`], but without blocking, for programs that run in a browser or in an async runtime. The
    /// values are uploaded before the first wait.
    ///
    /// ```
    /// use wgslice::{slice, Backend, DType, Plan};
    ///
    /// # async fn example(backend: Backend) -> Result<(), wgslice::Error> {
    /// let flip = Plan::slice(&[3], &slice![..; -1], DType::U8)?;
    /// let (flipped, _) = backend.run_async::<u8>(&flip, &[(&[1u8, 2, 3]).into()]).await?;
    /// assert_eq!(flipped.data, [3, 2, 1]);
    /// # Ok(())
    /// # }
    /// # pollster::block_on(example(Backend::cpu()))?;
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Backend::run`].
    pub async fn run_async<T: Element>(
        &self,
        plan: &Plan,
        values: &[Values<'_>],
    ) -> Result<(Array<T>, Report), Error> {
        let arguments = Self::split_arguments(plan, T::DTYPE, values)?;
        if *self.device_for(plan) != Device::Cpu {
            let run_future = async {
                let (tensor, report) = self.upload_and_submit(plan, arguments)?;
                let report = report.await?;
                Ok((tensor.to_array_async().await?, report))
            };
            match run_future.await {
                Err(error) if self.may_fall_back(&error) => {}
                outcome => return outcome,
            }
        }
        let pieces = self.pieces(plan, arguments);
        Array::collect(plan.shape(), pieces, |result| {
            self.run_on_cpu(plan, arguments, result)
        })
    }

    fn run_on_device(
        &self,
        gpu: &Gpu,
        plan: &Plan,
        arguments: HostArguments<'_, '_>,
        result: &mut [u8],
    ) -> Result<Report, Error> {
        gpu.open_device().check_may_block(
            "the result of an operation on host values",
            "Backend::run_async with a plan of the operation, or the operation on tensors, which does not wait",
        )?;
        #[cfg(not(target_arch = "wasm32"))]
        if plan.is_slice() {
            return self.run_stream(plan, arguments.inputs[0].bytes, result);
        }
        let (tensor, report) = self.upload_and_submit(plan, arguments)?;
        tensor.read(result.into())?;
        report.wait()
    }

    /// Uploads the values to the device and submits the plan.
    fn upload_and_submit(
        &self,
        plan: &Plan,
        HostArguments {
            inputs,
            changed_array,
        }: HostArguments<'_, '_>,
    ) -> Result<(Tensor, Pending<Report>), Error> {
        // With late errors no call in this function waits for the device. The caller waits for the report before it
        // returns the result.
        let backend = self.clone().with_late_errors();
        let input_specs = plan.inputs();
        let upload = |(input_index, values): (usize, &Values<'_>)| {
            let shape = &input_specs[input_index].shape;
            backend.upload_bytes(values.bytes, values.dtype, shape)
        };
        let tensors = inputs.iter().enumerate().map(upload);
        let tensors = tensors.collect::<Result<Vec<Tensor>, Error>>()?;
        let inputs: Vec<&Tensor> = tensors.iter().collect();
        let mut outputs = Vec::new();
        for output in &*plan.outputs() {
            outputs.push(match changed_array.filter(|_| outputs.is_empty()) {
                Some(values) => backend.upload_bytes(values.bytes, values.dtype, &output.shape)?,
                None => Tensor::for_output(output, &backend)?,
            });
        }
        let mut output_refs: Vec<&mut Tensor> = outputs.iter_mut().collect();
        let report = Tensor::run_into(plan, &inputs, &mut output_refs)?;
        Ok((outputs.swap_remove(0), report))
    }

    /// Runs a slice as a stream. While the device works on earlier pieces, the host uploads the next piece: the source
    /// bytes that the piece needs, including the short gaps between them.
    #[cfg(not(target_arch = "wasm32"))]
    fn run_stream(
        &self,
        plan: &Plan,
        input: &[u8],
        mut result: &mut [u8],
    ) -> Result<Report, Error> {
        let sink = |bytes: &[u8]| {
            let (piece, rest) = core::mem::take(&mut result).split_at_mut(bytes.len());
            piece.copy_from_slice(bytes);
            result = rest;
            Ok::<_, Error>(())
        };
        self.stream_plan(plan.clone())
            .run(|range| Ok(&input[range]), sink)?;
        plan.report_without_findings()
    }
}
