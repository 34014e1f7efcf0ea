//! What is streamed: pieces of a slice that follow one another in the result.
//!
//! A piece is itself a slice of the source. On the CPU it is run as it is. For a device it is taken
//! apart: the host packs what the piece needs of the source into upload memory, and the device does
//! the rest. The host copies in memory order and whole stretches: it leaves out what lies between
//! them where that is long, and takes it along where it is short, since the device leaves it out
//! faster. So the device gets the flips, the steps and the fine crops, and no byte crosses the bus
//! for nothing but a few between two that are needed.
//!
//! | of `x[::3, 100:200:-2]` on `[3000, 4000]` f32 | reads | gives |
//! |---|---|---|
//! | host | every third row, 400 bytes of each | `[1000, 99]` |
//! | device | `[:, ::-2]` of that | `[1000, 50]` |

use crate::{
    Plan,
    ops::strided_slice::Map,
    plan::{self, Rows},
};
#[cfg(feature = "gpu")]
use crate::{View, layout::Axis};
use std::ops::Range;

/// What a file is read in from disk by: bytes of a page.
const PAGE: usize = 4096;

/// A contiguous part of the result of a slice.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    rows: Rows,
    map: Map,
}

impl Piece {
    /// All of a plan, unless it is empty or no slice.
    pub(crate) fn whole(plan: &Plan) -> Option<Self> {
        match &plan.map {
            plan::Map::StridedSlice(map) if plan.rows.count > 0 => Some(Self {
                rows: plan.rows,
                map: map.clone(),
            }),
            _ => None,
        }
    }

    pub(crate) fn result_bytes(&self) -> usize {
        self.rows.units() * self.rows.unit
    }

    /// The bytes of the source from the first to the last that is read.
    pub(crate) fn span(&self) -> Range<usize> {
        let units = self.map.span(&self.rows);
        units.start * self.rows.unit..units.end * self.rows.unit
    }

    /// Bytes of the pages that reading the piece brings in, at most.
    pub(crate) fn touched(&self) -> usize {
        let Rows {
            unit,
            count,
            run,
            step,
        } = self.rows;
        // Wherever it begins and ends, a stretch lies in one page more.
        let stretch = (run - 1) * step.unsigned_abs() * unit + PAGE;
        let row = stretch.min(run.saturating_mul(PAGE));
        self.span().len().min(count.saturating_mul(row)) + PAGE
    }

    fn halves(&self) -> Option<[Self; 2]> {
        let halves = self.map.halves(&self.rows)?;
        Some(halves.map(|(rows, map)| Self { rows, map }))
    }

    /// The plan that makes the piece from the bytes of its span.
    pub(crate) fn plan(&self) -> Plan {
        let read = self.map.span(&self.rows);
        let map = Map {
            offset: self.map.offset - read.start,
            axes: self.map.axes.clone(),
        };
        Plan {
            shape: vec![self.rows.units()],
            element: self.rows.unit,
            source: vec![read.len()],
            rows: self.rows,
            map: plan::Map::StridedSlice(map),
        }
    }
}

/// The pieces of a slice, in the order of the result, as large as `fits` lets them be.
pub(crate) struct Pieces<F> {
    /// What is left; the next one last.
    left: Vec<Piece>,
    fits: F,
}

impl<F: Fn(&Piece) -> bool> Pieces<F> {
    pub(crate) fn new(plan: &Plan, fits: F) -> Self {
        Self {
            left: Piece::whole(plan).into_iter().collect(),
            fits,
        }
    }
}

impl<F: Fn(&Piece) -> bool> Iterator for Pieces<F> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let mut piece = self.left.pop()?;
        while !(self.fits)(&piece) {
            // A single unit is a piece, whether it fits or not.
            let Some([head, tail]) = piece.halves() else {
                break;
            };
            self.left.push(tail);
            piece = head;
        }
        Some(piece)
    }
}

/// A piece as two slices: from the bytes of its span to a packed array, and from that to the result.
#[cfg(feature = "gpu")]
#[derive(Clone, Debug)]
pub(crate) struct Split {
    pub(crate) host: Plan,
    pub(crate) device: Plan,
}

/// Bytes between two stretches that are taken along, at most: about what the next stretch costs the
/// host as a copy of its own.
#[cfg(feature = "gpu")]
const SHORT_GAP: usize = 64;

/// Bytes that are taken along for one that is needed, at most.
#[cfg(feature = "gpu")]
const MOST_READ: usize = 4;

