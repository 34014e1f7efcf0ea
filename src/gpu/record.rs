//! Records plans into a caller's encoders and passes.
//!
//! One call does it, [`Gpu::encode`]: into an encoder or an open pass ([`Recorder`]), of a plan or of what
//! [`Gpu::prepare`] made of it, with its buffers by name ([`Buffers`]).

use super::{
    Gpu,
    engine::{argument::Argument, find::COUNT_BYTES, record::Target},
};
use crate::{DType, Error, Found, Nonzero, Pending, Plan, Report};
use std::borrow::Cow;
use wgpu::{BufferSlice, CommandEncoder, ComputePass};

/// Index tuples in a buffer on the device.
#[derive(Clone, Copy, Debug)]
pub enum DeviceIndices<'a> {
    /// Signed 32-bit indices.
    I32(BufferSlice<'a>),
    /// Signed 64-bit indices, little-endian.
    I64(BufferSlice<'a>),
    /// Unsigned 32-bit indices.
    U32(BufferSlice<'a>),
    /// The mask of a [masked update](crate::View::masked_update): a byte for each element, 0 for false.
    Mask(BufferSlice<'a>),
}

impl<'a> DeviceIndices<'a> {
    /// These indices as an argument of a plan, and the plan for indices of their type.
    fn of(self, plan: &Plan) -> Result<(Argument<'a>, Cow<'_, Plan>), Error> {
        let (buffer, dtype) = match self {
            Self::I32(buffer) => (buffer, DType::I32),
            Self::I64(buffer) => (buffer, DType::I64),
            Self::U32(buffer) => (buffer, DType::U32),
            Self::Mask(buffer) => (buffer, DType::U8),
        };
        let plan = match plan.tuples() {
            Some(_) => plan.with_indices_of(plan.index_type_of(dtype, "indices")?),
            None => Cow::Borrowed(plan),
        };
        let bytes = plan.index_bytes();
        Ok((Argument::of("indices", buffer, bytes), plan))
    }
}

/// The buffers that a plan reads and writes.
///
/// All must belong to the device and have the usage `STORAGE`. Any offsets are allowed, except that `indices` must begin
/// at a multiple of 4 bytes, and `source` and `dest` of a scatter that computes with elements at a multiple of the
/// element's size (of 4 bytes for `complex64`).
#[derive(Clone, Copy, Debug)]
pub struct Buffers<'a> {
    /// The input of a slice, the params of a gather, the `x` of a crop, the updates of a scatter, the value of an update,
    /// or the `dy` of a gradient.
    pub source: BufferSlice<'a>,
    /// The index tuples of a gather or a scatter, those of the [`Boxes`](crate::options::Boxes) of a crop, or the mask of a
    /// masked update. `None` for
    /// other plans. If the buffer has the usage `COPY_SRC`, the report can name the first tuple that is out of range.
    pub indices: Option<DeviceIndices<'a>>,
    /// Receives the result, or is changed in place.
    pub dest: BufferSlice<'a>,
}

/// What plans are recorded into: a `wgpu::CommandEncoder` of which no pass is open, or an open `wgpu::ComputePass`.
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
    /// Records a [`Plan`], or what [`Gpu::prepare`] made of one, into an encoder or an open compute pass. Nothing is
    /// submitted or waited for. Only the bytes of the result are written.
    ///
    /// In an encoder, slices and updates whose contiguous rows are few or long are recorded as buffer copies, if `source`
    /// has the usage `COPY_SRC`, `dest` has `COPY_DST`, and both offsets are multiples of 4. A pass takes only dispatches.
    /// Recording many small plans into one pass saves time, since a pass costs wgpu more time than a dispatch.
    ///
    /// `source` and `indices` may lie in the buffer of `dest`. wgpu does not allow a buffer to be read and written in the
    /// same dispatch, so what is read there is copied to scratch memory first, by one more command, and that memory is kept
    /// until [`Gpu::trim`]. The bytes from the first to the last that are read must not overlap those from the first to
    /// the last that are written. To slice in place, record into a second buffer and copy the result back with
    /// `copy_buffer_to_buffer`. No further synchronization is needed, since wgpu orders recorded commands.
    ///
    /// ```no_run
    /// # fn example(gpu: &wgslice::Gpu, input: &wgpu::Buffer, ids: &wgpu::Buffer, output: &wgpu::Buffer)
    /// # -> Result<(), wgslice::Error> {
    /// use wgslice::{gpu::{Buffers, DeviceIndices}, options::GatherOptions, slice, DType, Plan};
    ///
    /// let flip = Plan::slice(&[64, 480, 640, 3], &slice![.., .., ..; -1], DType::U8)?;
    /// let mut encoder = gpu.device().create_command_encoder(&Default::default());
    /// let buffers = Buffers { source: input.slice(..), indices: None, dest: output.slice(..) };
    /// gpu.encode(&mut encoder, &flip, buffers)?;
    ///
    /// let frames = Plan::gather(&[64, 480, 640, 3], &[8], GatherOptions::default(), DType::U8)?;
    /// let indices = Some(DeviceIndices::U32(ids.slice(..)));
    /// let mut pass = encoder.begin_compute_pass(&Default::default());
    /// let report = gpu.encode(&mut pass, &frames, Buffers { indices, ..buffers })?;
    /// drop(pass);
    /// // … record other work, then submit everything at once:
    /// gpu.queue().submit([encoder.finish()]);
    /// println!("{} of 8 frames do not exist", report.wait()?.out_of_range);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The report says how many tuples of a gather, a crop or a scatter were out of range: a gather writes zeros for
    /// them, and a scatter drops their rows. Under [`OutOfRange::Error`](crate::options::OutOfRange::Error) the report is
    /// an error if there was any, and a scatter then changes nothing. The report of other plans is there at once.
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
    /// - [`Error::Buffer`] for a buffer that does not fit the plan, that is missing or not used, whose bytes that are read
    ///   overlap those that are written, or that is destroyed or belongs to another device. Of the latter two, wgpu itself reports some at `finish` or `submit`: a buffer that is
    ///   destroyed after its second recording with the same plan, and buffers of copies.
    /// - [`Error::DeviceLimit`] if the plan has more dimensions than a shader takes, or if not even a single unit, of 1
    ///   to 16 bytes, fits the device's limits.
    /// - [`Error::DTypeOnDevice`] for a scatter of element types that the shaders cannot combine in this way.
    /// - [`Error::Pipeline`] if the device rejects a shader; [`Error::DeviceLost`]; [`Error::OutOfDeviceMemory`].
    pub fn encode<'p>(
        &self,
        into: &mut impl Recorder<'p>,
        plan: &Plan,
        buffers: Buffers<'_>,
    ) -> Result<Pending<Report>, Error> {
        let (indices, plan) = match buffers.indices {
            Some(indices) => {
                let (indices, plan) = indices.of(plan)?;
                (Some(indices), plan)
            }
            None => (None, Cow::Borrowed(plan)),
        };
        let source = Argument::of("source", buffers.source, plan.source_bytes());
        let dest = Argument::of("dest", buffers.dest, plan.result_bytes());
        self.engine
            .record(into.target(), &plan, source, indices, dest)
    }
}

