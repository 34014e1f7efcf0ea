//! Slices of views.
//!
//! As in TensorFlow, the items are first checked against the rank, then the ellipsis is expanded, and then each
//! dimension in order is resolved to existing positions. So the first error is the same as in TensorFlow.

use super::View;
use crate::prelude::*;
use crate::{Error, SliceSpec, error, layout::along, spec::SliceItem, walk::Dim};

impl View {
    /// Returns a slice of this view, which is a view of the same source.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for the fault that TensorFlow reports first, for an array of the view's shape.
    #[doc(alias("strided_slice", "flip", "reverse", "narrow"))]
    pub fn slice(&self, spec: &SliceSpec) -> Result<Self, Error> {
        let mut view = self.clone();
        view.narrow(spec)?;
        Ok(view)
    }

    /// Does the work of [`Self::slice`] in place, which saves a clone if the caller no longer needs this view.
    pub(crate) fn narrow(&mut self, spec: &SliceSpec) -> Result<(), Error> {
        self.offset = spec.narrow(self, self.offset)?;
        self.normalize();
        Ok(())
    }
}

/// The dimensions that a slice changes. They belong to a view, or to a walk that reads a view.
pub(crate) trait Dimensions {
    fn count(&self) -> usize;

    /// Returns the size of a dimension, and the distance between its positions.
    fn get(&self, dim_index: usize) -> (usize, isize);

    fn set(&mut self, dim_index: usize, size: usize, stride: isize);

    /// Adds a dimension of size 1.
    fn insert(&mut self, dim_index: usize);

    fn remove(&mut self, dim_index: usize);
}

impl Dimensions for View {
    fn count(&self) -> usize {
        self.shape.len()
    }

    fn get(&self, dim_index: usize) -> (usize, isize) {
        (self.shape[dim_index], self.strides[dim_index])
    }

    fn set(&mut self, dim_index: usize, size: usize, stride: isize) {
        (self.shape[dim_index], self.strides[dim_index]) = (size, stride);
    }

    fn insert(&mut self, dim_index: usize) {
        self.shape.insert(dim_index, 1);
        self.strides.insert(dim_index, 0);
    }

    fn remove(&mut self, dim_index: usize) {
        self.shape.remove(dim_index);
        self.strides.remove(dim_index);
    }
}

impl Dimensions for Vec<Dim> {
    fn count(&self) -> usize {
        self.len()
    }

    fn get(&self, dim_index: usize) -> (usize, isize) {
        (self[dim_index].size, self[dim_index].from)
    }

    fn set(&mut self, dim_index: usize, size: usize, stride: isize) {
        self[dim_index] = Dim::shared(size, stride);
    }

    fn insert(&mut self, dim_index: usize) {
        self.insert(dim_index, Dim::shared(1, 0));
    }

    fn remove(&mut self, dim_index: usize) {
        self.remove(dim_index);
    }
}

impl SliceSpec {
    /// Narrows dimensions to the slice. `offset` is the position of the first element before the slice is applied.
    /// Returns the position of the first element of the slice.
    pub(crate) fn narrow(
        &self,
        dims: &mut impl Dimensions,
        mut offset: usize,
    ) -> Result<usize, Error> {
        let ellipsis_dims = self.ellipsis_dims(dims.count())?;
        // The next item is for dimension `dimension` of the original array. In `dims` this is dimension `dim_index`,
        // because earlier single indices have removed dimensions and new axes have added dimensions. Dimensions after
        // the last item stay whole.
        let (mut dimension, mut dim_index) = (0, 0);
        for &item in self.items() {
            match item {
                SliceItem::Index { stride: 0, .. } | SliceItem::Range { stride: 0, .. } => {
                    return Err(error::spec::stride_zero(dimension));
                }
                SliceItem::NewAxis => {
                    dims.insert(dim_index);
                    dim_index += 1;
                }
                SliceItem::Ellipsis => {
                    dimension += ellipsis_dims;
                    dim_index += ellipsis_dims;
                }
                SliceItem::Index { index, stride } => {
                    let (size, spacing) = dims.get(dim_index);
                    let position = single_position(dimension, size, index, stride)?;
                    dims.remove(dim_index);
                    offset = along(offset, spacing, position);
                    dimension += 1;
                }
                SliceItem::Range { begin, end, stride } => {
                    let (size, spacing) = dims.get(dim_index);
                    let (first, step, count) = range(size, begin, end, stride);
                    // If the range has at least two positions, the new stride is a distance between existing elements
                    // and cannot overflow.
                    dims.set(dim_index, count, if count > 1 { step * spacing } else { 0 });
                    offset = along(offset, spacing, first);
                    dimension += 1;
                    dim_index += 1;
                }
            }
        }
        Ok(offset)
    }

