//! A walk pairs bytes of the source with bytes of the destination. Every device moves elements by walks.
//!
//! The units that are moved are numbered in row-major order along nested dimensions. A digit is the position of a unit
//! along one dimension. Coordinates are integers that a dispatch or a loop reads from index tuples:
//!
//! ```text
//! tuple's number = walk.tuple + Σ digit · dim.tuple
//! from           = walk.from + Σ digit · dim.from + Σ position · coordinate.stride
//! to             = walk.to + Σ digit · dim.to
//! position       = the integer in the coordinate's column of the tuple, or a fixed start
//!                  + in a box: (digit along the coordinate's dimension) · step
//! ```
//!
//! If a dimension of boxes was cut, its digits do not start at 0, and in a flipped box they count down. In a scatter or
//! a paste, tuples index the destination, and coordinates add to `to`.
//!
//! A unit is 1 to 16 contiguous bytes. All distances are in units. For example, `::2` of an array of shape `[4, 6]` of
//! f32 takes two rows of 24 bytes. In units of 8 bytes, the walk has the dimensions `2*6>3` and `3*1>1` (size, distance
//! in the source, distance in the destination).
//!
//! | method | effect | example |
//! |---|---|---|
//! | [`Walk::make_ascending`] | reverses dimensions that run backwards in the destination | |
//! | [`Walk::merge`] | drops dimensions of size 1; joins two neighbouring dimensions if one stride covers both on each side | `[8, 4]` with strides `[4, 1]` → `[32]` |
//! | [`Walk::widen_units`] | joins units that are contiguous and aligned on both sides | 32 units of 1 byte → 2 of 16 |
//! | [`Walk::in_units_of`] | splits units into smaller ones | 2 units of 16 bytes → 32 of 1 |
//! | [`Walk::split`] | cuts the walk in two along a dimension | `[8, 4]` → `[4, 4]` twice |
//! | [`Walk::span`] | returns the range of units that the walk can reach on one side | |
//!
//! The operations make a walk of elements, and [`Walk::reduce`] gives it few dimensions and large units: a typical
//! slice of rank 4 or 5 keeps one or two dimensions. The methods in the table keep the pairs of source and destination
//! bytes, and only `make_ascending` changes their order.
//!
//! The destination of a slice, a gradient and most updates is a slice of a row-major array. So all positions of its
//! inner dimensions are within one step of the next outer dimension. An ascending walk then writes in ascending order
//! ([`Walk::is_ascending`]), and its two halves write to disjoint parts of the destination. A view with any strides
//! can also be a destination, and the rows of such a view can be interleaved.

use crate::prelude::*;
use crate::{View, text::join_with_commas};
#[cfg(any(feature = "gpu", test))]
use core::ops::Range;
use core::{cmp::Reverse, fmt};

/// The size of the largest unit in bytes. The largest element (complex128) and the largest vector that a shader loads
/// or stores (`vec4<u32>`) both have this size.
pub(crate) const MAX_UNIT: usize = 16;

/// One dimension of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Dim {
    pub(crate) size: usize,
    /// The distance between neighbouring positions in the source, in units: negative if the source is read backwards, 0
    /// if all positions have the same unit.
    pub(crate) from: isize,
    /// The distance between neighbouring positions in the destination, in units.
    pub(crate) to: isize,
    /// The distance between the tuples of neighbouring positions, in tuples; 0 if all positions share their tuples.
    pub(crate) tuple: usize,
}

impl Dim {
    /// A dimension with a single position.
    pub(crate) const ONE_POSITION: Self = Self {
        size: 1,
        from: 1,
        to: 1,
        tuple: 0,
    };

    /// Returns a dimension in which all positions share their tuples. [`Walk::in_order`] sets its distance in the
    /// destination.
    pub(crate) fn shared(size: usize, from: isize) -> Self {
        Self {
            size,
            from,
            to: 0,
            tuple: 0,
        }
    }

    /// Returns a dimension in which each position has its own tuples. [`Walk::in_order`] numbers the tuples.
    pub(crate) fn with_own_tuples(size: usize, from: isize) -> Self {
        Self {
            tuple: 1,
            ..Self::shared(size, from)
        }
    }

    /// Returns the dimensions of a view.
    #[inline]
    pub(crate) fn from_view(view: &View) -> Vec<Self> {
        let dims = view.shape.iter().zip(&view.strides);
        dims.map(|(&size, &from)| Self::shared(size, from))
            .collect()
    }

    /// Returns the dimensions of a row-major array.
    pub(crate) fn from_shape(shape: &[usize]) -> Vec<Self> {
        let mut dims: Vec<_> = shape.iter().map(|&size| Self::shared(size, 1)).collect();
        let mut next_stride = 1;
        for dim in dims.iter_mut().rev() {
            dim.from = next_stride;
            next_stride *= dim.size.max(1).cast_signed();
        }
        dims
    }

    /// Returns the distance between neighbouring positions on one side, in units.
    pub(crate) fn stride(&self, side: Side) -> isize {
        match side {
            Side::Source => self.from,
            Side::Dest => self.to,
        }
    }

