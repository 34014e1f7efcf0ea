//! strided_slice: an odometer over all merged dimensions but the innermost, which is the row.
//!
//! Semantics as TensorFlow 2.21 has them, for any rank (TensorFlow stops at 8).

use crate::{
    DType, Error, Plan, SliceSpec, View,
    layout::{Axis, along, middle, span},
    pairs::Pairs,
    plan::{self, Rows},
};
use std::ops::Range;

/// The odometer over the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Map {
    /// The unit where the first row begins.
    pub(crate) offset: usize,
    /// The dimensions that number the rows, outermost first.
    pub(crate) axes: Vec<Axis>,
}

impl Plan {
    /// Plans the slice `spec` of an input of this shape and element type.
    ///
    /// # Errors
    ///
    /// [`SpecError`](crate::SpecError) as TensorFlow raises it; [`Error::ShapeTooLarge`].
    pub fn strided_slice(shape: &[usize], spec: &SliceSpec, dtype: DType) -> Result<Self, Error> {
        Ok(Self::of_view(spec.view(shape)?, dtype.size()))
    }

    /// Plans a view of an array whose elements have `element` bytes.
    pub(crate) fn of_view(view: View, element: usize) -> Self {
        let (rows, map) = if view.elements() == 0 {
            (Rows::NONE, Map::default())
        } else {
            let pairs = Pairs::of_view(&view, element);
            (Rows::of_pairs(&pairs), Map::of_source(pairs))
        };
        Self {
            shape: view.shape,
            element,
            source: view.source,
            rows,
            map: plan::Map::StridedSlice(map),
        }
    }
}

impl View {
    /// The plan that copies the selected elements into a row-major result.
    pub fn plan(&self, dtype: DType) -> Plan {
        Plan::of_view(self.clone(), dtype.size())
    }
}

impl Map {
    /// The odometer over the rows of the source of pairs.
    pub(crate) fn of_source(mut pairs: Pairs) -> Self {
        pairs.axes.pop();
        // The memory of the pairs becomes that of the map: a small slice spends its time on allocations.
        let axes = pairs.axes.into_iter().map(|axis| axis.source()).collect();
        let offset = pairs.from;
        Self { offset, axes }
    }

    /// The source unit where each row begins, in order.
    #[cfg(feature = "gpu")]
    pub(crate) fn rows(&self, rows: &Rows) -> impl Iterator<Item = usize> {
        Odometer::at(&self.axes, self.offset, 0).take(rows.count)
    }

    /// The same rows in units of `1 / factor` of the size.
    #[cfg(feature = "gpu")]
    pub(crate) fn split_units(&mut self, rows: &mut Rows, factor: usize) {
        self.axes.extend(rows.split_units(factor));
        self.offset *= factor;
        for axis in &mut self.axes {
            axis.stride *= factor.cast_signed();
        }
    }

    /// The two halves of the result, cut near the middle of its outermost dimension. `None` for a single unit.
    pub(crate) fn halves(&self, rows: &Rows) -> Option<[(Rows, Self); 2]> {
        Some(self.split(rows, middle(self.outermost(rows))?))
    }

    /// Positions of the outermost dimension.
    pub(crate) fn outermost(&self, rows: &Rows) -> usize {
        self.axes.first().map_or(rows.run, |outer| outer.size)
    }

    /// The two parts of the result before and from position `middle` of its outermost dimension. Neither part is
    /// empty.
    pub(crate) fn split(&self, rows: &Rows, middle: usize) -> [(Rows, Self); 2] {
        let half = |first: usize, size: usize| match self.axes.split_first() {
            Some((outer, inner)) => {
                let count = rows.count / outer.size * size;
                let mut axes = inner.to_vec();
                if size > 1 {
                    axes.insert(0, Axis { size, ..*outer });
                }
                let offset = along(self.offset, outer.stride, first);
                (Rows { count, ..*rows }, Self { offset, axes })
            }
            None => {
                let offset = along(self.offset, rows.step, first);
                let axes = Vec::new();
                (Rows { run: size, ..*rows }, Self { offset, axes })
            }
        };
        [half(0, middle), half(middle, self.outermost(rows) - middle)]
    }

    /// The range of source units that are read.
    pub(crate) fn span(&self, rows: &Rows) -> Range<usize> {
        span(
            self.offset,
            self.axes.iter().copied().chain([rows.run_axis()]),
        )
    }
}

/// The units that axes number, in order, without a division per unit.
pub(crate) struct Odometer<'a> {
    axes: &'a [Axis],
    /// The coordinates of the next unit, innermost first.
    position: Vec<usize>,
    base: usize,
}

impl<'a> Odometer<'a> {
    /// The units from number `first` on. Number 0 is unit `offset`.
    pub(crate) fn at(axes: &'a [Axis], offset: usize, mut first: usize) -> Self {
        let mut base = offset;
        let digit = |axis: &Axis| {
            let digit = first % axis.size;
            first /= axis.size;
            base = along(base, axis.stride, digit);
            digit
        };
        let position = axes.iter().rev().map(digit).collect();
        Self {
            axes,
            position,
            base,
        }
    }
}

impl Iterator for Odometer<'_> {
    type Item = usize;

    // Every returned unit lies within the source. Only the steps from one to the next pass through values
    // outside of it, and wrap.
    fn next(&mut self) -> Option<usize> {
        let base = self.base;
        for (axis, at) in self.axes.iter().rev().zip(&mut self.position) {
            *at += 1;
            self.base = self.base.wrapping_add_signed(axis.stride);
            if *at < axis.size {
                break;
            }
            self.base = along(self.base, axis.stride.wrapping_neg(), axis.size);
            *at = 0;
        }
        Some(base)
    }
}
