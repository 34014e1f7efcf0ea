//! Records plans into a caller's encoders and passes.
//!
//! [`Gpu::encode`] records a plan, prepared or not, into an encoder or an open pass ([`Recorder`]), with a buffer for
//! each input and each output.

use super::{
    Gpu,
    engine::{argument::Argument, commands::Target, record::PlanArguments},
};
use crate::{Error, Pending, Plan, Report, plan::check_number};
use wgpu::{BufferSlice, CommandEncoder, ComputePass};

/// The target of a recording: a `wgpu::CommandEncoder` without an open pass, or an open `wgpu::ComputePass`.
pub trait Recorder<'p>: sealed::Recorder<'p> {}

impl<'p> Recorder<'p> for CommandEncoder {}

impl<'p> Recorder<'p> for ComputePass<'p> {}

mod sealed {
    use super::{CommandEncoder, ComputePass, Target};

    pub trait Recorder<'p> {
        fn target(&mut self) -> Target<'_, 'p>;
    }

    impl<'p> Recorder<'p> for CommandEncoder {
        fn target(&mut self) -> Target<'_, 'p> {
            Target::Encoder(self)
        }
    }

    impl<'p> Recorder<'p> for ComputePass<'p> {
        fn target(&mut self) -> Target<'_, 'p> {
            Target::Pass(self)
        }
    }
}

impl Gpu {
    /// Records a [`Plan`] or a [`Prepared`](crate::gpu::Prepared) plan into an encoder or an open compute pass, with a
    /// buffer slice for each of its [inputs](Plan::inputs) and [outputs](Plan::outputs), in order. The call neither
    /// submits nor waits. The commands write only the bytes of the outputs. Indices must have the type that the plan
    /// was made for: see [`IndexShape`](crate::options::IndexShape).
    ///
    /// All buffers must belong to the device and have the usage `STORAGE`. Any offsets are allowed, with two
    /// exceptions. Indices must begin at a multiple of 4 bytes. The source and the result of a scatter that computes
    /// with elements must begin at a multiple of the element's size (4 bytes for `complex64`).
    ///
    /// In an encoder, slices and updates with few or long contiguous rows are recorded as buffer copies. This requires
    /// that the source has the usage `COPY_SRC`, the result has `COPY_DST`, and both offsets are multiples of 4. A pass
    /// takes only dispatches. Recording many small plans into one pass saves time, because a pass costs wgpu more time
    /// than a dispatch.
    ///
    /// Inputs can be in the buffer of an output. wgpu does not allow one dispatch to read and write the same buffer, so
    /// one more command first copies the input to scratch memory. This memory is kept until [`Gpu::trim`]. The range
    /// from the first to the last byte that is read must not overlap the range from the first to the last byte that is
    /// written. To slice in place, record into a second buffer and copy the result back with `copy_buffer_to_buffer`.
    /// No further synchronization is needed, because wgpu orders recorded commands.
    ///
    /// ```no_run
    /// # fn example(gpu: &wgslice::Gpu, input: &wgpu::Buffer, ids: &wgpu::Buffer, output: &wgpu::Buffer)
    /// # -> Result<(), wgslice::Error> {
    /// use wgslice::{options::GatherOptions, slice, DType, Plan};
    ///
    /// let flip = Plan::slice(&[64, 480, 640, 3], &slice![.., .., ..; -1], DType::U8)?;
    /// let mut encoder = gpu.device().create_command_encoder(&Default::default());
    /// gpu.encode(&mut encoder, &flip, &[input.slice(..)], &[output.slice(..)])?;
    ///
    /// let (video, ids_of) = (&[64, 480, 640, 3], (&[8], DType::U32));
    /// let frames = Plan::gather(video, ids_of, GatherOptions::default(), DType::U8)?;
    /// let mut pass = encoder.begin_compute_pass(&Default::default());
    /// let inputs = [input.slice(..), ids.slice(..)];
    /// let report = gpu.encode(&mut pass, &frames, &inputs, &[output.slice(..)])?;
    /// drop(pass);
    /// // … record other work, then submit everything together:
    /// gpu.queue().submit([encoder.finish()]);
    /// println!("{} of 8 frames do not exist", report.wait()?.out_of_range);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The report counts the tuples of a gather, a crop or a scatter that were out of range: a gather writes zeros for
    /// such tuples, and a scatter drops their rows. If the buffer of the tuples has the usage `COPY_SRC`, the report
    /// includes the first out-of-range tuple. Under [`OutOfRange::Error`](crate::options::OutOfRange::Error), the
    /// report is an error if any tuple was out of range, and a scatter then changes nothing. For a plan that searches a
    /// mask, the report has the number of true elements. For other plans the report is available immediately.
    ///
    /// # What scatters compute
    ///
    /// Floating-point arithmetic: WGSL lets a device flush subnormal `f32` to zero, and guarantees neither infinities
    /// nor NaNs. Minimum and maximum are exact. The shaders combine:
    ///
    /// | element type | combinations |
    /// |---|---|
    /// | `i32`, `u32`, `f32` | all |
    /// | `i64`, `u64`, `complex64` | add, sub |
    /// | `bool` | all that [`Combine`](crate::options::Combine) defines for it |
    /// | `i8`, `u8`, `i16`, `u16`, `f16`, `bf16` | add |
    /// | `f64`, `complex128` | none |
    ///
    /// # Errors
    ///
    /// A call that fails records nothing.
    ///
    /// - [`Error::Argument`] if there are more or fewer buffers than inputs or outputs of the plan.
    /// - [`Error::Buffer`] for a buffer that does not fit the plan, is destroyed or belongs to another device, and for
    ///   buffers where bytes that are read overlap bytes that are written. In two cases wgpu itself reports a destroyed
    ///   buffer or a buffer of another device, at `finish` or `submit`: if the plan is recorded as buffer copies, and
    ///   if a buffer is destroyed after its second recording with the same plan.
    /// - [`Error::DeviceLimit`] if the plan has too many dimensions for a shader, or if even a single unit, of 1 to 16
    ///   bytes, exceeds the device's limits.
    /// - [`Error::DTypeOnDevice`] for a scatter with a combination that the shaders cannot compute for its element
    ///   type.
    /// - [`Error::ConversionOnDevice`] for a conversion that the shaders cannot compute.
    /// - [`Error::Pipeline`] if the device rejects a shader; [`Error::DeviceLost`]; [`Error::OutOfDeviceMemory`].
    pub fn encode<'p>(
        &self,
        into: &mut impl Recorder<'p>,
        plan: &Plan,
        inputs: &[BufferSlice<'_>],
        outputs: &[BufferSlice<'_>],
    ) -> Result<Pending<Report>, Error> {
        let (plan_inputs, plan_outputs) = (plan.inputs(), plan.outputs());
        check_number("inputs", inputs.len(), plan_inputs.len())?;
        check_number("outputs", outputs.len(), plan_outputs.len())?;
        let sources = plan_inputs.iter().zip(inputs);
        let sources = sources
            .map(|(input, buffer)| Argument::passed_buffer(input.name, *buffer, input.bytes()));
        let dests = plan_outputs.iter().zip(outputs);
        let dests = dests
            .map(|(output, buffer)| Argument::passed_buffer(output.name, *buffer, output.bytes()));
        let arguments = PlanArguments {
            types: &[],
            inputs: &sources.collect::<Vec<_>>(),
            outputs: &dests.collect::<Vec<_>>(),
            copied_bytes: 0,
        };
        self.engine.record_plan(into.target(), plan, &arguments)
    }
}