    /// Returns whether one stride covers `self` and `inner` on each side.
    fn can_join_with(&self, inner: &Self) -> bool {
        let size = inner.size.cast_signed();
        self.from == inner.from * size
            && self.to == inner.to * size
            && self.tuple == inner.tuple * inner.size
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}*{}>{}", self.size, self.from, self.to)
    }
}

/// A side of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Source,
    Dest,
}

/// A dimension of the array that index tuples point into. The tuples select positions along it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Coordinate {
    /// The number of positions.
    pub(crate) size: usize,
    /// The distance between neighbouring positions, in units.
    pub(crate) stride: isize,
    pub(crate) begin: StartIndex,
    /// The extent of boxes along this dimension. `None` if boxes do not extend along it.
    pub(crate) along: Option<BoxExtent>,
    /// The positions that the walk covers. The walk ignores elements at other positions. The window has all positions,
    /// unless a device cannot bind them all in one dispatch.
    pub(crate) window: PositionWindow,
}

impl Coordinate {
    /// Makes the coordinate of a dimension of `size` positions. Column `column` of the tuples has the position.
    pub(crate) fn indexed(size: usize, stride: isize, column: usize) -> Self {
        Self {
            size,
            stride,
            begin: StartIndex::Column(column),
            along: None,
            window: PositionWindow {
                first: 0,
                count: size,
            },
        }
    }
}

#[cfg(feature = "gpu")]
impl Coordinate {
    /// Returns whether positions differ from the integers of tuples: the coordinate has boxes or a fixed start.
    pub(crate) fn is_crop(&self) -> bool {
        self.along.is_some() || matches!(self.begin, StartIndex::At(_))
    }

    /// Returns the distance in units between neighbouring positions of a box.
    pub(crate) fn step(&self) -> isize {
        self.along.map_or(0, |along| along.step) * self.stride
    }
}

/// Prints the number of positions and the distance between them, and the step of a box.
impl fmt::Display for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}*{}", self.size, self.stride)?;
        match self.along {
            Some(BoxExtent { step, .. }) => write!(f, " at step {step}"),
            None => Ok(()),
        }
    }
}

/// Where the positions of a coordinate start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StartIndex {
    /// At the integer in this column of the tuple.
    Column(usize),
    /// At this position.
    #[cfg_attr(
        not(any(feature = "gpu", test)),
        expect(dead_code, reason = "only GPUs run filled walks")
    )]
    At(isize),
}

/// The extent of boxes along a coordinate's dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BoxExtent {
    /// The dimension of the walk along which boxes extend. Its distance is 0 on the side that the tuples index,
    /// because the coordinate moves the position there.
    pub(crate) dim: usize,
    /// The distance between neighbouring positions of a box, in positions of the coordinate.
    pub(crate) step: isize,
    /// The size of a box along the dimension.
    pub(crate) extent: usize,
    /// The first position of the box that the dimension covers: 0, unless the dimension was cut.
    pub(crate) first: usize,
    /// The column of the flip flag in the tuple: the box is reversed if this integer is not 0.
    pub(crate) flip: Option<usize>,
}

impl BoxExtent {
    /// Returns the distance between the first and the last position of a box. Saturates instead of overflowing.
    #[cfg(feature = "gpu")]
    pub(crate) fn box_reach(&self) -> isize {
        self.extent
            .saturating_sub(1)
            .cast_signed()
            .saturating_mul(self.step)
    }
}

/// A range of positions of a coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PositionWindow {
    pub(crate) first: usize,
    pub(crate) count: usize,
}

/// A set of pairs of units. Each pair has a unit of the source and a unit of the destination.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Walk {
    /// The size of a unit in bytes: a power of two up to 16, or 12.
    pub(crate) unit: usize,
    /// The unit of the source if all digits and positions are 0.
    pub(crate) from: isize,
    /// The unit of the destination if all digits and positions are 0.
    pub(crate) to: isize,
    /// The dimensions, outermost first. Never empty.
    pub(crate) dims: Vec<Dim>,
    pub(crate) coordinates: Vec<Coordinate>,
    /// The side that the tuples index.
    pub(crate) points: Side,
    /// The number of integers in a tuple.
    pub(crate) columns: usize,
    /// The number of the first tuple.
    pub(crate) tuple: usize,
    /// True if this walk counts its out-of-range tuples. If a walk was split, only the part with the first units of a
    /// tuple counts this tuple.
    pub(crate) counts_tuples: bool,
}

impl Walk {
    /// Makes a walk of these dimensions without tuples.
    pub(crate) fn strided(unit: usize, from: isize, to: isize, dims: Vec<Dim>) -> Self {
        Self {
            unit,
            from,
            to,
            dims,
            coordinates: Vec::new(),
            points: Side::Source,
            columns: 0,
            tuple: 0,
            counts_tuples: false,
        }
    }

    /// Makes a walk that reads nothing and writes zeros to the first `units` units of the destination.
    #[cfg(feature = "gpu")]
    pub(crate) fn zeros(unit: usize, units: usize) -> Self {
        let dim = Dim {
            size: units,
            from: 0,
            ..Dim::ONE_POSITION
        };
        let mut walk = Self::strided(unit, 0, 0, vec![dim]);
        walk.coordinates.push(Coordinate {
            begin: StartIndex::At(0),
            ..Coordinate::indexed(0, 0, 0)
        });
        walk
    }

