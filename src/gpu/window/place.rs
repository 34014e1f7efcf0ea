//! What is written into places is cut in halves: they lie in two parts of the destination.

use super::{Cutter, Dispatch, Span, spread::order, wrap};
use crate::{
    Error,
    gpu::{
        grid::{Grid, Kind},
        kernel::{Apart, Kernel},
        params::{self, MAX_PAIR_AXES, Params},
        width::{Way, Width},
    },
    pairs::{PairAxis, Pairs},
    plan::Rows,
};

/// Pairs as the shaders take them.
struct Deal {
    width: Width,
    apart: Apart,
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
        let deal = self.deal(pairs, dest_base);
        let Deal { run, rows, .. } = deal;
        let grid = match deal.width.unit {
            ..4 => Grid::one_by_one(&rows, self.reach),
            _ => Grid::of(&rows, 0, self.reach),
        }?;
        Some(Dispatch {
            kernel: Kernel {
                apart: deal.apart,
                ..Kernel::of(deal.width, deal.axes.len(), grid.shape)
            },
            params: Params {
                run: wrap(rows.run as i64),
                step: wrap(rows.step as i64),
                units: wrap(run.size as i64),
                tiles: grid.tiles,
                segment: grid.segment,
                lanes_log2: grid.lanes_log2,
                grid_width: grid.width,
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

    /// How pairs are dealt out, of which the first goes to unit `dest_base` of a binding.
    fn deal(&self, pairs: &Pairs, dest_base: u64) -> Deal {
        let unit = pairs.unit;
        let (mut run, axes) = pairs.run();
        let mut axes = axes.to_vec();
        let per_word = 4usize.div_ceil(unit);
        let (mut width, mut apart) = (Width::whole(unit), Apart::default());
        let sparse = run.to >= per_word;
        // Most of four words would be for nothing where rows are shorter.
        let fills = (run.size - 1) * run.to >= Width::PARTS * per_word;
        if unit < 4
            && fills
            && self.reach.kind == Kind::Software
            && let Some(order) = order(run)
        {
            width = Width::apart(unit);
            let count = match sparse {
                true => Width::PARTS,
                false => (width.unit / unit).div_ceil(run.to),
            };
            apart = Apart {
                count: count.min(run.size),
                order,
                sparse,
                shared: shares_words(&axes, run, dest_base, per_word as u64),
            };
        } else if unit < 4 && run.size > 1 && sparse && axes.len() < MAX_PAIR_AXES {
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
        let length = match width.way {
            Way::Apart if apart.sparse => run.size.div_ceil(Width::PARTS),
            Way::Apart => words.div_ceil(Width::PARTS),
            _ if unit < 4 => words,
            _ => run.size,
        };
        let rows = Rows {
            unit: width.unit.max(4),
            count: axes.iter().map(|axis| axis.size).product(),
            run: length,
            step: run.from,
        };
        Deal {
            width,
            apart,
            run,
            axes,
            rows,
        }
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

/// Whether two rows may have units in one word of the destination, the first of which begins at unit `at`.
fn shares_words(axes: &[PairAxis], run: PairAxis, at: u64, per_word: u64) -> bool {
    let head = at % per_word;
    let length = ((run.size - 1) * run.to) as u64;
    let apart = axes.last().map_or(u64::MAX, |axis| axis.to as u64);
    let even = axes
        .iter()
        .all(|axis| (axis.to as u64).is_multiple_of(per_word));
    !axes.is_empty() && (!even || head + length >= apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether two rows do have units in one word, row by row. What lies within a row nests within the
    /// dimensions outside, as selections of a slice do.
    fn meet(axes: &[PairAxis], run: PairAxis, at: usize, per_word: usize) -> bool {
        let mut begins = vec![at];
        for axis in axes {
            let each = |&begin: &usize| (0..axis.size).map(move |i| begin + i * axis.to);
            begins = begins.iter().flat_map(each).collect();
        }
        let words =
            |begin: usize| [begin, begin + (run.size - 1) * run.to].map(|unit| unit / per_word);
        begins
            .windows(2)
            .any(|two| words(two[0])[1] >= words(two[1])[0])
    }

    /// Rows that are said to share nothing may be written without a care for each other.
    #[test]
    fn rows_that_share_no_word_share_none() {
        let (mut shared, mut apart) = (0, 0);
        let axis = |size, to| PairAxis { size, from: 1, to };
        for per_word in [2, 4] {
            for (size, step) in [(1, 1), (3, 1), (5, 1), (4, 2), (3, 3), (9, 1), (2, 7)] {
                let length = (size - 1) * step + 1;
                for inner in length..length + 9 {
                    for outer in 3 * inner..3 * inner + 5 {
                        // The first unit lies within the first dimension that is walked, which itself may
                        // begin within a word.
                        for at in 0..=inner - length + per_word {
                            let run = axis(size, step);
                            for axes in [
                                vec![],
                                vec![axis(3, inner)],
                                vec![axis(2, outer), axis(3, inner)],
                            ] {
                                let meet = meet(&axes, run, at, per_word);
                                let said = shares_words(&axes, run, at as u64, per_word as u64);
                                assert!(
                                    said || !meet,
                                    "{axes:?} {run:?} from {at}, {per_word} a word"
                                );
                                *(if meet { &mut shared } else { &mut apart }) +=
                                    usize::from(said == meet);
                            }
                        }
                    }
                }
            }
        }
        assert!(shared > 100 && apart > 100, "{shared} {apart}");
    }
}
