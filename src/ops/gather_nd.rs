//! gather_nd: one slice of params for each index tuple.
//!
//! ```text
//! params  [batch…, d0, d1, … d(depth-1), slice…]
//! indices [batch…, lead…, depth]
//! result  [batch…, lead…, slice…]
//! ```
//!
//! By default, a coordinate is out of range if it is negative or not below the size of its dimension. The whole slice
//! of its tuple then becomes zeros, and the report counts the tuple. The semantics are those of TensorFlow 2.21 with
//! two differences: the depth is not limited to 7, and batch dimensions must be equal, whereas TensorFlow reshapes some
//! unequal ones.

use super::{
    gather::GatherOptions,
    indexed::{added, batch, indexed, kept},
};
use crate::{
    Array, ArrayRef, Backend, DType, Element, Error, IndexElement, Pending, Plan, Report, Tensor,
    TensorView, View,
    backend::Inputs,
    error,
    plan::{IndexTensor, Operation},
    shape,
};

impl Plan {
    /// Plans a gather from `params` of this shape and element type, with indices of shape `indices`.
    ///
    /// ```
    /// use wgslice::{options::{GatherOptions, NegativeIndex}, DType, Indices, Plan};
    ///
    /// let options = GatherOptions { negative: NegativeIndex::Wrap, ..GatherOptions::default() };
    /// let plan = Plan::gather_nd(&[2, 3], &[2, 2], options, DType::I32)?;
    /// let mut result = [0; 2];
    /// plan.run_cpu(&[1, 2, 3, 4, 5, 6], Some(Indices::I32(&[1, 0, 0, -1])), &mut result)?;
    /// assert_eq!(result, [4, 3]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]; [`Error::ShapeTooLarge`].
    pub fn gather_nd(
        params: &[usize],
        indices: &[usize],
        options: GatherOptions,
        dtype: DType,
    ) -> Result<Self, Error> {
        View::new(params)?.gather_nd(indices, options, dtype)
    }
}

impl View {
    /// Plans a gather from this view, without copying the view. Arguments and errors are those of [`Plan::gather_nd`].
    ///
    /// ```
    /// use wgslice::{options::GatherOptions, slice, DType, View};
    ///
    /// // Rows of a table, backwards and every other column.
    /// let table = View::new(&[1000, 64])?.slice(&slice![.., ..; -2])?;
    /// let plan = table.gather_nd(&[20, 1], GatherOptions::default(), DType::F32)?;
    /// assert_eq!(plan.shape(), [20, 32]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    pub fn gather_nd(
        &self,
        indices: &[usize],
        options: GatherOptions,
        dtype: DType,
    ) -> Result<Plan, Error> {
        super::check_used(options.axis.is_none(), Operation::GatherNd, "axis")?;
        shape::elements(indices)?;
        let (batch_dims, depth, tuple_dims) = check(&self.shape, indices, options.batch_dims)?;
        let tuples = shape::elements(tuple_dims)?;
        if tuples > 0 && self.is_empty() {
            return Err(error::gather::empty_params(&self.shape, tuples));
        }
        let end = batch_dims + depth;
        let dims = batch(self, 0..batch_dims)
            .chain(added(&tuple_dims[batch_dims..]))
            .chain(kept(self, end..self.shape.len()));
        let coordinates = indexed(self, batch_dims..end, 0);
        let indices = IndexTensor::of(indices, tuple_dims.len(), options.policy());
        Plan::of_gather(Operation::GatherNd, self, dims, coordinates, indices, dtype)
    }
}

