//! A slice is a view, and half of a view is a view: source and result are cut together.

use super::{Cutter, Dispatch, Span};
use crate::{
    Error,
    gpu::{
        params,
        pipeline::Kernel,
        width::{Way, Width},
    },
    layout::Axis,
    ops::strided_slice,
    plan::Rows,
};

impl Cutter<'_> {
    /// Pushes the dispatches of a slice whose result begins at unit `first`.
    pub(super) fn slice(
        &self,
        map: &strided_slice::Map,
        rows: &Rows,
        first: u64,
        out: &mut Vec<Dispatch>,
    ) -> Result<(), Error> {
        if let Some(dispatch) = self.slice_dispatch(map, rows, first) {
            out.push(dispatch);
            return Ok(());
        }
        let (mut head, mut tail) = (map.clone(), map.clone());
        let (mut head_rows, mut tail_rows) = (*rows, *rows);
        let cut = |axis: Axis| (axis.size / 2, (axis.size / 2).cast_signed() * axis.stride);
        let moved = if let Some((&outer, inner)) = map.axes.split_first() {
            let (half, moved) = cut(outer);
            let shrink = |map: &mut strided_slice::Map, rows: &mut Rows, size| {
                rows.count = rows.count / outer.size * size;
                if size == 1 {
                    map.axes = inner.to_vec();
                } else {
                    map.axes[0].size = size;
                }
            };
            shrink(&mut head, &mut head_rows, half);
            shrink(&mut tail, &mut tail_rows, outer.size - half);
            moved
        } else if rows.run > 1 {
            let (half, moved) = cut(Axis {
                size: rows.run,
                stride: rows.step,
            });
            head_rows.run = half;
            tail_rows.run = rows.run - half;
            moved
        } else {
            return Err(self.reach.too_small(rows.unit));
        };
        tail.offset = tail.offset.wrapping_add_signed(moved);
        self.slice(&head, &head_rows, first, out)?;
        self.slice(&tail, &tail_rows, first + head_rows.units() as u64, out)
    }

    fn slice_dispatch(
        &self,
        map: &strided_slice::Map,
        rows: &Rows,
        first: u64,
    ) -> Option<Dispatch> {
        let (dest, dest_base) = self.result(rows, first)?;
        // The source units between the lowest and the highest that are touched.
        let (mut low, mut high) = (map.offset, map.offset);
        let run = Axis {
            size: rows.run,
            stride: rows.step,
        };
        for axis in map.axes.iter().chain([&run]) {
            let reached = (axis.size - 1).cast_signed() * axis.stride;
            low = low.wrapping_add_signed(reached.min(0));
            high = high.wrapping_add_signed(reached.max(0));
        }
        let (from, to) = (self.bytes(low as u64), self.bytes(high as u64 + 1));
        let (source, residue) = self.reach.span(self.places.source, from, to)?;
        let base = residue / rows.unit as u64 + (map.offset - low) as u64;
        if (residue + to - from) / rows.unit as u64 > self.reach.units {
            return None;
        }
        let (base, dest_base) = (base.cast_signed(), dest_base.cast_signed());
        let strides = map.axes.iter().map(|axis| axis.stride as i64);
        let mut wide = self.widened(rows, base, dest_base, strides, true);
        let mut map = map.clone();
        // Bytes that lie apart may be better off as rows of their own.
        let apart = rows.step != 1 && rows.run > 1 && wide.width.unit < 4;
        if apart && map.axes.len() < params::MAX_AXES {
            let each = Rows {
                count: rows.units(),
                run: 1,
                step: 1,
                ..*rows
            };
            let strides = map.axes.iter().chain([&run]).map(|axis| axis.stride as i64);
            let crumbs = self.widened(&each, base, dest_base, strides, true);
            if crumbs.width.way == Way::Crumbs {
                map.axes.push(run);
                wide = crumbs;
            }
        }
        wide.scale(&mut map.axes);
        let inner = map.axes.last().map_or(1, |axis| axis.size);
        let grid = self.grid(&wide)?;
        let params = params::Params {
            map: params::slice_map(&map)?,
            ..self.params(&wide, &grid)
        };
        Some(Dispatch {
            kernel: Kernel {
                width: wide.width,
                dims: map.axes.len(),
                batched: false,
                even: wide.width.way == Way::Crumbs && inner.is_multiple_of(Width::PARTS),
            },
            params,
            height: grid.height,
            spans: [source, dest, Span::default()],
            counts: false,
            first_row: 0,
        })
    }
}