    /// Makes the walk that copies the elements of a view to a row-major array of the same shape. The view must not be
    /// empty. An element has `element_bytes` bytes.
    pub(crate) fn from_view(view: &View, element_bytes: usize) -> Self {
        let mut walk = Self::strided(
            element_bytes,
            view.offset.cast_signed(),
            0,
            Dim::from_view(view),
        );
        // The result is filled in order, so dimensions that are merged in the source can also be merged in the result.
        walk.merge();
        walk.in_order();
        walk.widen_units(MAX_UNIT);
        walk
    }

    /// Makes the walk that copies the elements of one view to the elements of another view. The views have the same
    /// shape and are not empty, and `dest` selects no element twice. An element has `element_bytes` bytes, and a unit
    /// has at most `max_unit` bytes.
    pub(crate) fn between(
        source: &View,
        dest: &View,
        element_bytes: usize,
        max_unit: usize,
    ) -> Self {
        let strides = source.strides.iter().zip(&dest.strides);
        let dims = dest.shape.iter().zip(strides);
        let dims = dims.map(|(&size, (&from, &to))| Dim {
            to,
            ..Dim::shared(size, from)
        });
        // The walk writes the destination in the order of its memory, even if the views are transposed.
        let mut dims: Vec<Dim> = dims.collect();
        dims.sort_by_key(|dim| Reverse(dim.to.unsigned_abs()));
        let (from, to) = (source.offset.cast_signed(), dest.offset.cast_signed());
        let mut walk = Self::strided(element_bytes, from, to, dims);
        walk.reduce(max_unit);
        walk
    }

    /// Changes the walk to fill the destination with units in row-major order. Tuples are then also in row-major order,
    /// along the dimensions that have their own tuples.
    pub(crate) fn in_order(&mut self) {
        let (mut unit_stride, mut tuple_stride) = (1, 1);
        for dim in self.dims.iter_mut().rev() {
            dim.to = unit_stride;
            unit_stride *= dim.size.cast_signed();
            if dim.tuple > 0 {
                dim.tuple = tuple_stride;
                tuple_stride *= dim.size;
            }
        }
    }

    /// Gives the walk as few dimensions as possible, and units as large as possible but of at most `max_unit` bytes.
    pub(crate) fn reduce(&mut self, max_unit: usize) {
        self.make_ascending();
        self.merge();
        self.widen_units(max_unit);
    }

    /// For a walk that fills a row-major array, returns the walk that writes the same elements to the view `dest`,
    /// which has the array's shape. An element has `element_bytes` bytes.
    pub(crate) fn placed_in(&self, dest: &View, element_bytes: usize) -> Self {
        let mut walk = self.in_units_of(1);
        let element_bytes = element_bytes.cast_signed();
        // The dimensions of the array that have several positions, innermost first: each with its size, its stride in
        // the array and its stride in the view. The bytes of an element are the innermost dimension.
        let mut array_dims = vec![(element_bytes.unsigned_abs(), 1, 1)];
        let mut stride = element_bytes;
        for (&size, &to) in dest.shape.iter().zip(&dest.strides).rev() {
            array_dims.push((size, stride, to * element_bytes));
            stride *= size.cast_signed();
        }
        array_dims.retain(|&(size, ..)| size > 1);
        let mut dims = Vec::new();
        let mut new_dim_numbers = Vec::new();
        for dim in core::mem::take(&mut walk.dims) {
            let mut dim_parts = Vec::new();
            let (mut remaining_positions, mut distance, mut covered_positions) =
                (dim.size, dim.to, 1);
            for &(size, stride, to) in &array_dims {
                // The positions of `dim` that are along this dimension of the array become one part.
                let dim_length = stride * size.cast_signed();
                if remaining_positions > 1 && distance >= stride && distance < dim_length {
                    let count = remaining_positions.min((dim_length / distance).unsigned_abs());
                    dim_parts.push(Dim {
                        size: count,
                        from: dim.from * covered_positions,
                        to: to * (distance / stride),
                        tuple: dim.tuple * covered_positions.unsigned_abs(),
                    });
                    covered_positions *= count.cast_signed();
                    remaining_positions /= count;
                    distance = dim_length;
                }
            }
            if dim_parts.is_empty() {
                dim_parts.push(Dim { to: 0, ..dim });
            }
            // A dimension along which boxes extend is a dimension of the array, so it has one part.
            new_dim_numbers.push(dims.len());
            dims.extend(dim_parts.into_iter().rev());
        }
        walk.dims = dims;
        for along in walk.coordinates.iter_mut().filter_map(|c| c.along.as_mut()) {
            along.dim = new_dim_numbers[along.dim];
        }
        walk.to = dest.offset.cast_signed() * element_bytes;
        walk.reduce(MAX_UNIT);
        walk
    }

