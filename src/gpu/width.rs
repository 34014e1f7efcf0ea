//! How many bytes a dispatch moves at once.
//!
//! A plan's unit divides everything that the whole plan is made of. A dispatch may do better: its
//! rows may all begin on a boundary of several units, or hold elements in reverse order that can be
//! moved together and reversed on the way.

use crate::{layout::Axis, plan::Rows};

/// A unit as the movers know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Width {
    /// Its bytes: a power of two, at most [`Width::MAX`].
    pub(crate) unit: usize,
    /// Bytes of the elements that it holds in reverse order; `unit` where it holds one.
    pub(crate) flip: usize,
}

impl Width {
    /// The largest unit of any device.
    pub(crate) const MAX: usize = 32;
    /// The smallest units that reverse their elements.
    pub(crate) const MIN_FLIPPED: usize = 16;
}

/// The rows of a dispatch in its own units, and where they begin within the bindings.
#[derive(Clone, Debug)]
pub(crate) struct Widened {
    pub(crate) width: Width,
    pub(crate) rows: Rows,
    pub(crate) source_base: i64,
    pub(crate) dest_base: i64,
    /// The old units of a new one.
    pub(crate) factor: usize,
}

impl Widened {
    /// The same moves in units of up to `widest` bytes. `strides` are what rows lie apart in the
    /// source, in units, and whatever else must stay whole.
    pub(crate) fn of(
        rows: &Rows,
        source_base: i64,
        dest_base: i64,
        strides: impl Iterator<Item = i64>,
        widest: usize,
    ) -> Self {
        let flipped = rows.step == -1;
        // The boundary at the low end of a unit; of a reversed one that is where the next begins.
        let low = source_base + i64::from(flipped);
        let common = strides.fold(low | dest_base | rows.run as i64, |all, stride| {
            all | stride
        });
        let mut factor = 1 << common.trailing_zeros().min((widest / rows.unit).ilog2());
        if rows.step.abs() != 1 || flipped && factor * rows.unit < Width::MIN_FLIPPED {
            factor = 1;
        }
        let unit = rows.unit * factor;
        let width = Width {
            unit,
            flip: if flipped { rows.unit } else { unit },
        };
        Self {
            width,
            rows: Rows {
                unit,
                run: rows.run / factor,
                ..*rows
            },
            source_base: low / factor as i64 - i64::from(flipped),
            dest_base: dest_base / factor as i64,
            factor,
        }
    }

    /// Strides of the old units in new ones.
    pub(crate) fn scale(&self, axes: &mut [Axis]) {
        for axis in axes {
            axis.stride /= self.factor.cast_signed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every unit of the result comes from the same place, byte for byte.
    #[test]
    fn the_moves_stay_the_same() {
        for (unit, step, run) in [
            (4, 1, 8),
            (4, -1, 8),
            (16, 1, 6),
            (16, -1, 6),
            (1, -1, 48),
            (2, 1, 3),
            (4, 2, 8),
            (8, -1, 7),
        ] {
            for widest in [16, 32] {
                for (source, dest) in [(0, 0), (47, 64), (63, 32), (64, 2), (95, 1)] {
                    let rows = Rows {
                        unit,
                        count: 1,
                        run,
                        step,
                    };
                    let wide = Widened::of(&rows, source, dest, [64].into_iter(), widest);
                    let Width { unit: new, flip } = wide.width;
                    assert!(new <= widest && new == unit * wide.factor);
                    assert_eq!(wide.rows.run * new, run * unit);
                    let moves = |rows: &Rows, source: i64, dest: i64, flip: usize| -> Vec<_> {
                        (0..rows.run * rows.unit)
                            .map(|byte| {
                                let (j, at) = (byte / rows.unit, byte % rows.unit);
                                // Elements in reverse, bytes of an element in order.
                                let at = rows.unit - flip - at / flip * flip + at % flip;
                                let bytes = rows.unit as i64;
                                let from = (source + j as i64 * rows.step as i64) * bytes;
                                (dest * bytes + byte as i64, from + at as i64)
                            })
                            .collect()
                    };
                    assert_eq!(
                        moves(&wide.rows, wide.source_base, wide.dest_base, flip),
                        moves(&rows, source, dest, unit),
                    );
                }
            }
        }
    }
}
