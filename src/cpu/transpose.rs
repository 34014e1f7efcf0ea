//! The walk of a transposed slice: tiles that are read along the source and written along the result.
//!
//! | name | what it is |
//! |---|---|
//! | row | pieces along the innermost axis of the result: far apart in the source |
//! | near axis | that along which pieces lie nearest to each other in the source |
//! | lane | what the result holds of one position of the near axis |
//! | tile | some positions of the near axis by some pieces of a row: a few cache lines each way |
//! | band | a stretch of some lanes: what a thread takes |
//!
//! Piece by piece along a row, every piece is read from another cache line, which is gone when the next lane
//! comes to what lies beside it. In a tile a line is read once and written once. `tile` says how its pieces are moved.

use super::{
    interleave::VECTOR,
    slice::{self, along},
    threads,
    tile::{Interleaved, Lines, LongPieces, MoveTile, Pixels},
};
use crate::{layout::Axis, ops::strided_slice::Odometer};
use std::iter;

/// Bytes of a cache line.
pub(super) const LINE: usize = 64;

/// A transposed slice, in bytes, from where it begins.
#[derive(Clone, Copy)]
pub(super) struct Tiles<'a> {
    unit: usize,
    /// Bytes of a piece.
    pub(super) piece: usize,
    /// The axes outside of the near axis, in units.
    outer: &'a [Axis],
    pub(super) near: Axis,
    /// The axes between it and the row, in units.
    between: &'a [Axis],
    pub(super) row: Axis,
}

/// A stretch of some lanes.
struct Band<'d> {
    /// Where the first lane begins in the source.
    at: usize,
    /// The number of the first piece that the band holds of each lane.
    first: usize,
    lanes: Vec<&'d mut [u8]>,
}

impl<'a> Tiles<'a> {
    /// None where rows are not far apart, or too short.
    pub(super) fn of(unit: usize, piece: usize, axes: &'a [Axis], row: Axis) -> Option<Self> {
        let distance = |axis: &Axis| axis.stride.unsigned_abs().saturating_mul(unit);
        let is_near = |axis: &Axis| (1..row.stride.unsigned_abs()).contains(&distance(axis));
        let axes_near = axes.iter().enumerate().filter(|(_, axis)| is_near(axis));
        let (at, near) = axes_near.min_by_key(|(_, axis)| distance(axis))?;
        (row.size * piece >= VECTOR).then_some(Self {
            unit,
            piece,
            outer: &axes[..at],
            near: Axis {
                size: near.size,
                stride: near.stride.wrapping_mul(unit.cast_signed()),
            },
            between: &axes[at + 1..],
            row,
        })
    }

    /// Bytes of all of the result.
    pub(super) fn bytes(&self) -> usize {
        let planes: usize = self.outer.iter().map(|axis| axis.size).product();
        planes * self.near.size * self.lane()
    }

    /// Bytes of a lane.
    fn lane(&self) -> usize {
        let between = self.between.iter().map(|axis| axis.size);
        between.product::<usize>() * self.row.size * self.piece
    }

