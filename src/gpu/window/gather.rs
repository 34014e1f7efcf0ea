//! A gather is cut by rows of the result.
//!
//! Its source cannot be cut with it, since any row may point anywhere: where params do not fit in one
//! binding, several dispatches look at the same rows, each with another window of params bound, and
//! each writes the units that lie in its own.

use super::{Cutter, Dispatch, Span, wrap};
use crate::{
    Error,
    gpu::{params, pipeline::Kernel},
    layout::Axis,
    ops::gather_nd,
    plan::Rows,
};

impl Cutter<'_> {
    /// Pushes the dispatches that write a block of a gather's result.
    pub(super) fn gather(
        &self,
        map: &gather_nd::Map,
        block: &Block,
        out: &mut Vec<Dispatch>,
    ) -> Result<(), Error> {
        if self.gather_dispatches(map, block, out)? {
            return Ok(());
        }
        match block.halves() {
            Some((head, tail)) => {
                self.gather(map, &head, out)?;
                self.gather(map, &tail, out)
            }
            None => Err(self.reach.too_small(self.rows.unit)),
        }
    }

    /// Pushes the dispatches that write the block, unless it must be halved first.
    fn gather_dispatches(
        &self,
        map: &gather_nd::Map,
        block: &Block,
        out: &mut Vec<Dispatch>,
    ) -> Result<bool, Error> {
        let rows = Rows {
            count: block.batches.len * block.rows.len,
            run: block.run.len,
            ..*self.rows
        };
        let first_row = block.batches.first * map.batch_rows + block.rows.first;
        let first = first_row as u64 * self.rows.run as u64 + block.run.first as u64;
        let Some((dest, dest_base)) = self.result(&rows, first) else {
            return Ok(false);
        };
        let tuple = map.axes.len() as u64 * u64::from(self.places.index_words) * 4;
        let (from, to) = (first_row as u64, (first_row + rows.count) as u64);
        let tuples = self
            .reach
            .span(self.places.indices, from * tuple, to * tuple);
        let Some((indices, index_residue)) = tuples else {
            return Ok(false);
        };
        if indices.bytes / 4 > self.reach.units {
            return Ok(false);
        }
        let index_base = wrap((index_residue / 4).cast_signed());
        // The params that the block may point into. Several batches are looked at together only
        // where those of all fit.
        let params_from = (block.batches.first * map.batch_stride) as u64;
        let params_to = params_from + (block.batches.len * map.batch_stride) as u64;
        let windows = self.params_windows(map, block.run, params_from, params_to)?;
        if windows.len() > 1 && block.batches.len > 1 {
            return Ok(false);
        }
        let before = out.len();
        for (number, window) in windows.iter().enumerate() {
            let begin = params_from + block.run.first as u64 + window.skipped;
            let base = begin.cast_signed() - window.bound_from.cast_signed();
            // A unit lies in one window, and a row may begin wherever an index points.
            let units = window.units.cast_signed();
            let strides = map.axes.iter().map(|axis| axis.stride as i64);
            let strides = strides.chain([map.batch_stride as i64, units]);
            let dest_base = dest_base.cast_signed();
            let wide = self.widened(&rows, base, dest_base, strides, windows.len() == 1);
            let mut map = map.clone();
            wide.scale(&mut map.axes);
            map.batch_stride /= wide.factor;
            let Some(grid) = self.grid(&wide) else {
                out.truncate(before);
                return Ok(false);
            };
            let params = params::Params {
                window: wrap(units / wide.factor as i64),
                first: wrap(window.first as i64),
                count: wrap(window.count as i64),
                map: params::gather_map(&map, index_base, window.first as u64)?,
                ..self.params(&wide, &grid)
            };
            out.push(Dispatch {
                kernel: Kernel {
                    width: wide.width,
                    dims: map.axes.len(),
                    batched: block.batches.len > 1,
                    even: false,
                    stepped: false,
                },
                params,
                height: grid.height,
                spans: [window.span, dest, indices],
                counts: number == 0 && block.run.first == 0,
                first_row,
            });
        }
        Ok(true)
    }

    /// The windows that together hold units `from..to` of params.
    ///
    /// Offsets within params are computed modulo 2^32, so that no dispatch may look at more than
    /// that: larger params are also cut along the first indexed dimension. Where even one entry of
    /// that is larger, it is what the tuple names, and only the part is bound that the block moves.
    fn params_windows(
        &self,
        map: &gather_nd::Map,
        run: Stretch,
        from: u64,
        to: u64,
    ) -> Result<Vec<Window>, Error> {
        let mut windows = Vec::with_capacity(1);
        let whole = Axis {
            size: 1,
            stride: (to - from).cast_signed().try_into().unwrap_or(isize::MAX),
        };
        let outer = map.axes.first().copied().unwrap_or(whole);
        let slab = outer.stride.unsigned_abs() as u64;
        let slabs = match to - from {
            all if all <= self.reach.units => outer.size,
            _ if slab > self.reach.units && map.axes.len() > 1 => {
                return Err(params::too_far(slab));
            }
            _ => usize::try_from(self.reach.units / slab.max(1))
                .unwrap_or(1)
                .max(1),
        };
        for first in (0..outer.size).step_by(slabs) {
            let count = slabs.min(outer.size - first);
            let skipped = first as u64 * slab;
            let begin = from + skipped;
            let (mut at, end) = if slab > self.reach.units {
                let begin = begin + run.first as u64;
                (begin, begin + run.len as u64)
            } else if count == outer.size {
                (begin, to)
            } else {
                (begin, begin + count as u64 * slab)
            };
            while at < end {
                let window = self.window(at, end)?;
                at = window.bound_from.wrapping_add(window.units);
                windows.push(Window {
                    first,
                    count,
                    skipped,
                    ..window
                });
            }
        }
        Ok(windows)
    }

    /// The longest window that begins at unit `at` and ends at `end` or before.
    fn window(&self, at: u64, end: u64) -> Result<Window, Error> {
        let unit = self.rows.unit as u64;
        let parts = self.places.source;
        let part_end = (self.bytes(at) / parts.bytes + 1) * parts.bytes;
        let place = parts.offset + self.bytes(at) % parts.bytes;
        let residue = place % self.reach.alignment;
        // Whole units, and whole words, from where the binding begins.
        let step = unit.max(4);
        let room = self.reach.binding.saturating_sub(residue) / step * step;
        let reached = self.bytes(at) + room.min(self.bytes(self.reach.units));
        let to = self.bytes(end).min(part_end).min(reached);
        match self.reach.span(parts, self.bytes(at), to) {
            Some((span, residue)) if to > self.bytes(at) => Ok(Window {
                span,
                // The binding begins up to an alignment before `at`. Units there are in the window
                // before too, and are moved twice, to the same place.
                bound_from: at.wrapping_sub(residue / unit),
                units: (residue + to - self.bytes(at)) / unit,
                first: 0,
                count: 0,
                skipped: 0,
            }),
            _ => Err(self.reach.too_small(self.rows.unit)),
        }
    }
}

