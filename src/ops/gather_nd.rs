//! gather_nd: one slice of params for each index tuple.
//!
//! ```text
//! params  [batch…, d0, d1, … d(depth-1), slice…]
//! indices [batch…, lead…, depth]
//! result  [batch…, lead…, slice…]
//! ```
//!
//! By default, a coordinate is out of range if it is negative or not below the size of its dimension. The whole slice
//! of its tuple then becomes zeros, and the report counts the tuple. The semantics are TensorFlow 2.21's with two
//! differences: the depth is not limited to 7, and batch dimensions must be equal, whereas TensorFlow reshapes some
//! unequal batch dimensions.

use super::{
    index::{IndexShape, NegativeIndex, OutOfRange, Policy},
    indexed::{added_dims, as_batch_dims, coordinates_for, kept_dims},
    methods::{host_methods, tensor_methods},
};
use crate::{
    DType, Error, IntoView, Plan, error,
    moves::{IndexTensor, Move, Operation},
    plan::layout,
    shape,
};

/// Options of `gather_nd`: TensorFlow's attributes, and the treatment of out-of-range and negative indices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GatherNdOptions {
    /// The number of leading dimensions that `params` and `indices` share, one to one.
    pub batch_dims: isize,
    /// The treatment of out-of-range indices.
    pub out_of_range: OutOfRange,
    /// The meaning of a negative index. In ONNX and NumPy it counts from the end, which is [`NegativeIndex::Wrap`].
    pub negative: NegativeIndex,
}

impl Plan {
    /// Plans a gather from `params` of this element type, with indices of this shape and type. The inputs are `params`,
    /// which can be a view and is not copied, and the indices.
    ///
    /// ```
    /// use wgslice::{options::{GatherNdOptions, NegativeIndex}, slice, DType, Plan, View};
    ///
    /// let options = GatherNdOptions { negative: NegativeIndex::Wrap, ..GatherNdOptions::default() };
    /// let plan = Plan::gather_nd(&[2, 3], &[2, 2], options, DType::I32)?;
    /// let mut result = [0; 2];
    /// plan.run_cpu(&[(&[1, 2, 3, 4, 5, 6]).into(), (&[1, 0, 0, -1]).into()], &mut [(&mut result).into()])?;
    /// assert_eq!(result, [4, 3]);
    ///
    /// // Rows of a table, with every other column in reverse order.
    /// let table = View::new(&[1000, 64])?.slice(&slice![.., ..; -2])?;
    /// let plan = Plan::gather_nd(table, &[20, 1], GatherNdOptions::default(), DType::F32)?;
    /// assert_eq!(plan.shape(), [20, 32]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]; [`Error::ShapeTooLarge`].
    pub fn gather_nd(
        params: impl IntoView,
        indices: impl Into<IndexShape>,
        options: GatherNdOptions,
        dtype: DType,
    ) -> Result<Self, Error> {
        let (params, indices) = (params.into_view()?, indices.into());
        shape::elements(&indices.shape)?;
        let (batch_dims, depth, tuple_shape) =
            check_shapes(&params.shape, &indices.shape, options.batch_dims)?;
        let tuple_count = shape::elements(tuple_shape)?;
        if tuple_count > 0 && params.is_empty() {
            return Err(error::gather::empty_params(&params.shape, tuple_count));
        }
        let first_kept_dim = batch_dims + depth;
        let dims = as_batch_dims(&params, 0..batch_dims)
            .chain(added_dims(&tuple_shape[batch_dims..]))
            .chain(kept_dims(&params, first_kept_dim..params.shape.len()))
            .collect();
        let coordinates = coordinates_for(&params, batch_dims..first_kept_dim, 0).collect();
        let tuple_dims = tuple_shape.len();
        let policy = Policy::new(options.out_of_range, options.negative);
        let indices = IndexTensor::new(indices, tuple_dims, policy)?;
        let layout = layout(&params);
        let operation = Operation::GatherNd;
        let gather_move = Move::of_gather(operation, params, dims, coordinates, indices, dtype)?;
        Ok(Self::with_layout(gather_move, layout))
    }
}

host_methods! {
    /// Gathers host values by index tuples. The report counts the tuples that were out of range. Indices are `i32`,
    /// `i64` or `u32`.
    ///
    /// ```
    /// use wgslice::{options::GatherNdOptions, Backend};
    ///
    /// let params = (&[10, 11, 12, 20, 21, 22], &[2, 3]);
    /// let indices = (&[1i64, 0, 5, 0], &[2, 2]); // (1, 0) and (5, 0)
    /// let (array, report) = Backend::cpu().gather_nd(params, indices, GatherNdOptions::default())?;
    /// assert_eq!(array.data, [20, 0]);
    /// assert_eq!(report.out_of_range, 1);
    /// assert_eq!(report.first.unwrap().index, [5, 0]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]; [`Error::Length`]; [`Error::ShapeTooLarge`]; [`Error::InvalidIndices`] if the policy makes
    /// out-of-range tuples an error; or an error of the device.
    fn gather_nd<I: IndexElement>(view params: T, rows indices: I, by options: GatherNdOptions)
        -> reported = |dtype| Plan::gather_nd(params, (indices, I::DTYPE), options, dtype),
        [params, indices];
}

tensor_methods! {
    /// Gathers the slices that the tuples in `indices` select from this tensor, TensorFlow's `params`. Returns the
    /// slices, in the order of the tuples, and the report of tuples that were out of range.
    ///
    /// On a GPU the call submits the work and does not wait for it, unless the policy is
    /// [`OutOfRange::Error`](crate::options::OutOfRange::Error) and the backend has no late errors.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`], for example for indices that are not i32, i64 or u32, or that are on another device;
    /// [`Error::ShapeTooLarge`]; [`Error::InvalidIndices`] if the policy makes out-of-range tuples an error and the
    /// backend has no late errors; or an error of the device.
    fn gather_nd(self params, rows indices, by options: GatherNdOptions)
        -> reported = |dtype| Plan::gather_nd(params.layout(), indices, options, dtype), [params, indices];
}

/// Checks the shape rules, in TensorFlow's order. Returns the number of batch dimensions, the length of a tuple, and
/// the dimensions of `indices_shape` that number the tuples.
fn check_shapes<'a>(
    params_shape: &[usize],
    indices_shape: &'a [usize],
    batch_dims: isize,
) -> Result<(usize, usize, &'a [usize]), Error> {
    let is_below_ranks = |&count: &usize| count < params_shape.len() && count < indices_shape.len();
    let dim_count = usize::try_from(batch_dims).ok();
    let Some(batch_dims) =
        dim_count.filter(|dim_count| *dim_count == 0 || is_below_ranks(dim_count))
    else {
        return Err(error::gather::batch_dims(
            batch_dims,
            params_shape.len(),
            indices_shape.len(),
        ));
    };
    if params_shape.is_empty() {
        return Err(error::gather::params_rank());
    }
    let (&depth, tuple_shape) = indices_shape
        .split_last()
        .ok_or_else(error::gather::indices_rank)?;
    if params_shape[..batch_dims] != indices_shape[..batch_dims] {
        return Err(error::gather::batch_shape(
            batch_dims,
            params_shape,
            indices_shape,
        ));
    }
    if depth > params_shape.len() - batch_dims {
        return Err(error::gather::index_depth(
            depth,
            batch_dims,
            params_shape,
            indices_shape,
        ));
    }
    Ok((batch_dims, depth, tuple_shape))
}
