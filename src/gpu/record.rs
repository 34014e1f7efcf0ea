//! Records plans into a caller's encoders and passes.

use super::{
    Gpu,
    engine::{argument::Argument, record::begin_pass},
};
use crate::{Error, Pending, Plan, Report, options::IndexType};
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
}

impl<'a> DeviceIndices<'a> {
    /// These indices as an argument of a plan, and the plan for indices of their type.
    pub(super) fn of(self, plan: &Plan) -> (Argument<'a>, Cow<'_, Plan>) {
        let (buffer, index) = match self {
            Self::I32(buffer) => (buffer, IndexType::I32),
            Self::I64(buffer) => (buffer, IndexType::I64),
            Self::U32(buffer) => (buffer, IndexType::U32),
        };
        let plan = plan.with_indices_of(index);
        let bytes = plan.index_bytes();
        (Argument::of("indices", buffer, bytes), plan)
    }
}

impl Gpu {
    /// Records a plan without indices. `source` contains the input of a slice, the value of an update, or the `dy` of a
    /// gradient; `dest` receives the result, or is updated.
    ///
    /// The buffers must belong to this device and have the usage `STORAGE`. Any offsets are allowed. If `source` also
    /// has the usage `COPY_SRC` and `dest` has `COPY_DST`, and both offsets are multiples of 4, slices and updates
    /// whose contiguous rows are few or long are recorded as buffer copies. Only the bytes of the result are written.
    ///
    /// `source` and `dest` must be different buffers: wgpu does not allow a buffer to be read and written in the same
    /// dispatch, even at different offsets. To slice in place, record into a second buffer and copy the result back
    /// with `copy_buffer_to_buffer`. No further synchronization is needed, since wgpu orders recorded commands.
    ///
    /// ```no_run
    /// # fn example(gpu: &wgslice::Gpu, input: &wgpu::Buffer, output: &wgpu::Buffer)
    /// # -> Result<(), wgslice::Error> {
    /// use wgslice::{slice, DType, Plan};
    ///
    /// let plan = Plan::slice(&[64, 480, 640, 3], &slice![.., .., ..; -1], DType::U8)?;
    /// let mut encoder = gpu.device().create_command_encoder(&Default::default());
    /// gpu.encode(&mut encoder, &plan, input.slice(..), output.slice(..))?;
    /// // … record other work, then submit everything at once:
    /// gpu.queue().submit([encoder.finish()]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Buffer`] if a buffer does not fit the plan; [`Error::DeviceLimit`] if the plan has more dimensions than
    /// a shader takes, or if not even a single unit, of 1 to 16 bytes, fits the device's limits; [`Error::Pipeline`] if
    /// the device rejects the shader.
    pub fn encode(
        &self,
        encoder: &mut CommandEncoder,
        plan: &Plan,
        source: BufferSlice<'_>,
        dest: BufferSlice<'_>,
    ) -> Result<(), Error> {
        let [source, dest] = Argument::pair(plan, ["source", "dest"], source, dest);
        self.engine.record(encoder, plan, source, dest)
    }

    /// Records a plan into an open pass, like [`Gpu::encode`]. Recording many small slices into one pass saves time,
    /// since a pass costs wgpu more time than a dispatch. A pass cannot contain buffer copies, so every non-empty plan
    /// is dispatched.
    ///
    /// # Errors
    ///
    /// As [`Gpu::encode`].
    pub fn encode_in_pass(
        &self,
        pass: &mut ComputePass<'_>,
        plan: &Plan,
        source: BufferSlice<'_>,
        dest: BufferSlice<'_>,
    ) -> Result<(), Error> {
        let [source, dest] = Argument::pair(plan, ["source", "dest"], source, dest);
        self.engine.record_in_pass(pass, plan, source, dest)
    }

    /// Records a gather or a crop: reads `params` and `indices`, and writes the result to `dest`.
    ///
    /// For a crop, `indices` are the tuples of its [`Boxes`](crate::options::Boxes), and `params` is its `x`.
    ///
    /// For tuples that are out of range, zeros are written. The report says later how many such tuples there were.
    /// Under [`OutOfRange::Error`](crate::options::OutOfRange::Error), the report is an error if there was any. The
    /// buffers must be as for [`Gpu::encode`], and `indices` must begin at a multiple of 4 bytes. If `indices` has the
    /// usage `COPY_SRC`, the report can name the first tuple that is out of range.
    ///
    /// # Errors
    ///
    /// As [`Gpu::encode`].
    pub fn encode_gather(
        &self,
        encoder: &mut CommandEncoder,
        plan: &Plan,
        params: BufferSlice<'_>,
        indices: DeviceIndices<'_>,
        dest: BufferSlice<'_>,
    ) -> Result<Pending<Report>, Error> {
        let (indices, plan) = indices.of(plan);
        let [params, dest] = Argument::pair(&plan, ["params", "dest"], params, dest);
        self.engine
            .record_gather(|| begin_pass(encoder, &plan), &plan, params, indices, dest)
    }

    /// Records a gather or a crop into an open pass, like [`Gpu::encode_gather`].
    ///
    /// # Errors
    ///
    /// As [`Gpu::encode`].
    pub fn encode_gather_in_pass(
        &self,
        pass: &mut ComputePass<'_>,
        plan: &Plan,
        params: BufferSlice<'_>,
        indices: DeviceIndices<'_>,
        dest: BufferSlice<'_>,
    ) -> Result<Pending<Report>, Error> {
        let (indices, plan) = indices.of(plan);
        let [params, dest] = Argument::pair(&plan, ["params", "dest"], params, dest);
        self.engine
            .record_gather(|| pass, &plan, params, indices, dest)
    }

    /// Records a scatter: reads `updates` and `indices`, and changes `dest` in place, or writes the result of a
    /// `scatter_nd` to it.
    ///
    /// Rows whose tuples are out of range are dropped, and the report says later how many such tuples there were.
    /// Under [`OutOfRange::Error`](crate::options::OutOfRange::Error) the device changes nothing if any tuple is out
    /// of range, and the report is an error. The buffers must be as for [`Gpu::encode`], and `indices` must begin at a
    /// multiple of 4 bytes. If `indices` has the usage `COPY_SRC`, the report can name the first tuple that is out
    /// of range. Unless the scatter only replaces elements, `updates` and `dest` must begin at multiples of the element's size (of 4
    /// bytes for `complex64`).
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
    /// As [`Gpu::encode`]; [`Error::DTypeOnDevice`] for element types that the shaders cannot combine in this way.
    pub fn encode_scatter(
        &self,
        encoder: &mut CommandEncoder,
        plan: &Plan,
        updates: BufferSlice<'_>,
        indices: DeviceIndices<'_>,
        dest: BufferSlice<'_>,
    ) -> Result<Pending<Report>, Error> {
        let (indices, plan) = indices.of(plan);
        let [updates, dest] = Argument::pair(&plan, ["updates", "dest"], updates, dest);
        self.engine
            .record_scatter(encoder, &plan, updates, indices, dest)
    }
}
