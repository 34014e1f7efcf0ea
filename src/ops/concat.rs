//! concat and stack put arrays together along one axis, and split takes an array apart. The semantics are those of
//! TensorFlow 2.21's `tf.concat`, `tf.stack` and `tf.split`.
//!
//! ```text
//! concat of [a, n], [a, m] along axis 1: [a, n + m]
//! stack of k arrays [a, n] along axis 1: [a, k, n]
//! ```

use crate::{
    Array, ArrayRef, Assembly, Backend, DType, Element, Error, Tensor, TensorView, View, error,
    plan::Operation, shape,
};

impl Assembly {
    /// An array of the elements of all arrays, one after the other along `axis`, which counts from the end if it is
    /// negative. The arrays have the same size in each other dimension.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`no_arrays`, `axis`, `array_shape`, in this order); [`Error::ShapeTooLarge`].
    pub fn concat(arrays: &[View], axis: isize, dtype: DType) -> Result<Self, Error> {
        let first = arrays.first().ok_or_else(error::assembly::no_arrays)?;
        let axis = check_axis(axis, first.shape.len())?;
        check_shapes(arrays, Some(axis))?;
        let mut size = 0usize;
        for array in arrays {
            size = size.saturating_add(array.shape[axis]);
        }
        let mut shape = first.shape.clone();
        shape[axis] = size;
        shape::elements(&shape)?;
        let result = View::whole(&shape);
        let mut assembly = Self::new(Operation::Concat, shape, dtype);
        let mut begin = 0;
        for (number, array) in arrays.iter().enumerate() {
            let count = array.shape[axis];
            assembly.put(number, array, &result.along(axis, begin, 1, count));
            begin += count;
        }
        Ok(assembly)
    }

    /// An array whose dimension `axis` numbers the arrays, which all have the same shape. A negative `axis` counts from
    /// the end of the result.
    ///
    /// ```
    /// use wgslice::{Assembly, DType, View};
    ///
    /// let point = View::new(&[2])?;
    /// let points = Assembly::stack(&[point.clone(), point], 1, DType::I32)?;
    /// let mut result = [0; 4];
    /// points.run_cpu(&[&[1, 2], &[3, 4]], &mut result)?;
    /// assert_eq!((points.shape(), result), (&[2, 2][..], [1, 3, 2, 4]));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`no_arrays`, `axis`, `array_shape`, in this order); [`Error::ShapeTooLarge`].
    pub fn stack(arrays: &[View], axis: isize, dtype: DType) -> Result<Self, Error> {
        let first = arrays.first().ok_or_else(error::assembly::no_arrays)?;
        let axis = check_axis(axis, first.shape.len() + 1)?;
        check_shapes(arrays, None)?;
        let mut shape = first.shape.clone();
        shape.insert(axis, arrays.len());
        shape::elements(&shape)?;
        let result = View::whole(&shape);
        let mut assembly = Self::new(Operation::Stack, shape, dtype);
        for (number, array) in arrays.iter().enumerate() {
            let mut place = result.along(axis, number, 1, 1);
            place.shape.remove(axis);
            place.strides.remove(axis);
            assembly.put(number, array, &place);
        }
        Ok(assembly)
    }
}

impl View {
    /// The parts of this view along `axis`, which have these sizes. A negative `axis` counts from the end.
    ///
    /// ```
    /// use wgslice::View;
    ///
    /// let qkv = View::new(&[16, 12])?.split(&[8, 2, 2], -1)?;
    /// assert_eq!((qkv[1].shape(), qkv[1].offset()), (&[16, 2][..], 8));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`axis`, `split_sizes`, in this order).
    pub fn split(&self, sizes: &[usize], axis: isize) -> Result<Vec<Self>, Error> {
        let axis = check_axis(axis, self.shape.len())?;
        let size = self.shape[axis];
        let total = sizes
            .iter()
            .try_fold(0usize, |sum, &size| sum.checked_add(size));
        if total != Some(size) {
            return Err(error::assembly::split_sizes(sizes, axis, size));
        }
        let mut begin = 0;
        let part = |&count: &usize| {
            begin += count;
            self.along(axis, begin - count, 1, count)
        };
        Ok(sizes.iter().map(part).collect())
    }
}

