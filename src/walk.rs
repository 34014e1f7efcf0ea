//! The walk: which byte of the source goes to which byte of the destination. Every plan has one, and every device reads
//! it.
//!
//! Nested dimensions number the units that are moved, in row-major order; a digit is the position of a unit along one
//! dimension. Coordinates are numbers that a dispatch or a loop looks up in index tuples:
//!
//! ```text
//! number of the tuple = tuple + Σ digit · dim.tuple
//! from                = walk.from + Σ digit · dim.from + Σ position · coordinate.stride      (tuples point into the source)
//! to                  = walk.to   + Σ digit · dim.to
//! position            = the tuple's number in the coordinate's column
//!                       + in a crop: (digit along the coordinate's dimension) · step
//! ```
//!
//! In a scatter, tuples point into the destination, and coordinates add to `to`.
//!
//! A unit is 1 to 16 contiguous bytes. All distances are in units. For example, `::2` of an array of shape `[4, 6]` of
//! f32 takes two rows of 24 bytes, which are two dimensions in units of 8 bytes: `2*6>3` and `3*1>1` (size, distance in
//! the source, distance in the destination).
//!
//! | method | effect | example |
//! |---|---|---|
//! | [`Walk::merge`] | drops dimensions of size 1; joins two neighbours if one stride can walk both on each side | `[8, 4]` with strides `[4, 1]` → `[32]` |
//! | [`Walk::widen`] | joins units that are contiguous and aligned on both sides | 32 units of 1 byte → 2 of 16 |
//! | [`Walk::in_bytes`] | splits units into bytes | 2 units of 16 bytes → 32 of 1 |
//! | [`Walk::halve`] | cuts a dimension in two | `[8, 4]` → `[4, 4]` twice |
//! | [`Walk::span`] | the units that may be reached on one side | |

use crate::{layout::along, shape::common_power_of_two};
use std::{fmt, ops::Range};

/// One dimension of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Dim {
    pub(crate) size: usize,
    /// The distance between neighbours in the source, in units: negative if the source is read backwards, 0 if a unit
    /// repeats.
    pub(crate) from: isize,
    /// The distance between neighbours in the destination, in units.
    pub(crate) to: isize,
    /// The distance between the tuples of neighbours, in tuples; 0 if they share a tuple.
    pub(crate) tuple: usize,
}

impl Dim {
    /// A single position.
    pub(crate) const ONE: Self = Self {
        size: 1,
        from: 1,
        to: 1,
        tuple: 0,
    };

    /// The distance between neighbours on one side.
    pub(crate) fn stride(&self, side: Side) -> isize {
        match side {
            Side::Source => self.from,
            Side::Dest => self.to,
        }
    }

    /// Whether one stride walks `self` and then `inner` on each side.
    fn joins(&self, inner: &Self) -> bool {
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

/// The side of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Source,
    Dest,
}

/// A dimension of an array that index tuples point into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Coordinate {
    /// The number of positions.
    pub(crate) size: usize,
    /// The distance between neighbouring positions, in units.
    pub(crate) stride: isize,
    pub(crate) begin: Begin,
    /// How boxes extend along the dimension, in a crop.
    pub(crate) along: Option<Along>,
    /// The positions that are taken; elements at other positions are left alone. All, unless a device cannot bind them
    /// all at once.
    pub(crate) window: Window,
}

impl Coordinate {
    /// A dimension of `size` positions that column `column` of the tuples points into.
    pub(crate) fn indexed(size: usize, stride: isize, column: usize) -> Self {
        Self {
            size,
            stride,
            begin: Begin::Column(column),
            along: None,
            window: Window {
                first: 0,
                count: size,
            },
        }
    }
}

/// Where a coordinate's positions begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Begin {
    /// At the number in this column of the tuple.
    Column(usize),
    /// At this position.
    At(isize),
}

