//! Where the rows of a gather or a scatter begin, in the array that their index tuples point into.
//!
//! The place of a row is a byte of this array. One loop computes the places of many rows, compiled for the policy and for
//! tuples of 1, 2 or 3 integers, before another loop moves the rows. So both keep many reads of scattered memory in flight.

use super::{
    odometer::Odometer,
    outer::Chosen,
    rows::{Axis, along},
};
use crate::{
    ops::index::{Index, Policy},
    report::Missing,
    walk::{Coordinate, Dim, Side, Walk},
};

/// Stands for the place of a row whose tuple is out of range. No row begins at this byte, because no array is this long.
pub(super) const NOWHERE: usize = usize::MAX;

/// The largest number of tuples whose places are kept while rows repeat them, in 512 KiB.
const KEPT: usize = 1 << 16;

/// The rows, their tuples, and the indexed dimensions.
pub(super) struct Places<'a, I> {
    walk: &'a Walk,
    policy: Policy,
    indices: &'a [I],
    /// The byte at which every row would begin if all positions were 0.
    base: usize,
    /// The innermost dimension that numbers rows. Each of its positions has its own tuple.
    inner: Dim,
    /// The other dimensions that number rows, outermost first.
    outer: &'a [Dim],
    /// Whether rows share tuples, because an outer dimension repeats them.
    repeats: bool,
}

impl<'a, I: Index> Places<'a, I> {
    /// The places of the rows that `dims` number, on the side that the tuples point into.
    pub(super) fn new(walk: &'a Walk, policy: Policy, indices: &'a [I], dims: &'a [Dim]) -> Self {
        let (inner, outer) = match dims.split_last() {
            Some((&inner, outer)) => (inner, outer),
            None => (Dim::shared(1, 0), dims),
        };
        let first = match walk.points {
            Side::Source => walk.from,
            Side::Dest => walk.to,
        };
        Self {
            walk,
            policy,
            indices,
            base: first.cast_unsigned() * walk.unit,
            inner,
            outer,
            repeats: outer.iter().any(|dim| dim.tuple == 0),
        }
    }

    /// The distance between neighbours along a dimension, in units, without what their tuples add.
    fn stride(&self, dim: &Dim) -> isize {
        dim.stride(self.walk.points)
    }

    /// The places of all rows of a gather, as sums of one place for each dimension that numbers rows. Those of the innermost
    /// dimension are a list. `None` unless the outer dimensions repeat the tuples, all tuples are in range, and they are at
    /// most [`KEPT`].
    pub(super) fn as_sums(&self) -> Option<Vec<Chosen>> {
        let repeats = self.repeats && self.outer.iter().all(|dim| dim.tuple == 0);
        if !repeats || self.inner.size > KEPT {
            return None;
        }
        let mut list = vec![0; self.inner.size];
        self.find(0, &mut list);
        if list.contains(&NOWHERE) {
            return None;
        }
        let outer = self.outer.iter();
        let outer = outer.map(|dim| Chosen::All(Axis::of(self.walk.unit, dim)));
        Some(outer.chain([Chosen::Listed(list)]).collect())
    }

    /// Writes the places of rows `first`, `first + 1`, … to `places`.
    pub(super) fn find(&self, first: usize, places: &mut [usize]) {
        let stays = |dim: &Dim| self.stride(dim) == 0;
        if !self.repeats {
            self.locate(first, places);
            if stays(&self.inner) && self.outer.iter().all(stays) {
                return;
            }
        }
        let (outer, mut digit) = (first / self.inner.size, first % self.inner.size);
        let step = self.stride(&self.inner).cast_unsigned();
        let mut rest = places;
        let begins = Odometer::at(self.outer, |dim| self.stride(dim), outer);
        let tuples = Odometer::at(self.outer, |dim| dim.tuple.cast_signed(), outer);
        for (mut begin, tuple) in begins.zip(tuples) {
            let part;
            (part, rest) = rest.split_at_mut((self.inner.size - digit).min(rest.len()));
            if self.repeats {
                self.locate(tuple + digit, part);
            }
            begin = begin.wrapping_add(step.wrapping_mul(digit));
            for place in part {
                if *place != NOWHERE {
                    *place = place.wrapping_add(begin.wrapping_mul(self.walk.unit));
                }
                begin = begin.wrapping_add(step);
            }
            digit = 0;
            if rest.is_empty() {
                return;
            }
        }
    }

