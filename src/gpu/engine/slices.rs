//! Where the slices of a scatter's destination lie, and which of them each row goes to.

use super::launch::divisor;
use crate::{
    layout::middle,
    walk::{Coordinate, Side, Walk},
};
use std::ops::Range;

/// Where the slices of a destination lie, in units: neighbours are `apart`, and the lowest begins at `lowest`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slices {
    pub(super) count: usize,
    pub(super) apart: usize,
    pub(super) lowest: isize,
}

impl Slices {
    /// The slices that the rows of boxes go to, wherever boxes begin in a view of the destination.
    pub(super) fn of_boxes(walk: &Walk) -> Self {
        let items = walk.dims.iter().filter(|dim| dim.tuple > 0);
        let items = items.map(|dim| (dim.size, dim.to));
        let indexed = walk.coordinates.iter().map(|c| (c.size, c.stride));
        let along = |(size, stride): (usize, isize)| (size.cast_signed() - 1) * stride;
        let (mut apart, mut lowest, mut highest) = (0, walk.to, walk.to);
        for (size, stride) in items.chain(indexed) {
            apart = divisor(apart, stride.unsigned_abs());
            lowest += along((size, stride)).min(0);
            highest += along((size, stride)).max(0);
        }
        let apart = apart.max(1);
        Self {
            count: (highest - lowest).unsigned_abs() / apart + 1,
            apart,
            lowest,
        }
    }
}

/// Rows, and the slice that each goes to: the dimensions and coordinates of a scatter, along which slices and rows are
/// counted instead of units.
#[derive(Clone, Debug)]
pub(super) struct SliceRows {
    /// Pairs numbers: its source counts slices, and its destination rows.
    numbers: Walk,
}

impl SliceRows {
    /// The rows of a scatter, which the first `of_rows` dimensions of its walk number, and a walk that moves them, each to the
    /// slice that a tuple of its own names.
    pub(super) fn of(walk: &Walk, of_rows: usize, slices: Slices) -> (Self, Walk) {
        let (mut numbers, mut moves) = (walk.clone(), walk.clone());
        let apart = slices.apart.cast_signed();
        numbers.unit = 1;
        numbers.points = Side::Source;
        numbers.from = (walk.to - slices.lowest) / apart;
        numbers.to = 0;
        numbers.dims.truncate(of_rows);
        let mut count = 1_usize;
        for (row, moved) in numbers.dims.iter_mut().zip(&mut moves.dims).rev() {
            row.from = row.to / apart;
            row.to = count.cast_signed();
            (moved.to, moved.tuple) = (0, count);
            count *= row.size;
        }
        for coordinate in &mut numbers.coordinates {
            coordinate.stride /= apart;
        }
        moves.to = slices.lowest;
        moves.columns = 1;
        moves.counts = false;
        moves.coordinates = vec![Coordinate::indexed(slices.count, apart, 0)];
        (Self { numbers }, moves)
    }

    pub(super) fn count(&self) -> usize {
        self.numbers.units()
    }

    /// The numbers of the rows.
    pub(super) fn numbers(&self) -> Range<usize> {
        let first = self.numbers.to.cast_unsigned();
        first..first + self.count()
    }

    pub(super) fn first_tuple(&self) -> usize {
        self.numbers.tuple
    }

    /// Whether these rows count their tuples that are out of range.
    pub(super) fn counts(&self) -> bool {
        self.numbers.counts
    }

    /// One row for each tuple.
    pub(super) fn of_tuples(&self) -> Self {
        let mut rows = self.clone();
        for dim in rows.numbers.dims.iter_mut().filter(|dim| dim.tuple == 0) {
            dim.size = 1;
        }
        rows
    }

    /// The dimension along which rows are halved, and where.
    pub(super) fn middle(&self) -> Option<(usize, usize)> {
        let dims = &self.numbers.dims;
        let d = (0..dims.len()).find(|&d| dims[d].size > 1)?;
        Some((d, middle(dims[d].size)?))
    }

    /// The first `middle` positions of dimension `d`, and the others.
    pub(super) fn split(&self, d: usize, middle: usize) -> [Self; 2] {
        self.numbers
            .split(d, middle)
            .map(|numbers| Self { numbers })
    }

    /// The walk by which the kernels find the slices of rows: see `slice_of` in `walk.wgsl`. It counts no tuples.
    pub(super) fn walk(&self) -> Walk {
        let mut walk = self.numbers.clone();
        walk.merge();
        walk.counts = false;
        walk
    }
}