/// How boxes extend along a coordinate's dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Along {
    /// The dimension of the walk along which they extend. Its own distance on the coordinates' side is 0.
    pub(crate) dim: usize,
    /// The distance between neighbours in a box, in positions of the coordinate.
    pub(crate) step: isize,
    /// The size of a box along the dimension, and the first position of the box that the dimension walks: 0, unless
    /// the dimension was cut.
    pub(crate) extent: usize,
    pub(crate) first: usize,
    /// The column of the tuple that says whether a box is reversed: if its number is not 0.
    pub(crate) flip: Option<usize>,
}

impl Along {
    /// The distance between the first and the last position of a box, or the largest number if it is larger.
    pub(crate) fn reach(&self) -> isize {
        self.extent
            .saturating_sub(1)
            .cast_signed()
            .saturating_mul(self.step)
    }
}

/// Neighbouring positions of a coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Window {
    pub(crate) first: usize,
    pub(crate) count: usize,
}

/// Which unit of the source goes to which unit of the destination.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Walk {
    /// The size of a unit in bytes: a power of two up to 16, or 12.
    pub(crate) unit: usize,
    /// The unit of the source, and that of the destination, if all digits and positions are 0.
    pub(crate) from: isize,
    pub(crate) to: isize,
    /// Outermost first. Not empty.
    pub(crate) dims: Vec<Dim>,
    pub(crate) coordinates: Vec<Coordinate>,
    /// The side that the tuples point into.
    pub(crate) points: Side,
    /// The number of integers in a tuple, and the number of the first tuple.
    pub(crate) columns: usize,
    pub(crate) tuple: usize,
    /// Whether this walk counts its tuples that are out of range: it has the first unit of each tuple.
    pub(crate) counts: bool,
}

