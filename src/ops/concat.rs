//! concat and stack join arrays along one axis, and split divides an array. The semantics are the same as in TensorFlow
//! 2.21's `tf.concat`, `tf.stack` and `tf.split`.
//!
//! ```text
//! concat of [a, n], [a, m] along axis 1: [a, n + m]
//! stack of k arrays [a, n] along axis 1: [a, k, n]
//! ```

use super::methods::{host_methods, tensor_methods};
use crate::prelude::*;
use crate::{
    Array, ArrayRef, Backend, DType, Element, Error, Plan, Tensor, View,
    cpu::Weave,
    error,
    moves::Operation,
    plan::{ArraySpec, Shortcut, Steps},
    shape,
};

impl Plan {
    /// Plans the concatenation of arrays along `axis`. A negative `axis` counts from the end. The arrays must have the
    /// same size in each other dimension.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`NoArrays`, `Axis`, `ArrayShape`, in this order); [`Error::ShapeTooLarge`].
    #[doc(alias("concatenate", "cat"))]
    pub fn concat(arrays: &[View], axis: isize, dtype: DType) -> Result<Self, Error> {
        let first_array = arrays.first().ok_or_else(error::assembly::no_arrays)?;
        let axis = check_axis(axis, first_array.shape.len())?;
        check_shapes(arrays, Some(axis))?;
        let mut size = 0usize;
        for array in arrays {
            size = size.saturating_add(array.shape[axis]);
        }
        let mut shape = first_array.shape.clone();
        shape[axis] = size;
        shape::elements(&shape)?;
        let result = View::whole(&shape);
        let mut plan = Steps::new(
            Operation::Named("concat"),
            input_specs(arrays, dtype),
            ArraySpec::result(&shape, dtype),
        );
        plan.reserve(arrays.len());
        let mut begin = 0;
        for (array_index, array) in arrays.iter().enumerate() {
            let count = array.shape[axis];
            plan.put(array_index, array, result.along(axis, begin, 1, count));
            begin += count;
        }
        let shortcut = weave_shortcut(arrays, axis, dtype);
        Ok(plan.with_shortcut(shortcut).plan())
    }

    /// Plans the stack of arrays of one shape along a new dimension `axis` of the result. A negative `axis` counts from
    /// the end of the result.
    ///
    /// ```
    /// use wgslice::{DType, Plan, View};
    ///
    /// let point = View::new(&[2])?;
    /// let points = Plan::stack(&[point.clone(), point], 1, DType::I32)?;
    /// let mut result = [0; 4];
    /// points.run_cpu(&[(&[1, 2]).into(), (&[3, 4]).into()], &mut [(&mut result).into()])?;
    /// assert_eq!((points.shape(), result), (&[2, 2][..], [1, 3, 2, 4]));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`NoArrays`, `Axis`, `ArrayShape`, in this order); [`Error::ShapeTooLarge`].
    pub fn stack(arrays: &[View], axis: isize, dtype: DType) -> Result<Self, Error> {
        let first_array = arrays.first().ok_or_else(error::assembly::no_arrays)?;
        let axis = check_axis(axis, first_array.shape.len() + 1)?;
        check_shapes(arrays, None)?;
        let mut shape = first_array.shape.clone();
        shape.insert(axis, arrays.len());
        shape::elements(&shape)?;
        let result = View::whole(&shape);
        let mut plan = Steps::new(
            Operation::Named("stack"),
            input_specs(arrays, dtype),
            ArraySpec::result(&shape, dtype),
        );
        plan.reserve(arrays.len());
        for (array_index, array) in arrays.iter().enumerate() {
            let mut result_view = result.along(axis, array_index, 1, 1);
            result_view.shape.remove(axis);
            result_view.strides.remove(axis);
            plan.put(array_index, array, result_view);
        }
        let shortcut = weave_shortcut(arrays, axis, dtype);
        Ok(plan.with_shortcut(shortcut).plan())
    }
}

