//! The row map of a gradient: `shaders/strided_slice_grad.wgsl`.
//!
//! A gradient is cut into regions of the result. A region has all pairs of a source unit and a destination unit whose
//! destination unit lies in it.
//!
//! A region is divided into rows of equal length. Some rows are all zeros. The others have source units, at the same
//! positions in each of these rows. The row length is the greatest common divisor of the region's length and of the
//! destination strides of the pairs' outer dimensions, so a step along an outer dimension moves by whole rows, and the
//! innermost dimension lies within one row.

use super::{
    Buffer, Facts, Lowered, RowMap, Units,
    strided_slice_update::{MAX_PAIR_AXES, pair_words},
};
use crate::{
    Error,
    gpu::{
        kernels::{self, Dispatch},
        window::Cutter,
    },
    pairs::{PairAxis, Pairs},
    plan::Rows,
};
use bytemuck::{Pod, Zeroable};

pub(super) const FACTS: Facts = Facts {
    name: "strided_slice_grad",
    text: include_str!("../../../shaders/strided_slice_grad.wgsl"),
    buffers: &[Buffer::SOURCE, Buffer::DEST],
    reports: false,
    unrolls: false,
    is_dense: false,
    moves: true,
    #[cfg(test)]
    layout: || super::layout!(Words: dims, quarter, row_units, first_row, axes),
};

/// `Map` of `strided_slice_grad.wgsl`, which says what each field means.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Words {
    dims: u32,
    quarter: u32,
    row_units: u32,
    first_row: u32,
    axes: [[u32; 4]; MAX_PAIR_AXES],
}

/// The row map of a gradient: rows are contiguous in the result. Some rows have units with a source. `axes` say which
/// rows these are, and where their sources begin.
#[derive(Clone, Debug)]
pub(crate) struct Gradient {
    /// The number of units in a row. The strides of `axes` in the result are multiples of this number.
    pub(crate) row: usize,
    /// The units with a source, in each row that has such units. If the size is 0, no row has them.
    pub(crate) run: PairAxis,
    pub(crate) axes: Vec<PairAxis>,
    /// The number of the result's first unit that has a source.
    pub(crate) first: usize,
}

impl Gradient {
    pub(super) fn lowered(&self, units: &Units) -> Option<Lowered> {
        let Self {
            row, run, first, ..
        } = *self;
        let mut axes = pair_words(&self.axes, row)?;
        for (axis, word) in axes.iter_mut().zip([run.to, first % row, run.size]) {
            axis[3] = u32::try_from(word).ok()?;
        }
        Some(Lowered::of(Words {
            dims: u32::try_from(self.axes.len()).ok()?,
            quarter: u32::try_from(units.quarter).ok()?,
            row_units: u32::try_from(row).ok()?,
            first_row: u32::try_from(first / row).ok()?,
            axes,
        }))
    }
}

/// Units `begin..end` of the result, and the pairs that write some of them. The other units become zeros.
struct Region {
    begin: usize,
    end: usize,
    pairs: Option<Pairs>,
}

/// Cuts within a row are made, where possible, at multiples of this many units. For any size of unit these are
/// multiples of 16 bytes, the largest vector, so that both sides of a cut can be stored in vectors.
const ALIGNED: usize = 32;

impl Cutter<'_> {
    pub(crate) fn gradient(
        &self,
        pairs: Option<&Pairs>,
        out: &mut Vec<Dispatch>,
    ) -> Result<(), Error> {
        let all = Region {
            begin: 0,
            end: self.rows.units(),
            pairs: pairs.cloned(),
        };
        let row = all.row();
        self.gradient_region(all, row, out)
    }

    fn gradient_region(
        &self,
        region: Region,
        row: usize,
        out: &mut Vec<Dispatch>,
    ) -> Result<(), Error> {
        if let Some(dispatch) = self.gradient_dispatch(&region)? {
            out.push(dispatch);
            return Ok(());
        }
        match region.halves(row) {
            Some([head, tail]) => {
                self.gradient_region(head, row, out)?;
                self.gradient_region(tail, row, out)
            }
            None => Err(self.reach.too_small(self.rows.unit)),
        }
    }

    fn gradient_dispatch(&self, region: &Region) -> Result<Option<Dispatch>, Error> {
        let row = region.row();
        let rows = Rows {
            unit: self.rows.unit,
            count: (region.end - region.begin) / row,
            run: row,
            step: 1,
        };
        let (run, axes, source, first) = match &region.pairs {
            // Nothing is read, but wgpu requires a binding.
            None => {
                let none = PairAxis {
                    size: 0,
                    from: 1,
                    to: 1,
                };
                (none, &[][..], self.bound(self.places.source, 0, 1), 0)
            }
            Some(pairs) => {
                let (run, axes) = pairs.run();
                (run, axes, self.read(pairs), pairs.to - region.begin)
            }
        };
        let dest = self.result(&rows, region.begin as u64);
        let (Some(source), Some(dest)) = (source, dest) else {
            return Ok(None);
        };
        let rows = Rows {
            step: run.from,
            ..rows
        };
        let axes = axes.to_vec();
        let map = RowMap::Gradient(Gradient {
            row,
            run,
            axes,
            first,
        });
        kernels::dispatch(&self.job(rows, map, source, dest))
    }
}

