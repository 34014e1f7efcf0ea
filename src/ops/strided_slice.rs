//! strided_slice: the rows are all but the innermost merged dimension, walked by an odometer.
//!
//! Semantics as TensorFlow 2.21 has them, for any rank (TensorFlow stops at 8).

use super::RowMap;
use crate::{
    DType, Error, Plan, SliceSpec, View,
    layout::{Axis, Layout},
    plan::{self, Rows},
};

/// The odometer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Map {
    /// The unit where the first row begins.
    pub(crate) offset: usize,
    /// The dimensions that number the rows, outermost first.
    pub(crate) axes: Vec<Axis>,
}

impl Plan {
    /// Plans `spec` on an input of this shape and element type.
    ///
    /// # Errors
    ///
    /// [`SpecError`](crate::SpecError) as TensorFlow raises it; [`Error::ShapeTooLarge`].
    pub fn strided_slice(shape: &[usize], spec: &SliceSpec, dtype: DType) -> Result<Self, Error> {
        let view = spec.view(shape)?;
        Ok(Self::of_view(&view, shape, dtype.size()))
    }

    fn of_view(view: &View, source: &[usize], element: usize) -> Self {
        let (rows, map) = if view.elements() == 0 {
            (Rows::NONE, Map::default())
        } else {
            let mut layout = Layout::of(view, element);
            let run = layout.axes.pop().unwrap_or(Axis { size: 1, stride: 1 });
            let rows = Rows {
                unit: layout.unit,
                count: layout.axes.iter().map(|axis| axis.size).product(),
                run: run.size,
                step: run.stride,
            };
            let (offset, axes) = (layout.offset, layout.axes);
            (rows, Map { offset, axes })
        };
        Self {
            shape: view.shape.clone(),
            element,
            source: source.to_vec(),
            rows,
            map: plan::Map::StridedSlice(map),
        }
    }
}

impl RowMap for Map {
    fn bases(&self, first: usize) -> impl Iterator<Item = Option<usize>> {
        Odometer::at(self, first).map(Some)
    }
}

/// Walks the rows in order, without a division for each.
struct Odometer<'a> {
    axes: &'a [Axis],
    position: Vec<usize>,
    base: usize,
}

impl<'a> Odometer<'a> {
    fn at(map: &'a Map, row: usize) -> Self {
        let axes = map.axes.as_slice();
        let sizes: Vec<usize> = axes.iter().map(|axis| axis.size).collect();
        let position = crate::shape::coordinates(row, &sizes);
        let base = axes
            .iter()
            .zip(&position)
            .fold(map.offset, |base, (axis, &at)| {
                base.wrapping_add_signed(axis.stride.wrapping_mul(at.cast_signed()))
            });
        Self {
            axes,
            position,
            base,
        }
    }
}

impl Iterator for Odometer<'_> {
    type Item = usize;

    // Bases of rows that exist lie within the source. The wrapping steps only pass through values
    // outside it on the way from one row to the next.
    fn next(&mut self) -> Option<usize> {
        let base = self.base;
        for (axis, at) in self.axes.iter().zip(&mut self.position).rev() {
            *at += 1;
            self.base = self.base.wrapping_add_signed(axis.stride);
            if *at < axis.size {
                break;
            }
            let span = axis.stride.wrapping_mul(axis.size.cast_signed());
            self.base = self.base.wrapping_add_signed(span.wrapping_neg());
            *at = 0;
        }
        Some(base)
    }
}