#[cfg(feature = "gpu")]
impl Piece {
    pub(crate) fn split(&self) -> Split {
        let Rows {
            unit, run, step, ..
        } = self.rows;
        let mut axes = self.map.axes.clone();
        axes.push(Axis {
            size: run,
            stride: step,
        });
        // The innermost axes that the host reads through, and the units from the first to the last.
        let (mut through, mut stretch, mut needed) = (0, 1, 1);
        for axis in axes.iter().rev() {
            let apart = axis.stride.unsigned_abs();
            let longer = (axis.size - 1) * apart + stretch;
            needed *= axis.size;
            if apart.saturating_sub(stretch) * unit > SHORT_GAP || longer > MOST_READ * needed {
                break;
            }
            stretch = longer;
            through += 1;
        }
        let packed = axes.len() - through;
        let mut host = View {
            offset: 0,
            shape: vec![stretch],
            strides: vec![1],
        };
        let mut device = View {
            offset: 0,
            shape: Vec::new(),
            strides: Vec::new(),
        };
        let mut packed_units = stretch;
        for (number, axis) in axes.iter().enumerate().rev() {
            let mut stride = axis.stride;
            if number < packed {
                host.shape.insert(0, axis.size);
                host.strides
                    .insert(0, axis.stride.unsigned_abs().cast_signed());
                stride = axis.stride.signum() * packed_units.cast_signed();
                packed_units *= axis.size;
            }
            if stride < 0 {
                device.offset += (axis.size - 1) * stride.unsigned_abs();
            }
            device.shape.insert(0, axis.size);
            device.strides.insert(0, stride);
        }
        let read = self.map.span(&self.rows).len();
        Split {
            host: Plan::of_view(&host, &[read], unit),
            device: Plan::of_view(&device, &[packed_units], unit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, SliceSpec};

    fn cases() -> impl Iterator<Item = (Plan, Vec<u8>)> {
        let specs = [
            "...",
            "::-1",
            "::3, 1:9:2",
            "5:, ::-2, 1",
            ":, ::-1, ::-1",
            "1:2, 3, ::5",
            "::2, ::7, 2:",
        ];
        let dtypes = [DType::U8, DType::U16, DType::F32, DType::Complex128];
        specs.into_iter().flat_map(move |text| {
            dtypes.into_iter().map(move |dtype| {
                let shape = [9, 40, 15];
                let spec: SliceSpec = text.parse().unwrap();
                let plan = Plan::strided_slice(&shape, &spec, dtype).unwrap();
                let source = (0..=250u8)
                    .map(|i| i.wrapping_mul(7))
                    .cycle()
                    .take(plan.source_bytes());
                (plan, source.collect())
            })
        })
    }

    fn run(plan: &Plan, source: &[u8]) -> Vec<u8> {
        let mut dest = vec![0; plan.result_bytes()];
        plan.run(source, &mut dest).unwrap();
        dest
    }

    #[test]
    fn pieces_follow_one_another_and_make_the_result() {
        for (plan, source) in cases() {
            for most in [1, 16, 100, 1 << 20] {
                let pieces = Pieces::new(&plan, |piece| piece.result_bytes() <= most);
                let mut result = Vec::new();
                for piece in pieces {
                    assert!(piece.result_bytes() <= most.max(16));
                    result.extend(run(&piece.plan(), &source[piece.span()]));
                }
                assert_eq!(result, run(&plan, &source), "{plan} in pieces of {most}");
            }
        }
    }

    #[cfg(feature = "gpu")]
    #[test]
    fn the_two_halves_of_a_split_make_the_piece() {
        for (plan, source) in cases() {
            for most in [1, 16, 100, 1 << 20] {
                for piece in Pieces::new(&plan, |piece| piece.result_bytes() <= most) {
                    let source = &source[piece.span()];
                    let Split { host, device } = piece.split();
                    assert!(host.result_bytes() <= MOST_READ * piece.result_bytes());
                    assert_eq!(host.result_bytes(), device.source_bytes());
                    let result = run(&device, &run(&host, source));
                    assert_eq!(
                        result,
                        run(&piece.plan(), source),
                        "{plan}: {host}, {device}"
                    );
                }
            }
        }
    }

    #[cfg(feature = "gpu")]
    #[test]
    fn the_host_skips_long_gaps_and_the_device_does_the_rest() {
        let spec: SliceSpec = "::3, 199:99:-2".parse().unwrap();
        let plan = Plan::strided_slice(&[3000, 4000], &spec, DType::F32).unwrap();
        let Split { host, device } = Piece::whole(&plan).unwrap().split();
        assert_eq!(host.result_bytes(), 1000 * 99 * 4);
        assert_eq!(device.result_bytes(), 1000 * 50 * 4);
        // Whole rows are packed by the host, and nothing is left to do.
        let spec: SliceSpec = "::3".parse().unwrap();
        let plan = Plan::strided_slice(&[3000, 4000], &spec, DType::F32).unwrap();
        let Split { host, device } = Piece::whole(&plan).unwrap().split();
        assert_eq!(host.result_bytes(), 1000 * 4000 * 4);
        assert!(device.is_identity());
    }
}