impl Backend {
    /// Gathers host values by index tuples. The report counts the tuples that were out of range. Indices are `i32`,
    /// `i64` or `u32`.
    ///
    /// ```
    /// use wgslice::{options::GatherOptions, Backend};
    ///
    /// let params = (&[10, 11, 12, 20, 21, 22], &[2, 3]);
    /// let indices = (&[1i64, 0, 5, 0], &[2, 2]); // (1, 0) and (5, 0)
    /// let (array, report) = Backend::cpu().gather_nd(params, indices, GatherOptions::default())?;
    /// assert_eq!(array.data, [20, 0]);
    /// assert_eq!(report.out_of_range, 1);
    /// assert_eq!(report.first.unwrap().index, [5, 0]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`], [`Error::Length`], or an error of the device.
    pub fn gather_nd<'a, T: Element, I: IndexElement>(
        &self,
        params: impl Into<ArrayRef<'a, T>>,
        indices: impl Into<ArrayRef<'a, I>>,
        options: GatherOptions,
    ) -> Result<(Array<T>, Report), Error> {
        self.gather_by(params, indices, |params, indices| {
            params.gather_nd(indices, options, T::DTYPE)
        })
    }

    /// Gathers host values. `plan` plans the gather, given the view of params and the shape of the indices.
    pub(super) fn gather_by<'a, T: Element, I: IndexElement>(
        &self,
        params: impl Into<ArrayRef<'a, T>>,
        indices: impl Into<ArrayRef<'a, I>>,
        plan: impl FnOnce(&View, &[usize]) -> Result<Plan, Error>,
    ) -> Result<(Array<T>, Report), Error> {
        let (params, view) = params.into().memory("params")?;
        let (indices, shape) = indices.into().row_major("indices", self)?;
        let inputs = Inputs {
            indices: Some(I::indices(&indices)),
            ..Inputs::of(&params)
        };
        self.run(plan(&view, &shape)?, inputs)
    }
}

impl Tensor {
    /// Gathers from this tensor, TensorFlow's `params`, the slices that the tuples in `indices` select. Returns the
    /// slices, in the order of the tuples, and the report of tuples that were out of range.
    ///
    /// On a GPU the work is submitted, not waited for, unless the policy is [`OutOfRange::Error`](crate::options::OutOfRange::Error) and the backend has
    /// no late errors.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for indices that are not i32, i64 or u32, or for
    /// indices on another device; or an error of the device.
    pub fn gather_nd(
        &self,
        indices: &Self,
        options: GatherOptions,
    ) -> Result<(Self, Pending<Report>), Error> {
        self.view().gather_nd(indices, options)
    }
}

impl TensorView {
    /// [`Tensor::gather_nd`] from the selection, with the same errors.
    pub fn gather_nd(
        &self,
        indices: &Tensor,
        options: GatherOptions,
    ) -> Result<(Tensor, Pending<Report>), Error> {
        let view = self.view();
        let plan = view.gather_nd(indices.shape(), options, self.dtype())?;
        self.gathered(&plan, indices)
    }
}

/// Checks the shape rules, in TensorFlow's order. Returns the number of batch dimensions, the length of a tuple, and the
/// dimensions of `indices` that number the tuples.
fn check<'a>(
    params: &[usize],
    indices: &'a [usize],
    batch_dims: isize,
) -> Result<(usize, usize, &'a [usize]), Error> {
    let below = |&number: &usize| number < params.len() && number < indices.len();
    let number = usize::try_from(batch_dims).ok();
    let Some(batch_dims) = number.filter(|number| *number == 0 || below(number)) else {
        return Err(error::gather::batch_dims(
            batch_dims,
            params.len(),
            indices.len(),
        ));
    };
    if params.is_empty() {
        return Err(error::gather::params_rank());
    }
    let (&depth, tuples) = indices
        .split_last()
        .ok_or_else(error::gather::indices_rank)?;
    if params[..batch_dims] != indices[..batch_dims] {
        return Err(error::gather::batch_shape(batch_dims, params, indices));
    }
    if depth > params.len() - batch_dims {
        return Err(error::gather::index_depth(
            depth, batch_dims, params, indices,
        ));
    }
    Ok((batch_dims, depth, tuples))
}
