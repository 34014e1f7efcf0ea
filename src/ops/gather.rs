//! gather: the slices of params that the indices select along one dimension.
//!
//! ```text
//! params  [batch…, outer…, n, slice…]      n is dimension `axis`
//! indices [batch…, index…]
//! result  [batch…, outer…, index…, slice…]
//! ```
//!
//! The semantics are TensorFlow 2.21's. If the result is empty, no index is read, so none is out of range.

use super::{
    index::{IndexShape, NegativeIndex, OutOfRange, Policy},
    indexed::{added_dims, as_batch_dims, coordinates_for, kept_dims},
    methods::{host_methods, tensor_methods},
};
use crate::prelude::*;
use crate::{
    DType, Error, IntoView, Plan, error,
    moves::{IndexTensor, Move, Operation},
    plan::layout,
    shape,
};

/// Options of `gather`: TensorFlow's attributes, and the treatment of out-of-range and negative indices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GatherOptions {
    /// The indexed dimension of `params`. A negative number counts from the end. With `None`, `batch_dims` is also the
    /// axis, as in `tf.gather`; as an axis, a negative `batch_dims` counts from the end of `params`.
    pub axis: Option<isize>,
    /// The number of leading dimensions that `params` and `indices` share, one to one. The rank of `indices` is added
    /// to a negative number.
    pub batch_dims: isize,
    /// The treatment of out-of-range indices.
    pub out_of_range: OutOfRange,
    /// The meaning of a negative index. In ONNX and NumPy it counts from the end, which is [`NegativeIndex::Wrap`].
    pub negative: NegativeIndex,
}

impl Plan {
    /// Plans a gather along a dimension from `params` of this element type, with indices of this shape and type. The
    /// inputs are `params`, which can be a view and is not copied, and the indices.
    ///
    /// ```
    /// use wgslice::{options::GatherOptions, DType, Plan, View};
    ///
    /// let options = GatherOptions { axis: Some(-1), ..GatherOptions::default() };
    /// let plan = Plan::gather(&[2, 3], &[2], options, DType::I32)?;
    /// let mut result = [0; 4];
    /// plan.run_cpu(&[(&[1, 2, 3, 4, 5, 6]).into(), (&[2i32, 0]).into()], &mut [(&mut result).into()])?;
    /// assert_eq!(result, [3, 1, 6, 4]);
    ///
    /// // Columns of a matrix in column-major order.
    /// let matrix = View::new(&[64, 1000])?.transpose(&[1, 0])?;
    /// let options = GatherOptions { axis: Some(1), ..GatherOptions::default() };
    /// assert_eq!(Plan::gather(matrix, &[5], options, DType::F32)?.shape(), [1000, 5]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]; [`Error::ShapeTooLarge`].
    #[doc(alias("take", "index_select", "embedding"))]
    pub fn gather(
        params: impl IntoView,
        indices: impl Into<IndexShape>,
        options: GatherOptions,
        dtype: DType,
    ) -> Result<Self, Error> {
        let (params, indices) = (params.into_view()?, indices.into());
        shape::elements(&indices.shape)?;
        let (axis, batch_dims) = check_shapes(&params.shape, &indices.shape, &options)?;
        let mut dims = Vec::with_capacity(params.shape.len() + indices.shape.len());
        dims.extend(as_batch_dims(&params, 0..batch_dims));
        dims.extend(kept_dims(&params, batch_dims..axis));
        dims.extend(added_dims(&indices.shape[batch_dims..]));
        dims.extend(kept_dims(&params, axis + 1..params.shape.len()));
        let coordinates = coordinates_for(&params, axis..axis + 1, 0).collect();
        let tuple_dims = indices.shape.len();
        let policy = Policy::new(options.out_of_range, options.negative);
        let indices = IndexTensor::new(indices, tuple_dims, policy)?;
        let layout = layout(&params);
        let operation = Operation::Gather;
        let gather_move = Move::of_gather(operation, params, dims, coordinates, indices, dtype)?;
        Ok(Self::with_layout(gather_move, layout))
    }
}

host_methods! {
    /// Gathers host values along a dimension. The report counts the indices that were out of range.
    ///
    /// ```
    /// use wgslice::{options::{GatherOptions, NegativeIndex}, Backend};
    ///
    /// let params = (&[10, 11, 12, 20, 21, 22], &[2, 3]);
    /// let options = GatherOptions { axis: Some(1), negative: NegativeIndex::Wrap, ..Default::default() };
    /// let (array, report) = Backend::cpu().gather(params, (&[-1, 0], &[2]), options)?;
    /// assert_eq!(array.data, [12, 10, 22, 20]);
    /// assert_eq!((report.tuples, report.out_of_range), (2, 0));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Backend::gather_nd`](crate::Backend::gather_nd).
    #[doc(alias("take", "index_select", "embedding"))]
    fn gather<I: IndexElement>(view params: T, rows indices: I, by options: GatherOptions)
        -> reported = |dtype| Plan::gather(params, (indices, I::DTYPE), options, dtype),
        [params, indices];
}

tensor_methods! {
    /// Gathers the slices that `indices` select along a dimension of this tensor, TensorFlow's `params`. The errors are
    /// the same as for [`Tensor::gather_nd`](crate::Tensor::gather_nd).
    ///
    /// ```
    /// use wgslice::{options::GatherOptions, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let images = backend.upload((&[1u8, 2, 3, 4, 5, 6], &[2, 3]))?;
    /// let channels = backend.upload((&[2u32, 1, 0], &[3]))?;
    /// let options = GatherOptions { axis: Some(-1), ..GatherOptions::default() };
    /// let (swapped, _) = images.gather(&channels, options)?;
    /// assert_eq!(swapped.to_vec::<u8>()?, [3, 2, 1, 6, 5, 4]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    #[doc(alias("take", "index_select", "embedding"))]
    fn gather(self params, rows indices, by options: GatherOptions)
        -> reported = |dtype| Plan::gather(params.layout(), indices, options, dtype), [params, indices];
}

/// Checks the shape rules, in TensorFlow's order. Returns the axis and the number of batch dimensions as non-negative
/// numbers.
fn check_shapes(
    params_shape: &[usize],
    indices_shape: &[usize],
    options: &GatherOptions,
) -> Result<(usize, usize), Error> {
    let (params_rank, indices_rank) = (params_shape.len(), indices_shape.len());
    if params_shape.is_empty() {
        return Err(error::gather::params_rank());
    }
    let axis = options.axis.unwrap_or(options.batch_dims);
    let Some(axis) = shape::axis(axis, params_rank) else {
        return Err(error::gather::axis_out_of_range(axis, params_rank));
    };
    let batch_dims = shape::from_end(options.batch_dims, indices_rank)
        .filter(|&batch_dims| batch_dims <= indices_rank.min(axis));
    let Some(batch_dims) = batch_dims else {
        return Err(error::gather::batch_dims_of_axis(
            options.batch_dims,
            axis,
            indices_rank,
        ));
    };
    if params_shape[..batch_dims] != indices_shape[..batch_dims] {
        return Err(error::gather::batch_shape(
            batch_dims,
            params_shape,
            indices_shape,
        ));
    }
    Ok((axis, batch_dims))
}
