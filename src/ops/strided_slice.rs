//! strided_slice: the rows are all but the innermost merged dimension, walked by an odometer.
//!
//! Semantics as TensorFlow 2.21 has them, for any rank (TensorFlow stops at 8).

#[cfg(feature = "gpu")]
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

#[cfg(feature = "gpu")]
impl RowMap for Map {
    fn bases(&self, first: usize) -> impl Iterator<Item = Option<usize>> {
        Odometer::at(&self.axes, self.offset, first).map(Some)
    }
}

/// Walks the places that some axes number, in order, without a division for each.
pub(crate) struct Odometer<'a> {
    axes: &'a [Axis],
    position: Position,
    base: usize,
}

/// Coordinates: in place for as many axes as most arrays have.
struct Position {
    few: [usize; 6],
    many: Vec<usize>,
}

impl Position {
    fn of(rank: usize) -> Self {
        let many = if rank > 6 { vec![0; rank] } else { Vec::new() };
        Self { few: [0; 6], many }
    }

    fn of_rank(&mut self, rank: usize) -> &mut [usize] {
        if rank > 6 {
            &mut self.many
        } else {
            &mut self.few[..rank]
        }
    }
}

impl<'a> Odometer<'a> {
    /// The places from `first` on; place 0 is `offset`.
    pub(crate) fn at(axes: &'a [Axis], offset: usize, mut first: usize) -> Self {
        let mut position = Position::of(axes.len());
        let mut base = offset;
        for (axis, at) in axes.iter().zip(position.of_rank(axes.len())).rev() {
            *at = first % axis.size;
            first /= axis.size;
            base = base.wrapping_add_signed(axis.stride.wrapping_mul(at.cast_signed()));
        }
        Self {
            axes,
            position,
            base,
        }
    }
}

impl Iterator for Odometer<'_> {
    type Item = usize;

    // Bases of places that exist lie within the source. The wrapping steps only pass through values
    // outside it on the way from one to the next.
    fn next(&mut self) -> Option<usize> {
        let base = self.base;
        let position = self.position.of_rank(self.axes.len());
        for (axis, at) in self.axes.iter().zip(position).rev() {
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
