//! Cuts updates into halves that write different units of the destination.

use super::{Bound, Cutter, Dispatch, RowMap, kernels};
use crate::{
    Error,
    gpu::maps::Update,
    pairs::{PairAxis, Pairs},
    plan::Rows,
};

impl Cutter<'_> {
    /// Pushes the dispatches that copy the source unit of each pair to its destination unit.
    pub(super) fn update(&self, pairs: &Pairs, out: &mut Vec<Dispatch>) -> Result<(), Error> {
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
        let rows = Rows {
            unit: pairs.unit,
            count: axes.iter().map(|axis: &PairAxis| axis.size).product(),
            run: run.size,
            step: run.from,
        };
        let axes = axes.to_vec();
        kernels::dispatch(&self.job(rows, RowMap::Update(Update { run, axes }), source, dest))
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
