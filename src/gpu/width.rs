//! How many bytes a dispatch moves at once.
//!
//! A plan's unit divides everything that the whole plan is made of. A dispatch may do better, above
//! all on a CPU adapter, which runs the lanes of each load and store one after the other and so is
//! as fast as they are wide:
//!
//! | rows | moved | on |
//! |---|---|---|
//! | whose beginnings, run and result lie on boundaries of several units | that many at once | every adapter |
//! | the same, backwards | 16 bytes at once, reversed on the way | every adapter |
//! | of at most [`SHORT`] units of 4 bytes, four of which go into the result without remainder | four units into one store, which may be of several rows | CPU adapters |
//! | with another step or source alignment, of a multiple of four units of 4 bytes | four units into one store | CPU adapters |
//! | of at most 4 bytes, four of which fill whole words | four rows at once | every adapter |
//! | of neighbouring elements of 1 or 2 bytes, between buffers that are whole vectors long | 16 bytes of the result at once, shifted on the way | every adapter |
//! | any others | as the plan says | every adapter |

use super::caps::Kind;
use crate::{layout::Axis, plan::Rows};

/// Units of a row that is looked up for each of its units rather than once.
const SHORT: usize = 8;

/// How units get from the source to the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    /// As they are.
    Whole,
    /// With the order of their parts reversed.
    Reversed,
    /// Put together of parts that lie a step apart in the source.
    Gathered,
    /// Put together of parts from one row or several.
    PackedWords,
    /// 16 bytes of the result at once, of rows that begin at any byte.
    Unaligned,
    /// The bytes of four rows, of which each has at most four: parts are what the source is counted
    /// in.
    PackedBytes,
}

/// A unit as the movers know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Width {
    /// Its bytes: a power of two, at most [`Width::MAX`]; of packed bytes 4, 8, 12 or 16.
    pub(crate) unit: usize,
    /// Bytes of its parts; `unit` where it is moved whole or reversed.
    pub(crate) part: usize,
    pub(crate) way: Way,
}

impl Width {
    /// The largest unit of any device.
    pub(crate) const MAX: usize = 16;
    /// The smallest units whose parts are reversed.
    pub(crate) const MIN_REVERSED: usize = 16;
    /// Parts of a unit that is put together.
    pub(crate) const PARTS: usize = 4;
    /// Units put together of parts that one invocation of a gather builds.
    pub(crate) const UNITS_OF_A_GATHER: usize = 2;

    /// Units of so many bytes, as they are.
    pub(crate) fn whole(unit: usize) -> Self {
        Self {
            unit,
            part: unit,
            way: Way::Whole,
        }
    }
}

/// The moves of a dispatch in its own units.
#[derive(Clone, Debug)]
pub(crate) struct Widened {
    pub(crate) width: Width,
    /// The rows as the grid deals them out: a unit each, where units hold several.
    pub(crate) rows: Rows,
    /// Units of a row; parts, where units hold parts of several.
    pub(crate) run: usize,
    /// The distance between neighbours of a row in the source, and where the first row begins there:
    /// both in parts where units are put together.
    pub(crate) step: isize,
    pub(crate) source_base: i64,
    pub(crate) dest_base: i64,
    /// Units of the result, however many of them are built at once.
    pub(crate) units: usize,
    /// What the source's offsets and strides were divided by.
    pub(crate) factor: usize,
    /// Bytes of the elements whose order is reversed in a unit; otherwise 0.
    pub(crate) flip: usize,
}

