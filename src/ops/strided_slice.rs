//! strided_slice: the innermost of the merged dimensions is the row, and the others number the rows.
//!
//! The semantics are those of TensorFlow 2.21, for any rank (TensorFlow accepts at most 8).

#[cfg(feature = "gpu")]
use crate::layout::{middle, span};
use crate::{
    Array, ArrayRef, Backend, DType, Element, Error, Plan, SliceSpec, View,
    backend::Inputs,
    layout::{Axis, along},
    pairs::Pairs,
    plan::{self, Rows},
    shape::check_elements,
    text::joined,
};
#[cfg(feature = "gpu")]
use std::ops::Range;

/// Where the rows begin in the source: a row at each position of nested dimensions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Map {
    /// The unit of the source where the first row begins, counted from 0.
    pub(crate) offset: usize,
    /// The dimensions that number the rows, outermost first, with strides in units.
    pub(crate) axes: Vec<Axis>,
}

impl Plan {
    /// Plans the slice `spec` of an input of this shape and element type.
    ///
    /// # Errors
    ///
    /// [`SpecError`](crate::error::SpecError) as TensorFlow raises it; [`Error::ShapeTooLarge`].
    pub fn slice(shape: &[usize], spec: &SliceSpec, dtype: DType) -> Result<Self, Error> {
        Ok(Self::of_view(spec.view(shape)?, dtype.size()))
    }

    /// Plans the copy of a view of an array whose elements have `element` bytes.
    pub(crate) fn of_view(view: View, element: usize) -> Self {
        let (rows, map) = if view.is_empty() {
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

impl Backend {
    /// Slices host values into a new array.
    ///
    /// ```
    /// use wgslice::{slice, Backend};
    ///
    /// let x = (&[1, 2, 3, 4, 5, 6], &[2, 3]);
    /// let flipped = Backend::cpu().slice(x, &slice![.., ..; -1])?;
    /// assert_eq!((flipped.shape, flipped.data), (vec![2, 3], vec![3, 2, 1, 6, 5, 4]));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SpecError`](crate::error::SpecError), [`Error::Length`], or an error of the device.
    pub fn slice<'a, T: Element>(
        &self,
        input: impl Into<ArrayRef<'a, T>>,
        spec: &SliceSpec,
    ) -> Result<Array<T>, Error> {
        let (memory, view) = input.into().sliced("input", spec)?;
        self.run_view(&memory, &view)
    }

    /// Copies the elements that a view selects from host values.
    ///
    /// ```
    /// use wgslice::{slice, Backend, View};
    ///
    /// let transposed = View::new(&[2, 3])?.transpose(&[1, 0])?;
    /// let last = transposed.slice(&slice![-1])?;
    /// let array = Backend::cpu().run_view(&[1, 2, 3, 4, 5, 6], &last)?;
    /// assert_eq!(array.data, [3, 6]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Length`], or an error of the device.
    pub fn run_view<T: Element>(&self, input: &[T], view: &View) -> Result<Array<T>, Error> {
        check_elements("input", view.source_shape(), input.len())?;
        Ok(self.run(&view.plan(T::DTYPE), Inputs::of(input))?.0)
    }
}

impl Map {
    /// Describes the map for [`Plan::explain`].
    pub(crate) fn form(&self, rows: &Rows) -> String {
        let axes = joined(self.axes.iter().chain([&rows.run_axis()]));
        format!("from unit {}: {axes}", self.offset)
    }

    /// The row map on the source side of `pairs`: the innermost axis is the row, and the other axes number the rows.
    pub(crate) fn of_source(mut pairs: Pairs) -> Self {
        pairs.axes.pop();
        // The map takes over the memory of the pairs, because allocations take most of the time of a small slice.
        let axes = pairs.axes.into_iter().map(|axis| axis.source()).collect();
        let offset = pairs.from;
        Self { offset, axes }
    }
}

#[cfg(feature = "gpu")]
impl Map {
    /// The units of the source where the rows begin, in the order of the rows.
    pub(crate) fn rows(&self, rows: &Rows) -> impl Iterator<Item = usize> {
        Odometer::at(&self.axes, self.offset, 0).take(rows.count)
    }

    /// Converts the map and `rows` to units that are `factor` times smaller.
    pub(crate) fn split_units(&mut self, rows: &mut Rows, factor: usize) {
        self.axes.extend(rows.split_units(factor));
        self.offset *= factor;
        for axis in &mut self.axes {
            axis.stride *= factor.cast_signed();
        }
    }

    /// The two halves of the result, cut in or near the middle of its outermost dimension. `None` for a single unit.
    pub(crate) fn halves(&self, rows: &Rows) -> Option<[(Rows, Self); 2]> {
        Some(self.split(rows, middle(self.outermost(rows))?))
    }

    /// The number of positions of the outermost dimension of the result. If there is only one row, that dimension is
    /// the row.
    pub(crate) fn outermost(&self, rows: &Rows) -> usize {
        self.axes.first().map_or(rows.run, |outer| outer.size)
    }

    /// The two parts of the result: the positions of the outermost dimension below `middle`, and all others. `middle`
    /// must leave neither part empty.
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

    /// The range from the lowest to the highest unit of the source that is read.
    pub(crate) fn span(&self, rows: &Rows) -> Range<usize> {
        span(
            self.offset,
            self.axes.iter().copied().chain([rows.run_axis()]),
        )
    }
}

/// Iterates over the units at all positions of nested axes, in row-major order. As in an odometer, the innermost
/// coordinate advances and carries into the next, so that no unit needs a division. After the last position the
/// iteration starts again at the first: it does not end.
pub(crate) struct Odometer<'a> {
    axes: &'a [Axis],
    /// The coordinates of the next unit, innermost first.
    position: Vec<usize>,
    base: usize,
}

impl<'a> Odometer<'a> {
    /// Starts at the position with number `first`. Position 0 is unit `offset`.
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

    // `base` wraps: it may lie outside of the source while it is carried from one position to the next. If `offset` is
    // the unit of position 0 in the source, every returned unit lies within the source. A caller that passes 0 instead
    // gets distances from position 0, which wrap if they are negative.
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