    /// Applies the slice to an array of this shape.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for the fault that TensorFlow reports first; [`Error::ShapeTooLarge`].
    pub fn view(&self, shape: &[usize]) -> Result<View, Error> {
        let mut view = View::new(shape)?;
        view.narrow(self)?;
        Ok(view)
    }

    /// Checks the items against the rank. Returns the number of dimensions that the ellipsis stands for or, without an
    /// ellipsis, the number of dimensions after the last item.
    fn ellipsis_dims(&self, rank: usize) -> Result<usize, Error> {
        let (mut ellipsis_count, mut indexed_dims) = (0, 0);
        for item in self.items() {
            ellipsis_count += usize::from(*item == SliceItem::Ellipsis);
            indexed_dims += usize::from(item.takes_dimension());
        }
        if ellipsis_count > 1 {
            return Err(error::spec::multiple_ellipses());
        }
        match rank.checked_sub(indexed_dims) {
            Some(dims) => Ok(dims),
            None if rank == 0 => Err(error::spec::scalar_input()),
            None => Err(error::spec::too_many_specs(indexed_dims, rank)),
        }
    }
}

/// Returns the positions that a range selects in a dimension of `size` positions: the first position, the distance
/// between neighbouring positions, and the number of positions.
fn range(size: usize, begin: Option<i64>, end: Option<i64>, stride: i64) -> (usize, isize, usize) {
    // The cast does not overflow: dimensions of a shape that has passed `shape::elements` are far below i64::MAX.
    let size = size as i64;
    // A descending range that includes position 0 ends at -1, because the end is exclusive.
    let (low, high) = if stride > 0 {
        (0, size)
    } else {
        (-1, size - 1)
    };
    let clamp_bound = |v: i64| if v < 0 { v + size } else { v }.clamp(low, high);
    let (default_begin, default_end) = if stride > 0 { (low, high) } else { (high, low) };
    let begin = begin.map_or(default_begin, clamp_bound);
    let end = end.map_or(default_end, clamp_bound);
    let distance = if stride > 0 { end - begin } else { begin - end };
    if distance <= 0 {
        return (0, 1, 0);
    }
    let count = match stride.unsigned_abs() {
        1 => distance.unsigned_abs(),
        step => (distance.unsigned_abs() - 1) / step + 1,
    };
    // `begin` and `count` are at most `size`, which came from a `usize`. Only the stride can be too large for its type,
    // on a 32-bit machine. `count` is then 1, and the caller does not use the stride.
    (
        usize::try_from(begin).unwrap_or(0),
        isize::try_from(stride).unwrap_or(0),
        usize::try_from(count).unwrap_or(0),
    )
}

/// Returns the position of a single index in dimension number `dimension`, which has `size` positions.
fn single_position(dimension: usize, size: usize, index: i64, stride: i64) -> Result<usize, Error> {
    if stride < 0 {
        return Err(error::spec::shrink_stride(dimension, stride));
    }
    let index_base = if index < 0 { size as i64 } else { 0 };
    usize::try_from(index + index_base)
        .ok()
        .filter(|&position| position < size)
        .ok_or_else(|| error::spec::shrink_out_of_range(dimension, index, size))
}