/// A window of params.
#[derive(Clone, Copy, Debug)]
struct Window {
    span: Span,
    /// The unit of params at which the binding begins; may wrap below 0 where the argument begins
    /// in the middle of an alignment.
    bound_from: u64,
    /// Units that are bound.
    units: u64,
    /// The indices into the first dimension that are looked at.
    first: usize,
    count: usize,
    /// The units of params before those indices' own.
    skipped: u64,
}

/// A stretch of a dimension.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    first: usize,
    len: usize,
}

impl Stretch {
    fn all(len: usize) -> Self {
        Self { first: 0, len }
    }

    fn halves(self) -> Option<(Self, Self)> {
        let half = self.len / 2;
        let head = Self { len: half, ..self };
        let tail = Self {
            first: self.first + half,
            len: self.len - half,
        };
        (half > 0).then_some((head, tail))
    }
}

/// A part of a gather's result that is contiguous: whole batches, or rows of one batch, or units of
/// one row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    batches: Stretch,
    rows: Stretch,
    run: Stretch,
}

impl Block {
    pub(super) fn all(map: &gather_nd::Map, rows: &Rows) -> Self {
        Self {
            batches: Stretch::all(rows.count / map.batch_rows),
            rows: Stretch::all(map.batch_rows),
            run: Stretch::all(rows.run),
        }
    }

    /// Halves of the outermost stretch that has more than one element.
    fn halves(&self) -> Option<(Self, Self)> {
        let with = |place: fn(&mut Self) -> &mut Stretch, (head, tail)| {
            let (mut a, mut b) = (*self, *self);
            *place(&mut a) = head;
            *place(&mut b) = tail;
            (a, b)
        };
        let batches = self.batches.halves().map(|h| with(|b| &mut b.batches, h));
        let rows = || self.rows.halves().map(|h| with(|b| &mut b.rows, h));
        let run = || self.run.halves().map(|h| with(|b| &mut b.run, h));
        batches.or_else(rows).or_else(run)
    }
}
