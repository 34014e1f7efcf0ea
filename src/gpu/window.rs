//! Cuts a plan into dispatches that the device can take.
//!
//! A dispatch binds one stretch of each buffer, and every limit is a limit on those stretches or on
//! the numbers that the shaders compute with: a binding is at most so long and begins at a multiple
//! of so much; a tensor may lie in several buffers; offsets are 32 bits; workgroups are counted;
//! and a dispatch that runs for seconds is taken for a hang. One rule serves them all: what does not
//! fit is halved along its outermost dimension, until it does.
//!
//! A **slice** is a view, and half of a view is a view, so that source and result are cut together.
//!
//! A **gather** is cut by rows of the result. Its source cannot be cut with it, since any row may
//! point anywhere: where params do not fit in one binding, several dispatches look at the same rows,
//! each with another window of params bound, and each writes the units that lie in its own.

use super::{grid::Grid, grid::Kind, params::Params};
use crate::{
    Error,
    layout::Axis,
    ops::{gather_nd, strided_slice},
    plan::{Map, Rows},
};

/// What a device takes in one dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    /// Bytes of a binding, at most.
    pub(crate) binding: u64,
    /// Bindings begin at multiples of this.
    pub(crate) alignment: u64,
    /// Workgroups in one dimension.
    pub(crate) groups: u32,
    /// Bytes of a result that are worth a dispatch of their own.
    pub(crate) dispatch: u64,
    /// Offsets that the shaders can compute with, in units.
    pub(crate) units: u64,
    pub(crate) kind: Kind,
}

/// Where the bytes of an argument lie: one stretch of a buffer, or equal stretches of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// Where each part begins in its buffer.
    pub(crate) offset: u64,
    /// Bytes of each part but the last.
    pub(crate) bytes: u64,
}

impl Parts {
    /// One buffer, from its beginning.
    pub(crate) const ONE: Self = Self {
        offset: 0,
        bytes: 1 << 62,
    };
}

/// A stretch of an argument as a binding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Span {
    pub(crate) part: usize,
    /// In the part's buffer.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// One dispatch: what it is told and what it binds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dispatch {
    pub(crate) params: Params,
    pub(crate) height: u32,
    /// Source, result and, for a gather, indices.
    pub(crate) spans: [Span; 3],
    /// Whether it counts the rows without a source. Where several dispatches look at the same rows
    /// one of them does.
    pub(crate) counts: bool,
    /// The number of its first row in the whole result, for a gather.
    pub(crate) first_row: usize,
}

/// Where the three arguments of a plan lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub(crate) source: Parts,
    pub(crate) dest: Parts,
    pub(crate) indices: Parts,
    /// Words of an index.
    pub(crate) index_words: u32,
}

impl Places {
    /// The largest unit that all offsets of source and result are multiples of.
    pub(crate) fn unit(&self) -> usize {
        let bits = (self.source.offset | self.source.bytes | self.dest.offset | self.dest.bytes)
            .trailing_zeros();
        1 << bits.min(4)
    }
}

impl Reach {
    /// The binding of bytes `from..to` of an argument, and how far behind its beginning `from` lies.
    fn span(&self, parts: Parts, from: u64, to: u64) -> Option<(Span, u64)> {
        let part = from / parts.bytes;
        // An empty stretch binds the word that it lies at: no binding may be empty.
        let to = to.max(from + 1);
        if (to - 1) / parts.bytes != part {
            return None;
        }
        let within = parts.offset + from % parts.bytes;
        let offset = within - within % self.alignment;
        let bytes = (within - offset + (to - from)).next_multiple_of(4);
        let span = Span {
            part: usize::try_from(part).ok()?,
            offset,
            bytes,
        };
        (bytes <= self.binding).then_some((span, within - offset))
    }

    /// The error for a plan of which not even one unit fits.
    fn too_small(&self, unit: usize) -> Error {
        Error::DeviceLimit {
            what: "a single unit",
            limit: "max_storage_buffer_binding_size",
            needed: unit as u64 + self.alignment,
            allowed: self.binding,
        }
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
        Map::GatherNd(map) => cutter.gather(map, &Block::all(map, rows), &mut out)?,
    }
    Ok(out)
}

struct Cutter<'a> {
    reach: &'a Reach,
    rows: &'a Rows,
    places: &'a Places,
}

