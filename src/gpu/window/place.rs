//! What is written into places is cut in halves: they lie in two parts of the destination.

use super::{Cutter, Dispatch, Span, wrap};
use crate::{
    Error,
    gpu::{
        grid::Grid,
        kernel::Kernel,
        params::{self, Flags, MAX_PAIR_AXES, Params},
        width::Width,
    },
    pairs::{PairAxis, Pairs},
    plan::Rows,
};

/// Pairs as the shaders take them.
struct Deal {
    run: PairAxis,
    axes: Vec<PairAxis>,
    /// What the grid deals out.
    rows: Rows,
}

impl Cutter<'_> {
    /// Pushes the dispatches that write pairs.
    pub(super) fn place(&self, pairs: &Pairs, out: &mut Vec<Dispatch>) -> Result<(), Error> {
        if let Some(dispatch) = self.place_dispatch(pairs) {
            out.push(dispatch);
            return Ok(());
        }
        let halves = pairs.halves();
        let [head, tail] = halves.ok_or_else(|| self.reach.too_small(pairs.unit))?;
        self.place(&head, out)?;
        self.place(&tail, out)
    }

    fn place_dispatch(&self, pairs: &Pairs) -> Option<Dispatch> {
        let unit = pairs.unit;
        if self.bytes(pairs.units() as u64) > self.reach.dispatch {
            return None;
        }
        let (source, source_base) = self.read(pairs)?;
        let (from, to) = (pairs.to as u64, pairs.last() as u64 + 1);
        let (dest, residue) =
            self.reach
                .span(self.places.dest, self.bytes(from), self.bytes(to))?;
        let dest_base = residue / unit as u64;
        if dest_base + (to - from) > self.reach.units {
            return None;
        }
        let deal = deal(pairs);
        let Deal { run, rows, .. } = deal;
        let grid = match unit {
            ..4 => Grid::one_by_one(&rows, self.reach),
            _ => Grid::of(&rows, 0, self.reach),
        }?;
        Some(Dispatch {
            kernel: Kernel::of(Width::whole(unit), grid.shape),
            params: Params {
                run: wrap(rows.run as i64),
                step: wrap(rows.step as i64),
                units: wrap(run.size as i64),
                tiles: grid.tiles,
                segment: grid.segment,
                grid: grid.word(),
                flags: Flags {
                    dims: deal.axes.len(),
                    ..Flags::default()
                }
                .word(),
                window: u32::MAX,
                source_base: wrap(source_base.cast_signed()),
                dest_base: wrap(dest_base.cast_signed()),
                first: 0,
                count: u32::MAX,
                map: params::pairs_map(&deal.axes, 1, [run.to, 0, 0, 0])?,
            },
            height: grid.height,
            spans: [source, dest, Span::default(), Span::default()],
            counts: false,
            first_tuple: 0,
        })
    }

    /// The source's binding and the place in it of the first unit, if what pairs read fits in one.
    pub(super) fn read(&self, pairs: &Pairs) -> Option<(Span, u64)> {
        let read = pairs.read();
        let (from, to) = (self.bytes(read.start as u64), self.bytes(read.end as u64));
        let (span, residue) = self.reach.span(self.places.source, from, to)?;
        let unit = pairs.unit as u64;
        let fits = (residue + to - from) / unit <= self.reach.units;
        fits.then(|| (span, residue / unit + (pairs.from - read.start) as u64))
    }
}

/// How pairs are dealt out.
fn deal(pairs: &Pairs) -> Deal {
    let unit = pairs.unit;
    let (mut run, axes) = pairs.run();
    let mut axes = axes.to_vec();
    let per_word = 4usize.div_ceil(unit);
    if unit < 4 && run.size > 1 && run.to >= per_word && axes.len() < MAX_PAIR_AXES {
        // Units below a word are written word by word. Those that lie further apart are rows of
        // their own, as long as there is room for another dimension.
        axes.push(run);
        run = PairAxis {
            size: 1,
            from: 1,
            to: 1,
        };
    }
    // Wherever in a word a row begins, it lies in at most so many.
    let words = ((run.size - 1) * run.to).div_ceil(per_word) + 1;
    let rows = Rows {
        unit: unit.max(4),
        count: axes.iter().map(|axis| axis.size).product(),
        run: if unit < 4 { words } else { run.size },
        step: run.from,
    };
    Deal { run, axes, rows }
}
