//! Conversions from ndarray's slices, arrays and views, and from results to ndarray's arrays.
//!
//! An array of ndarray is a strided view of memory, like a [`View`]. The arrangement of its elements determines whether
//! they are copied first:
//!
//! | elements | conversion |
//! |---|---|
//! | contiguous, axes in any order and direction | no copy: the layout becomes a [`View`] of the memory, which is then sliced |
//! | contiguous, and repeated along some axes ([`broadcast`]) | no copy: the [`View`] repeats the elements too |
//! | with gaps (a slice of another array) | a copy, because safe code cannot borrow memory with gaps: a slice copies only the selected elements, a gather or an upload copies all elements |
//!
//! [`broadcast`]: ndarray::ArrayRef::broadcast

use crate::{Array, Element, Error, SliceSpec, View, shape, spec::SliceItem};
use ndarray::{
    ArrayBase, ArrayD, ArrayViewD, Axis, Dimension, OwnedRepr, Slice, SliceInfo, SliceInfoElem,
};
use std::{borrow::Cow, cmp::Reverse};

/// Converts ndarray's `s![]`. A negative step has ndarray's meaning: the range is selected first and then reversed.
///
/// The bounds of a range are clamped to the dimension, whereas ndarray panics if they are out of bounds. Dimensions
/// without an item stay whole.
///
/// ```
/// use ndarray::s;
/// use wgslice::{SliceSpec, slice};
///
/// let spec = SliceSpec::from(s![1, 2..5;-1]);
/// assert_eq!(spec, slice![1, 4..1; -1]);
/// ```
impl<T, Din, Dout> From<SliceInfo<T, Din, Dout>> for SliceSpec
where
    T: AsRef<[SliceInfoElem]>,
    Din: Dimension,
    Dout: Dimension,
{
    fn from(info: SliceInfo<T, Din, Dout>) -> Self {
        info.as_ref().into()
    }
}

/// Converts the elements of a [`SliceInfo`], with ndarray's meaning of negative steps.
impl From<&[SliceInfoElem]> for SliceSpec {
    fn from(elements: &[SliceInfoElem]) -> Self {
        elements.iter().map(|&element| element.into()).collect()
    }
}

/// Converts one element of a [`SliceInfo`], with ndarray's meaning of negative steps.
impl From<SliceInfoElem> for SliceItem {
    fn from(element: SliceInfoElem) -> Self {
        let to_i64 = |bound: isize| bound as i64;
        let (start, end, step) = match element {
            SliceInfoElem::NewAxis => return Self::NewAxis,
            SliceInfoElem::Index(index) => {
                return Self::Index {
                    index: to_i64(index),
                    stride: 1,
                };
            }
            SliceInfoElem::Slice { start, end, step } => {
                (to_i64(start), end.map(to_i64), to_i64(step))
            }
        };
        let (begin, end) = if step < 0 {
            // The reverse of `start..end` begins at `end - 1` and ends at `start - 1`, exclusive. If `end` is 0 the
            // range is empty. It then begins at `i64::MIN`, before all positions, because -1 would mean the last
            // position.
            let last_before = |bound: i64| bound.saturating_sub(1);
            let last_index = |end| if end == 0 { i64::MIN } else { last_before(end) };
            (
                end.map(last_index),
                (start != 0).then(|| last_before(start)),
            )
        } else {
            (Some(start), end)
        };
        Self::Range {
            begin,
            end,
            stride: step,
        }
    }
}

/// Moves the data without a copy. Fails with [`Error::Length`] if the length of `data` no longer matches `shape`.
impl<T> TryFrom<Array<T>> for ArrayD<T> {
    type Error = Error;

    fn try_from(Array { shape, data }: Array<T>) -> Result<Self, Error> {
        let needed_elements = shape::elements(&shape)?;
        shape::check_length("data", &shape, "elements", needed_elements, data.len())?;
        Self::from_shape_vec(shape.as_slice(), data).map_err(|_| Error::ShapeTooLarge { shape })
    }
}

/// Keeps the memory of the values if the array is in row-major order. Otherwise copies the values.
impl<T: Clone, D: Dimension> From<ArrayBase<OwnedRepr<T>, D>> for Array<T> {
    fn from(array: ArrayBase<OwnedRepr<T>, D>) -> Self {
        let array = match array.is_standard_layout() {
            true => array,
            false => array.as_standard_layout().into_owned(),
        };
        let shape = array.shape().to_vec();
        let elements = array.len();
        // A sliced array can own memory before and after its elements.
        let (mut data, offset) = array.into_raw_vec_and_offset();
        let offset = offset.unwrap_or(0);
        data.truncate(offset + elements);
        data.drain(..offset);
        Self { shape, data }
    }
}

