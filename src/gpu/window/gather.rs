//! Cuts gathers and crops: first along the dimensions that number rows, and last along the run.
//!
//! Params cannot be cut along with the result, since any index may point anywhere. If params do not fit in one binding,
//! several dispatches process the same rows. Each binds another window of params, and writes the units whose source
//! lies in its window.
//!
//! A slab is the part of params that one index into the first indexed dimension selects. If params have more units
//! than the offsets of shaders can reach, each dispatch accepts only the indices of some neighbouring slabs.

use super::{Bound, Cutter, Dispatch, RowMap, Span, block::Block, kernels};
use crate::{
    Error,
    gpu::{
        job::Job,
        maps::{Crop, Gather, Tuples},
        uniforms::{too_far, wrap},
    },
    layout::Axis,
    ops::{
        crop,
        indexed::{Dimension, Map},
    },
    plan::Rows,
};

/// The largest size allowed for a first indexed dimension of stride 0. A broadcast makes such dimensions, which may
/// have far more positions than memory has bytes. A dispatch accepts 2^32 - 1 indices, so 257 dispatches accept all of
/// this size.
const MOST_REPEATED: u64 = 1 << 40;

impl Cutter<'_> {
    /// Pushes the dispatches of a gather with this map, or of the crop `crop`, whose map contains `map`.
    pub(crate) fn gather(
        &self,
        map: &Map,
        crop: Option<&crop::Map>,
        out: &mut Vec<Dispatch>,
    ) -> Result<(), Error> {
        self.gather_block(map, crop, &Block::all(map, self.rows), out)
    }

    fn gather_block(
        &self,
        map: &Map,
        crop: Option<&crop::Map>,
        block: &Block,
        out: &mut Vec<Dispatch>,
    ) -> Result<(), Error> {
        if self.gather_dispatches(map, crop, block, out)? {
            return Ok(());
        }
        let halves = block.halves();
        let [head, tail] = halves.ok_or_else(|| self.reach.too_small(self.rows.unit))?;
        self.gather_block(map, crop, &head, out)?;
        self.gather_block(map, crop, &tail, out)
    }

    /// Pushes the dispatches that write the whole block, and returns true. If the block must be halved first, pushes
    /// none and returns false.
    fn gather_dispatches(
        &self,
        map: &Map,
        crop: Option<&crop::Map>,
        block: &Block,
        out: &mut Vec<Dispatch>,
    ) -> Result<bool, Error> {
        let at = block.origin(map, self.rows);
        let rows = block.rows(self.rows);
        let first = at.unit;
        let Some(dest) = self.result(&rows, first) else {
            return Ok(false);
        };
        let depth = match crop {
            None => map.coordinates.len(),
            Some(_) => map.indices[1],
        };
        let tuple = depth as u64 * self.places.index.bytes() as u64;
        let (from, to) = (at.tuple as u64, (at.tuple + at.tuples) as u64);
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
        let extent = ParamsExtent::of(map, block, self.rows);
        let Some(windows) = self.params_windows(map, &extent, at.place)? else {
            return Ok(false);
        };
        let walked = map.walk.iter().zip(&block.walk);
        let walked = walked.filter(|(_, interval)| interval.len > 1);
        let walk: Vec<_> = walked
            .map(|(dimension, interval)| Dimension {
                size: interval.len,
                ..*dimension
            })
            .collect();
        // The shader of a crop counts a box at the box's first row that is outside, which may lie in any block. It
        // numbers rows from the first row of the box, so `place` must be the place of that row.
        let (counts, place) = match crop {
            None => (at.counts, at.place),
            Some(_) => (block.run.first == 0, at.place - at.distance),
        };
        let before = out.len();
        for (number, window) in windows.iter().enumerate() {
            let tuples = Tuples {
                index: self.places.index,
                base: index_base,
                bound: window.units,
                binds_all: windows.len() == 1,
                first: window.first,
                count: window.count,
            };
            let row_map = match crop {
                None => RowMap::Gather(Gather {
                    coordinates: map.coordinates.clone(),
                    walk: walk.clone(),
                    policy: map.policy,
                    tuples,
                }),
                Some(crop) => RowMap::Crop(Crop {
                    map: crop.clone(),
                    tuples,
                    first_row: at.row,
                }),
            };
            let source = Bound {
                span: window.span,
                base: place + window.skipped - window.bound_from.cast_signed(),
            };
            let job = Job {
                others: [indices, Span::default()],
                ..self.job(rows, row_map, source, dest)
            };
            let Some(dispatch) = kernels::dispatch(&job)? else {
                out.truncate(before);
                return Ok(false);
            };
            out.push(Dispatch {
                counts: number == 0 && counts,
                first_tuple: at.tuple,
                ..dispatch
            });
        }
        Ok(true)
    }

    /// Returns the windows that together contain every unit of params that a block may read. `extent` and `place` (see
    /// [`Origin::place`](super::block::Origin::place)) are the block's. `None` if the block must be halved first.
    fn params_windows(
        &self,
        map: &Map,
        extent: &ParamsExtent,
        place: i64,
    ) -> Result<Option<Vec<Window>>, Error> {
        let outer = map.coordinates.first();
        let outer = outer.copied().unwrap_or(Axis { size: 1, stride: 0 });
        if map.coordinates.iter().any(|axis| axis.size == 0) {
            // No index is valid, so params are not read. Since a binding must not be empty, the first word is bound.
            let Some((span, _)) = self.reach.span(self.places.source, 0, 0) else {
                return Err(self.reach.too_small(self.rows.unit));
            };
            return Ok(Some(vec![Window::nothing(span)]));
        }
        let most = self.reach.units;
        if extent.indexed > most {
            return Err(too_far(extent.indexed));
        }
        if extent.units() > most {
            return Ok(None);
        }
        let slab = outer.stride.unsigned_abs() as u64;
        // The number of slabs that a dispatch can reach after the first one. `None` for stride 0, where all indices
        // select the same slab.
        let more = (most - extent.units()).checked_div(slab);
        let slabs = match more {
            Some(more) => more.min(u64::from(u32::MAX) - 1) + 1,
            None => u64::from(u32::MAX),
        };
        let size = outer.size as u64;
        if slab == 0 && size > MOST_REPEATED {
            return Err(too_far(size));
        }
        // `all` is the distance in params that a dispatch may span. If the block's outermost dimension makes up most
        // of `all`, each half of the block needs only about half of the windows, so a block with several windows is
        // halved.
        let all = extent.units() - 1 + (slabs.min(size) - 1) * slab;
        let halves = extent.outermost > all / 2;
        let groups = size.div_ceil(slabs);
        let mut windows = Vec::with_capacity(1);
        for first in (0..size).step_by(usize::try_from(slabs).unwrap_or(usize::MAX)) {
            let count = slabs.min(size - first);
            let skipped = first.cast_signed() * outer.stride as i64;
            let reached = (count - 1).cast_signed() * outer.stride as i64;
            let from = place + skipped + extent.low + reached.min(0);
            let to = place + skipped + extent.high + reached.max(0) + 1;
            let (mut at, end) = (from.cast_unsigned(), to.cast_unsigned());
            while at < end {
                let window = self.window(at, end)?;
                at = window.bound_from.wrapping_add(window.units);
                windows.push(Window {
                    first,
                    count: u32::try_from(count).unwrap_or(u32::MAX),
                    skipped,
                    ..window
                });
            }
        }
        let several = windows.len() as u64 > groups;
        Ok((!several || !halves).then_some(windows))
    }

    /// Returns the longest window that one binding holds, from unit `at` of params up to unit `end` at most. The caller
    /// sets which indices the window accepts. An error if not even unit `at` fits.
    fn window(&self, at: u64, end: u64) -> Result<Window, Error> {
        let unit = self.rows.unit as u64;
        let parts = self.places.source;
        let part_end = (self.bytes(at) / parts.bytes + 1) * parts.bytes;
        let place = parts.offset + self.bytes(at) % parts.bytes;
        let residue = place % self.reach.alignment;
        // The window consists of whole units and of whole words of 4 bytes.
        let step = unit.max(4);
        let room = self.reach.binding.saturating_sub(residue) / step * step;
        let reached = self.bytes(at) + room.min(self.bytes(self.reach.units));
        let to = self.bytes(end).min(part_end).min(reached);
        match self.reach.span(parts, self.bytes(at), to) {
            Some((span, residue)) if to > self.bytes(at) => Ok(Window {
                // The binding may begin before `at`, by less than the alignment. The units in between also lie in the
                // previous window, so two dispatches copy them, to the same positions of the result.
                bound_from: at.wrapping_sub(residue / unit),
                units: (residue + to - self.bytes(at)) / unit,
                ..Window::nothing(span)
            }),
            _ => Err(self.reach.too_small(self.rows.unit)),
        }
    }
}

