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
mod place;
mod scatter;
mod slice;
mod spread;
mod stretch;

use super::{
    caps::{Parts, Reach, Span},
    grid::Grid,
    kernel::Kernel,
    params::Params,
    width::{Way, Widened, Width},
};
use crate::{
    Error,
    ops::index::IndexType,
    plan::{Map, Rows},
};

/// One dispatch: its params and its bindings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dispatch {
    pub(crate) kernel: Kernel,
    pub(crate) params: Params,
    pub(crate) height: u32,
    /// Source, result and, for a gather, indices; for the steps of a scatter, what each binds.
    pub(crate) spans: [Span; 4],
    /// Whether it counts the index tuples that are out of range. Where several dispatches look at the
    /// same ones, one of them does.
    pub(crate) counts: bool,
    /// The number of its first index tuple, for a gather.
    pub(crate) first_tuple: usize,
}

/// Where the three arguments of a plan lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub(crate) source: Parts,
    pub(crate) dest: Parts,
    pub(crate) indices: Parts,
    pub(crate) index: IndexType,
    /// Whether the buffers of source and result are multiples of `Width::MAX` bytes long, so that bindings can be.
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
            (None, Some(pairs)) => cutter.place(pairs, &mut out)?,
            (None, None) => {}
        },
        Map::StridedSliceGrad(map) => cutter.spread(map, &mut out)?,
        // It is cut into steps.
        Map::ScatterNd(_) => {}
        Map::Indexed(map) => cutter.gather(map, &block::Block::all(map, rows), &mut out)?,
    }
    Ok(out)
}

pub(crate) use scatter::{Before, Scratch, Step, Steps, scatter_steps};

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

/// Units before the first in its word.
fn head(wide: &Widened) -> Option<usize> {
    let first = usize::try_from(wide.dest_base).ok()?;
    Some(first % 4usize.div_ceil(wide.width.unit))
}

impl Cutter<'_> {
    /// Bytes of units.
    fn bytes(&self, units: u64) -> u64 {
        units * self.rows.unit as u64
    }

    /// The result's binding and the first unit's place in it, if units `first..first + rows.units()`
    /// can be written by one dispatch.
    fn result(&self, rows: &Rows, first: u64) -> Option<(Span, u64)> {
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
        Some((span, base))
    }

    /// The rows in the units that suit the device.
    fn widened(
        &self,
        rows: &Rows,
        source_base: i64,
        dest_base: i64,
        strides: impl Iterator<Item = i64>,
        packs: bool,
    ) -> Widened {
        let kind = self.reach.kind;
        Widened::of(rows, source_base, dest_base, strides, kind, packs)
    }

    /// The same rows by `unaligned.wgsl` where that is better than `wide`, with the bindings that it needs.
    fn unaligned(
        &self,
        rows: &Rows,
        wide: &Widened,
        (source, source_base): (Span, i64),
        (dest, dest_base): (Span, i64),
    ) -> Option<(Widened, [Span; 2])> {
        let vector = Width::MAX as u64;
        // Addresses are 32 bits with a sign, and go a vector beyond either end.
        let most = self
            .reach
            .binding
            .min(self.reach.units.saturating_sub(vector));
        let whole = |span: Span| Span {
            bytes: span.bytes.next_multiple_of(vector),
            ..span
        };
        let spans = [source, dest].map(whole);
        let fits = self.places.whole
            && self.reach.alignment.is_multiple_of(vector)
            && spans.iter().all(|span| span.bytes <= most);
        let wide = wide.unaligned(rows, source_base, dest_base)?;
        fits.then_some((wide, spans))
    }

    /// The grid, if the device takes as many workgroups.
    fn grid(&self, wide: &Widened) -> Option<Grid> {
        match wide.width.way {
            Way::Whole | Way::Reversed => Grid::of(&wide.rows, head(wide)?, self.reach),
            _ => Grid::one_by_one(&wide.rows, self.reach),
        }
    }

    /// Params that all operations share. Everything here was checked to fit the shaders' numbers.
    fn params(&self, wide: &Widened, grid: &Grid) -> Params {
        Params {
            run: wrap(wide.run as i64),
            step: wrap(wide.step as i64),
            units: wrap(wide.units as i64),
            tiles: grid.tiles,
            segment: grid.segment,
            grid: grid.word(),
            flags: 0,
            window: u32::MAX,
            source_base: wrap(wide.source_base),
            dest_base: wrap(wide.dest_base),
            first: 0,
            count: u32::MAX,
            map: Default::default(),
        }
    }
}
