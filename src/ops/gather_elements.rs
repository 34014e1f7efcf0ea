//! gather_elements: one element of params for each index, at the position of the index itself in all dimensions except
//! one.
//!
//! ```text
//! params  [d0 … d(n-1)]
//! indices [e0 … e(n-1)]      no longer than params, except in dimension `axis`
//! result  [e0 … e(n-1)]      result[i0 … i(n-1)] = params[i0 … indices[i0 … i(n-1)] … i(n-1)]
//! ```
//!
//! This is ONNX's `GatherElements`, `torch.gather`, and NumPy's `take_along_axis` for arrays that need no broadcast.
//! TensorFlow has no such operation. The policies and reports are the same as for the other gathers of this crate.

use super::{
    index::{IndexShape, NegativeIndex, OutOfRange, Policy},
    indexed::coordinates_for,
    methods::{host_methods, tensor_methods},
};
use crate::{
    DType, Error, IntoView, Plan, error,
    moves::{IndexTensor, Move, Operation},
    plan::layout,
    shape,
    walk::Dim,
};

/// Options of `gather_elements`: the treatment of out-of-range and negative indices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GatherElementsOptions {
    /// The treatment of out-of-range indices.
    pub out_of_range: OutOfRange,
    /// The meaning of a negative index. In ONNX and NumPy it counts from the end, which is [`NegativeIndex::Wrap`].
    pub negative: NegativeIndex,
}

impl Plan {
    /// Plans a gather of single elements from `params` of this element type along `axis`, with indices of this shape
    /// and type. The result has the shape of the indices. A negative `axis` counts from the end. The inputs are
    /// `params`, which can be a view and is not copied, and the indices.
    ///
    /// ```
    /// use wgslice::{DType, Plan};
    ///
    /// let plan = Plan::gather_elements(&[2, 3], &[2, 2], 1, Default::default(), DType::I32)?;
    /// let mut result = [0; 4];
    /// plan.run_cpu(&[(&[1, 2, 3, 4, 5, 6]).into(), (&[2, 0, 1, 1]).into()], &mut [(&mut result).into()])?;
    /// assert_eq!(result, [3, 1, 5, 5]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]; [`Error::ShapeTooLarge`].
    #[doc(alias("take_along_axis", "take_along_dim"))]
    pub fn gather_elements(
        params: impl IntoView,
        indices: impl Into<IndexShape>,
        axis: isize,
        options: GatherElementsOptions,
        dtype: DType,
    ) -> Result<Self, Error> {
        let (params, indices) = (params.into_view()?, indices.into());
        shape::elements(&indices.shape)?;
        let axis = check_shapes(&params.shape, &indices.shape, axis)?;
        let dims = indices.shape.iter().zip(&params.strides).enumerate();
        let dims = dims.map(|(d, (&size, &stride))| match d == axis {
            true => Dim::with_own_tuples(size, 0),
            false => Dim::with_own_tuples(size, stride),
        });
        let coordinates = coordinates_for(&params, axis..axis + 1, 0).collect();
        let dims = dims.collect();
        let tuple_dims = indices.shape.len();
        let policy = Policy::new(options.out_of_range, options.negative);
        let indices = IndexTensor::new(indices, tuple_dims, policy)?;
        let layout = layout(&params);
        let operation = Operation::GatherElements;
        let gather_move = Move::of_gather(operation, params, dims, coordinates, indices, dtype)?;
        Ok(Self::with_layout(gather_move, layout))
    }
}

host_methods! {
    /// Gathers single elements of host values along a dimension. The report counts the indices that were out of range.
    ///
    /// ```
    /// use wgslice::{options::{GatherElementsOptions, NegativeIndex}, Backend};
    ///
    /// // The scores of each row, from the highest to the lowest.
    /// let scores = (&[0.1f32, 0.7, 0.2, 0.5, 0.3, 0.2], &[2, 3]);
    /// let ranks = (&[1, -1, 0, 0, 1, 2], &[2, 3]);
    /// let options = GatherElementsOptions { negative: NegativeIndex::Wrap, ..Default::default() };
    /// let (array, report) = Backend::cpu().gather_elements(scores, ranks, 1, options)?;
    /// assert_eq!(array.data, [0.7, 0.2, 0.1, 0.5, 0.3, 0.2]);
    /// assert_eq!(report.out_of_range, 0);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Backend::gather_nd`](crate::Backend::gather_nd).
    #[doc(alias("take_along_axis", "take_along_dim"))]
    fn gather_elements<I: IndexElement>(
        view params: T, rows indices: I, by axis: isize, by options: GatherElementsOptions)
        -> reported = |dtype| Plan::gather_elements(params, (indices, I::DTYPE), axis, options, dtype),
        [params, indices];
}

tensor_methods! {
    /// Gathers single elements of this tensor, the `params`, along a dimension. The result has the shape of `indices`.
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let values = backend.upload((&[10u8, 20, 30, 40], &[2, 2]))?;
    /// let rows = backend.upload((&[1u32, 0], &[1, 2]))?;
    /// let (picked, _) = values.gather_elements(&rows, 0, Default::default())?;
    /// assert_eq!(picked.to_vec::<u8>()?, [30, 20]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Tensor::gather_nd`](crate::Tensor::gather_nd).
    #[doc(alias("take_along_axis", "take_along_dim"))]
    fn gather_elements(self params, rows indices, by axis: isize, by options: GatherElementsOptions)
        -> reported = |dtype| Plan::gather_elements(params.layout(), indices, axis, options, dtype), [params, indices];
}

/// Checks the shapes. Returns `axis` as a dimension, counted from 0.
fn check_shapes(
    params_shape: &[usize],
    indices_shape: &[usize],
    axis: isize,
) -> Result<usize, Error> {
    let params_rank = params_shape.len();
    if params_shape.is_empty() {
        return Err(error::gather::params_rank());
    }
    let Some(axis) = shape::axis(axis, params_rank) else {
        return Err(error::gather::axis_out_of_range(axis, params_rank));
    };
    let is_longer = |d: usize| d != axis && indices_shape[d] > params_shape[d];
    if indices_shape.len() != params_rank || (0..params_rank).any(is_longer) {
        return Err(error::gather::elements_shape(
            axis,
            params_shape,
            indices_shape,
        ));
    }
    Ok(axis)
}
