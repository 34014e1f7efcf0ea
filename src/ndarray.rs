//! Conversions from ndarray's slices, arrays and views, and of results to ndarray's arrays.
//!
//! An array of ndarray is a strided view of memory, like a [`View`]. Whether its elements are copied first depends on
//! how they are arranged:
//!
//! | elements | conversion |
//! |---|---|
//! | contiguous, axes in any order and direction | no copy: the layout becomes a [`View`] of the memory, which is then sliced |
//! | contiguous, and repeated along some axes ([`broadcast`]) | no copy: the [`View`] repeats the elements too |
//! | with gaps (a slice of another array) | a copy, since safe code cannot borrow memory with gaps: a slice copies only the selected elements, a gather or an upload all elements |
//!
//! [`broadcast`]: ndarray::ArrayRef::broadcast

use crate::{
    Array, Backend, Element, Error, Indices, Plan, Report, SliceSpec, Tensor, View,
    options::{GatherNdOptions, GatherOptions},
    shape,
    spec::SliceItem,
};
use ndarray::{
    ArrayBase, ArrayD, ArrayRef, ArrayViewD, Axis, Dimension, OwnedRepr, Slice, SliceInfo,
    SliceInfoElem,
};
use std::{borrow::Cow, cmp::Reverse};

/// ndarray's `s![]`, with ndarray's meaning of a negative step: the range is taken first and then reversed.
///
/// Bounds outside a dimension are clamped, whereas ndarray panics, and dimensions without an item stay whole.
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

/// Converts the elements of a [`SliceInfo`], with the same meaning.
impl From<&[SliceInfoElem]> for SliceSpec {
    fn from(elements: &[SliceInfoElem]) -> Self {
        elements.iter().map(|&element| element.into()).collect()
    }
}

