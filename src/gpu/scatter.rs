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
    encode::{Task, begin_pass},
    report::{self, Counts},
    rule::Rule,
    window::{self, Places, Steps},
    work::Pass,
};
use crate::{
    Error, Pending, Plan, Report,
    ops::{index::IndexType, scatter_nd::Map as ScatterNd},
    plan::Map,
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
        let Map::ScatterNd(map) = &plan.map else {
            let problem = "is not used by this plan: record it with encode or encode_gather";
            return Err(indices.problem(problem.into()));
        };
        indices.check_tuples(&updates, &dest)?;
        let mut counts = Counts::default();
        if plan.rows.count == 0 {
            self.clear_fresh(encoder, plan, map, updates, dest)?;
            let plan = Arc::new(plan.clone());
            return Ok(report::pending(self, &plan, counts, &indices, index));
        }
        let (_, element) = rule_of(plan, map)?;
        for argument in [&updates, &dest] {
            let offset = argument.parts.offset;
            if map.options.combine.computes() && !offset.is_multiple_of(element as u64) {
                let problem = format!(
                    "begins at byte {offset}: where elements are combined it must be a multiple of \
                     {element}"
                );
                return Err(argument.problem(problem));
            }
        }
        let work = self.work_of(task, &[updates, dest, indices], index)?;
        // The memory is allocated before anything is recorded, so that a failed allocation leaves the encoder
        // untouched.
        let scratch = self.scratch(work.scratch)?;
        self.clear_fresh(encoder, plan, map, updates, dest)?;
        let [head, rows] =
            [("head", &scratch[0]), ("rows", &scratch[1])].map(|(name, buffer)| Argument {
                callers: false,
                ..Argument::of(name, buffer.slice(..), 0)
            });
        let arguments = [updates, dest, indices, head, rows];
        for Pass {
            cleared,
            dispatches,
        } in &work.passes
        {
            if !cleared.is_empty() {
                encoder.clear_buffer(
                    &scratch[0],
                    cleared.start,
                    Some(cleared.end - cleared.start),
                );
            }
            let mut pass = begin_pass(encoder, plan);
            for launch in dispatches {
                self.dispatch(&mut pass, launch, &arguments, &mut counts);
            }
        }
        Ok(report::pending(self, &work.plan, counts, &indices, index))
    }

    /// Records commands that fill the result of a `scatter_nd` with zeros. Records nothing for other scatters.
    fn clear_fresh(
        &self,
        encoder: &mut CommandEncoder,
        plan: &Plan,
        map: &ScatterNd,
        updates: Argument<'_>,
        dest: Argument<'_>,
    ) -> Result<(), Error> {
        if !map.fresh || plan.result_bytes() == 0 {
            return Ok(());
        }
        self.record(
            encoder,
            (&Plan::zeros(plan.result_bytes())).into(),
            updates,
            dest,
        )
    }

    /// The steps of a plan that is not empty. If the plan combines elements, updates and destination must begin at
    /// multiples of the size that [`rule_of`] returns.
    pub(super) fn scatter_steps(
        &self,
        plan: &Plan,
        map: &ScatterNd,
        places: &Places,
    ) -> Result<Steps, Error> {
        let (rule, element) = rule_of(plan, map)?;
        let unit = match map.options.combine.computes() {
            true => element,
            false => places.unit(),
        };
        let (rows, _) = plan.in_units_of(unit);
        window::scatter_steps(&self.inner.reach, &rows, map, places, rule)
    }
}

/// The rule by which a scatter combines elements, and the size in bytes of the numbers that the rule combines. If a
/// scatter replaces elements, the rule is not used, and the size is that of an element.
fn rule_of(plan: &Plan, map: &ScatterNd) -> Result<(Rule, usize), Error> {
    let (combine, dtype) = (map.options.combine, map.dtype);
    if !combine.computes() {
        return Ok((Rule::default(), plan.element));
    }
    Rule::of(combine, dtype).ok_or(Error::DTypeOnDevice {
        operation: plan.map.name(),
        combine,
        dtype,
    })
}
