//! Records plans into a caller's encoders and passes.
//!
//! One call does it, [`Gpu::encode`]: into an encoder or an open pass ([`Recorder`]), of a plan or of what
//! [`Gpu::prepare`] made of it, with a buffer for each input and each output.

use super::{
    Gpu,
    engine::{argument::Argument, commands::Target, record::Arguments},
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
    /// Records a [`Plan`], or what [`Gpu::prepare`] made of one, into an encoder or an open compute pass, with a buffer slice
    /// for each of its [inputs](Plan::inputs) and [outputs](Plan::outputs), in their order. Nothing is submitted or waited
    /// for. Only the bytes of the outputs are written. Indices are of the type that the plan was made for: see
    /// [`IndexShape`](crate::options::IndexShape).
    ///
    /// All buffers must belong to the device and have the usage `STORAGE`. Any offsets are allowed, except that indices must
    /// begin at a multiple of 4 bytes, and the source and the result of a scatter that computes with elements at a multiple
    /// of the element's size (of 4 bytes for `complex64`).
    ///
    /// In an encoder, slices and updates whose contiguous rows are few or long are recorded as buffer copies, if the source
    /// has the usage `COPY_SRC`, the result has `COPY_DST`, and both offsets are multiples of 4. A pass takes only
    /// dispatches. Recording many small plans into one pass saves time, since a pass costs wgpu more time than a dispatch.
    ///
    /// Inputs may be in the buffer of an output. wgpu does not allow a buffer to be read and written in the same dispatch,
    /// so the input is copied to scratch memory first, by one more command, and that memory is kept until [`Gpu::trim`].
    /// The bytes from the first to the last that are read must not overlap those from the first to the last that are
    /// written. To slice in place, record into a second buffer and copy the result back with `copy_buffer_to_buffer`. No
    /// further synchronization is needed, since wgpu orders recorded commands.
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
    /// // … record other work, then submit everything at once:
    /// gpu.queue().submit([encoder.finish()]);
    /// println!("{} of 8 frames do not exist", report.wait()?.out_of_range);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The report counts the tuples of a gather, a crop or a scatter that were out of range: a gather writes zeros for
    /// them, and a scatter drops their rows. If the buffer of the tuples has the usage `COPY_SRC`, the report can name the
    /// first of them. Under [`OutOfRange::Error`](crate::options::OutOfRange::Error) the report is an error if there was
    /// any, and a scatter then changes nothing. For a plan that searches a mask the report has the number of true elements.
    /// For other plans it is available immediately.
    ///
    /// # What scatters compute
    ///
    /// Floating-point arithmetic: WGSL lets a device flush subnormal `f32` to zero, and guarantees neither infinities
    /// nor NaNs. Minimum and maximum are exact. The shaders combine:
    ///
    /// | element type | by |
    /// |---|---|
    /// | `i32`, `u32`, `f32` | everything |
    /// | `i64`, `u64`, `complex64` | add, sub |
    /// | `bool` | everything that [`Combine`](crate::options::Combine) defines for it |
    /// | `i8`, `u8`, `i16`, `u16`, `f16`, `bf16` | add |
    /// | `f64`, `complex128` | nothing |
    ///
    /// # Errors
    ///
    /// After an error nothing is recorded.
    ///
    /// - [`Error::Argument`] for more or fewer buffers than the plan has inputs and outputs.
    /// - [`Error::Buffer`] for a buffer that does not fit the plan, that is destroyed or belongs to another device, or in which bytes
    ///   that are read overlap bytes that are written. wgpu itself reports some destroyed buffers and buffers of another
    ///   device at `finish` or `submit`: a buffer that is destroyed after its second recording with the same plan, and
    ///   buffers of copies.
    /// - [`Error::DeviceLimit`] if the plan has more dimensions than a shader takes, or if not even a single unit, of 1
    ///   to 16 bytes, fits the device's limits.
    /// - [`Error::DTypeOnDevice`] for a scatter of element types that the shaders cannot combine in this way.
    /// - [`Error::Pipeline`] if the device rejects a shader; [`Error::DeviceLost`]; [`Error::OutOfDeviceMemory`].
    pub fn encode<'p>(
        &self,
        into: &mut impl Recorder<'p>,
        plan: &Plan,
        inputs: &[BufferSlice<'_>],
        outputs: &[BufferSlice<'_>],
    ) -> Result<Pending<Report>, Error> {
        let (from, to) = (plan.inputs(), plan.outputs());
        check_number("inputs", inputs.len(), from.len())?;
        check_number("outputs", outputs.len(), to.len())?;
        let from = from.iter().zip(inputs);
        let from = from.map(|(of, buffer)| Argument::of(of.name, *buffer, of.bytes()));
        let to = to.iter().zip(outputs);
        let to = to.map(|(of, buffer)| Argument::of(of.name, *buffer, of.bytes()));
        let arguments = Arguments {
            types: &[],
            inputs: &from.collect::<Vec<_>>(),
            outputs: &to.collect::<Vec<_>>(),
            copied: 0,
        };
        self.engine.record(into.target(), plan, &arguments)
    }
}