impl Widened {
    /// The moves of `rows` in the largest units that fit. `strides` are what rows lie apart in the source, in
    /// units, and whatever else must stay whole. `kind` is the adapter's. Where `packs`, several short rows may
    /// go into one unit: the whole source is bound.
    pub(crate) fn of(
        rows: &Rows,
        source_base: i64,
        dest_base: i64,
        strides: impl Iterator<Item = i64>,
        kind: Kind,
        packs: bool,
    ) -> Self {
        let flipped = rows.step == -1;
        // The boundary at the low end of a unit; of a reversed one that is where the next begins.
        let low = source_base + i64::from(flipped);
        let common = strides.fold(low | dest_base | rows.run as i64, |all, stride| {
            all | stride
        });
        let mut factor = 1
            << common
                .trailing_zeros()
                .min((Width::MAX / rows.unit).ilog2());
        if rows.step.abs() != 1 || flipped && factor * rows.unit < Width::MIN_REVERSED {
            factor = 1;
        }
        let flipped = flipped && factor > 1;
        let unit = rows.unit * factor;
        let wide = Self {
            width: Width {
                unit,
                part: unit,
                way: if flipped { Way::Reversed } else { Way::Whole },
            },
            rows: Rows {
                unit,
                run: rows.run / factor,
                ..*rows
            },
            run: rows.run / factor,
            step: rows.step,
            source_base: low.div_euclid(factor as i64) - i64::from(rows.step == -1),
            dest_base: dest_base / factor as i64,
            units: rows.units() / factor,
            factor,
            flip: if flipped { rows.unit } else { 0 },
        };
        match kind {
            _ if !packs || flipped => wide,
            _ if unit < 4 => wide.packed_bytes(unit),
            Kind::Software => wide.put_together(),
            Kind::Hardware => wide,
        }
    }

    /// Packs four units of 4 bytes into one of 16, if the rows and the result are multiples of four units.
    fn put_together(mut self) -> Self {
        let short = self.run <= SHORT;
        let units = if short { self.rows.units() } else { self.run };
        let fits = self.width.unit == 4
            && units.is_multiple_of(Width::PARTS)
            && self.dest_base % Width::PARTS as i64 == 0;
        if !fits {
            return self;
        }
        let way = if short {
            self.rows.count = units / Width::PARTS;
            self.rows.run = 1;
            Way::PackedWords
        } else {
            self.run /= Width::PARTS;
            self.rows.run = self.run;
            Way::Gathered
        };
        self.rows.unit = Width::MAX;
        self.dest_base /= Width::PARTS as i64;
        self.width = Width {
            unit: Width::MAX,
            part: 4,
            way,
        };
        self
    }

    /// The same `rows` of neighbouring units of 1 or 2 bytes, of which 16 bytes of the result are built at once.
    pub(crate) fn unaligned(&self, rows: &Rows, source_base: i64, dest_base: i64) -> Option<Self> {
        let per_vector = Width::MAX / rows.unit;
        let head = usize::try_from(dest_base).ok()? % per_vector;
        let fits = self.width.way == Way::Whole && self.width.unit < 4 && rows.step == 1;
        fits.then(|| Self {
            width: Width {
                unit: Width::MAX,
                part: rows.unit,
                way: Way::Unaligned,
            },
            rows: Rows {
                unit: Width::MAX,
                count: (head + rows.units()).div_ceil(per_vector),
                run: 1,
                step: 1,
            },
            run: rows.run,
            step: 1,
            source_base,
            dest_base,
            units: rows.units(),
            factor: 1,
            flip: 0,
        })
    }

    /// Parts of a row, where units hold parts of several; otherwise 0.
    pub(crate) fn packed_run(&self) -> usize {
        match self.width.way {
            Way::PackedWords => self.run,
            _ => 0,
        }
    }

    /// Whether the mover looks up four rows at once, and there is a multiple of four of them.
    pub(crate) fn takes_four_rows(&self) -> bool {
        self.width.way == Way::PackedBytes || self.packed_run() == 1
    }

    /// The same with four rows in one unit, if they are short enough and fill whole words.
    fn packed_bytes(mut self, part: usize) -> Self {
        let row = self.run * part;
        let to = self.dest_base * part as i64;
        let fills = self.rows.count.is_multiple_of(Width::PARTS) && to % 4 == 0;
        if row > 4 || self.step != 1 && self.run > 1 || !fills {
            return self;
        }
        self.rows = Rows {
            unit: row * Width::PARTS,
            count: self.rows.count / Width::PARTS,
            run: 1,
            step: 1,
        };
        self.dest_base = to / 4;
        self.width = Width {
            unit: self.rows.unit,
            part,
            way: Way::PackedBytes,
        };
        self
    }