impl Walk {
    /// A walk of these dimensions without tuples.
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
            counts: false,
        }
    }

    /// A walk that reads nothing and writes zeros to the first `units` units of the destination.
    pub(crate) fn zeros(unit: usize, units: usize) -> Self {
        let dim = Dim {
            size: units,
            from: 0,
            ..Dim::ONE
        };
        let mut walk = Self::strided(unit, 0, 0, vec![dim]);
        walk.coordinates.push(Coordinate {
            begin: Begin::At(0),
            ..Coordinate::indexed(0, 0, 0)
        });
        walk
    }

    /// The number of units that are moved.
    pub(crate) fn units(&self) -> usize {
        self.dims.iter().map(|dim| dim.size).product()
    }

    /// The number of tuples that are read: those up to the last one.
    pub(crate) fn tuples(&self) -> usize {
        let last = self.dims.iter().map(|dim| (dim.size - 1) * dim.tuple);
        last.sum::<usize>() + 1
    }

    /// Whether a coordinate extends along dimension `d`.
    pub(crate) fn is_cropped(&self, d: usize) -> bool {
        self.along(d).is_some()
    }

    /// The number of the coordinate that extends along dimension `d`.
    pub(crate) fn along(&self, d: usize) -> Option<usize> {
        let is_along =
            |coordinate: &Coordinate| coordinate.along.is_some_and(|along| along.dim == d);
        self.coordinates.iter().position(is_along)
    }

    /// Whether units fill the destination in row-major order, without gaps.
    pub(crate) fn is_dense(&self) -> bool {
        let mut filled = 1;
        let mut inner = self.dims.iter().rev();
        self.points == Side::Source
            && inner.all(|dim| {
                let fits = dim.size == 1 || dim.to == filled;
                filled *= dim.size.cast_signed();
                fits
            })
    }

    /// Removes dimension `d`, along which no coordinate extends, from the list.
    pub(crate) fn remove(&mut self, d: usize) -> Dim {
        for along in self.coordinates.iter_mut().filter_map(|c| c.along.as_mut()) {
            along.dim -= usize::from(along.dim > d);
        }
        self.dims.remove(d)
    }

    /// Drops dimensions of size 1, except the last one that is left, and joins neighbours that one stride can walk.
    pub(crate) fn merge(&mut self) {
        let mut d = 0;
        while d < self.dims.len() {
            let dim = self.dims[d];
            let free = !self.is_cropped(d);
            if free && dim.size == 1 && self.dims.len() > 1 {
                self.remove(d);
            } else if d > 0 && free && !self.is_cropped(d - 1) && self.dims[d - 1].joins(&dim) {
                self.dims[d - 1] = Dim {
                    size: self.dims[d - 1].size * dim.size,
                    ..dim
                };
                self.remove(d);
            } else {
                d += 1;
            }
        }
    }

    /// The contiguous units at the end of the walk: the size of the innermost dimension if neighbours are neighbours on
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

    /// Calls `each` with the first unit of every row of [contiguous](Self::contiguous) units, in source and destination.
    /// Not for walks with tuples.
    pub(crate) fn each_row<E>(
        &self,
        each: &mut impl FnMut(usize, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let outer = match self.contiguous() {
            1 => &self.dims[..],
            _ => &self.dims[..self.dims.len() - 1],
        };
        rows(outer, self.from, self.to, each)
    }

    /// All distances but those within the contiguous units.
    fn distances(&self) -> impl Iterator<Item = isize> {
        let outer = match self.contiguous() {
            1 => &self.dims[..],
            _ => &self.dims[..self.dims.len() - 1],
        };
        let of_dims = outer
            .iter()
            .filter(|dim| dim.size > 1)
            .flat_map(|dim| [dim.from, dim.to]);
        let of_coordinates = self.coordinates.iter().map(|coordinate| coordinate.stride);
        of_dims.chain(of_coordinates).chain([self.from, self.to])
    }

    /// Joins contiguous units into wider ones of at most `most` bytes.
    pub(crate) fn widen(&mut self, most: usize) {
        let contiguous = self.contiguous();
        let distances = self.distances().map(isize::unsigned_abs);
        let factor = common_power_of_two((most / self.unit).max(1), distances.chain([contiguous]));
        self.join(factor);
    }

    /// Whether the contiguous units can be joined by `factor`.
    pub(crate) fn can_join(&self, factor: usize) -> bool {
        self.contiguous().is_multiple_of(factor)
            && self
                .distances()
                .all(|distance| distance.unsigned_abs().is_multiple_of(factor))
    }

    /// Joins each `factor` contiguous units into one. [`Walk::can_join`] must hold.
    pub(crate) fn join(&mut self, factor: usize) {
        if factor == 1 {
            return;
        }
        let divisor = factor.cast_signed();
        let last = self.dims.len() - 1;
        for dim in &mut self.dims[..last] {
            dim.from /= divisor;
            dim.to /= divisor;
        }
        self.dims[last].size /= factor;
        for coordinate in &mut self.coordinates {
            coordinate.stride /= divisor;
        }
        self.from /= divisor;
        self.to /= divisor;
        self.unit *= factor;
        if self.dims[last].size == 1 && last > 0 {
            self.remove(last);
        }
    }

    /// The same walk in units of one byte.
    pub(crate) fn in_bytes(&self) -> Self {
        let mut walk = self.clone();
        let factor = self.unit.cast_signed();
        for dim in &mut walk.dims {
            dim.from *= factor;
            dim.to *= factor;
        }
        for coordinate in &mut walk.coordinates {
            coordinate.stride *= factor;
        }
        walk.from *= factor;
        walk.to *= factor;
        walk.unit = 1;
        walk.dims.push(Dim {
            size: self.unit,
            ..Dim::ONE
        });
        walk.merge();
        walk
    }

    /// The range from the lowest to the highest unit that may be reached on one side. Empty if a coordinate of this
    /// side has no positions.
    pub(crate) fn span(&self, side: Side) -> Range<isize> {
        let first = match side {
            Side::Source => self.from,
            Side::Dest => self.to,
        };
        let (mut low, mut high) = (first, first);
        let mut reach = |first: usize, last: usize, stride: isize| {
            let (a, b) = (first.cast_signed() * stride, last.cast_signed() * stride);
            low += a.min(b);
            high += a.max(b);
        };
        for dim in &self.dims {
            reach(0, dim.size - 1, dim.stride(side));
        }
        if side == self.points {
            for Coordinate { stride, window, .. } in &self.coordinates {
                if window.count == 0 {
                    return first..first;
                }
                reach(window.first, window.first + window.count - 1, *stride);
            }
        }
        low..high + 1
    }

    /// The walk in two: the first `middle` positions of dimension `d`, and the others.
    pub(crate) fn split(&self, d: usize, middle: usize) -> [Self; 2] {
        let dim = self.dims[d];
        let part = |first: usize, size: usize| {
            let mut part = self.clone();
            part.dims[d].size = size;
            part.from = along_signed(part.from, dim.from, first);
            part.to = along_signed(part.to, dim.to, first);
            part.tuple += first * dim.tuple;
            // The later part does not have the first unit of any tuple that the parts share.
            part.counts &= first == 0 || dim.tuple > 0;
            for along in part.coordinates.iter_mut().filter_map(|c| c.along.as_mut()) {
                along.first += if along.dim == d { first } else { 0 };
            }
            part
        };
        [part(0, middle), part(middle, dim.size - middle)]
    }

    /// The walk in two: the first `middle` positions of the window of coordinate `c`, and the others.
    pub(crate) fn split_window(&self, c: usize, middle: usize) -> [Self; 2] {
        let Window { first, count } = self.coordinates[c].window;
        let part = |window: Window| {
            let mut part = self.clone();
            part.coordinates[c].window = window;
            part.counts &= window.first == first;
            part
        };
        [
            part(Window {
                first,
                count: middle,
            }),
            part(Window {
                first: first + middle,
                count: count - middle,
            }),
        ]
    }

    /// The walk that also writes zeros to those of the `units` units of the destination that `self` leaves alone: each
    /// dimension walks all of the destination, and a unit has a source if its position lies where `self` walks. `None`
    /// if `self` has tuples, or leaves gaps between single units, where clearing the destination first moves less.
    pub(crate) fn filled(&self, units: usize) -> Option<Self> {
        let mut walk = self.clone();
        walk.merge();
        if !walk.coordinates.is_empty() || walk.dims.iter().any(|dim| dim.to <= 0) {
            return None;
        }
        if walk.dims.last()?.to != 1 {
            if walk.units() > 1 {
                return None;
            }
            walk.dims = vec![Dim::ONE];
        }
        let mut left = units;
        let mut rest = walk.to;
        for d in 0..walk.dims.len() {
            let Dim { size, from, to, .. } = walk.dims[d];
            if !left.is_multiple_of(to.unsigned_abs()) {
                return None;
            }
            let begin = rest / to;
            rest %= to;
            let positions = left / to.unsigned_abs();
            if begin.unsigned_abs() + size > positions {
                return None;
            }
            left = to.unsigned_abs();
            walk.dims[d] = Dim {
                size: positions,
                from: 0,
                to,
                tuple: 0,
            };
            if positions == size {
                walk.dims[d].from = from;
                continue;
            }
            walk.coordinates.push(Coordinate {
                size,
                stride: from,
                begin: Begin::At(-begin),
                along: Some(Along {
                    dim: d,
                    step: 1,
                    extent: positions,
                    first: 0,
                    flip: None,
                }),
                window: Window {
                    first: 0,
                    count: size,
                },
            });
        }
        walk.to = 0;
        Some(walk)
    }
}

fn along_signed(at: isize, stride: isize, count: usize) -> isize {
    along(at.cast_unsigned(), stride, count).cast_signed()
}

fn rows<E>(
    dims: &[Dim],
    from: isize,
    to: isize,
    each: &mut impl FnMut(usize, usize) -> Result<(), E>,
) -> Result<(), E> {
    let Some((outer, inner)) = dims.split_first() else {
        return each(from.cast_unsigned(), to.cast_unsigned());
    };
    (0..outer.size.cast_signed()).try_for_each(|digit| {
        rows(
            inner,
            from + digit * outer.from,
            to + digit * outer.to,
            each,
        )
    })
}