/// A value as the shaders hold it: negative ones wrap, and so do offsets that are only a step on the
/// way to one within the window.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the shaders compute modulo 2^32"
)]
fn wrap(value: i64) -> u32 {
    value as u32
}

impl Cutter<'_> {
    /// Bytes of units.
    fn bytes(&self, units: u64) -> u64 {
        units * self.rows.unit as u64
    }

    /// The result's binding and the first unit's place in it, with the grid, if units
    /// `first..first + rows.units()` can be written by one dispatch.
    fn result(&self, rows: &Rows, first: u64) -> Option<(Span, u64, Grid)> {
        let units = rows.units() as u64;
        if self.bytes(units) > self.reach.dispatch {
            return None;
        }
        let (from, to) = (self.bytes(first), self.bytes(first + units));
        let (span, residue) = self.reach.span(self.places.dest, from, to)?;
        let base = residue / rows.unit as u64;
        if base + units > self.reach.units {
            return None;
        }
        let head = usize::try_from(base).ok()? % (4usize.div_ceil(rows.unit));
        let grid = Grid::of(rows, head, self.reach.kind, self.reach.groups)?;
        Some((span, base, grid))
    }

    /// Params that all operations share. Everything here was checked to fit the shaders' numbers.
    fn params(&self, rows: &Rows, grid: &Grid, dest_base: u64) -> Params {
        Params {
            run: wrap(rows.run as i64),
            step: wrap(rows.step as i64),
            units: wrap(rows.units() as i64),
            tiles: grid.tiles,
            segment: grid.segment,
            lanes_log2: grid.lanes_log2,
            grid_width: grid.width,
            window: u32::MAX,
            source_base: 0,
            dest_base: wrap(dest_base.cast_signed()),
            first: 0,
            count: u32::MAX,
            map: Default::default(),
        }
    }

    fn slice(
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
        let (dest, dest_base, grid) = self.result(rows, first)?;
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
        let params = Params {
            source_base: wrap(base.cast_signed()),
            map: super::params::slice_map(map)?,
            ..self.params(rows, &grid, dest_base)
        };
        Some(Dispatch {
            params,
            height: grid.height,
            spans: [source, dest, Span::default()],
            counts: false,
            first_row: 0,
        })
    }

    fn gather(
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
        let Some((dest, dest_base, grid)) = self.result(&rows, first) else {
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
        // The params that the block may point into. Several batches are looked at together only
        // where those of all fit.
        let params_from = (block.batches.first * map.batch_stride) as u64;
        let params_to = params_from + (block.batches.len * map.batch_stride) as u64;
        let windows = self.params_windows(map, params_from, params_to)?;
        if windows.len() > 1 && block.batches.len > 1 {
            return Ok(false);
        }
        for (number, window) in windows.iter().enumerate() {
            let begin = params_from + block.run.first as u64 + window.skipped;
            let base = begin.cast_signed() - window.bound_from.cast_signed();
            let params = Params {
                window: wrap(window.units.cast_signed()),
                source_base: wrap(base),
                first: wrap(window.first as i64),
                count: wrap(window.count as i64),
                map: super::params::gather_map(map, wrap((index_residue / 4).cast_signed()))?,
                ..self.params(&rows, &grid, dest_base)
            };
            out.push(Dispatch {
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
    /// that: larger params are also cut along the first indexed dimension.
    fn params_windows(
        &self,
        map: &gather_nd::Map,
        from: u64,
        to: u64,
    ) -> Result<Vec<Window>, Error> {
        let mut windows = Vec::with_capacity(1);
        let whole = Axis { size: 1, stride: 0 };
        let outer = map.axes.first().copied().unwrap_or(whole);
        let slab = outer.stride.unsigned_abs() as u64;
        let slabs = match to - from {
            all if all <= self.reach.units => outer.size,
            _ if slab > self.reach.units || map.axes.is_empty() => {
                return Err(super::params::too_far(to - from));
            }
            _ => usize::try_from(self.reach.units / slab.max(1))
                .unwrap_or(1)
                .max(1),
        };
        for first in (0..outer.size).step_by(slabs) {
            let count = slabs.min(outer.size - first);
            let skipped = first as u64 * slab;
            let end = if count == outer.size {
                to
            } else {
                from + skipped + count as u64 * slab
            };
            let mut at = from + skipped;
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
struct Block {
    batches: Stretch,
    rows: Stretch,
    run: Stretch,
}

impl Block {
    fn all(map: &gather_nd::Map, rows: &Rows) -> Self {
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
