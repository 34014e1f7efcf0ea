//! The row map of an update: `shaders/strided_slice_update.wgsl`.
//!
//! An update that needs several dispatches is halved, and the halves write different units of the destination.

use super::{Buffer, Facts, Lowered, RowMap, Units};
use crate::{
    Error,
    gpu::{
        job::Bound,
        kernels::{self, Dispatch},
        window::Cutter,
    },
    pairs::{PairAxis, Pairs},
    plan::Rows,
};
use bytemuck::{Pod, Zeroable};

/// The most dimensions besides the run that the map of an update or a gradient can hold, one in each of the five
/// vectors of the map. A plan with more dimensions is cut along its outermost dimension.
pub(crate) const MAX_PAIR_AXES: usize = 5;

pub(super) const FACTS: Facts = Facts {
    name: "strided_slice_update",
    text: include_str!("../../../shaders/strided_slice_update.wgsl"),
    buffers: &[Buffer::SOURCE, Buffer::DEST],
    reports: false,
    unrolls: false,
    is_dense: false,
    moves: true,
    #[cfg(test)]
    layout: || super::layout!(Words: dims, spacing, quarter, axes),
};

/// `Map` of `strided_slice_update.wgsl`, which says what each field means.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Words {
    dims: u32,
    spacing: u32,
    quarter: u32,
    pad: u32,
    axes: [[u32; 4]; MAX_PAIR_AXES],
}

/// The row map of an update: rows are strided along `axes` on both sides.
#[derive(Clone, Debug)]
pub(crate) struct Update {
    /// The number of units in a row, and the distances between neighbouring units on both sides.
    pub(crate) run: PairAxis,
    pub(crate) axes: Vec<PairAxis>,
}

impl Update {
    pub(super) fn lowered(&self, units: &Units) -> Option<Lowered> {
        let mut axes = self.axes.clone();
        let mut spacing = self.run.to;
        if units.split_run.is_some() {
            axes.push(self.run);
            spacing = 1;
        }
        Some(Lowered::of(Words {
            dims: u32::try_from(axes.len()).ok()?,
            spacing: u32::try_from(spacing).ok()?,
            quarter: u32::try_from(units.quarter).ok()?,
            pad: 0,
            axes: pair_words(&axes, 1)?,
        }))
    }
}

/// Converts each dimension to a vector of its size, its stride in the source, its stride in the destination divided by
/// `to_unit`, and 0. `None` if there are too many dimensions, or if a size or a stride does not fit in a signed 32-bit
/// word.
pub(super) fn pair_words(axes: &[PairAxis], to_unit: usize) -> Option<[[u32; 4]; MAX_PAIR_AXES]> {
    if axes.len() > MAX_PAIR_AXES {
        return None;
    }
    let mut all = [[0; 4]; MAX_PAIR_AXES];
    for (words, axis) in all.iter_mut().zip(axes) {
        let size = i32::try_from(axis.size).ok()?;
        // A negative stride is stored modulo 2^32.
        let from = i32::try_from(axis.from).ok()?;
        let to = i32::try_from(axis.to / to_unit).ok()?;
        *words = [size, from, to, 0].map(i32::cast_unsigned);
    }
    Some(all)
}

impl Cutter<'_> {
    /// Pushes the dispatches that copy the source unit of each pair to its destination unit.
    pub(crate) fn update(&self, pairs: &Pairs, out: &mut Vec<Dispatch>) -> Result<(), Error> {
        if let Some(dispatch) = self.update_dispatch(pairs)? {
            out.push(dispatch);
            return Ok(());
        }
        let halves = pairs.halves();
        let [head, tail] = halves.ok_or_else(|| self.reach.too_small(pairs.unit))?;
        self.update(&head, out)?;
        self.update(&tail, out)
    }

    fn update_dispatch(&self, pairs: &Pairs) -> Result<Option<Dispatch>, Error> {
        let dest = self.bound(self.places.dest, pairs.to as u64, pairs.last() as u64 + 1);
        let (Some(source), Some(dest)) = (self.read(pairs), dest) else {
            return Ok(None);
        };
        if self.bytes(pairs.units() as u64) > self.reach.dispatch {
            return Ok(None);
        }
        let (run, axes) = pairs.run();
        let axes = axes.to_vec();
        kernels::dispatch(&self.job(
            Rows::of_pairs(pairs),
            RowMap::Update(Update { run, axes }),
            source,
            dest,
        ))
    }

    /// The source's binding, and the position in it of the source unit of the first pair. `None` if no single binding
    /// holds all units that `pairs` read.
    pub(super) fn read(&self, pairs: &Pairs) -> Option<Bound> {
        let read = pairs.read();
        let bound = self.bound(self.places.source, read.start as u64, read.end as u64)?;
        Some(Bound {
            base: bound.base + (pairs.from - read.start) as i64,
            ..bound
        })
    }
}