    /// Splits the walk into two stages. The first fills a row-major array, and the second moves the array's units to
    /// the destination of this walk.
    pub(crate) fn split_stages(&self) -> [Self; 2] {
        let mut filling_walk = self.clone();
        filling_walk.to = 0;
        let mut filled_units = 1;
        for dim in filling_walk.dims.iter_mut().rev() {
            dim.to = filled_units;
            filled_units *= dim.size.cast_signed();
        }
        let dims = filling_walk.dims.iter().zip(&self.dims);
        let dims = dims.map(|(stage, dim)| Dim {
            to: dim.to,
            ..Dim::shared(dim.size, stage.to)
        });
        let mut placing_walk = Self::strided(self.unit, 0, self.to, dims.collect());
        placing_walk.reduce(MAX_UNIT);
        [filling_walk, placing_walk]
    }

    /// Returns the number of units that are moved.
    pub(crate) fn units(&self) -> usize {
        self.dims.iter().map(|dim| dim.size).product()
    }

    /// Returns the number of bytes that are moved.
    pub(crate) fn bytes(&self) -> usize {
        self.units() * self.unit
    }

    /// Returns the dimension of a row, and the dimensions that number the rows. A row is the units along the innermost
    /// dimension if they share their tuples, otherwise a single unit.
    pub(crate) fn split_run(&self) -> (Dim, &[Dim]) {
        match self.dims.split_last() {
            Some((&run, outer_dims)) if run.tuple == 0 && !self.is_cropped(outer_dims.len()) => {
                (run, outer_dims)
            }
            _ => (Dim::ONE_POSITION, &self.dims),
        }
    }

