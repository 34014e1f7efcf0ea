//! Records scatters. Each row of `updates` goes to the slice of `dest` that the row's index tuple selects. This takes
//! several steps, on which `steps` decides. A step leaves in scratch memory what later steps read. The memory belongs to
//! the [`Gpu`] and serves every recording, since wgpu runs submissions in order.
//!
//! In the last step, no two invocations write the same bytes, unless by atomics whose order makes no difference. So
//! results depend on scheduling only if the options let rows be combined in any order.

use super::{
    DeviceIndices, Gpu,
    argument::Argument,
    caps::Reach,
    cut::{Dispatch, Places},
    encode::{Task, begin_pass},
    report::{self, Counts},
    rule::Rule,
    steps::{SCRATCH, steps},
    work::Pass,
};
use crate::{
    Error, Pending, Plan, Report,
    ops::index::IndexType,
    plan::{Effect, Scatter},
    walk::Walk,
};
use std::sync::Arc;
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
        encoder: &mut CommandEncoder,
        task: Task<'_>,
        updates: Argument<'_>,
        (indices, index): (Argument<'_>, IndexType),
        dest: Argument<'_>,
    ) -> Result<Pending<Report>, Error> {
        let plan = task.plan;
        let Effect::Scatter(scatter) = plan.effect() else {
            let problem = "is not used by this plan: record it with encode or encode_gather";
            return Err(indices.problem(problem.into()));
        };
        indices.check_tuples(&updates, &dest)?;
        let mut counts = Counts::default();
        if plan.walk().is_none() {
            if scatter.fresh && plan.result_bytes() > 0 {
                let zeros = Plan::zeros(plan.result_bytes());
                self.record(encoder, (&zeros).into(), updates, dest)?;
            }
            let plan = Arc::new(plan.clone());
            return Ok(report::pending(self, &plan, counts, &indices, index));
        }
        if let Some((_, number)) = rule_of(plan, &scatter)? {
            for argument in [&updates, &dest] {
                let offset = argument.parts.offset;
                if !offset.is_multiple_of(number as u64) {
                    let problem = format!(
                        "begins at byte {offset}: where elements are combined it must be a multiple of \
                         {number}"
                    );
                    return Err(argument.problem(problem));
                }
            }
        }
        let work = self.work_of(task, &[updates, dest, indices], index)?;
        // The memory is allocated before anything is recorded, so that a failed allocation leaves the encoder
        // untouched.
        let scratch = self.scratch(work.scratch)?;
        let memory = Argument {
            callers: false,
            ..Argument::of("scratch", scratch.slice(..), 0)
        };
        let arguments = [updates, dest, indices, memory];
        debug_assert_eq!(arguments.len(), SCRATCH + 1);
        for Pass {
            cleared,
            dispatches,
        } in &work.passes
        {
            if !cleared.is_empty() {
                let bytes = cleared.end - cleared.start;
                encoder.clear_buffer(&scratch, cleared.start, Some(bytes));
            }
            let mut pass = begin_pass(encoder, plan);
            for launch in dispatches {
                self.dispatch(&mut pass, launch, &arguments, &mut counts);
            }
        }
        Ok(report::pending(self, &work.plan, counts, &indices, index))
    }
}

/// The passes of a plan that has rows, and the bytes of scratch memory that they need. If the plan combines elements,
/// updates and destination must begin at multiples of the size that [`rule_of`] returns.
pub(super) fn scatter_steps(
    reach: &Reach,
    plan: &Plan,
    walk: &Walk,
    scatter: &Scatter,
    places: &Places,
) -> Result<(Vec<Pass<Dispatch>>, u64), Error> {
    let steps = steps(reach, places, walk, scatter, rule_of(plan, scatter)?)?;
    Ok((steps.passes, steps.scratch))
}

/// The rule by which a scatter combines elements, and the size in bytes of the numbers that the rule combines. `None` if
/// the scatter replaces elements.
fn rule_of(plan: &Plan, scatter: &Scatter) -> Result<Option<(Rule, usize)>, Error> {
    let (combine, dtype) = (scatter.options.combine, scatter.dtype);
    if !combine.computes() {
        return Ok(None);
    }
    match Rule::of(combine, dtype) {
        Some(rule) => Ok(Some(rule)),
        None => Err(Error::DTypeOnDevice {
            operation: plan.name(),
            combine,
            dtype,
        }),
    }
}
