//! A slice is a view, and half of a view is a view: source and result are cut together.

use super::{Cutter, Dispatch, Span};
use crate::{
    Error,
    gpu::{
        kernel::Kernel,
        params,
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
    ) -> Option<Dispatch> {
        let (dest, dest_base) = self.result(rows, first)?;
        let read = map.span(rows);
        let (from, to) = (self.bytes(read.start as u64), self.bytes(read.end as u64));
        let (source, residue) = self.reach.span(self.places.source, from, to)?;
        let base = residue / rows.unit as u64 + (map.offset - read.start) as u64;
        if (residue + to - from) / rows.unit as u64 > self.reach.units {
            return None;
        }
        let (base, dest_base) = (base.cast_signed(), dest_base.cast_signed());
        let strides = map.axes.iter().map(|axis| axis.stride as i64);
        let mut wide = self.widened(rows, base, dest_base, strides, true);
        let mut spans = [source, dest];
        if let Some(unaligned) = self.unaligned(rows, &wide, (source, base), (dest, dest_base)) {
            (wide, spans) = unaligned;
        }
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
            let run = Axis {
                size: rows.run,
                stride: rows.step,
            };
            let strides = map.axes.iter().chain([&run]).map(|axis| axis.stride as i64);
            let packed = self.widened(&each, base, dest_base, strides, true);
            if packed.width.way == Way::PackedBytes {
                map.axes.push(run);
                wide = packed;
            }
        }
        wide.scale(&mut map.axes);
        let inner = map.axes.last().map_or(1, |axis| axis.size);
        let grid = self.grid(&wide)?;
        let params = params::Params {
            flags: params::Flags {
                dims: map.axes.len(),
                flip: wide.flip,
                even: wide.takes_four_rows() && inner.is_multiple_of(Width::PARTS),
                ..params::Flags::default()
            }
            .word(),
            map: params::slice_map(&map)?,
            ..self.params(&wide, &grid)
        };
        Some(Dispatch {
            kernel: Kernel {
                run: wide.packed_run(),
                ..Kernel::of(wide.width, grid.shape)
            },
            params,
            height: grid.height,
            spans: [spans[0], spans[1], Span::default(), Span::default()],
            counts: false,
            first_tuple: 0,
        })
    }
}