/// The part of params that one dispatch binds, and the indices that the dispatch accepts.
#[derive(Clone, Copy, Debug)]
struct Window {
    span: Span,
    /// The unit of params at which the binding begins, modulo 2^64. Negative if params do not begin at a multiple of
    /// the alignment and the binding begins before them.
    bound_from: u64,
    /// The size of the binding in units.
    units: u64,
    /// The first index into the first indexed dimension that the dispatch accepts.
    first: u64,
    /// The number of indices into the first indexed dimension that the dispatch accepts.
    count: u32,
    /// The distance from index 0 to index `first` in params, in units.
    skipped: i64,
}

impl Window {
    /// A window that binds `span` but contains no unit.
    fn nothing(span: Span) -> Self {
        Self {
            span,
            bound_from: 0,
            units: 0,
            first: 0,
            count: u32::MAX,
            skipped: 0,
        }
    }
}

/// The units of params that a block may read if the first coordinate of each index tuple is 0: `low..=high`, counted
/// from [`Origin::place`](super::block::Origin::place).
struct ParamsExtent {
    low: i64,
    high: i64,
    /// The distance in params, in units, between the block's first and last position in the outermost dimension in
    /// which it has several positions.
    outermost: u64,
    /// The size in units that the extent would have if the block were a single unit. Only the coordinates after the
    /// first contribute to it.
    indexed: u64,
}

impl ParamsExtent {
    fn of(map: &Map, block: &Block, rows: &Rows) -> Self {
        let mut extent = Self {
            low: 0,
            high: 0,
            outermost: 0,
            indexed: 0,
        };
        for axis in map.coordinates.iter().skip(1) {
            extent.add(axis.size, axis.stride);
        }
        extent.indexed = extent.units();
        let walked = map.walk.iter().map(|dimension| dimension.stride);
        let intervals = block.walk.iter().zip(walked);
        let intervals = intervals.chain([(&block.run, rows.step)]);
        let mut several = intervals.filter(|(interval, _)| interval.len > 1);
        if let Some((interval, stride)) = several.next() {
            extent.outermost = extent.add(interval.len, stride);
        }
        for (interval, stride) in several {
            extent.add(interval.len, stride);
        }
        extent
    }

    /// Extends the extent by an axis, and returns the distance in units between the axis's first and last position.
    fn add(&mut self, size: usize, stride: isize) -> u64 {
        let reached = size.saturating_sub(1) as i64 * stride as i64;
        self.low += reached.min(0);
        self.high += reached.max(0);
        reached.unsigned_abs()
    }

    fn units(&self) -> u64 {
        (self.high - self.low).unsigned_abs() + 1
    }
}