/// Returns the memory of an array, and the array as a view of this memory. If there are gaps between elements, copies
/// the elements and returns the memory of the copy.
pub(crate) fn memory_and_view<T: Element>(
    array: ArrayViewD<'_, T>,
) -> Result<(Cow<'_, [T]>, View), Error> {
    match dense_memory(&array)? {
        Some((memory, view)) => Ok((Cow::Borrowed(memory), view)),
        None => {
            let Array { shape, data } = copy_selection(array, &SliceSpec::default())?;
            Ok((Cow::Owned(data), View::new(&shape)?))
        }
    }
}

/// Returns the memory of an array, and a slice of the array as a view of this memory. If there are gaps between
/// elements, copies the slice and returns the memory of the copy.
pub(crate) fn memory_and_slice<'a, T: Element>(
    array: ArrayViewD<'a, T>,
    spec: &SliceSpec,
) -> Result<(Cow<'a, [T]>, View), Error> {
    match dense_memory(&array)? {
        Some((memory, mut view)) => {
            view.narrow(spec)?;
            Ok((Cow::Borrowed(memory), view))
        }
        None => {
            let Array { shape, data } = copy_selection(array, spec)?;
            Ok((Cow::Owned(data), View::new(&shape)?))
        }
    }
}

/// Returns the memory of an array, and the array as a view of this memory. Returns `None` if there are gaps
/// between elements.
fn dense_memory<'a, T>(array: &ArrayViewD<'a, T>) -> Result<Option<(&'a [T], View)>, Error> {
    let mut without_repeats = array.clone();
    for axis in 0..array.ndim() {
        if array.stride_of(Axis(axis)) == 0 && array.len_of(Axis(axis)) > 1 {
            without_repeats.collapse_axis(Axis(axis), 0);
        }
    }
    let Some(memory) = without_repeats.to_slice_memory_order() else {
        return Ok(None);
    };
    let strides = without_repeats.strides();
    let mut outermost_first: Vec<usize> = (0..without_repeats.ndim()).collect();
    outermost_first.sort_by_key(|&axis| Reverse(strides[axis].unsigned_abs()));
    let sizes: Vec<usize> = outermost_first
        .iter()
        .map(|&a| without_repeats.shape()[a])
        .collect();
    let mut permutation = vec![0; sizes.len()];
    for (position, &axis) in outermost_first.iter().enumerate() {
        permutation[axis] = position;
    }
    let full_range = |stride: &isize| SliceItem::FULL.with_stride(if *stride < 0 { -1 } else { 1 });
    let view = View::new(&sizes)?
        .transpose(&permutation)?
        .slice(&strides.iter().map(full_range).collect())?
        .broadcast_to(array.shape())?;
    Ok(Some((memory, view)))
}

/// Copies the elements that `spec` selects from an array.
fn copy_selection<T: Element>(
    mut array: ArrayViewD<'_, T>,
    spec: &SliceSpec,
) -> Result<Array<T>, Error> {
    let shape = spec.view(array.shape())?.shape;
    let items = spec.items();
    let indexed_dims = items.iter().filter(|item| item.takes_dimension()).count();
    let ellipsis_dims = array.ndim() - indexed_dims;
    let mut axis = 0;
    for &item in items {
        match item {
            SliceItem::NewAxis => {}
            SliceItem::Ellipsis => axis += ellipsis_dims,
            SliceItem::Index { .. } | SliceItem::Range { .. } => {
                let positions = SliceSpec::new([item]).view(&[array.len_of(Axis(axis))])?;
                array.slice_axis_inplace(Axis(axis), ndarray_range(&positions));
                axis += 1;
            }
        }
    }
    let (zeros, ()) = Array::collect(array.shape(), crate::cpu::Pieces::WithZeros, |dest| {
        dest.all();
        Ok(())
    })?;
    let mut selection = ArrayD::try_from(zeros)?;
    selection.assign(&array);
    // `shape` can differ from the shape of `selection` in dimensions of size 1. The order of the data is the same.
    let Array { data, .. } = selection.into();
    Ok(Array { shape, data })
}

/// Returns the positions that a view of one dimension selects, in ndarray's form: a range from the lowest to the
/// highest position, with a negative step if the order is reversed.
fn ndarray_range(positions: &View) -> Slice {
    let step = positions.strides.first().copied().unwrap_or(0);
    let first_position = positions.offset.cast_signed();
    let Some(steps) = positions.len().checked_sub(1) else {
        return Slice::new(0, Some(0), 1);
    };
    let last_position = first_position + steps.cast_signed() * step;
    let step = if step == 0 { 1 } else { step };
    Slice::new(
        first_position.min(last_position),
        Some(first_position.max(last_position) + 1),
        step,
    )
}
