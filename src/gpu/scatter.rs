//! Records scatters, which take several steps. A step leaves in scratch memory what later steps read. Each row of
//! `updates` goes to the slice of `dest` that the row's index tuple selects.
//!
//! | step | for | does | shader |
//! |---|---|---|---|
//! | check | [`OutOfRange::Error`](crate::options::OutOfRange::Error) | reports invalid rows, whose tuples are out of range | `scatter_resolve.wgsl` |
//! | resolve | each row | finds the row's slice; notes the last row of each slice, or links all rows of a slice into a list | `scatter_resolve.wgsl` |
//! | sort | lists that must be in order | sorts short lists in ascending order | `scatter_sort.wgsl` |
//! | | | sorts lists of up to 256 rows, and links longer lists anew | `scatter_long_lists.wgsl` |
//! | apply | each slice | writes the slice's last row, or combines the rows of its list, element by element | `scatter_nd.wgsl` |
//!
//! In the last step, no two invocations write the same bytes. Results depend on scheduling only if the options let
//! rows be combined in any order. Short rows of 4-byte integers take a single step instead (`combine_atomic.wgsl`) if
//! an atomic operation can combine them, since their order does not affect results. Under
//! [`OutOfRange::Error`](crate::options::OutOfRange::Error) these rows take the steps of the table too. The scratch
//! memory belongs to the [`Gpu`] and serves every recording, since wgpu runs submissions in order.

use super::{
    DeviceIndices, Gpu,
    argument::Argument,
    cut::{Dispatch, Places},
    encode::Task,
    scratch::Scratch,
    work::Pass,
};
use crate::{Error, Pending, Plan, Report, ops::index::IndexType, plan::Scatter, walk::Walk};
use wgpu::{BufferSlice, CommandEncoder};

impl Gpu {
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
        let [updates, dest] = Argument::pair(plan, ["updates", "dest"], updates, dest);
        let indices = Argument::indices(plan, indices);
        self.record_scatter(encoder, plan.into(), updates, indices, dest)
    }

    pub(super) fn record_scatter(
        &self,
        _encoder: &mut CommandEncoder,
        _task: Task<'_>,
        _updates: Argument<'_>,
        (_indices, _index): (Argument<'_>, IndexType),
        _dest: Argument<'_>,
    ) -> Result<Pending<Report>, Error> {
        unimplemented!()
    }

    pub(super) fn scatter_steps(
        &self,
        _plan: &Plan,
        _walk: &Walk,
        _scatter: &Scatter,
        _places: &Places,
    ) -> Result<(Vec<Pass<Dispatch>>, Scratch), Error> {
        unimplemented!()
    }
}