    /// Strides as the dispatch counts them.
    pub(crate) fn scale(&self, axes: &mut [Axis]) {
        for axis in axes {
            axis.stride /= self.factor.cast_signed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where each byte of the result comes from, by the rules of the movers. Rows lie `stride` units
    /// of the plan apart.
    fn moves(wide: &Widened, stride: i64) -> Vec<(i64, i64)> {
        let Width { unit, part, way } = wide.width;
        let stride = stride / wide.factor as i64;
        let mut moves = Vec::new();
        for at in 0..wide.rows.units() {
            for byte in 0..unit {
                let part = if way == Way::Reversed {
                    wide.flip
                } else {
                    part
                };
                let (place, within) = (byte / part, byte % part);
                let (from, bytes) = match way {
                    Way::Whole | Way::Reversed => {
                        let (row, j) = (at / wide.run, at % wide.run);
                        let from = row as i64 * stride + j as i64 * wide.step as i64;
                        let reversed = unit - part - place * part + within;
                        let byte = if way == Way::Whole { byte } else { reversed };
                        (from * unit as i64 + byte as i64, unit)
                    }
                    Way::PackedBytes => {
                        let bytes = unit / Width::PARTS;
                        let (row, within) = (at * Width::PARTS + byte / bytes, byte % bytes);
                        (row as i64 * stride * part as i64 + within as i64, part)
                    }
                    Way::Unaligned => unreachable!("not by `Widened::of`"),
                    Way::Gathered | Way::PackedWords => {
                        let run = match way {
                            Way::PackedWords => wide.run,
                            _ => wide.run * (unit / part),
                        };
                        let number = at * (unit / part) + place;
                        let (row, j) = (number / run, number % run);
                        let from = row as i64 * stride + j as i64 * wide.step as i64;
                        (from * part as i64 + within as i64, part)
                    }
                };
                // Of packed bytes it counts words.
                let base = match way {
                    Way::PackedBytes => wide.dest_base * 4,
                    _ => wide.dest_base * unit as i64,
                };
                moves.push((
                    base + (at * unit + byte) as i64,
                    wide.source_base * bytes as i64 + from,
                ));
            }
        }
        moves
    }

    /// However they are moved, bytes come from where the plan has them.
    #[test]
    fn the_moves_stay_the_same() {
        let mut seen = std::collections::HashSet::new();
        for unit in [1, 2, 4, 8, 16] {
            for step in [1, -1, 2, -3] {
                for (count, run) in [(1, 8), (3, 6), (4, 3), (8, 1), (2, 48), (5, 7), (2, 16)] {
                    for (source, dest) in [(0, 0), (47, 64), (63, 32), (64, 2), (95, 1)] {
                        let rows = Rows {
                            unit,
                            count,
                            run,
                            step,
                        };
                        let of = |stride: i64, kind, packs| {
                            let strides = [stride].into_iter();
                            Widened::of(&rows, source, dest, strides, kind, packs)
                        };
                        // A stride of 1 allows no wider units than the plan's.
                        let plain = of(1, Kind::Hardware, false);
                        assert_eq!((plain.width.unit, plain.width.way), (unit, Way::Whole));
                        for (kind, packs) in [
                            (Kind::Hardware, true),
                            (Kind::Software, false),
                            (Kind::Software, true),
                        ] {
                            let wide = of(64, kind, packs);
                            assert!(wide.width.unit <= Width::MAX);
                            seen.insert(wide.width);
                            assert_eq!(moves(&wide, 64), moves(&plain, 64), "{wide:?}");
                        }
                    }
                }
            }
        }
        let ways = [
            Way::Whole,
            Way::Reversed,
            Way::Gathered,
            Way::PackedWords,
            Way::PackedBytes,
        ];
        for way in ways {
            assert!(seen.iter().any(|width| width.way == way), "{way:?}");
        }
    }
}