impl Backend {
    /// Puts host values together along `axis`: see [`Assembly::concat`].
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let (a, b) = ((&[1, 2, 3, 4], &[2, 2]), (&[5, 6], &[2, 1]));
    /// let joined = Backend::cpu().concat(&[a.into(), b.into()], 1)?;
    /// assert_eq!((joined.shape, joined.data), (vec![2, 3], vec![1, 2, 5, 3, 4, 6]));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Assembly::concat`]; [`Error::Length`]; or an error of the device.
    pub fn concat<T: Element>(
        &self,
        arrays: &[ArrayRef<'_, T>],
        axis: isize,
    ) -> Result<Array<T>, Error> {
        self.assemble_all(arrays, |views| Assembly::concat(views, axis, T::DTYPE))
    }

    /// Stacks host values along a new `axis`: see [`Assembly::stack`].
    ///
    /// # Errors
    ///
    /// As [`Assembly::stack`]; [`Error::Length`]; or an error of the device.
    pub fn stack<T: Element>(
        &self,
        arrays: &[ArrayRef<'_, T>],
        axis: isize,
    ) -> Result<Array<T>, Error> {
        self.assemble_all(arrays, |views| Assembly::stack(views, axis, T::DTYPE))
    }

    fn assemble_all<'a, T: Element>(
        &self,
        arrays: &[ArrayRef<'a, T>],
        assembly: impl FnOnce(&[View]) -> Result<Assembly, Error>,
    ) -> Result<Array<T>, Error> {
        let memory = |array: &ArrayRef<'a, T>| array.clone().memory("arrays");
        let all: Vec<_> = arrays.iter().map(memory).collect::<Result<_, _>>()?;
        let (values, views): (Vec<_>, Vec<View>) = all.into_iter().unzip();
        let values: Vec<&[T]> = values.iter().map(|values| &values[..]).collect();
        self.assemble(&assembly(&views)?, &values)
    }

    /// Takes host values apart along `axis`: see [`View::split`].
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let parts = Backend::cpu().split((&[1, 2, 3, 4, 5, 6], &[2, 3]), &[1, 2], 1)?;
    /// assert_eq!((&parts[0].data[..], &parts[1].data[..]), (&[1, 4][..], &[2, 3, 5, 6][..]));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`View::split`]; [`Error::Length`]; or an error of the device.
    pub fn split<'a, T: Element>(
        &self,
        x: impl Into<ArrayRef<'a, T>>,
        sizes: &[usize],
        axis: isize,
    ) -> Result<Vec<Array<T>>, Error> {
        let (values, view) = x.into().memory("x")?;
        let parts = view.split(sizes, axis)?;
        parts
            .iter()
            .map(|part| self.run_view(&values, part))
            .collect()
    }
}

impl Tensor {
    /// Puts tensors together along `axis`, in one submission: see [`Assembly::concat`].
    ///
    /// ```
    /// use wgslice::{Backend, Tensor};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let (old, new) = (backend.upload((&[1, 2, 3], &[3, 1]))?, backend.upload((&[4], &[1, 1]))?);
    /// let all = Tensor::concat(&[&old, &new], 0)?;
    /// assert_eq!(all.to_vec::<i32>()?, [1, 2, 3, 4]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Assembly::concat`]; [`Error::Argument`] for tensors of different types or devices; or an error of the
    /// device.
    pub fn concat(tensors: &[&Self], axis: isize) -> Result<Self, Error> {
        let views: Vec<TensorView> = tensors.iter().map(|tensor| tensor.view()).collect();
        TensorView::concat(&views.iter().collect::<Vec<_>>(), axis)
    }

    /// Stacks tensors along a new `axis`, in one submission: see [`Assembly::stack`].
    ///
    /// # Errors
    ///
    /// As [`Tensor::concat`], with the errors of [`Assembly::stack`].
    pub fn stack(tensors: &[&Self], axis: isize) -> Result<Self, Error> {
        let views: Vec<TensorView> = tensors.iter().map(|tensor| tensor.view()).collect();
        TensorView::stack(&views.iter().collect::<Vec<_>>(), axis)
    }

    /// The parts of this tensor along `axis`, without a copy: see [`View::split`].
    ///
    /// # Errors
    ///
    /// As [`View::split`].
    pub fn split(&self, sizes: &[usize], axis: isize) -> Result<Vec<TensorView>, Error> {
        self.view().split(sizes, axis)
    }
}

impl TensorView {
    /// Puts selections together, as [`Tensor::concat`] does, without copying them first.
    ///
    /// # Errors
    ///
    /// As [`Tensor::concat`].
    pub fn concat(views: &[&Self], axis: isize) -> Result<Tensor, Error> {
        assemble(views, |views, dtype| Assembly::concat(views, axis, dtype))
    }

    /// Stacks selections, as [`Tensor::stack`] does, without copying them first.
    ///
    /// # Errors
    ///
    /// As [`Tensor::stack`].
    pub fn stack(views: &[&Self], axis: isize) -> Result<Tensor, Error> {
        assemble(views, |views, dtype| Assembly::stack(views, axis, dtype))
    }

    /// The parts of this selection along `axis`: see [`View::split`].
    ///
    /// # Errors
    ///
    /// As [`View::split`].
    pub fn split(&self, sizes: &[usize], axis: isize) -> Result<Vec<Self>, Error> {
        let parts = self.view().split(sizes, axis)?.into_iter();
        Ok(parts.map(|view| self.of_tensor(view)).collect())
    }
}

fn assemble(
    views: &[&TensorView],
    assembly: impl FnOnce(&[View], DType) -> Result<Assembly, Error>,
) -> Result<Tensor, Error> {
    let first = views
        .first()
        .ok_or_else(error::assembly::no_arrays)?
        .tensor();
    let tensors: Vec<&Tensor> = views.iter().map(|view| view.tensor()).collect();
    for other in &tensors {
        first.check_goes_with("arrays", other)?;
    }
    let views: Vec<View> = views.iter().map(|view| view.view().clone()).collect();
    Tensor::assemble(&assembly(&views, first.dtype())?, &tensors)
}

/// The dimension that `axis` names in an array of this rank.
pub(super) fn check_axis(axis: isize, rank: usize) -> Result<usize, Error> {
    shape::axis(axis, rank).ok_or_else(|| error::assembly::axis(axis, rank))
}

/// Fails unless all arrays have the shape of the first, but for dimension `axis`.
fn check_shapes(arrays: &[View], axis: Option<usize>) -> Result<(), Error> {
    let first = &arrays[0].shape;
    for (number, array) in arrays.iter().enumerate() {
        let found = &array.shape;
        let mut dims = found.iter().zip(first).enumerate();
        let fits = dims.all(|(d, (size, first))| size == first || Some(d) == axis);
        if found.len() != first.len() || !fits {
            return Err(error::assembly::array_shape(number, found, first, axis));
        }
    }
    Ok(())
}