/// Converts one element of a [`SliceInfo`], with the same meaning.
impl From<SliceInfoElem> for SliceItem {
    fn from(element: SliceInfoElem) -> Self {
        let wide = |bound: isize| bound as i64;
        let (start, end, step) = match element {
            SliceInfoElem::NewAxis => return Self::NewAxis,
            SliceInfoElem::Index(index) => {
                return Self::Index {
                    index: wide(index),
                    stride: 1,
                };
            }
            SliceInfoElem::Slice { start, end, step } => (wide(start), end.map(wide), wide(step)),
        };
        let (begin, end) = if step < 0 {
            // Reversed, `start..end` begins at `end - 1` and ends before `start - 1`. If `end` is 0 the range is empty,
            // and `i64::MIN` begins it before all positions: -1 would mean the last position.
            let before = |bound: i64| bound.saturating_sub(1);
            let last = |end| if end == 0 { i64::MIN } else { before(end) };
            (end.map(last), (start != 0).then(|| before(start)))
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

/// Copies nothing. Fails with [`Error::Length`] if the length of `data` no longer matches `shape`.
impl<T> TryFrom<Array<T>> for ArrayD<T> {
    type Error = Error;

    fn try_from(Array { shape, data }: Array<T>) -> Result<Self, Error> {
        let needed = shape::elements(&shape)?;
        shape::check_length("data", &shape, "elements", needed, data.len())?;
        Self::from_shape_vec(shape.as_slice(), data).map_err(|_| Error::ShapeTooLarge { shape })
    }
}

/// Copies nothing if the array is in row-major order.
impl<T: Clone, D: Dimension> From<ArrayBase<OwnedRepr<T>, D>> for Array<T> {
    fn from(array: ArrayBase<OwnedRepr<T>, D>) -> Self {
        let array = match array.is_standard_layout() {
            true => array,
            false => array.as_standard_layout().into_owned(),
        };
        let shape = array.shape().to_vec();
        let elements = array.len();
        // A sliced array may own more memory than its elements take.
        let (mut data, first) = array.into_raw_vec_and_offset();
        let first = first.unwrap_or(0);
        data.truncate(first + elements);
        data.drain(..first);
        Self { shape, data }
    }
}

impl Backend {
    /// Slices an array of ndarray, or a view of one, with any strides.
    ///
    /// ```
    /// use ndarray::{array, s};
    /// use wgslice::{Backend, slice};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let x = array![[1, 2, 3], [4, 5, 6]];
    ///
    /// let flipped = backend.slice_ndarray(&x.t(), &slice![..; -1])?;
    /// assert_eq!(flipped, array![[3, 6], [2, 5], [1, 4]].into_dyn());
    ///
    /// let as_ndarray = backend.slice_ndarray(&x, &s![.., ..2;-1].into())?;
    /// assert_eq!(as_ndarray, x.slice(s![.., ..2;-1]).into_dyn());
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SpecError`](crate::error::SpecError), or an error of the device.
    pub fn slice_ndarray<T: Element, D: Dimension>(
        &self,
        input: &ArrayRef<T, D>,
        spec: &SliceSpec,
    ) -> Result<ArrayD<T>, Error> {
        let input = input.view().into_dyn();
        let array = match dense(&input)? {
            Some((memory, view)) => self.run_view(memory, &view.slice(spec)?)?,
            None => copied(input, spec)?,
        };
        array.try_into()
    }

    /// Gathers by index tuples from an array of ndarray, or a view of one. `indices` may be `i32`, `i64` or `u32`.
    ///
    /// ```
    /// use ndarray::array;
    /// use wgslice::{options::GatherNdOptions, Backend};
    ///
    /// let params = array![[0.0, 1.0, 2.0], [0.1, 1.1, 2.1]];
    /// let indices = array![[2], [0]];
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let (rows, report) = backend.gather_nd_ndarray(&params.t(), &indices, GatherNdOptions::default())?;
    /// assert_eq!(rows, array![[2.0, 2.1], [0.0, 0.1]].into_dyn());
    /// assert_eq!(report.out_of_range, 0);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`GatherError`](crate::error::GatherError), or an error of the device.
    pub fn gather_nd_ndarray<T, I, D, E>(
        &self,
        params: &ArrayRef<T, D>,
        indices: &ArrayRef<I, E>,
        options: GatherNdOptions,
    ) -> Result<(ArrayD<T>, Report), Error>
    where
        T: Element,
        I: Element,
        D: Dimension,
        E: Dimension,
        for<'a> Indices<'a>: From<&'a [I]>,
    {
        let integers = row_major(indices)?;
        let indices = (Indices::from(&*integers), indices.shape());
        self.gather_ndarray_by(params, indices, |params, indices| {
            params.gather_nd(indices, options, T::DTYPE)
        })
    }

    /// Gathers along a dimension of an array of ndarray, or a view of one. `indices` may be `i32`, `i64` or `u32`.
    ///
    /// ```
    /// use ndarray::{Axis, array};
    /// use wgslice::{options::GatherOptions, Backend};
    ///
    /// let x = array![[0., 1.], [2., 3.], [4., 5.], [6., 7.], [8., 9.]];
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let (rows, _) = backend.gather_ndarray(&x, &array![0, 4, 3], GatherOptions::default())?;
    /// assert_eq!(rows, x.select(Axis(0), &[0, 4, 3]).into_dyn());
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`GatherError`](crate::error::GatherError), or an error of the device.
    pub fn gather_ndarray<T, I, D, E>(
        &self,
        params: &ArrayRef<T, D>,
        indices: &ArrayRef<I, E>,
        options: GatherOptions,
    ) -> Result<(ArrayD<T>, Report), Error>
    where
        T: Element,
        I: Element,
        D: Dimension,
        E: Dimension,
        for<'a> Indices<'a>: From<&'a [I]>,
    {
        let integers = row_major(indices)?;
        let indices = (Indices::from(&*integers), indices.shape());
        self.gather_ndarray_by(params, indices, |params, indices| {
            params.gather(indices, options, T::DTYPE)
        })
    }

    /// Gathers from `params`. `plan` plans the gather, given `params` as a view of its memory and the shape of the
    /// indices.
    fn gather_ndarray_by<T: Element, D: Dimension>(
        &self,
        params: &ArrayRef<T, D>,
        indices: (Indices<'_>, &[usize]),
        plan: impl FnOnce(&View, &[usize]) -> Result<Plan, Error>,
    ) -> Result<(ArrayD<T>, Report), Error> {
        let (memory, view) = memory(params)?;
        let plan = plan(&view, indices.1)?;
        let (array, report) = self.gather_by(&plan, (&memory, view.source_shape()), indices)?;
        Ok((array.try_into()?, report))
    }

    /// Copies an array of ndarray, or a view of one, to the device, as a tensor that stays there.
    ///
    /// ```
    /// use ndarray::array;
    /// use wgslice::Backend;
    ///
    /// let x = array![[1, 2, 3], [4, 5, 6]];
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let tensor = backend.upload_ndarray(&x.t())?;
    /// assert_eq!(tensor.shape(), [3, 2]);
    /// assert_eq!(ndarray::ArrayD::try_from(tensor.to_array::<i32>()?)?, x.t().into_dyn());
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ShapeTooLarge`], or an error of the device.
    pub fn upload_ndarray<T: Element, D: Dimension>(
        &self,
        array: &ArrayRef<T, D>,
    ) -> Result<Tensor, Error> {
        let (memory, view) = memory(array)?;
        self.upload_view(&memory, &view)
    }
}

/// The memory of an array, and the array as a view of this memory. If there are gaps between elements, the memory of a
/// copy instead.
fn memory<T: Element, D: Dimension>(array: &ArrayRef<T, D>) -> Result<(Cow<'_, [T]>, View), Error> {
    let array = array.view().into_dyn();
    match dense(&array)? {
        Some((memory, view)) => Ok((Cow::Borrowed(memory), view)),
        None => {
            let Array { shape, data } = copied(array, &SliceSpec::default())?;
            Ok((Cow::Owned(data), View::new(&shape)?))
        }
    }
}

/// The memory of an array, and the array as a view of this memory. `None` if there are gaps between elements.
fn dense<'a, T>(array: &ArrayViewD<'a, T>) -> Result<Option<(&'a [T], View)>, Error> {
    let mut once = array.clone();
    for axis in 0..array.ndim() {
        if array.stride_of(Axis(axis)) == 0 && array.len_of(Axis(axis)) > 1 {
            once.collapse_axis(Axis(axis), 0);
        }
    }
    let Some(memory) = once.to_slice_memory_order() else {
        return Ok(None);
    };
    let strides = once.strides();
    let mut outermost_first: Vec<usize> = (0..once.ndim()).collect();
    outermost_first.sort_by_key(|&axis| Reverse(strides[axis].unsigned_abs()));
    let sizes: Vec<usize> = outermost_first.iter().map(|&a| once.shape()[a]).collect();
    let mut places = vec![0; sizes.len()];
    for (place, &axis) in outermost_first.iter().enumerate() {
        places[axis] = place;
    }
    let direction = |stride: &isize| SliceItem::FULL.with_stride(if *stride < 0 { -1 } else { 1 });
    let view = View::new(&sizes)?
        .transpose(&places)?
        .slice(&strides.iter().map(direction).collect())?
        .broadcast_to(array.shape())?;
    Ok(Some((memory, view)))
}

/// Copies the elements of an array that `spec` selects.
fn copied<T: Element>(mut array: ArrayViewD<'_, T>, spec: &SliceSpec) -> Result<Array<T>, Error> {
    let shape = spec.view(array.shape())?.shape;
    let items = spec.items();
    let named = items.iter().filter(|item| item.takes_dimension()).count();
    let unnamed = array.ndim() - named;
    let mut axis = 0;
    for &item in items {
        match item {
            SliceItem::NewAxis => {}
            SliceItem::Ellipsis => axis += unnamed,
            SliceItem::Index { .. } | SliceItem::Range { .. } => {
                let positions = SliceSpec::new([item]).view(&[array.len_of(Axis(axis))])?;
                array.slice_axis_inplace(Axis(axis), range(&positions));
                axis += 1;
            }
        }
    }
    let (zeros, ()) = Array::collect(array.shape(), |_| Ok(()))?;
    let mut selected = ArrayD::try_from(zeros)?;
    selected.assign(&array);
    // `shape` may lack or add dimensions of size 1, which does not change the order of the data.
    let Array { data, .. } = selected.into();
    Ok(Array { shape, data })
}

/// The positions that a view of one dimension selects, as ndarray writes them: from the lowest to the highest, with a
/// negative step if they are reversed.
fn range(positions: &View) -> Slice {
    let step = positions.strides.first().copied().unwrap_or(0);
    let first = positions.offset.cast_signed();
    let Some(steps) = positions.len().checked_sub(1) else {
        return Slice::new(0, Some(0), 1);
    };
    let last = first + steps.cast_signed() * step;
    let step = if step == 0 { 1 } else { step };
    Slice::new(first.min(last), Some(first.max(last) + 1), step)
}

/// The values in row-major order, copied if the array has another order.
fn row_major<T: Element, D: Dimension>(array: &ArrayRef<T, D>) -> Result<Cow<'_, [T]>, Error> {
    if let Some(values) = array.as_slice() {
        return Ok(Cow::Borrowed(values));
    }
    let (memory, view) = memory(array)?;
    Ok(Cow::Owned(Backend::cpu().run_view(&memory, &view)?.data))
}
