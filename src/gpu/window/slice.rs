//! Cuts slices into dispatches. Each half of a slice is a slice too, so a slice that needs several dispatches is
//! halved, and its source and its result are halved together.

use super::{Bound, Cutter, Dispatch, RowMap, kernels};
use crate::{Error, gpu::maps::Slice, ops::strided_slice, plan::Rows};

impl Cutter<'_> {
    /// Pushes the dispatches that write the rows of a slice, or of a part of one, to the plan's result from unit
    /// `first` on.
    pub(super) fn slice(
        &self,
        map: &strided_slice::Map,
        rows: &Rows,
        first: u64,
        out: &mut Vec<Dispatch>,
    ) -> Result<(), Error> {
        if let Some(dispatch) = self.slice_dispatch(map, rows, first)? {
            out.push(dispatch);
            return Ok(());
        }
        let halves = map.halves(rows);
        let [(head_rows, head), (tail_rows, tail)] =
            halves.ok_or_else(|| self.reach.too_small(rows.unit))?;
        self.slice(&head, &head_rows, first, out)?;
        self.slice(&tail, &tail_rows, first + head_rows.units() as u64, out)
    }

    fn slice_dispatch(
        &self,
        map: &strided_slice::Map,
        rows: &Rows,
        first: u64,
    ) -> Result<Option<Dispatch>, Error> {
        let read = map.span(rows);
        let source = self.bound(self.places.source, read.start as u64, read.end as u64);
        let (Some(dest), Some(source)) = (self.result(rows, first), source) else {
            return Ok(None);
        };
        let source = Bound {
            base: source.base + (map.offset - read.start) as i64,
            ..source
        };
        let axes = map.axes.clone();
        kernels::dispatch(&self.job(*rows, RowMap::Slice(Slice { axes }), source, dest))
    }
}
