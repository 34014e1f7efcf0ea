//! scatter_elements: combines each element of `updates` with one element of an array. That element has the coordinates
//! of the index, except along `axis`, where the index's value is the coordinate.
//!
//! ```text
//! array   [d0 … d(n-1)]
//! indices [e0 … e(n-1)]      no longer than the array, except in dimension `axis`
//! updates [e0 … e(n-1)]      array[i0 … indices[i0 … i(n-1)] … i(n-1)] takes updates[i0 … i(n-1)]
//! ```
//!
//! This is ONNX's `ScatterElements`, and PyTorch's `scatter_` and `scatter_reduce_`. The order in which updates take
//! effect, the combinations, the policies and the reports are the same as for `scatter_nd`.

use super::{
    index::IndexShape,
    methods::{host_methods, tensor_methods},
    scatter_nd::{Combine, ScatterOptions, scatter_walk},
};
use crate::prelude::*;
use crate::{
    DType, Error, Plan, error,
    moves::{Effect, IndexTensor, Move, Operation, Scatter},
    shape,
    walk::{Coordinate, Dim},
};

impl Plan {
    /// Plans scattering single elements of `updates` into an array of this shape along `axis`, in place. A negative
    /// `axis` counts from the end. The inputs are the updates and the indices, which have the same shape.
    ///
    /// ```
    /// use wgslice::{DType, Plan};
    ///
    /// let plan = Plan::scatter_elements(&[2, 3], &[2, 1], &[2, 1], 1, Default::default(), DType::I32)?;
    /// let mut table = [1, 2, 3, 4, 5, 6];
    /// plan.run_cpu(&[(&[10, 20]).into(), (&[2, 0]).into()], &mut [(&mut table).into()])?;
    /// assert_eq!(table, [1, 2, 10, 20, 5, 6]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]; [`Error::ShapeTooLarge`].
    #[doc(alias("scatter_add", "put_along_axis"))]
    pub fn scatter_elements(
        shape: &[usize],
        indices: impl Into<IndexShape>,
        updates: &[usize],
        axis: isize,
        options: ScatterOptions,
        dtype: DType,
    ) -> Result<Self, Error> {
        let slices = shape::elements(shape)?;
        let tuples = indices.into();
        let indices = &tuples.shape[..];
        let (count, rank) = (shape::elements(indices)?, shape.len());
        let axis =
            shape::axis(axis, rank).ok_or_else(|| error::scatter::axis_out_of_range(axis, rank))?;
        let is_longer = |d: usize| d != axis && indices[d] > shape[d];
        if indices.len() != shape.len() || (0..shape.len()).any(is_longer) {
            return Err(error::scatter::elements_shape(axis, indices, shape));
        }
        if slices == 0 && count > 0 {
            return Err(error::scatter::empty_output(indices, indices, shape));
        }
        let options = options.combine_options(Combine::Update, dtype)?;
        if updates != indices {
            return Err(error::scatter::update_for_each_index(indices, updates));
        }
        let strides = shape::row_major_strides(shape);
        let row_strides = shape::row_major_strides(indices);
        let dim = |d: usize| Dim {
            size: indices[d],
            from: row_strides[d].cast_signed(),
            to: if d == axis {
                0
            } else {
                strides[d].cast_signed()
            },
            tuple: row_strides[d],
        };
        let dims = (0..shape.len()).map(dim).collect();
        let coordinate = Coordinate::indexed(shape[axis], strides[axis].cast_signed(), 0);
        let walk =
            (count > 0).then(|| scatter_walk(dims, vec![coordinate], options.combine, dtype));
        Ok(Self::from_move(Move {
            operation: Operation::ScatterElements,
            shape: shape.to_vec(),
            dtype,
            source: updates.to_vec(),
            walk,
            effect: Effect::Scatter(Scatter {
                slices,
                starts_from_zeros: false,
                dtype,
                options,
            }),
            conversion: None,
            indices: Some(IndexTensor::new(tuples, rank, options.policy)?),
        }))
    }
}

host_methods! {
    /// Scatters single elements of `updates` into a copy of `tensor`: see [`Plan::scatter_elements`]. `updates` has the
    /// shape of `indices`. The report counts the indices that were out of range.
    ///
    /// ```
    /// use wgslice::{options::{Combine, ScatterOptions}, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let (table, columns) = ((&[1, 2, 3, 4], &[2, 2]), (&[1, 1, 0, 2], &[2, 2]));
    /// let options = ScatterOptions { combine: Some(Combine::Add), ..Default::default() };
    /// let (sums, report) =
    ///     backend.scatter_elements(table, columns, (&[10, 20, 30, 40], &[2, 2]), -1, options)?;
    /// assert_eq!(sums.data, [1, 32, 33, 4]);
    /// assert_eq!(report.first.unwrap().position, [1, 1]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Backend::scatter_nd`](crate::Backend::scatter_nd).
    #[doc(alias("scatter_add", "put_along_axis"))]
    fn scatter_elements<I: IndexElement>(
        rows tensor: T, rows indices: I, rows updates: T, by axis: isize, by options: ScatterOptions)
        -> reported = |dtype| Plan::scatter_elements(
            tensor, (indices, I::DTYPE), updates, axis, options, dtype),
        [updates, indices, tensor];
}

tensor_methods! {
    /// Scatters single elements of `updates` into this tensor, in place: see [`Plan::scatter_elements`] and
    /// [`Tensor::tensor_scatter_nd`](crate::Tensor::tensor_scatter_nd).
    ///
    /// ```
    /// use wgslice::{options::{Combine, ScatterOptions}, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let mut sums = backend.upload((&[0.5f32; 4], &[2, 2]))?;
    /// let columns = backend.upload((&[1u32, 0], &[2, 1]))?;
    /// let updates = backend.upload((&[1.0f32, 2.0], &[2, 1]))?;
    /// let options = ScatterOptions { combine: Some(Combine::Add), ..Default::default() };
    /// sums.scatter_elements(&columns, &updates, 1, options)?;
    /// assert_eq!(sums.to_vec::<f32>()?, [0.5, 1.5, 2.5, 0.5]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Tensor::tensor_scatter_nd`](crate::Tensor::tensor_scatter_nd).
    #[doc(alias("scatter_add", "put_along_axis"))]
    fn scatter_elements(self tensor, rows indices, like updates, by axis: isize, by options: ScatterOptions)
        -> changed = |dtype| Plan::scatter_elements(
            tensor.shape(), indices, updates.shape(), axis, options, dtype),
        [updates, indices];
}
