//! Rows that begin where an index tuple points: the row map of every gather.
//!
//! The rows are walked like those of a slice, by an odometer. Each of its dimensions has two strides:
//! how far the source moves on, and how far the tuples do.
//!
//! ```text
//! tuple     = Σ digit · tuple stride
//! row at    = offset + Σ digit · source stride + Σ tuple[k] · coordinate[k]'s stride
//! ```
//!
//! | dimension of the result | source stride | tuple stride |
//! |---|---|---|
//! | batch | its own in params | row-major |
//! | one that the index tensor adds | 0 | row-major |
//! | one of params that is not indexed | its own in params | 0: it repeats the tuples |
//!
//! The tuples are read in row-major order, so a tuple stride is the product of the sizes behind that do
//! not repeat, and one bit tells it. Params may be any view: flips, steps, transposes and broadcasts are
//! strides too.
//!
//! A tuple is the concern of all rows that repeat it. The first of them speaks for it: it is the one
//! that counts where the tuple is out of range.

use super::index::Policy;
use crate::{
    Error, Plan, View,
    layout::{Axis, MAX_UNIT},
    plan::{self, Rows},
    shape,
};

/// A dimension that is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Dimension {
    pub(crate) size: usize,
    /// How far the source moves on, in units.
    pub(crate) stride: isize,
    /// Whether each of its positions has the same tuples, rather than the next ones.
    pub(crate) repeats: bool,
}

impl Dimension {
    /// Dimensions `range` of params, each with its own tuples.
    pub(crate) fn batch(
        params: &View,
        range: std::ops::Range<usize>,
    ) -> impl Iterator<Item = Self> {
        Self::of(params, range, false)
    }

    /// Dimensions `range` of params, all with the same tuples.
    pub(crate) fn kept(params: &View, range: std::ops::Range<usize>) -> impl Iterator<Item = Self> {
        Self::of(params, range, true)
    }

    /// Dimensions that the index tensor adds.
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

    fn of(
        params: &View,
        range: std::ops::Range<usize>,
        repeats: bool,
    ) -> impl Iterator<Item = Self> {
        let sizes = params.shape[range.clone()].iter();
        sizes
            .zip(&params.strides[range])
            .map(move |(&size, &stride)| Self {
                size,
                stride,
                repeats,
            })
    }
}

/// The row map.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Map {
    /// The operation, for people.
    pub(crate) name: &'static str,
    /// The unit that the tuple of zeros of the first row points at.
    pub(crate) offset: usize,
    /// The dimensions that number the rows, outermost first.
    pub(crate) walk: Vec<Dimension>,
    /// One for each coordinate of a tuple, strides in units.
    pub(crate) coordinates: Vec<Axis>,
    /// The shape of params.
    pub(crate) params: Vec<usize>,
    /// The shape of indices, and how many of its dimensions number the tuples.
    pub(crate) indices: Vec<usize>,
    pub(crate) tuple_dims: usize,
    pub(crate) policy: Policy,
}

impl Map {
    /// The tuple of a row, if the row is the first that has it.
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

    /// The plan of a map that was written down in elements of `params`, every dimension of the result
    /// one that is walked.
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

    /// Takes the passes of [`Layout`](crate::layout::Layout): what is left of the walk numbers the rows.
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
        let mut merged: Vec<Dimension> = Vec::with_capacity(self.walk.len());
        for &inner in &self.walk {
            match merged.last_mut() {
                // The span of an existing dimension lies within the source, so it cannot overflow.
                Some(outer)
                    if outer.repeats == inner.repeats
                        && outer.stride == inner.stride * inner.size.cast_signed() =>
                {
                    outer.size *= inner.size;
                    outer.stride = inner.stride;
                }
                _ => merged.push(inner),
            }
        }
        self.walk = merged;
    }

    /// Takes the innermost dimension off the walk, if it can be the run: within a row there is one tuple.
    fn take_run(&mut self) -> Axis {
        let run = self.walk.pop_if(|innermost| innermost.repeats);
        run.map_or(Axis { size: 1, stride: 1 }, |run| Axis {
            size: run.size,
            stride: run.stride,
        })
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

    /// The same in units that are smaller by a factor.
    #[cfg(feature = "gpu")]
    pub(crate) fn split_units(&mut self, rows: &mut Rows, factor: usize) {
        if rows.step != 1 {
            // What was a unit becomes the run, and the run a dimension outside of it.
            self.walk.push(Dimension {
                size: rows.run,
                stride: rows.step,
                repeats: true,
            });
            rows.count *= rows.run;
            (rows.run, rows.step) = (1, 1);
        }
        self.offset *= factor;
        self.scale(|stride| stride * factor.cast_signed());
        rows.run *= factor;
    }
}
