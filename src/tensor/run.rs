//! Runs plans on tensors.

use super::Tensor;
#[cfg(feature = "gpu")]
use super::TensorStorage;
use crate::prelude::*;
use crate::{
    ArraySpec, Backend, Error, Pending, Plan, Report, Values,
    backend::Device,
    cpu::{Dest, Pieces},
    error,
    moves::Move,
    plan::check_number,
};
#[cfg(feature = "gpu")]
use crate::{DType, Gpu, gpu::DeviceBytes, options::OutOfRange};
use alloc::borrow::Cow;

impl Tensor {
    /// Runs a plan on tensors of one device. The tensors are the plan's inputs, in order. Returns the outputs and the
    /// report. On a GPU the call makes one submission and does not wait for it, unless an out-of-range index is an
    /// error and the backend does not have late errors.
    ///
    /// A plan that was made for a tensor's [layout](Self::layout) reads the tensor without a copy. A plan that was made
    /// for a shape takes any tensor of this shape; a view is copied first, on a GPU in another submission.
    ///
    /// ```
    /// use wgslice::{slice, Backend, Conversion, DType, Plan, Tensor};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let bytes = backend.upload((&[1u8, 2, 3, 4], &[4]))?;
    /// let every_other = Plan::slice(&[4], &slice![..; 2], DType::U8)?;
    /// let halves = every_other.converted(&Conversion::scaled(DType::F32, 0, &[0.5], &[0.0]))?;
    /// let (outputs, _) = Tensor::run(&halves, &[&bytes])?;
    /// assert_eq!(outputs[0].to_vec::<f32>()?, [0.5, 1.5]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] if the number, types, shapes or devices of the inputs do not fit, or for a plan that changes
    /// an array in place (use [`Tensor::run_into`]); the errors of the operation or of the device.
    pub fn run(plan: &Plan, inputs: &[&Self]) -> Result<(Vec<Self>, Pending<Report>), Error> {
        let Some(first_input) = inputs.first().filter(|_| !plan.is_in_place()) else {
            return Err(match plan.is_in_place() {
                true => error::view::in_place(plan.name()),
                false => error::value::arguments("inputs", 0, plan.inputs().len()),
            });
        };
        let inputs = first_input.ready_inputs(plan, inputs)?;
        let backend = &first_input.backend;
        if plan.single_move().is_some_and(Move::is_identity) {
            let report = Pending::already_known(plan.report_without_findings()?);
            let storage = inputs[0].storage.clone();
            let shared_tensor = Self::new(backend, plan.dtype(), plan.shape(), storage);
            return Ok((vec![shared_tensor], report));
        }
        #[cfg(feature = "gpu")]
        if let Device::Gpu(gpu) = &backend.device {
            let has_to_wait = first_input.has_to_wait(plan)?;
            let outputs = plan.outputs();
            let allocate = |output: &ArraySpec| {
                let buffers = gpu
                    .open_device()
                    .allocate_array(&output.shape, output.dtype.size())?;
                Ok((buffers, true))
            };
            let allocations = outputs.iter().map(allocate);
            let allocations = allocations.collect::<Result<Vec<(DeviceBytes, bool)>, Error>>()?;
            let (device_bytes, report) = Self::submit_plan(gpu, plan, &inputs, &allocations, 0)?;
            if has_to_wait {
                report.wait()?;
            }
            let tensors = outputs.iter().zip(device_bytes).map(|(output, bytes)| {
                Self::new(
                    backend,
                    output.dtype,
                    &output.shape[..],
                    TensorStorage::Device(bytes),
                )
            });
            return Ok((tensors.collect(), report));
        }
        // On the CPU the plan initializes the new memory of its first output.
        let outputs = plan.outputs();
        let mut other_bytes: Vec<Vec<u8>> = Vec::new();
        other_bytes.extend(outputs[1..].iter().map(|output| vec![0; output.bytes()]));
        let run = |dest: Dest<'_>| {
            let other_bytes = other_bytes.iter_mut().map(|bytes| Dest::Old(bytes));
            let mut outputs: Vec<_> = core::iter::once(dest).chain(other_bytes).collect();
            Self::run_on_host(plan, &inputs, &mut outputs)
        };
        let (storage, report) = backend.host_storage(plan.result_bytes(), plan.pieces(), run)?;
        let mut tensors = vec![Self::new(backend, plan.dtype(), plan.shape(), storage)];
        for (output, bytes) in outputs[1..].iter().zip(other_bytes) {
            tensors.push(Self::from_bytes(
                backend,
                bytes,
                output.dtype,
                &output.shape,
            )?);
        }
        Ok((tensors, Pending::already_known(report)))
    }

    /// Runs a plan like [`Tensor::run`], but writes the results to existing tensors: the plan's outputs, in order. The
    /// plan can change them in place.
    ///
    /// Only the outputs change, not other tensors that share their memory. An output in shared memory first gets its
    /// own memory. If the plan keeps some values of this output, they are copied, and [`Report::copied`] has the number
    /// of copied bytes.
    ///
    /// ```
    /// use wgslice::{slice, Backend, DType, Plan, Tensor};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let mut cache = backend.upload((&[0.0f32; 6], &[3, 2]))?;
    /// let new = backend.upload((&[1.0f32, 2.0], &[2]))?;
    /// let append = Plan::slice_update(&[3, 2], &slice![1], &[2], DType::F32)?;
    /// let report = Tensor::run_into(&append, &[&new], &mut [&mut cache])?;
    /// assert_eq!(cache.to_vec::<f32>()?, [0.0, 0.0, 1.0, 2.0, 0.0, 0.0]);
    /// assert_eq!(report.wait()?.copied, 0);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Tensor::run`]; [`Error::Argument`] if the number, types, shapes or devices of the outputs do not
    /// fit. After these errors the outputs are unchanged. After an error of the device, outputs that the plan does not
    /// change in place have unspecified values.
    pub fn run_into(
        plan: &Plan,
        inputs: &[&Self],
        outputs: &mut [&mut Self],
    ) -> Result<Pending<Report>, Error> {
        let output_specs = plan.outputs();
        check_number("outputs", outputs.len(), output_specs.len())?;
        for (output_spec, output) in output_specs.iter().zip(&*outputs) {
            outputs[0].check_same_device("outputs", output)?;
            if (output.dtype, output.shape()) != (output_spec.dtype, &output_spec.shape[..]) {
                return Err(error::value::dest_mismatch(
                    output.shape(),
                    output.dtype,
                    &output_spec.shape,
                    output_spec.dtype,
                ));
            }
        }
        let inputs = outputs[0].ready_inputs(plan, inputs)?;
        let mut copied_bytes = 0;
        for (output_index, (output_spec, output)) in
            output_specs.iter().zip(&mut *outputs).enumerate()
        {
            copied_bytes +=
                output.ensure_own_memory(output_spec, output_index == 0 && plan.is_in_place())?;
        }
        #[cfg(feature = "gpu")]
        if let Device::Gpu(gpu) = &outputs[0].backend.device.clone() {
            let has_to_wait = outputs[0].has_to_wait(plan)?;
            let mut dests = Vec::new();
            for output in &mut *outputs {
                if let TensorStorage::Device(dest) = &mut output.storage {
                    let is_in_place = dest.is_unshared();
                    dests.push((dest.clone(), is_in_place));
                }
            }
            let (changed_bytes, report) =
                Self::submit_plan(gpu, plan, &inputs, &dests, copied_bytes)?;
            drop(dests);
            if has_to_wait {
                report.wait()?;
            }
            for (output, bytes) in outputs.iter_mut().zip(changed_bytes) {
                output.storage = TensorStorage::Device(bytes);
            }
            return Ok(report);
        }
        let dests = outputs
            .iter_mut()
            .map(|output| output.storage.host_bytes_mut().unwrap_or_default().into());
        let mut report = Self::run_on_host(plan, &inputs, &mut dests.collect::<Vec<_>>())?;
        report.copied = copied_bytes;
        Ok(Pending::already_known(report))
    }

    /// Returns the inputs of a plan in the layouts that the plan reads. Fails if the inputs do not fit the plan or are
    /// not on this tensor's device.
    fn ready_inputs<'i>(
        &self,
        plan: &Plan,
        inputs: &[&'i Self],
    ) -> Result<Vec<Cow<'i, Self>>, Error> {
        let input_specs = plan.inputs();
        check_number("inputs", inputs.len(), input_specs.len())?;
        for (input_spec, input) in input_specs.iter().zip(inputs) {
            self.check_same_device(input_spec.name, input)?;
            input_spec.check_dtype(input.dtype)?;
            if !input_spec.reads(&input.layout) && input.shape() != input_spec.shape {
                return Err(error::view::wrong_input_layout(
                    input_spec.name,
                    input.shape(),
                    &input_spec.shape,
                ));
            }
        }
        let dense_inputs = input_specs.iter().zip(inputs).map(|(input_spec, &input)| {
            match input_spec.reads(&input.layout) || input.is_contiguous() {
                true => Ok(Cow::Borrowed(input)),
                false => input.contiguous().map(Cow::Owned),
            }
        });
        dense_inputs.collect()
    }

    /// Prepares this tensor as an output of a plan: gives it contiguous memory that it does not share, with its values
    /// if the plan changes it in place. Returns the number of bytes that are copied. If memory on a GPU is contiguous
    /// but shared, [`Gpu::run`](crate::Gpu) copies it later.
    fn ensure_own_memory(
        &mut self,
        output_spec: &ArraySpec,
        is_in_place: bool,
    ) -> Result<usize, Error> {
        let is_unshared = match &mut self.storage {
            #[cfg(feature = "gpu")]
            TensorStorage::Device(bytes) => bytes.is_unshared(),
            storage => storage.host_bytes_mut().is_some(),
        };
        if self.is_contiguous() && is_unshared {
            return Ok(0);
        }
        if !is_in_place {
            *self = Self::for_output(output_spec, &self.backend)?;
            return Ok(0);
        }
        if !self.is_contiguous() {
            *self = self.contiguous()?;
        } else if self.backend.is_cpu() {
            let bytes = self.storage.host_bytes();
            let copy = |dest: Dest<'_>| {
                dest.copy_from(bytes, self.backend.threads);
                Ok(())
            };
            self.storage = self
                .backend
                .host_storage(bytes.len(), Pieces::WithoutZeros, copy)?
                .0;
        }
        Ok(output_spec.bytes())
    }

    fn run_on_host(
        plan: &Plan,
        inputs: &[Cow<'_, Self>],
        outputs: &mut [Dest<'_>],
    ) -> Result<Report, Error> {
        let threads = inputs.first().map(|input| input.backend.threads);
        let values = inputs.iter().map(|input| Values {
            dtype: input.dtype,
            bytes: input.storage.host_bytes(),
        });
        let values: Vec<_> = values.collect();
        plan.run_steps(&values, outputs, threads.unwrap_or_default())
    }

    /// Submits a plan. If the flag next to an output is true, the plan writes to the output itself, otherwise to a
    /// copy.
    #[cfg(feature = "gpu")]
    fn submit_plan(
        gpu: &Gpu,
        plan: &Plan,
        inputs: &[Cow<'_, Self>],
        outputs: &[(DeviceBytes, bool)],
        copied_bytes: usize,
    ) -> Result<(Vec<DeviceBytes>, Pending<Report>), Error> {
        let types: Vec<DType> = inputs.iter().map(|input| input.dtype).collect();
        let sources = inputs.iter().filter_map(|input| input.device_bytes());
        let sources: Vec<_> = sources.collect();
        gpu.run(plan, &types, &sources, outputs, copied_bytes)
    }

    /// Makes a tensor for an output, with unspecified values.
    pub(crate) fn for_output(output: &ArraySpec, backend: &Backend) -> Result<Self, Error> {
        let storage = match &backend.device {
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => TensorStorage::Device(
                gpu.open_device()
                    .allocate_array(&output.shape, output.dtype.size())?,
            ),
            Device::Cpu => {
                let initialize = |dest: Dest<'_>| {
                    dest.all();
                    Ok(())
                };
                backend
                    .host_storage(output.bytes(), Pieces::WithZeros, initialize)?
                    .0
            }
        };
        Ok(Self::new(backend, output.dtype, &output.shape[..], storage))
    }

    /// Returns whether a call waits for the device before it returns, so that it can itself fail if a tuple is out of
    /// range. This is true on a GPU under [`OutOfRange::Error`], unless the backend has late errors. Fails if the call
    /// would have to wait where blocking is not allowed.
    #[cfg(feature = "gpu")]
    fn has_to_wait(&self, plan: &Plan) -> Result<bool, Error> {
        let is_strict = plan.policy().out_of_range == OutOfRange::Error;
        let Device::Gpu(gpu) = &self.backend.device else {
            return Ok(false);
        };
        if !is_strict || self.backend.late_errors {
            return Ok(false);
        }
        gpu.open_device().check_may_block(
            "the report of a gather or a scatter under OutOfRange::Error before it returns",
            "Backend::with_late_errors for the backend of the tensors, and await the report",
        )?;
        Ok(true)
    }

    pub(crate) fn check_same_device(
        &self,
        argument: &'static str,
        tensor: &Self,
    ) -> Result<(), Error> {
        match tensor.backend.device == self.backend.device {
            true => Ok(()),
            false => Err(error::value::device_mismatch(argument)),
        }
    }

    /// Checks that an argument is on the same device as this tensor and has the same element type.
    pub(crate) fn check_goes_with(
        &self,
        argument: &'static str,
        tensor: &Self,
    ) -> Result<(), Error> {
        self.check_same_device(argument, tensor)?;
        let (found_dtype, needed_dtype) = (tensor.dtype, self.dtype);
        if found_dtype != needed_dtype {
            return Err(error::value::dtype_mismatch(
                argument,
                found_dtype,
                needed_dtype,
            ));
        }
        Ok(())
    }
}