    /// Where planes, which are all lanes of the near axis, begin in the source.
    fn planes(&self, at: usize, first: usize) -> impl Iterator<Item = usize> + use<'a> {
        let unit = self.unit;
        let planes = Odometer::at(self.outer, 0, first);
        planes.map(move |plane| at.wrapping_add(plane.wrapping_mul(unit)))
    }

    /// Writes all of the result with so many threads.
    pub(super) fn run(&self, source: &[u8], at: usize, dest: &mut [u8], threads: usize) {
        let part = threads::part(dest.len(), threads);
        let lane = self.lane();
        let plane = lane * self.near.size;
        if plane <= part {
            return threads::spread(dest, plane, threads, |first, dest| {
                self.part(source, at, first, dest);
            });
        }
        // As many lanes as tiles are wide, and as much of each as makes a part.
        let lanes = (part / lane).max(1).next_multiple_of(self.columns());
        let length = (part / lanes).next_multiple_of(LINE);
        let length = (length / self.piece).max(1) * self.piece;
        let planes = self.planes(at, 0).zip(dest.chunks_mut(plane));
        let bands = planes.flat_map(|(at, plane)| {
            let head = self.unaligned(source, at);
            let (unaligned, rest) = plane.split_at_mut(head * lane);
            let begins = (head..).step_by(lanes);
            let some = begins.zip(rest.chunks_mut(lanes * lane));
            iter::once((0, unaligned))
                .chain(some)
                .flat_map(move |(first, some)| {
                    self.bands(along(at, self.near.stride, first), some, length)
                })
        });
        threads::share(bands, threads, |band| self.band(source, band));
    }

    /// Positions of the near axis before the first that begins a pair of cache lines, which are read
    /// together. None where it is not the same for all rows.
    fn unaligned(&self, source: &[u8], at: usize) -> usize {
        const PAIR: usize = 2 * LINE;
        let together = self.near.stride == self.piece.cast_signed();
        if !together || self.columns() * self.piece <= PAIR || self.row.stride % PAIR as isize != 0
        {
            return 0;
        }
        let address = source.as_ptr().addr() + at;
        (address.next_multiple_of(PAIR) - address) / self.piece
    }

    /// Cuts lanes that lie together into bands of so many bytes of each.
    fn bands<'d>(&self, at: usize, lanes: &'d mut [u8], length: usize) -> Vec<Band<'d>> {
        let lane = self.lane();
        let count = lane.div_ceil(length);
        let band = |i| Band {
            at,
            first: i * length / self.piece,
            lanes: Vec::with_capacity(lanes.len() / lane),
        };
        let mut bands: Vec<Band<'d>> = (0..count).map(band).collect();
        for lane in lanes.chunks_mut(lane) {
            for (band, part) in bands.iter_mut().zip(lane.chunks_mut(length)) {
                band.lanes.push(part);
            }
        }
        bands
    }

    /// Writes the bytes of the result from `first` on.
    pub(super) fn part(&self, source: &[u8], at: usize, first: usize, dest: &mut [u8]) {
        let lane = self.lane();
        let plane = lane * self.near.size;
        let mut skip = first % plane;
        let mut rest = dest;
        for at in self.planes(at, first / plane) {
            let part;
            (part, rest) = rest.split_at_mut((plane - skip).min(rest.len()));
            self.part_of_plane(source, at, skip, part);
            skip = 0;
            if rest.is_empty() {
                return;
            }
        }
    }

    /// Writes the bytes from `skip` on of the plane that begins at `at`.
    fn part_of_plane(&self, source: &[u8], at: usize, skip: usize, dest: &mut [u8]) {
        let lane = self.lane();
        let (mut first, skip) = (skip / lane, skip % lane);
        let mut rest = dest;
        if skip > 0 {
            let part;
            (part, rest) = rest.split_at_mut((lane - skip).min(rest.len()));
            self.part_of_lane(source, along(at, self.near.stride, first), skip, part);
            first += 1;
        }
        let mut lanes = rest.chunks_exact_mut(lane);
        let band = Band {
            at: along(at, self.near.stride, first),
            first: 0,
            lanes: lanes.by_ref().collect(),
        };
        first += band.lanes.len();
        self.band(source, band);
        let rest = lanes.into_remainder();
        if !rest.is_empty() {
            self.part_of_lane(source, along(at, self.near.stride, first), 0, rest);
        }
    }

    /// Writes the bytes from `skip` on of the lane that begins at `at`.
    fn part_of_lane(&self, source: &[u8], at: usize, skip: usize, dest: &mut [u8]) {
        let lane = slice::Walk::along(self.unit, self.piece, self.row, self.between);
        lane.beginning_at(at).part(source, skip, dest);
    }

    /// Bytes that a tile reads of a row of the source, and writes of a lane, at most: several cache lines,
    /// which the processor reads ahead, and so few that a tile stays in a cache. Elements that need no
    /// interleaving are written a line a lane, so that rows can be read at greater length.
    pub(super) fn extent(&self) -> [usize; 2] {
        match self.piece {
            1 => [256, 256],
            2 => [256, 512],
            4 | 8 | 16 => [2048, LINE],
            ..16 => [512, 512],
            _ => [4096, 4096],
        }
    }

    /// Positions of the near axis in a tile.
    pub(super) fn columns(&self) -> usize {
        let [width, _] = self.extent();
        (width / self.piece).clamp(1, self.near.size)
    }

    fn band(&self, source: &[u8], band: Band<'_>) {
        if band.lanes.is_empty() {
            return;
        }
        match (self.piece, self.channels()) {
            (1, Some(2)) => self.lanes(source, band, Pixels::<1, 2, 16>::new()),
            (1, Some(3)) => self.lanes(source, band, Pixels::<1, 3, 24>::new()),
            (1, Some(4)) => self.lanes(source, band, Pixels::<1, 4, 32>::new()),
            (2, Some(2)) => self.lanes(source, band, Pixels::<2, 2, 8>::new()),
            (2, Some(3)) => self.lanes(source, band, Pixels::<2, 3, 12>::new()),
            (2, Some(4)) => self.lanes(source, band, Pixels::<2, 4, 16>::new()),
            (4, Some(2)) => self.lanes(source, band, Pixels::<4, 2, 4>::new()),
            (4, Some(3)) => self.lanes(source, band, Pixels::<4, 3, 6>::new()),
            (4, Some(4)) => self.lanes(source, band, Pixels::<4, 4, 8>::new()),
            (1, _) => self.lanes(source, band, Interleaved::<1>::of(self)),
            (2, _) => self.lanes(source, band, Interleaved::<2>::of(self)),
            (4, _) => self.lanes(source, band, Lines::<4, 16>),
            (8, _) => self.lanes(source, band, Lines::<8, 8>),
            (16, _) => self.lanes(source, band, Lines::<16, 4>),
            _ => self.lanes(source, band, LongPieces),
        }
    }

    /// How many pieces lie together in the source, one of each lane, where they are followed by the next of
    /// each.
    fn channels(&self) -> Option<usize> {
        let piece = self.piece.cast_signed();
        let together =
            self.near.stride == piece && self.row.stride == self.near.size.cast_signed() * piece;
        together.then_some(self.near.size)
    }

    fn lanes(&self, source: &[u8], mut band: Band<'_>, mut by: impl MoveTile) {
        let columns = self.columns();
        for (i, lanes) in band.lanes.chunks_mut(columns).enumerate() {
            let at = along(band.at, self.near.stride, i * columns);
            let pieces = lanes[0].len() / self.piece;
            let (row, mut skip) = (band.first / self.row.size, band.first % self.row.size);
            let mut done = 0;
            for place in Odometer::at(self.between, 0, row) {
                let at = at.wrapping_add(place.wrapping_mul(self.unit));
                let at = along(at, self.row.stride, skip);
                let count = (self.row.size - skip).min(pieces - done);
                by.move_tile(self, source, at, count, lanes, done);
                done += count;
                skip = 0;
                if done == pieces {
                    break;
                }
            }
        }
    }
}
