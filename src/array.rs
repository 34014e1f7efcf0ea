//! Values in host memory: [`Array`] is a result, [`ArrayRef`] an argument.

use crate::prelude::*;
use crate::{
    Backend, Element, Error, SliceSpec, View,
    cpu::{Dest, Pieces},
    shape::check_elements,
};
use alloc::borrow::Cow;

/// An array in host memory: a shape, and values in row-major order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Array<T> {
    /// The size of each dimension, the outermost first.
    pub shape: Vec<usize>,
    /// The values, in row-major order.
    pub data: Vec<T>,
}

impl<T: Element> Array<T> {
    /// Makes an array of shape `shape` from the bytes that `run` writes. Returns the array and the result of `run`.
    pub(crate) fn collect<R>(
        shape: &[usize],
        pieces: Pieces,
        run: impl FnOnce(Dest<'_>) -> Result<R, Error>,
    ) -> Result<(Self, R), Error> {
        let (data, outcome) = T::collect(shape.iter().product(), pieces, run)?;
        let shape = shape.to_vec();
        Ok((Self { shape, data }, outcome))
    }
}

/// Borrowed values in host memory with their shape: the type of array arguments of operations on host values.
///
/// | made from | elements |
/// |---|---|
/// | `(&values, &shape)`, of slices, arrays or vectors | in row-major order |
/// | `&Array` | in row-major order |
/// | an array or a view of ndarray, by reference, with the feature `ndarray` | with any strides |
///
/// ```
/// use wgslice::{slice, Backend};
///
/// let backend = Backend::cpu(); // or Backend::auto()
/// let rows = backend.slice((&[1, 2, 3, 4], &[2, 2]), &slice![..; -1])?;
/// let columns = backend.slice(&rows, &slice![.., ..; -1])?;
/// assert_eq!(columns.data, [4, 3, 2, 1]);
/// # Ok::<(), wgslice::Error>(())
/// ```
///
/// If the number of values does not match the shape, the operation fails with [`Error::Length`].
#[derive(Clone, Debug)]
pub struct ArrayRef<'a, T>(ArrayLayout<'a, T>);

#[derive(Clone, Debug)]
enum ArrayLayout<'a, T> {
    RowMajor {
        values: &'a [T],
        shape: &'a [usize],
    },
    #[cfg(feature = "ndarray")]
    Ndarray(ndarray::ArrayViewD<'a, T>),
}

impl<'a, T, V, S> From<(&'a V, &'a S)> for ArrayRef<'a, T>
where
    V: AsRef<[T]> + ?Sized,
    S: AsRef<[usize]> + ?Sized,
{
    fn from((values, shape): (&'a V, &'a S)) -> Self {
        Self(ArrayLayout::RowMajor {
            values: values.as_ref(),
            shape: shape.as_ref(),
        })
    }
}

impl<'a, T> From<&'a Array<T>> for ArrayRef<'a, T> {
    fn from(array: &'a Array<T>) -> Self {
        (&array.data, &array.shape).into()
    }
}

#[cfg(feature = "ndarray")]
impl<'a, T, D: ndarray::Dimension> From<&'a ndarray::ArrayRef<T, D>> for ArrayRef<'a, T> {
    fn from(array: &'a ndarray::ArrayRef<T, D>) -> Self {
        Self(ArrayLayout::Ndarray(array.view().into_dyn()))
    }
}

#[cfg(feature = "ndarray")]
impl<'a, T, S, D> From<&'a ndarray::ArrayBase<S, D, T>> for ArrayRef<'a, T>
where
    S: ndarray::Data<Elem = T>,
    D: ndarray::Dimension,
{
    fn from(array: &'a ndarray::ArrayBase<S, D, T>) -> Self {
        Self(ArrayLayout::Ndarray(array.view().into_dyn()))
    }
}

impl<'a, T> ArrayRef<'a, T> {
    /// Returns the size of each dimension, the outermost first.
    pub fn shape(&self) -> &[usize] {
        match &self.0 {
            ArrayLayout::RowMajor { shape, .. } => shape,
            #[cfg(feature = "ndarray")]
            ArrayLayout::Ndarray(array) => array.shape(),
        }
    }
}

/// Values in row-major order, and their shape.
type RowMajorRef<'a, T> = (&'a [T], &'a [usize]);
type RowMajor<'a, T> = (Cow<'a, [T]>, Cow<'a, [usize]>);

impl<'a, T: Element> ArrayRef<'a, T> {
    /// Returns the values and their shape if the argument was made from a slice or an [`Array`], which are in row-major
    /// order. Returns `None` for an array of ndarray, which can have any strides.
    pub(crate) fn as_row_major(
        &self,
        argument: &'static str,
    ) -> Result<Option<RowMajorRef<'a, T>>, Error> {
        match self.0 {
            ArrayLayout::RowMajor { values, shape } => {
                check_elements(argument, shape, values.len())?;
                Ok(Some((values, shape)))
            }
            #[cfg(feature = "ndarray")]
            ArrayLayout::Ndarray(_) => Ok(None),
        }
    }

    /// Returns the memory of the values, and the array as a view of this memory. If there are gaps between the values,
    /// copies the values and returns the memory of the copy. `argument` is the name in an [`Error::Length`].
    pub(crate) fn memory(self, argument: &'static str) -> Result<(Cow<'a, [T]>, View), Error> {
        match self.0 {
            ArrayLayout::RowMajor { values, shape } => {
                check_elements(argument, shape, values.len())?;
                Ok((Cow::Borrowed(values), View::whole(shape)))
            }
            #[cfg(feature = "ndarray")]
            ArrayLayout::Ndarray(array) => crate::ndarray::memory_and_view(array),
        }
    }

    /// Returns the memory of the values, and the slice of the array as a view of this memory. If there are gaps between
    /// the values, copies the selected values and returns the memory of the copy.
    pub(crate) fn sliced(
        self,
        argument: &'static str,
        spec: &SliceSpec,
    ) -> Result<(Cow<'a, [T]>, View), Error> {
        #[cfg(feature = "ndarray")]
        if let ArrayLayout::Ndarray(array) = self.0 {
            return crate::ndarray::memory_and_slice(array, spec);
        }
        let (memory, mut view) = self.memory(argument)?;
        view.narrow(spec)?;
        Ok((memory, view))
    }

    /// Returns the values in row-major order, and the shape. Copies the values unless they are already in this order,
    /// without gaps or repetitions.
    pub(crate) fn row_major(
        self,
        argument: &'static str,
        backend: &Backend,
    ) -> Result<RowMajor<'a, T>, Error> {
        if let Some((values, shape)) = self.as_row_major(argument)? {
            return Ok((values.into(), shape.into()));
        }
        let (memory, view) = self.memory(argument)?;
        if view.is_whole() {
            return Ok((memory, view.shape.into()));
        }
        let slice_move = crate::moves::Move::from_view(view.clone(), T::DTYPE);
        let copy = |dest: Dest<'_>| backend.run_slice(&slice_move, T::as_bytes(&memory), dest);
        let (Array { data, .. }, ()) = Array::collect(&view.shape, slice_move.pieces(), copy)?;
        Ok((data.into(), view.shape.into()))
    }
}