impl View {
    /// Splits this view into parts of these sizes along `axis`. A negative `axis` counts from the end.
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
    /// [`Error::Argument`] (`Axis`, `SplitSizes`, in this order).
    #[doc(alias = "chunk")]
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

host_methods! {
    /// Joins host values along `axis`: see [`Plan::concat`].
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
    /// The errors of [`Plan::concat`]; [`Error::Length`]; or an error of the device.
    #[doc(alias("concatenate", "cat"))]
    fn concat(all arrays: T, by axis: isize) -> made = |dtype| Plan::concat(arrays, axis, dtype), [| arrays];

    /// Stacks host values along a new `axis`: see [`Plan::stack`].
    ///
    /// # Errors
    ///
    /// The errors of [`Plan::stack`]; [`Error::Length`]; or an error of the device.
    fn stack(all arrays: T, by axis: isize) -> made = |dtype| Plan::stack(arrays, axis, dtype), [| arrays];
}

tensor_methods! {
    /// Joins tensors along `axis`, in one submission: see [`Plan::concat`].
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
    /// The errors of [`Plan::concat`]; [`Error::Argument`] for tensors of different types or on different devices; or
    /// an error of the device.
    #[doc(alias("concatenate", "cat"))]
    fn concat(all tensors, by axis: isize) -> made = |dtype| Plan::concat(&tensors, axis, dtype), [| tensors];

    /// Stacks tensors along a new `axis`, in one submission: see [`Plan::stack`].
    ///
    /// # Errors
    ///
    /// The same as for [`Tensor::concat`], with the errors of [`Plan::stack`] instead of [`Plan::concat`].
    fn stack(all tensors, by axis: isize) -> made = |dtype| Plan::stack(&tensors, axis, dtype), [| tensors];
}

impl Backend {
    /// Splits host values along `axis`: see [`View::split`].
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
    /// The errors of [`View::split`]; [`Error::Length`]; or an error of the device.
    #[doc(alias = "chunk")]
    pub fn split<'a, T: Element>(
        &self,
        x: impl Into<ArrayRef<'a, T>>,
        sizes: &[usize],
        axis: isize,
    ) -> Result<Vec<Array<T>>, Error> {
        let (values, view) = x.into().memory("x")?;
        let parts = view.split(sizes, axis)?;
        let parts = parts.into_iter();
        parts
            .map(|part| self.select_elements(&values, part))
            .collect()
    }
}

impl Tensor {
    /// Splits this tensor along `axis`, without a copy: see [`View::split`].
    ///
    /// # Errors
    ///
    /// The errors of [`View::split`].
    #[doc(alias = "chunk")]
    pub fn split(&self, sizes: &[usize], axis: isize) -> Result<Vec<Self>, Error> {
        let parts = self.layout().split(sizes, axis)?.into_iter();
        Ok(parts.map(|layout| self.with_layout(layout)).collect())
    }
}

fn input_specs(arrays: &[View], dtype: DType) -> Vec<ArraySpec> {
    let input = |array: &View| ArraySpec::new("arrays", array, dtype);
    arrays.iter().map(input).collect()
}

/// Returns the loop that the CPU can run instead of the steps if pieces of arrays of one shape alternate in the result.
/// A piece has the elements along the dimensions from `axis` on. Returns `None` if there is no such loop, or if it is
/// not faster.
fn weave_shortcut(arrays: &[View], axis: usize, dtype: DType) -> Option<Shortcut> {
    let first_shape = &arrays[0].shape;
    let is_like_first = |array: &View| array.shape == *first_shape && array.is_all();
    let (outer_sizes, piece_sizes) = first_shape.split_at(axis);
    let (row_count, piece_elements) = (outer_sizes.iter().product(), piece_sizes.iter().product());
    let weave = Weave::if_faster(arrays.len(), row_count, piece_elements, dtype)?;
    (row_count > 1 && arrays.iter().all(is_like_first)).then_some(Shortcut::Weave(weave))
}

/// Returns `axis` as a dimension, counted from 0, of an array of this rank. Fails if the array has no such dimension.
pub(super) fn check_axis(axis: isize, rank: usize) -> Result<usize, Error> {
    shape::axis(axis, rank).ok_or_else(|| error::assembly::axis_out_of_range(axis, rank))
}

/// Fails unless all arrays have the shape of the first, except in dimension `axis`.
fn check_shapes(arrays: &[View], axis: Option<usize>) -> Result<(), Error> {
    let first_shape = &arrays[0].shape;
    for (array_index, array) in arrays.iter().enumerate() {
        let array_shape = &array.shape;
        let mut dims = array_shape.iter().zip(first_shape).enumerate();
        let is_equal = dims.all(|(d, (size, first_size))| size == first_size || Some(d) == axis);
        if array_shape.len() != first_shape.len() || !is_equal {
            return Err(error::assembly::array_shape(
                array_index,
                array_shape,
                first_shape,
                axis,
            ));
        }
    }
    Ok(())
}