    /// Returns the dimension of a row.
    pub(crate) fn run(&self) -> Dim {
        self.split_run().0
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> usize {
        let (_, outer_dims) = self.split_run();
        outer_dims.iter().map(|dim| dim.size).product()
    }

    /// Returns the number of tuples from the first to the last that is read.
    #[cfg(feature = "gpu")]
    pub(crate) fn tuples(&self) -> usize {
        let last_tuples = self.dims.iter().map(|dim| (dim.size - 1) * dim.tuple);
        last_tuples.sum::<usize>() + 1
    }

    /// Returns whether boxes of a coordinate extend along dimension `d`.
    pub(crate) fn is_cropped(&self, d: usize) -> bool {
        self.coordinate_along(d).is_some()
    }

    /// Returns the number of the coordinate whose boxes extend along dimension `d`, if one does.
    pub(crate) fn coordinate_along(&self, d: usize) -> Option<usize> {
        let is_along =
            |coordinate: &Coordinate| coordinate.along.is_some_and(|along| along.dim == d);
        self.coordinates.iter().position(is_along)
    }

    /// Returns whether units fill a part of the destination in row-major order, without gaps. Always false if tuples
    /// index the destination.
    pub(crate) fn is_dense(&self) -> bool {
        let mut filled_units = 1;
        let mut inner_dims = self.dims.iter().rev();
        self.points == Side::Source
            && inner_dims.all(|dim| {
                let is_contiguous = dim.size == 1 || dim.to == filled_units;
                filled_units *= dim.size.cast_signed();
                is_contiguous
            })
    }

    /// Returns whether the walk writes in ascending order: each dimension steps over everything that inner dimensions
    /// write.
    pub(crate) fn is_ascending(&self) -> bool {
        let mut reach = 0;
        let mut inner_dims = self.dims.iter().rev().filter(|dim| dim.size > 1);
        inner_dims.all(|dim| {
            let steps_over = dim.to > reach;
            reach += (dim.size.cast_signed() - 1) * dim.to;
            steps_over
        })
    }

    /// Returns the part of the destination that the walk fills, or `None` unless the walk [is dense](Self::is_dense).
    pub(crate) fn part_of<'a>(&self, dest: &'a mut [u8]) -> Option<&'a mut [u8]> {
        let first_byte = self.to.cast_unsigned() * self.unit;
        self.is_dense()
            .then(|| &mut dest[first_byte..][..self.bytes()])
    }

    /// Removes dimension `d` and returns it. If boxes of a coordinate extend along it, the caller must give this
    /// coordinate another dimension.
    pub(crate) fn remove(&mut self, d: usize) -> Dim {
        for along in self.coordinates.iter_mut().filter_map(|c| c.along.as_mut()) {
            along.dim -= usize::from(along.dim > d);
        }
        self.dims.remove(d)
    }

    /// Reverses dimensions that run backwards in the destination, except dimensions with their own tuples and
    /// dimensions of boxes.
    pub(crate) fn make_ascending(&mut self) {
        for d in 0..self.dims.len() {
            let dim = self.dims[d];
            if dim.to >= 0 || dim.tuple > 0 || self.is_cropped(d) {
                continue;
            }
            let last_position = dim.size.cast_signed() - 1;
            self.from += last_position * dim.from;
            self.to += last_position * dim.to;
            (self.dims[d].from, self.dims[d].to) = (-dim.from, -dim.to);
        }
    }

    /// Drops dimensions of size 1 and joins neighbours that one stride covers. If no dimension is left, adds
    /// [`Dim::ONE_POSITION`].
    pub(crate) fn merge(&mut self) {
        let mut d = 0;
        while d < self.dims.len() {
            let dim = self.dims[d];
            let is_free = !self.is_cropped(d);
            if is_free && dim.size == 1 {
                self.remove(d);
            } else if d > 0
                && is_free
                && !self.is_cropped(d - 1)
                && self.dims[d - 1].can_join_with(&dim)
            {
                self.dims[d - 1] = Dim {
                    size: self.dims[d - 1].size * dim.size,
                    ..dim
                };
                self.remove(d);
            } else {
                d += 1;
            }
        }
        if self.dims.is_empty() {
            self.dims.push(Dim::ONE_POSITION);
        }
    }

    /// Returns the number of contiguous units along the innermost dimension: its size if its units are neighbours on
    /// both sides and share a tuple, otherwise 1.
    pub(crate) fn contiguous(&self) -> usize {
        let d = self.dims.len() - 1;
        match self.dims[d] {
            Dim {
                size,
                from: 1,
                to: 1,
                tuple: 0,
            } if !self.is_cropped(d) => size,
            _ => 1,
        }
    }

    /// Returns the dimensions except the dimension of contiguous units.
    fn outer_dims(&self) -> &[Dim] {
        match self.contiguous() {
            1 => &self.dims,
            _ => &self.dims[..self.dims.len() - 1],
        }
    }

    /// Returns the first unit of row `row_number` of [contiguous](Self::contiguous) units, in the source and in the
    /// destination. The walk must not have tuples.
    #[cfg(feature = "gpu")]
    pub(crate) fn row_start(&self, mut row_number: usize) -> [usize; 2] {
        let mut first_units = [self.from, self.to];
        for dim in self.outer_dims().iter().rev() {
            let digit = (row_number % dim.size).cast_signed();
            row_number /= dim.size;
            first_units = [
                first_units[0] + digit * dim.from,
                first_units[1] + digit * dim.to,
            ];
        }
        first_units.map(isize::cast_unsigned)
    }

    /// Calls `visit` with each distance of the walk, except those within the contiguous units.
    fn for_each_distance(&self, mut visit: impl FnMut(usize)) {
        let mut visit_signed = |distance: isize| visit(distance.unsigned_abs());
        for dim in self.outer_dims().iter().filter(|dim| dim.size > 1) {
            visit_signed(dim.from);
            visit_signed(dim.to);
        }
        self.coordinates.iter().for_each(|c| visit_signed(c.stride));
        visit_signed(self.from);
        visit_signed(self.to);
    }

    /// Joins contiguous units into wider units of at most `max_unit` bytes.
    pub(crate) fn widen_units(&mut self, max_unit: usize) {
        let contiguous = self.contiguous();
        if contiguous == 1 {
            return;
        }
        let mut distance_bits = (max_unit / self.unit).max(1) | contiguous;
        self.for_each_distance(|distance| distance_bits |= distance);
        self.join(1 << distance_bits.trailing_zeros());
    }

    /// Returns whether every `factor` contiguous units can be joined into one unit.
    #[cfg(feature = "gpu")]
    pub(crate) fn can_join(&self, factor: usize) -> bool {
        let mut can_join = self.contiguous().is_multiple_of(factor);
        self.for_each_distance(|distance| can_join &= distance.is_multiple_of(factor));
        can_join
    }

    /// Joins every `factor` contiguous units into one. [`Walk::can_join`] must return true for `factor`.
    pub(crate) fn join(&mut self, factor: usize) {
        if factor == 1 {
            return;
        }
        // A shift takes a fraction of the time of a division, and most factors are powers of two.
        let shift = factor.trailing_zeros();
        let odd_factor = (factor >> shift).cast_signed();
        let divide = |distance: &mut isize| {
            *distance >>= shift;
            if odd_factor > 1 {
                *distance /= odd_factor;
            }
        };
        let last_dim = self.dims.len() - 1;
        for dim in &mut self.dims[..last_dim] {
            divide(&mut dim.from);
            divide(&mut dim.to);
        }
        self.dims[last_dim].size /= factor;
        for coordinate in &mut self.coordinates {
            divide(&mut coordinate.stride);
        }
        divide(&mut self.from);
        divide(&mut self.to);
        self.unit *= factor;
        if self.dims[last_dim].size == 1 && last_dim > 0 {
            self.remove(last_dim);
        }
    }

    /// Returns the same walk in units of one byte.
    #[cfg(any(feature = "gpu", test))]
    pub(crate) fn in_bytes(&self) -> Self {
        self.in_units_of(1)
    }

    /// Returns the same walk in units of `unit` bytes, a divisor of the size of its units.
    pub(crate) fn in_units_of(&self, unit: usize) -> Self {
        let mut walk = self.clone();
        let units = self.unit / unit;
        let factor = units.cast_signed();
        for dim in &mut walk.dims {
            dim.from *= factor;
            dim.to *= factor;
        }
        for coordinate in &mut walk.coordinates {
            coordinate.stride *= factor;
        }
        walk.from *= factor;
        walk.to *= factor;
        walk.unit = unit;
        walk.dims.push(Dim {
            size: units,
            ..Dim::ONE_POSITION
        });
        walk.merge();
        walk
    }

    /// Returns the range from the lowest to the highest unit that the walk can reach on one side. The range is empty if
    /// a coordinate of this side has no positions.
    #[cfg(any(feature = "gpu", test))]
    pub(crate) fn span(&self, side: Side) -> Range<isize> {
        let first_unit = match side {
            Side::Source => self.from,
            Side::Dest => self.to,
        };
        let (mut low, mut high) = (first_unit, first_unit);
        let mut add_reach = |first: usize, last: usize, stride: isize| {
            let (a, b) = (first.cast_signed() * stride, last.cast_signed() * stride);
            low += a.min(b);
            high += a.max(b);
        };
        for dim in &self.dims {
            add_reach(0, dim.size - 1, dim.stride(side));
        }
        if side == self.points {
            for Coordinate { stride, window, .. } in &self.coordinates {
                if window.count == 0 {
                    return first_unit..first_unit;
                }
                add_reach(window.first, window.first + window.count - 1, *stride);
            }
        }
        low..high + 1
    }

    /// Splits the walk in two: the first `middle` positions of dimension `d`, and the remaining positions.
    pub(crate) fn split(&self, d: usize, middle: usize) -> [Self; 2] {
        let dim = self.dims[d];
        let cut_part = |first: usize, size: usize| {
            let mut part = self.clone();
            part.dims[d].size = size;
            part.from += dim.from * first.cast_signed();
            part.to += dim.to * first.cast_signed();
            part.tuple += first * dim.tuple;
            // If both parts share their tuples, only the first part has the first units of these tuples.
            part.counts_tuples &= first == 0 || dim.tuple > 0;
            for along in part.coordinates.iter_mut().filter_map(|c| c.along.as_mut()) {
                along.first += if along.dim == d { first } else { 0 };
            }
            part
        };
        [cut_part(0, middle), cut_part(middle, dim.size - middle)]
    }

    /// Splits the walk in two: the first `middle` positions of the window of coordinate `c`, and the remaining
    /// positions.
    #[cfg(any(feature = "gpu", test))]
    pub(crate) fn split_window(&self, c: usize, middle: usize) -> [Self; 2] {
        let PositionWindow { first, count } = self.coordinates[c].window;
        let cut_part = |window: PositionWindow| {
            let mut part = self.clone();
            part.coordinates[c].window = window;
            part.counts_tuples &= window.first == first;
            part
        };
        [
            cut_part(PositionWindow {
                first,
                count: middle,
            }),
            cut_part(PositionWindow {
                first: first + middle,
                count: count - middle,
            }),
        ]
    }

    /// Returns a walk that also writes zeros to the units that `self` leaves out of a destination of `units` units.
    /// Its dimensions cover the whole destination, and a unit has a source if `self` writes it.
    ///
    /// Returns `None` if `self` has tuples, or if no such walk exists. Also returns `None` if `self` leaves gaps
    /// between single units, because fewer bytes are moved if the destination is cleared first.
    #[cfg(any(feature = "gpu", test))]
    pub(crate) fn filled_walk(&self, units: usize) -> Option<Self> {
        let mut walk = self.clone();
        walk.merge();
        if !walk.coordinates.is_empty() || walk.dims.iter().any(|dim| dim.to <= 0) {
            return None;
        }
        if walk.dims.last()?.to != 1 {
            if walk.units() > 1 {
                return None;
            }
            walk.dims = vec![Dim::ONE_POSITION];
        }
        let mut remaining_units = units;
        let mut remaining_offset = walk.to;
        for d in 0..walk.dims.len() {
            let Dim { size, from, to, .. } = walk.dims[d];
            if !remaining_units.is_multiple_of(to.unsigned_abs()) {
                return None;
            }
            let first_position = remaining_offset / to;
            remaining_offset %= to;
            let position_count = remaining_units / to.unsigned_abs();
            if first_position.unsigned_abs() + size > position_count {
                return None;
            }
            remaining_units = to.unsigned_abs();
            walk.dims[d] = Dim {
                size: position_count,
                from: 0,
                to,
                tuple: 0,
            };
            if position_count == size {
                walk.dims[d].from = from;
                continue;
            }
            walk.coordinates.push(Coordinate {
                size,
                stride: from,
                begin: StartIndex::At(-first_position),
                along: Some(BoxExtent {
                    dim: d,
                    step: 1,
                    extent: position_count,
                    first: 0,
                    flip: None,
                }),
                window: PositionWindow {
                    first: 0,
                    count: size,
                },
            });
        }
        walk.to = 0;
        Some(walk)
    }
}