impl Region {
    /// The length of the region's rows, which the top of this file explains.
    fn row(&self) -> usize {
        let outer = self.pairs.as_ref().map_or(&[][..], |pairs| pairs.run().1);
        outer
            .iter()
            .fold(self.end - self.begin, |row, axis| gcd(row, axis.to))
    }

    /// Cuts the region in two. Each part gets about half of the pairs. A single pair is cut off from the zeros before
    /// or after it. A region without pairs is halved. `None` if the region is a single unit. `row` is the row length of
    /// the whole result: while pairs have outer dimensions, the cut lies between rows of this length.
    fn halves(self, row: usize) -> Option<[Self; 2]> {
        let Self { begin, end, pairs } = self;
        let (middle, head, tail) = match pairs {
            None => {
                let middle = begin + (end - begin) / 2;
                (aligned(middle, begin + 1), None, None)
            }
            Some(pairs) => match pairs.halves() {
                Some([head, tail]) if pairs.axes.len() > 1 => {
                    (tail.to / row * row, Some(head), Some(tail))
                }
                Some([head, tail]) => {
                    let middle = aligned(tail.to, head.last() + 1);
                    (middle, Some(head), Some(tail))
                }
                None if pairs.to > begin => (pairs.to, None, Some(pairs)),
                None => (begin + 1, Some(pairs), None),
            },
        };
        let cut = begin < middle && middle < end;
        cut.then(|| {
            let region = |begin, end, pairs| Self { begin, end, pairs };
            [region(begin, middle, head), region(middle, end, tail)]
        })
    }
}

/// Rounds `most` down to a multiple of [`ALIGNED`], but returns at least `least`.
fn aligned(most: usize, least: usize) -> usize {
    (most / ALIGNED * ALIGNED).max(least)
}

fn gcd(a: usize, b: usize) -> usize {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SliceSpec, View};

    #[test]
    fn the_sources_of_a_row_stay_in_it_however_a_gradient_is_cut() {
        for spec in [
            "1::2, ::-1, 2:7:2",
            ":, 1, ::3",
            "::3, 2:4, 1:",
            "3, ::2, :",
            ":, ::3, :",
        ] {
            let spec: SliceSpec = spec.parse().unwrap();
            let dest = spec.view(&[7, 6, 8]).unwrap();
            let source = View::new(dest.shape()).unwrap();
            let all = Region {
                begin: 0,
                end: 7 * 6 * 8,
                pairs: Some(Pairs::of(&source, &dest, 1, 7 * 6 * 8)),
            };
            let unit = all.pairs.as_ref().unwrap().unit;
            let all = Region {
                end: all.end / unit,
                ..all
            };
            let row = all.row();
            let mut regions = vec![all];
            while let Some(region) = regions.pop() {
                let length = region.row();
                assert_eq!((region.end - region.begin) % length, 0);
                if let Some(pairs) = &region.pairs {
                    let first = (pairs.to - region.begin) % length;
                    let run = pairs.run().0;
                    assert!(first + (run.size - 1) * run.to < length, "{pairs:?}");
                    assert!(region.begin <= pairs.to && pairs.last() < region.end);
                }
                let size = region.end - region.begin;
                match region.halves(row) {
                    Some(halves) => regions.extend(halves),
                    None => assert_eq!(size, 1),
                }
            }
        }
    }
}
