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
    index::{IndexType, NegativeIndex, OutOfRange, Policy},
    indexed::{added, batch, indexed, kept},
};
use crate::{
    Array, ArrayRef, Backend, DType, Element, Error, Indices, Pending, Plan, Report, Tensor,
    TensorView, View,
    backend::Inputs,
    error::GatherError,
    plan::{IndexTensor, Operation},
    shape,
};

/// Options of a gather by tuples: TensorFlow's attributes of `gather_nd`, and the treatment of out-of-range and
/// negative indices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GatherNdOptions {
    /// The number of leading dimensions that `params` and `indices` share, one to one.
    pub batch_dims: usize,
    /// The treatment of out-of-range tuples.
    pub out_of_range: OutOfRange,
    /// The meaning of a negative index.
    pub negative: NegativeIndex,
}

impl Plan {
    /// Plans a gather from `params` of this shape and element type, with indices of shape `indices`.
    ///
    /// ```
    /// use wgslice::{options::{GatherNdOptions, NegativeIndex}, DType, Indices, Plan};
    ///
    /// let options = GatherNdOptions { negative: NegativeIndex::Wrap, ..GatherNdOptions::default() };
    /// let plan = Plan::gather_nd(&[2, 3], &[2, 2], options, DType::U8)?;
    /// let mut result = [0; 2];
    /// plan.run_cpu_with(&[1, 2, 3, 4, 5, 6], Indices::I32(&[1, 0, 0, -1]), &mut result)?;
    /// assert_eq!(result, [4, 3]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`GatherError`]; [`Error::ShapeTooLarge`].
    pub fn gather_nd(
        params: &[usize],
        indices: &[usize],
        options: GatherNdOptions,
        dtype: DType,
    ) -> Result<Self, Error> {
        View::new(params)?.gather_nd(indices, options, dtype)
    }
}

impl View {
    /// Plans a gather from this view, without copying the view. Arguments and errors are those of [`Plan::gather_nd`].
    ///
    /// ```
    /// use wgslice::{options::GatherNdOptions, slice, DType, View};
    ///
    /// // Rows of a table, backwards and every other column.
    /// let table = View::new(&[1000, 64])?.slice(&slice![.., ..; -2])?;
    /// let plan = table.gather_nd(&[20, 1], GatherNdOptions::default(), DType::F32)?;
    /// assert_eq!(plan.shape(), [20, 32]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    pub fn gather_nd(
        &self,
        indices: &[usize],
        options: GatherNdOptions,
        dtype: DType,
    ) -> Result<Plan, Error> {
        let GatherNdOptions {
            batch_dims,
            out_of_range,
            negative,
        } = options;
        shape::elements(indices)?;
        let (depth, tuple_dims) = check(&self.shape, indices, batch_dims)?;
        let tuples = shape::elements(tuple_dims)?;
        if tuples > 0 && self.is_empty() {
            let params = self.shape.clone();
            return Err(GatherError::EmptyParams { params, tuples }.into());
        }
        let end = batch_dims + depth;
        let dims = batch(self, 0..batch_dims)
            .chain(added(&tuple_dims[batch_dims..]))
            .chain(kept(self, end..self.shape.len()));
        let coordinates = indexed(self, batch_dims..end, 0);
        let indices = IndexTensor {
            shape: indices.to_vec(),
            tuple_dims: tuple_dims.len(),
            index: IndexType::I32,
            target: Some(self.shape.clone()),
            policy: Policy {
                out_of_range,
                negative,
            },
        };
        Plan::of_gather(
            Operation::GatherNd,
            self,
            dims.collect(),
            coordinates.collect(),
            indices,
            dtype.size(),
        )
    }
}

impl Backend {
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
    /// [`GatherError`], [`Error::Length`], or an error of the device.
    pub fn gather_nd<'a, T, I>(
        &self,
        params: impl Into<ArrayRef<'a, T>>,
        indices: impl Into<ArrayRef<'a, I>>,
        options: GatherNdOptions,
    ) -> Result<(Array<T>, Report), Error>
    where
        T: Element,
        I: Element,
        for<'b> Indices<'b>: From<&'b [I]>,
    {
        self.gather_by(params, indices, |params, indices| {
            params.gather_nd(indices, options, T::DTYPE)
        })
    }

    /// Gathers host values. `plan` plans the gather, given the view of params and the shape of the indices.
    pub(super) fn gather_by<'a, T, I>(
        &self,
        params: impl Into<ArrayRef<'a, T>>,
        indices: impl Into<ArrayRef<'a, I>>,
        plan: impl FnOnce(&View, &[usize]) -> Result<Plan, Error>,
    ) -> Result<(Array<T>, Report), Error>
    where
        T: Element,
        I: Element,
        for<'b> Indices<'b>: From<&'b [I]>,
    {
        let (params, view) = params.into().memory("params")?;
        let (indices, shape) = indices.into().row_major("indices", self)?;
        let inputs = Inputs {
            indices: Some(Indices::from(&*indices)),
            ..Inputs::of(&params)
        };
        self.run(&plan(&view, &shape)?, inputs)
    }
}

impl Tensor {
    /// Gathers from this tensor, TensorFlow's `params`, the slices that the tuples in `indices` select. Returns the
    /// slices, in the order of the tuples, and the report of tuples that were out of range.
    ///
    /// On a GPU the work is submitted, not waited for, unless the policy is [`OutOfRange::Error`] and the backend has
    /// no late errors.
    ///
    /// # Errors
    ///
    /// [`GatherError`]; [`Error::IndexDType`] for indices that are not i32, i64 or u32; [`Error::DeviceMismatch`] for
    /// indices on another device; or an error of the device.
    pub fn gather_nd(
        &self,
        indices: &Self,
        options: GatherNdOptions,
    ) -> Result<(Self, Pending<Report>), Error> {
        self.view().gather_nd(indices, options)
    }
}

impl TensorView {
    /// [`Tensor::gather_nd`] from the selection, with the same errors.
    pub fn gather_nd(
        &self,
        indices: &Tensor,
        options: GatherNdOptions,
    ) -> Result<(Tensor, Pending<Report>), Error> {
        let view = self.view();
        let plan = view.gather_nd(indices.shape(), options, self.dtype())?;
        self.gathered(&plan, indices)
    }
}

/// Checks the shape rules, in TensorFlow's order. Returns the length of a tuple and the dimensions of `indices` that
/// number the tuples.
fn check<'a>(
    params: &[usize],
    indices: &'a [usize],
    batch_dims: usize,
) -> Result<(usize, &'a [usize]), GatherError> {
    if batch_dims > 0 && (batch_dims >= params.len() || batch_dims >= indices.len()) {
        return Err(GatherError::BatchDims {
            batch_dims,
            params_rank: params.len(),
            indices_rank: indices.len(),
        });
    }
    if params.is_empty() {
        return Err(GatherError::ParamsRank);
    }
    let (&depth, tuples) = indices.split_last().ok_or(GatherError::IndicesRank)?;
    if params[..batch_dims] != indices[..batch_dims] {
        return Err(GatherError::BatchShape {
            batch_dims,
            params: params.to_vec(),
            indices: indices.to_vec(),
        });
    }
    if depth > params.len() - batch_dims {
        return Err(GatherError::IndexDepth {
            depth,
            batch_dims,
            params: params.to_vec(),
            indices: indices.to_vec(),
        });
    }
    Ok((depth, tuples))
}