/// Prints where the walk starts, its dimensions and its coordinates.
impl fmt::Display for Walk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims = join_with_commas(&self.dims);
        write!(f, "from unit {} to unit {}: {dims}", self.from, self.to)?;
        if self.coordinates.is_empty() {
            return Ok(());
        }
        let side_name = match self.points {
            Side::Source => "source",
            Side::Dest => "destination",
        };
        let coordinates = join_with_commas(&self.coordinates);
        write!(f, ", by tuples of {coordinates} in the {side_name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SliceSpec, shape::coordinates_of};

    /// Returns the pairs of source and destination bytes, in the order of the walk. The source is `None` if its
    /// position is outside a coordinate's window. A scatter has no pair for such a position.
    fn byte_pairs(walk: &Walk, tuples: &[isize]) -> Vec<(Option<isize>, isize)> {
        let sizes: Vec<_> = walk.dims.iter().map(|dim| dim.size).collect();
        let mut pairs = Vec::new();
        for unit_number in 0..walk.units() {
            let digits = coordinates_of(unit_number, &sizes);
            let (mut from, mut to, mut tuple) = (walk.from, walk.to, walk.tuple);
            for (dim, &digit) in walk.dims.iter().zip(&digits) {
                from += dim.from * digit.cast_signed();
                to += dim.to * digit.cast_signed();
                tuple += dim.tuple * digit;
            }
            let tuple = &tuples[tuple * walk.columns..];
            let mut is_inside = true;
            for coordinate in &walk.coordinates {
                let mut position = match coordinate.begin {
                    StartIndex::Column(column) => tuple[column],
                    StartIndex::At(position) => position,
                };
                if let Some(along) = coordinate.along {
                    let digit = along.first + digits[along.dim];
                    let is_flipped = along.flip.is_some_and(|column| tuple[column] != 0);
                    let digit = match is_flipped {
                        true => along.extent - 1 - digit,
                        false => digit,
                    };
                    position += digit.cast_signed() * along.step;
                }
                let PositionWindow { first, count } = coordinate.window;
                is_inside &= (first..first + count).contains(&position.cast_unsigned());
                match walk.points {
                    Side::Source => from += position * coordinate.stride,
                    Side::Dest => to += position * coordinate.stride,
                }
            }
            let unit = walk.unit.cast_signed();
            for byte in (0..unit).filter(|_| is_inside || walk.points == Side::Source) {
                pairs.push((is_inside.then_some(from * unit + byte), to * unit + byte));
            }
        }
        pairs
    }

    fn sorted_pairs(mut pairs: Vec<(Option<isize>, isize)>) -> Vec<(Option<isize>, isize)> {
        pairs.sort_unstable_by_key(|&(from, to)| (to, from));
        pairs
    }

    /// Checks that no method changes the pairs of bytes, that the two parts of a split walk together have all of its
    /// pairs, and that the two parts of a split window together have all pairs inside the array once.
    #[track_caller]
    fn check_walk(original_walk: &Walk, tuples: &[isize]) {
        let expected = sorted_pairs(byte_pairs(original_walk, tuples));
        let mut reduced_walk = original_walk.clone();
        reduced_walk.reduce(MAX_UNIT);
        for walk in [
            &reduced_walk,
            &reduced_walk.in_bytes(),
            &reduced_walk.in_units_of(original_walk.unit),
        ] {
            assert_eq!(sorted_pairs(byte_pairs(walk, tuples)), expected, "{walk}");
            let splits =
                (0..walk.dims.len()).flat_map(|d| (1..walk.dims[d].size).map(move |m| (d, m)));
            for (d, middle) in splits {
                let parts = walk.split(d, middle).map(|part| byte_pairs(&part, tuples));
                assert_eq!(
                    sorted_pairs(parts.concat()),
                    expected,
                    "{walk} at {middle} of {d}"
                );
            }
            for (c, coordinate) in walk.coordinates.iter().enumerate() {
                for middle in 1..coordinate.window.count {
                    let parts = walk.split_window(c, middle);
                    let mut parts = parts.map(|part| byte_pairs(&part, tuples)).concat();
                    parts.retain(|(from, _)| from.is_some());
                    let pairs_inside = expected.iter().filter(|(from, _)| from.is_some());
                    assert!(
                        sorted_pairs(parts).iter().eq(pairs_inside),
                        "{walk} at {middle} of {c}"
                    );
                }
            }
            for (from, to) in byte_pairs(walk, tuples) {
                let unit = walk.unit.cast_signed();
                let source_span = walk.span(Side::Source);
                assert!(
                    from.is_none_or(|from| source_span.contains(&(from / unit))),
                    "{walk}"
                );
                assert!(walk.span(Side::Dest).contains(&(to / unit)), "{walk}");
            }
        }
    }

    /// Slices of an array of shape `[4, 6, 8]`, each with the shape of a value that is broadcast to it.
    const SPECS: [(&str, &[usize]); 6] = [
        ("...", &[4, 6, 8]),
        ("::-1, 1::2, 2:6", &[4, 3, 4]),
        ("::2, 2, ::-1", &[8]),
        ("1, ..., 1:2", &[6, 1]),
        (":, ::-1, ::4", &[4, 1, 2]),
        ("2, 3, 4", &[]),
    ];

    fn dest_view(spec: &str) -> View {
        spec.parse::<SliceSpec>().unwrap().view(&[4, 6, 8]).unwrap()
    }

    /// Makes the walk between two views, of elements of two bytes.
    fn element_walk(source: &View, dest: &View) -> Walk {
        let strides = source.strides.iter().zip(&dest.strides);
        let dims = dest.shape.iter().zip(strides);
        let dims = dims.map(|(&size, (&from, &to))| Dim {
            to,
            ..Dim::shared(size, from)
        });
        Walk::strided(
            2,
            source.offset.cast_signed(),
            dest.offset.cast_signed(),
            dims.collect(),
        )
    }

    #[test]
    fn walks_between_views_keep_their_bytes_and_ascend() {
        for (spec, value_shape) in SPECS {
            let dest = dest_view(spec);
            let source = View::new(value_shape)
                .unwrap()
                .broadcast_to(&dest.shape)
                .unwrap();
            check_walk(&element_walk(&source, &dest), &[]);
            let walk = Walk::between(&source, &dest, 2, MAX_UNIT);
            let (pairs, span) = (byte_pairs(&walk, &[]), walk.span(Side::Dest));
            assert!(pairs.is_sorted_by_key(|&(_, to)| to), "{walk}");
            let unit = walk.unit.cast_signed();
            let end_units = [pairs[0].1, pairs.last().unwrap().1].map(|to| to / unit);
            assert_eq!(end_units, [span.start, span.end - 1], "{walk}");
        }
    }

    /// Checks a gather by tuples of two integers. There are dimensions that share tuples outside and inside the
    /// dimensions with their own tuples.
    #[test]
    fn gathers_keep_their_bytes() {
        for (unit, inner) in [(1, 12usize), (2, 4), (4, 1), (4, 3)] {
            let size = inner.cast_signed();
            let dims = vec![
                Dim::shared(2, 40 * size),
                Dim::with_own_tuples(3, 0),
                Dim::with_own_tuples(1, 7),
                Dim::with_own_tuples(2, 0),
                Dim::shared(inner, 1),
            ];
            let mut walk = Walk::strided(unit, 4 * size, 0, dims);
            walk.in_order();
            walk.coordinates = vec![
                Coordinate::indexed(3, 12 * size, 0),
                Coordinate::indexed(4, -size, 1),
            ];
            walk.columns = 2;
            let tuples = [0, 3, 2, 0, 1, 1, 3, 0, 0, 4, 2, -1];
            check_walk(&walk, &tuples);
        }
    }

    /// Checks boxes in two dimensions, one with a step and flips. Some boxes extend beyond the array.
    #[test]
    fn crops_keep_their_bytes() {
        for inner in [1usize, 4] {
            let size = inner.cast_signed();
            let dims = vec![
                Dim::with_own_tuples(3, 0),
                Dim::shared(2, 0),
                Dim::shared(3, 0),
                Dim::shared(inner, 1),
            ];
            let mut walk = Walk::strided(2, 0, 0, dims);
            walk.in_order();
            let box_extent = |dim, step, extent, flip| {
                let first = 0;
                Some(BoxExtent {
                    dim,
                    step,
                    extent,
                    first,
                    flip,
                })
            };
            walk.coordinates = vec![
                Coordinate::indexed(2, 20 * size, 0),
                Coordinate {
                    along: box_extent(1, 1, 2, None),
                    ..Coordinate::indexed(4, 5 * size, 1)
                },
                Coordinate {
                    along: box_extent(2, -2, 3, Some(3)),
                    ..Coordinate::indexed(5, size, 2)
                },
            ];
            walk.columns = 4;
            check_walk(&walk, &[0, 1, 4, 0, 1, 3, 4, 1, 1, -1, 3, 1]);
        }
    }

    #[test]
    fn scatters_keep_their_bytes() {
        // Rows are written to slices of 8 elements, or to single elements along the second dimension of [4, 5].
        let slices = vec![
            Dim::with_own_tuples(5, 8),
            Dim {
                to: 1,
                ..Dim::shared(8, 1)
            },
        ];
        let single_dims = [(4, 3isize, 5), (3, 1, 0)].map(|(size, row_stride, to)| Dim {
            to,
            tuple: row_stride.cast_unsigned(),
            ..Dim::shared(size, row_stride)
        });
        for (dims, size, stride) in [(slices, 6, 8), (single_dims.to_vec(), 5, 1)] {
            let mut walk = Walk::strided(2, 0, 0, dims);
            walk.coordinates = vec![Coordinate::indexed(size, stride, 0)];
            (walk.columns, walk.points) = (1, Side::Dest);
            check_walk(&walk, &[3, 0, 7, 4, 4, -1, 2, 0, 1, 1, 6, 3]);
        }
    }

    /// The filled walk of a gradient writes every unit of the result once, from the gradient or as zeros.
    #[test]
    fn filled_walks_write_zeros_where_the_gradient_has_no_element() {
        let mut filled_count = 0;
        for (spec, _) in SPECS.into_iter().chain([
            ("1:3, 2:5, 2:6", &[][..]),
            (":, 2:5, :", &[]),
            ("1:3, :, 3:", &[]),
            ("::2, 1:3, ::-1", &[]),
            ("3:, 5, 7:", &[]),
        ]) {
            let dest = dest_view(spec);
            let walk = Walk::between(&View::whole(&dest.shape), &dest, 2, MAX_UNIT);
            let total_bytes = 4 * 6 * 8 * 2;
            let Some(filled_walk) = walk.filled_walk(total_bytes / walk.unit) else {
                continue;
            };
            filled_count += 1;
            let mut expected: Vec<_> = (0..total_bytes.cast_signed())
                .map(|to| (None, to))
                .collect();
            for (from, to) in byte_pairs(&walk, &[]) {
                expected[to.cast_unsigned()].0 = from;
            }
            assert_eq!(byte_pairs(&filled_walk, &[]), expected, "{spec}: {walk}");
            assert!(filled_walk.is_dense());
        }
        assert!(filled_count > 6, "{filled_count}");
    }
}
