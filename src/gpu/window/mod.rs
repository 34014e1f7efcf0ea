//! Cuts a plan into dispatches that fit the device's limits.
//!
//! A dispatch binds one range of each buffer. Bindings have a largest size and an alignment, a tensor may be split
//! over several buffers, shaders compute offsets in 32 bits, the number of workgroups is limited, and drivers mistake
//! a dispatch of several seconds for a hang. One rule serves all of these limits: work that does not fit is halved,
//! along its outermost dimension if possible, until it fits.
//!
//! A [`Cutter`] has a method for each kind of plan, which appends the dispatches to `out` in the order in which they
//! run. Slices, updates and gradients are halved where their row maps are made, in `maps`. Positions and lengths are in
//! the plan's units, unless a name says bytes.
//!
//! | file | cuts |
//! |---|---|
//! | `gather`, `block` | gathers and crops, by blocks of the result and windows of params |
//! | `scatter`, `steps` | scatters, into blocks of several steps each |
//! | `interval` | the intervals that blocks consist of |

mod block;
mod gather;
mod interval;
mod scatter;
mod steps;

pub(crate) use scatter::scatter_steps;
pub(crate) use steps::Steps;

use super::{
    caps::{Parts, Reach, Span},
    job::{Bound, Job},
    kernels::{self, Dispatch},
    maps::RowMap,
};
use crate::{ops::index::IndexType, plan::Rows};

/// The locations of a plan's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Places {
    pub(crate) source: Parts,
    pub(crate) dest: Parts,
    pub(crate) indices: Parts,
    pub(crate) index: IndexType,
    /// Whether the sizes of the source's and the result's buffers are multiples of 16 bytes, the largest vector, so
    /// that a binding may end after the last vector rather than after the last unit.
    pub(crate) whole: bool,
}

impl Places {
    /// The largest size of a unit in bytes, at most 16, such that source and result begin at whole units of their
    /// buffers and no unit lies in two parts.
    pub(crate) fn unit(&self) -> usize {
        let bits = (self.source.offset | self.source.bytes | self.dest.offset | self.dest.bytes)
            .trailing_zeros();
        1 << bits.min(4)
    }
}

/// What cutting a plan needs: the device's limits, the plan's rows, and the locations of its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cutter<'a> {
    pub(crate) reach: &'a Reach,
    /// The rows of the plan, in units of at most [`Places::unit`] bytes.
    pub(crate) rows: &'a Rows,
    pub(crate) places: &'a Places,
}

impl Cutter<'_> {
    /// The size of `units` units in bytes.
    pub(crate) fn bytes(&self, units: u64) -> u64 {
        units * self.rows.unit as u64
    }

    /// The binding of units `first..first + rows.units()` of the result, with the position of unit `first` in it.
    /// `None` if one dispatch cannot write them all.
    pub(crate) fn result(&self, rows: &Rows, first: u64) -> Option<Bound> {
        let units = rows.units() as u64;
        if self.bytes(units) > self.reach.dispatch {
            return None;
        }
        self.bound(self.places.dest, first, first + units)
    }

    /// The binding of units `from..to` of an argument, and the position of unit `from` in the binding. `None` if no
    /// single binding holds the units, or if their offsets are larger than shaders can compute.
    pub(crate) fn bound(&self, parts: Parts, from: u64, to: u64) -> Option<Bound> {
        let (span, residue) = self.reach.span(parts, self.bytes(from), self.bytes(to))?;
        let base = residue / self.rows.unit as u64;
        (base + (to - from) <= self.reach.units).then_some(Bound {
            span,
            base: base.cast_signed(),
        })
    }

    /// The job of one dispatch, without the bindings `others`, which gathers and scatters set.
    pub(crate) fn job(&self, rows: Rows, map: RowMap, source: Bound, dest: Bound) -> Job<'_> {
        Job {
            reach: self.reach,
            rows,
            map,
            source,
            dest,
            others: Default::default(),
            whole_vectors: self.places.whole,
        }
    }
}