    /// Adds the tuples of those rows to `missing` that have no place. Their places are `places`, and the first row has the
    /// number `first`. A tuple that an earlier row has too is not counted again.
    pub(super) fn count(&self, first: usize, places: &[usize], missing: &mut Missing) {
        if places.contains(&NOWHERE) {
            let rows = (first..).zip(places);
            let tuples =
                rows.filter_map(|(row, &place)| (place == NOWHERE).then(|| self.tuple(row))?);
            tuples.for_each(|tuple| missing.add(tuple));
        }
    }

    /// The number of the tuple of this row. `None` if an earlier row has the same tuple.
    fn tuple(&self, mut row: usize) -> Option<usize> {
        if !self.repeats {
            return Some(row);
        }
        let mut tuple = 0;
        for dim in self.outer.iter().chain([&self.inner]).rev() {
            let digit = row % dim.size;
            if dim.tuple == 0 && digit > 0 {
                return None;
            }
            tuple += digit * dim.tuple;
            row /= dim.size;
        }
        Some(tuple)
    }

    /// Writes to `places` where each of the tuples `first`, `first + 1`, … points: the byte at its position in the indexed
    /// dimensions and at position 0 of all others, or [`NOWHERE`] if the tuple is out of range.
    fn locate(&self, first: usize, places: &mut [usize]) {
        let depth = self.walk.coordinates.len();
        let tuples = &self.indices[first * depth..][..places.len() * depth];
        match (self.policy.wraps(), self.policy.clamps()) {
            (false, false) => self.locate_as::<false, false>(tuples, places),
            (false, true) => self.locate_as::<false, true>(tuples, places),
            (true, false) => self.locate_as::<true, false>(tuples, places),
            (true, true) => self.locate_as::<true, true>(tuples, places),
        }
    }

    fn locate_as<const WRAPS: bool, const CLAMPS: bool>(&self, tuples: &[I], places: &mut [usize]) {
        match &self.walk.coordinates[..] {
            [a] => self.locate_all::<1, WRAPS, CLAMPS>([a], tuples, places),
            [a, b] => self.locate_all::<2, WRAPS, CLAMPS>([a, b], tuples, places),
            [a, b, c] => self.locate_all::<3, WRAPS, CLAMPS>([a, b, c], tuples, places),
            axes => {
                for (i, place) in places.iter_mut().enumerate() {
                    let axes = axes.iter().map(|axis| self.indexed(axis));
                    let tuple = &tuples[i * self.walk.coordinates.len()..];
                    *place = self.locate_one::<WRAPS, CLAMPS>(axes, tuple);
                }
            }
        }
    }

    /// Does the work of [`Self::locate`] for tuples of `D` integers.
    fn locate_all<const D: usize, const WRAPS: bool, const CLAMPS: bool>(
        &self,
        coordinates: [&Coordinate; D],
        tuples: &[I],
        places: &mut [usize],
    ) {
        let axes = coordinates.map(|axis| self.indexed(axis));
        let (tuples, _) = tuples.as_chunks::<D>();
        for (tuple, place) in tuples.iter().zip(places) {
            *place = self.locate_one::<WRAPS, CLAMPS>(axes, tuple);
        }
    }

    /// Computes one place for [`Self::locate`]. Strides may be negative, so a sum over only some of the integers may
    /// lie outside of the array and wrap. The whole sum lies inside.
    #[inline(always)]
    fn locate_one<const WRAPS: bool, const CLAMPS: bool>(
        &self,
        axes: impl IntoIterator<Item = Axis>,
        tuple: &[I],
    ) -> usize {
        let mut place = self.base;
        for (axis, index) in axes.into_iter().zip(tuple) {
            match index.within(axis.size, WRAPS, CLAMPS) {
                Some(index) => place = along(place, axis.stride, index),
                None => return NOWHERE,
            }
        }
        place
    }

    /// An indexed dimension, in bytes.
    fn indexed(&self, &Coordinate { size, stride, .. }: &Coordinate) -> Axis {
        let stride = stride.wrapping_mul(self.walk.unit.cast_signed());
        Axis { size, stride }
    }
}