/// The buffers of a search for the true elements of a mask: see [`Gpu::encode_nonzero`].
///
/// All must belong to the device and have the usage `STORAGE`. `rows` and `count` must begin at a multiple of 4 bytes.
#[derive(Clone, Copy, Debug)]
pub struct NonzeroBuffers<'a> {
    /// The mask: a byte for each element, 0 for false.
    pub mask: BufferSlice<'a>,
    /// Receives the positions, [`Nonzero::shape`] numbers of [`Nonzero::dtype`].
    pub rows: BufferSlice<'a>,
    /// Receives eight words, of which the last two are 0:
    ///
    /// | word | holds |
    /// |---|---|
    /// | 0 to 2 | the arguments of an indirect dispatch: at least as many workgroups as there are positions, divided by 64 |
    /// | 3 | the number of positions that were written: the number of true elements, but at most the capacity |
    /// | 4, 5 | the number of true elements, its low word first |
    ///
    /// The grid of the dispatch is one row of workgroups, or several of 65,535 each, so that workgroup (x, y) is number
    /// `65535 * y + x`. With the usage `COPY_SRC`, the number can be read back; without, [`Pending`] is an error.
    pub count: BufferSlice<'a>,
}

impl Gpu {
    /// Records a search for the true elements of a mask into an encoder or an open compute pass: counts them, adds the
    /// counts up, and writes their positions in row-major order. Nothing is submitted, waited for or read back.
    ///
    /// Rows behind the last position are -1, and nothing is written behind the capacity. So the rows are index tuples
    /// for every gather and scatter, which take -1 for out of range unless they wrap negative indices.
    ///
    /// ```no_run
    /// # fn example(gpu: &wgslice::Gpu, [mask, boxes, rows, count, kept]: [&wgpu::Buffer; 5])
    /// # -> Result<(), wgslice::Error> {
    /// use wgslice::{gpu::{Buffers, DeviceIndices, NonzeroBuffers}, DType, View};
    ///
    /// // boxes[mask], at most 1,000 of 100,000.
    /// let boxes_view = View::new(&[100_000, 4])?;
    /// let (nonzero, gather) = boxes_view.boolean_mask(&[100_000], 0, Some(1000), DType::F32)?;
    /// let mut encoder = gpu.device().create_command_encoder(&Default::default());
    /// let [mask, rows, count] = [mask, rows, count].map(|buffer| buffer.slice(..));
    /// let found = gpu.encode_nonzero(&mut encoder, &nonzero, NonzeroBuffers { mask, rows, count })?;
    /// let indices = Some(DeviceIndices::U32(rows));
    /// let buffers = Buffers { source: boxes.slice(..), indices, dest: kept.slice(..) };
    /// gpu.encode(&mut encoder, &gather, buffers)?;
    /// gpu.queue().submit([encoder.finish()]);
    /// println!("{} boxes, of which at most 1000 were kept", found.wait()?.count);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Gpu::encode`]. [`Error::DeviceLimit`] for a mask of more than 8 dimensions, or with a dimension of 2³¹
    /// positions or more.
    pub fn encode_nonzero<'p>(
        &self,
        into: &mut impl Recorder<'p>,
        nonzero: &Nonzero,
        buffers: NonzeroBuffers<'_>,
    ) -> Result<Pending<Found>, Error> {
        let plan = &nonzero.plan;
        let mask = Argument::of("mask", buffers.mask, plan.source_bytes());
        let rows = Argument::of("rows", buffers.rows, plan.result_bytes());
        let count = Argument::of("count", buffers.count, COUNT_BYTES);
        self.engine
            .record_find(into.target(), plan, [mask, rows, count])
    }
}
