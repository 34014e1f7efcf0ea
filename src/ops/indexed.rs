//! Rows that begin where an index tuple points: the row map of all gathers.
//!
//! Nested dimensions number the rows, as for slices. Each dimension has a stride in the source and a stride in the list
//! of tuples. A digit is the position of a row in one dimension:
//!
//! ```text
//! number of the tuple = Σ digit · tuple stride
//! row at              = offset + Σ digit · source stride + Σ tuple[k] · coordinate[k]'s stride
//! ```
//!
//! | dimension of the result | source stride | tuple stride |
//! |---|---|---|
//! | batch, or in `gather_elements` any but `axis` | that of the dimension in params | row-major |
//! | added by the index tensor, or `axis` of `gather_elements` | 0 | row-major |
//! | of params, not indexed | that of the dimension in params | 0: all positions have the same tuples |
//!
//! The tuples are in row-major order. So a tuple stride that is not 0 is the product of the sizes of all inner
//! dimensions whose tuple stride is not 0, and the map only stores which strides are 0. Params may be any view: flips,
//! steps, transposes and broadcasts are strides too.
//!
//! Several rows may have the same tuple. If the tuple is out of range, only the first of these rows counts it.

use super::index::Policy;
use crate::{
    Error, Plan, View,
    layout::{Axis, MAX_UNIT, axes},
    plan::{self, Rows},
    shape,
    text::joined,
};
use std::ops::Range;

/// A dimension that numbers rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Dimension {
    pub(crate) size: usize,
    /// The stride of the dimension in the source, in units.
    pub(crate) stride: isize,
    /// Whether all positions of the dimension have the same tuples. If not, each position has tuples of its own.
    pub(crate) repeats: bool,
}

impl Dimension {
    /// The batch dimensions `range` of params. Each of their positions has tuples of its own.
    pub(crate) fn batch(params: &View, range: Range<usize>) -> impl Iterator<Item = Self> {
        Self::of(params, range, false)
    }

    /// The dimensions `range` of params, which are neither batch dimensions nor indexed. All of their positions have
    /// the same tuples.
    pub(crate) fn kept(params: &View, range: Range<usize>) -> impl Iterator<Item = Self> {
        Self::of(params, range, true)
    }

    /// The dimensions of these sizes that the index tensor adds. Each of their positions has tuples of its own.
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

/// The row map of a gather.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Map {
    /// The name of the operation.
    pub(crate) name: &'static str,
    /// The unit of the source at position 0 of all dimensions of params, counted from 0.
    pub(crate) offset: usize,
    /// The dimensions that number the rows, outermost first.
    pub(crate) walk: Vec<Dimension>,
    /// The indexed dimensions, with strides in units: one for each integer of a tuple. For a crop see
    /// [`crop::Map`](super::crop::Map).
    pub(crate) coordinates: Vec<Axis>,
    /// The shape of params.
    pub(crate) params: Vec<usize>,
    /// The shape of indices.
    pub(crate) indices: Vec<usize>,
    /// The number of leading dimensions of `indices` that number the tuples.
    pub(crate) tuple_dims: usize,
    pub(crate) policy: Policy,
}

impl Map {
    /// Describes the map for [`Plan::explain`]. A crop says `at` which steps the rows lie in their box.
    pub(crate) fn form(&self, rows: &Rows, at: &str) -> String {
        let walk = self.walk.iter().map(Dimension::axis);
        let walk = joined(walk.chain([rows.run_axis()]));
        let coordinates = joined(&self.coordinates);
        let offset = self.offset;
        format!("from unit {offset}: {walk}, {at}by tuples of {coordinates}")
    }

    /// The number of a row's tuple. `None` if an earlier row has the same tuple, so that this row must not count it.
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

    /// Turns this map into a plan. Before the call, the map's strides count elements of `params`, of `element` bytes
    /// each, and its walk has all dimensions of the result.
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

    /// Merges dimensions and enlarges units, as [`Pairs`](crate::pairs::Pairs) does. Returns the rows. The dimensions
    /// that stay in the walk number these rows.
    pub(super) fn reduce(&mut self, element: usize) -> Rows {
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
            // The positions of `inner` lie within the source. The product is at most twice the distance from the first
            // to the last of them, so it cannot overflow.
            let joins = outer.repeats == inner.repeats
                && outer.stride == inner.stride * inner.size.cast_signed();
            if joins {
                outer.size *= inner.size;
                outer.stride = inner.stride;
            }
            joins
        });
    }

    /// If all positions of the innermost dimension have the same tuple, takes this dimension out of the walk and
    /// returns it as the row. Otherwise returns a row of a single unit.
    fn take_run(&mut self) -> Axis {
        let run = self.walk.pop_if(|innermost| innermost.repeats);
        run.map_or(Axis { size: 1, stride: 1 }, |run| run.axis())
    }

    /// Replaces every stride by what `change` makes of it.
    fn scale(&mut self, change: impl Fn(isize) -> isize) {
        for dimension in &mut self.walk {
            dimension.stride = change(dimension.stride);
        }
        for axis in &mut self.coordinates {
            axis.stride = change(axis.stride);
        }
    }

    /// Converts the map and `rows` to units that are `factor` times smaller.
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
