//! Rows that begin at the position of an index tuple: the row map of all gathers.
//!
//! An odometer numbers the rows, as for slices. Each dimension has two strides: one in the source, one in the
//! tuples.
//!
//! ```text
//! tuple     = Σ digit · tuple stride
//! row at    = offset + Σ digit · source stride + Σ tuple[k] · coordinate[k]'s stride
//! ```
//!
//! | dimension of the result | source stride | tuple stride |
//! |---|---|---|
//! | batch | its own in params | row-major |
//! | added by the index tensor | 0 | row-major |
//! | of params, not indexed | its own in params | 0: it repeats the tuples |
//!
//! The tuples are read in row-major order, so a tuple stride is the product of the inner sizes that do not
//! repeat, and one bit per dimension is enough. Params may be any view: flips, steps, transposes and broadcasts
//! are strides too.
//!
//! Several rows may have the same tuple. The first of them counts it if it is out of range.

use super::index::Policy;
use crate::{
    Error, Plan, View,
    layout::{Axis, MAX_UNIT, axes},
    plan::{self, Rows},
    shape,
};
use std::ops::Range;

/// A dimension that numbers rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Dimension {
    pub(crate) size: usize,
    /// Its stride in the source, in units.
    pub(crate) stride: isize,
    /// Whether all its positions have the same tuples, rather than each the next ones.
    pub(crate) repeats: bool,
}

impl Dimension {
    /// Dimensions `range` of params, each with its own tuples.
    pub(crate) fn batch(params: &View, range: Range<usize>) -> impl Iterator<Item = Self> {
        Self::of(params, range, false)
    }

    /// Dimensions `range` of params, all with the same tuples.
    pub(crate) fn kept(params: &View, range: Range<usize>) -> impl Iterator<Item = Self> {
        Self::of(params, range, true)
    }

    /// Dimensions of the index tensor.
    pub(crate) fn added(sizes: &[usize]) -> impl Iterator<Item = Self> {
        sizes.iter().map(|&size| Self {
            size,
            stride: 0,
            repeats: false,
        })
    }

    pub(crate) fn axis(&self) -> Axis {
        Axis {
            size: self.size,
            stride: self.stride,
        }
    }

    fn of(params: &View, range: Range<usize>, repeats: bool) -> impl Iterator<Item = Self> {
        let axes = axes(&params.shape[range.clone()], &params.strides[range]);
        axes.map(move |Axis { size, stride }| Self {
            size,
            stride,
            repeats,
        })
    }
}

/// The row map.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Map {
    /// The name of the operation.
    pub(crate) name: &'static str,
    /// The unit of the first row if its tuple is all zeros.
    pub(crate) offset: usize,
    /// The dimensions that number the rows, outermost first.
    pub(crate) walk: Vec<Dimension>,
    /// One for each coordinate of a tuple. Strides are in units.
    pub(crate) coordinates: Vec<Axis>,
    /// The shape of params.
    pub(crate) params: Vec<usize>,
    /// The shape of indices, and the number of its dimensions that number the tuples.
    pub(crate) indices: Vec<usize>,
    pub(crate) tuple_dims: usize,
    pub(crate) policy: Policy,
}

impl Map {
    /// The tuple of a row, if the row is the first with this tuple.
    pub(crate) fn first_of_tuple(&self, mut row: usize) -> Option<usize> {
        let (mut tuple, mut stride) = (0, 1);
        for dimension in self.walk.iter().rev() {
            let digit = row % dimension.size;
            row /= dimension.size;
            if !dimension.repeats {
                tuple += digit * stride;
                stride *= dimension.size;
            } else if digit > 0 {
                return None;
            }
        }
        Some(tuple)
    }

    /// The plan of a map in elements of `params` whose walk has all dimensions of the result.
    pub(crate) fn plan(mut self, params: &View, element: usize) -> Result<Plan, Error> {
        let shape: Vec<usize> = self.walk.iter().map(|dimension| dimension.size).collect();
        let rows = match shape::elements(&shape)? {
            0 => {
                self.walk.clear();
                Rows::NONE
            }
            _ => self.reduce(element),
        };
        Ok(Plan {
            shape,
            element,
            source: params.source.clone(),
            rows,
            map: plan::Map::Indexed(self),
        })
    }

    /// Applies the passes of [`Pairs`](crate::pairs::Pairs). The remaining walk numbers the rows.
    fn reduce(&mut self, element: usize) -> Rows {
        self.walk.retain(|dimension| dimension.size != 1);
        self.merge();
        let mut run = self.take_run();
        let mut unit = element;
        if run.stride == 1 {
            let walked = self.walk.iter().map(|dimension| dimension.stride);
            let indexed = self.coordinates.iter().map(|axis| axis.stride);
            let strides = walked.chain(indexed).map(isize::unsigned_abs);
            let others = [self.offset, run.size];
            let factor = shape::common_power_of_two(MAX_UNIT / element, strides.chain(others));
            self.scale(|stride| stride / factor.cast_signed());
            self.offset /= factor;
            run.size /= factor;
            unit *= factor;
            if run.size == 1 {
                run = self.take_run();
            }
        }
        Rows {
            unit,
            count: self.walk.iter().map(|dimension| dimension.size).product(),
            run: run.size,
            step: run.stride,
        }
    }

    fn merge(&mut self) {
        self.walk.dedup_by(|inner, outer| {
            // The span of an existing dimension lies within the source, so it cannot overflow.
            let joins = outer.repeats == inner.repeats
                && outer.stride == inner.stride * inner.size.cast_signed();
            if joins {
                outer.size *= inner.size;
                outer.stride = inner.stride;
            }
            joins
        });
    }

    /// Removes the innermost dimension from the walk if it can be the run, which has a single tuple.
    fn take_run(&mut self) -> Axis {
        let run = self.walk.pop_if(|innermost| innermost.repeats);
        run.map_or(Axis { size: 1, stride: 1 }, |run| run.axis())
    }

    /// Changes every stride.
    fn scale(&mut self, change: impl Fn(isize) -> isize) {
        for dimension in &mut self.walk {
            dimension.stride = change(dimension.stride);
        }
        for axis in &mut self.coordinates {
            axis.stride = change(axis.stride);
        }
    }

    /// The same rows in units of `1 / factor` of the size.
    #[cfg(feature = "gpu")]
    pub(crate) fn split_units(&mut self, rows: &mut Rows, factor: usize) {
        let apart = rows.split_units(factor);
        self.walk
            .extend(apart.map(|Axis { size, stride }| Dimension {
                size,
                stride,
                repeats: true,
            }));
        self.offset *= factor;
        self.scale(|stride| stride * factor.cast_signed());
    }
}
