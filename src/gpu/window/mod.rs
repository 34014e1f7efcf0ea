//! Cuts a plan into dispatches that the device can take.
//!
//! A dispatch binds one stretch of each buffer, and every limit is a limit on those stretches or on
//! the numbers that the shaders compute with: a binding is at most so long and begins at a multiple
//! of so much; a tensor may lie in several buffers; offsets are 32 bits; workgroups are counted;
//! and a dispatch that runs for seconds is taken for a hang. One rule serves them all: what does not
//! fit is halved along its outermost dimension, until it does.
//!
//! A slice is cut in `slice`, a gather in `gather` and `block`, what is written into places in `place`, unless they
//! lie together and it is a slice, and what becomes zeros but for some places in `spread`.

mod block;
mod gather;
mod gradient;
mod interval;
mod scatter;
mod slice;
mod steps;
mod update;

use super::{
    caps::{Parts, Reach, Span},
    job::{Bound, Job},
    kernels::{self, Dispatch},
    maps::RowMap,
};
use crate::{
    Error,
    ops::index::IndexType,
    plan::{Map, Rows},
};

/// Where the three arguments of a plan lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub(crate) source: Parts,
    pub(crate) dest: Parts,
    pub(crate) indices: Parts,
    pub(crate) index: IndexType,
    /// Whether the buffers of source and result are whole vectors long, so that bindings can be.
    pub(crate) whole: bool,
}

impl Places {
    /// The largest unit that all offsets of source and result are multiples of.
    pub(crate) fn unit(&self) -> usize {
        let bits = (self.source.offset | self.source.bytes | self.dest.offset | self.dest.bytes)
            .trailing_zeros();
        1 << bits.min(4)
    }
}

/// The dispatches of a plan that is not empty.
pub(crate) fn dispatches(
    reach: &Reach,
    rows: &Rows,
    map: &Map,
    places: &Places,
) -> Result<Vec<Dispatch>, Error> {
    let mut out = Vec::with_capacity(1);
    let cutter = Cutter {
        reach,
        rows,
        places,
    };
    match map {
        Map::StridedSlice(map) => cutter.slice(map, rows, 0, &mut out)?,
        Map::StridedSliceUpdate(map) => match (map.as_slice(), &map.pairs) {
            (Some((rows, map, first)), _) => cutter.slice(&map, &rows, first as u64, &mut out)?,
            (None, Some(pairs)) => cutter.update(pairs, &mut out)?,
            (None, None) => {}
        },
        Map::StridedSliceGrad(map) => cutter.gradient(map, &mut out)?,
        // It is cut into steps.
        Map::ScatterNd(_) => {}
        Map::Indexed(map) => cutter.gather(map, &block::Block::all(map, rows), &mut out)?,
    }
    Ok(out)
}

pub(crate) use scatter::scatter_steps;
pub(crate) use steps::{Before, Step, Steps};

struct Cutter<'a> {
    reach: &'a Reach,
    rows: &'a Rows,
    places: &'a Places,
}

impl Cutter<'_> {
    /// Bytes of units.
    fn bytes(&self, units: u64) -> u64 {
        units * self.rows.unit as u64
    }

    /// The result's binding and the first unit in it, if units `first..first + rows.units()` can be written by one
    /// dispatch.
    fn result(&self, rows: &Rows, first: u64) -> Option<Bound> {
        let units = rows.units() as u64;
        if self.bytes(units) > self.reach.dispatch {
            return None;
        }
        self.bound(self.places.dest, first, first + units)
    }

    /// The binding of units `from..to` of an argument and the first of them in it.
    fn bound(&self, parts: Parts, from: u64, to: u64) -> Option<Bound> {
        let (span, residue) = self.reach.span(parts, self.bytes(from), self.bytes(to))?;
        let base = residue / self.rows.unit as u64;
        (base + (to - from) <= self.reach.units).then_some(Bound {
            span,
            base: base.cast_signed(),
        })
    }

    /// What one dispatch has to do.
    fn job(&self, rows: Rows, map: RowMap, source: Bound, dest: Bound) -> Job<'_> {
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
