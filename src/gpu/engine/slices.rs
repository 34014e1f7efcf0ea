//! The slices of a scatter's destination, and the mapping from rows to slices.

use super::launch::common_divisor;
use crate::{
    layout::split_position,
    walk::{Coordinate, Side, Walk},
};
use std::ops::Range;

/// The slices of a destination. Neighbouring slices are `distance` units apart, and the lowest begins at unit
/// `lowest_unit`.
#[derive(Clone, Copy, Debug)]
pub(super) struct DestSlices {
    pub(super) count: usize,
    pub(super) distance: usize,
    pub(super) lowest_unit: isize,
}

impl DestSlices {
    /// Returns the slices to which the rows of boxes can be written, if boxes can begin anywhere in a view of the
    /// destination.
    pub(super) fn from_boxes(walk: &Walk) -> Self {
        let box_dims = walk.dims.iter().filter(|dim| dim.tuple > 0);
        let box_dims = box_dims.map(|dim| (dim.size, dim.to));
        let indexed_dims = walk.coordinates.iter().map(|c| (c.size, c.stride));
        let reach_of = |(size, stride): (usize, isize)| (size.cast_signed() - 1) * stride;
        let (mut distance, mut lowest_unit, mut highest_unit) = (0, walk.to, walk.to);
        for (size, stride) in box_dims.chain(indexed_dims) {
            distance = common_divisor(distance, stride.unsigned_abs());
            lowest_unit += reach_of((size, stride)).min(0);
            highest_unit += reach_of((size, stride)).max(0);
        }
        let distance = distance.max(1);
        Self {
            count: (highest_unit - lowest_unit).unsigned_abs() / distance + 1,
            distance,
            lowest_unit,
        }
    }
}

/// The rows of a scatter and the slice of each row: the scatter's dimensions and coordinates, but counted in slices and
/// rows instead of units.
#[derive(Clone, Debug)]
pub(super) struct SliceRows {
    /// Pairs the number of a slice (source) with the number of a row (destination).
    numbers: Walk,
}

impl SliceRows {
    /// Returns the rows of a scatter, which are numbered along the first `row_dims` dimensions of its walk. Also
    /// returns a walk that moves each row to the slice that the row's own tuple selects.
    pub(super) fn from_scatter(walk: &Walk, row_dims: usize, slices: DestSlices) -> (Self, Walk) {
        let (mut numbers, mut moving_walk) = (walk.clone(), walk.clone());
        let distance = slices.distance.cast_signed();
        numbers.unit = 1;
        numbers.points = Side::Source;
        numbers.from = (walk.to - slices.lowest_unit) / distance;
        numbers.to = 0;
        numbers.dims.truncate(row_dims);
        let mut inner_rows = 1_usize;
        for (row_dim, move_dim) in numbers.dims.iter_mut().zip(&mut moving_walk.dims).rev() {
            row_dim.from = row_dim.to / distance;
            row_dim.to = inner_rows.cast_signed();
            (move_dim.to, move_dim.tuple) = (0, inner_rows);
            inner_rows *= row_dim.size;
        }
        for coordinate in &mut numbers.coordinates {
            coordinate.stride /= distance;
        }
        moving_walk.to = slices.lowest_unit;
        moving_walk.columns = 1;
        moving_walk.counts_tuples = false;
        moving_walk.coordinates = vec![Coordinate::indexed(slices.count, distance, 0)];
        (Self { numbers }, moving_walk)
    }

    pub(super) fn row_count(&self) -> usize {
        self.numbers.units()
    }

    /// Returns the range of the rows' numbers.
    pub(super) fn row_numbers(&self) -> Range<usize> {
        let first_row = self.numbers.to.cast_unsigned();
        first_row..first_row + self.row_count()
    }

    pub(super) fn first_tuple(&self) -> usize {
        self.numbers.tuple
    }

    /// Returns whether out-of-range tuples of these rows are counted.
    pub(super) fn are_tuples_counted(&self) -> bool {
        self.numbers.counts_tuples
    }

    /// Returns these rows reduced to one row for each tuple.
    pub(super) fn tuple_rows(&self) -> Self {
        let mut rows = self.clone();
        for dim in rows.numbers.dims.iter_mut().filter(|dim| dim.tuple == 0) {
            dim.size = 1;
        }
        rows
    }

    /// Returns the dimension along which rows are halved, and the position of the cut. Returns `None` if there is only
    /// one row.
    pub(super) fn middle_cut(&self) -> Option<(usize, usize)> {
        let dims = &self.numbers.dims;
        let d = (0..dims.len()).find(|&d| dims[d].size > 1)?;
        Some((d, split_position(dims[d].size)?))
    }

    /// Splits the rows in two: the first `middle` positions of dimension `d`, and the remaining positions.
    pub(super) fn split_rows(&self, d: usize, middle: usize) -> [Self; 2] {
        self.numbers
            .split(d, middle)
            .map(|numbers| Self { numbers })
    }

    /// Returns the walk by which the kernels find the slices of rows: see `slice_of` in `walk.wgsl`. This walk does not
    /// count tuples.
    pub(super) fn lookup_walk(&self) -> Walk {
        let mut walk = self.numbers.clone();
        walk.merge();
        walk.counts_tuples = false;
        walk
    }
}
