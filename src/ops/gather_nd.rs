//! gather_nd: a slice of params for each index tuple, beginning where the tuple points.
//!
//! ```text
//! params  [batch…, d0, d1, … d(depth-1), slice…]
//! indices [batch…, lead…, depth]
//! result  [batch…, lead…, slice…]
//! ```
//!
//! A coordinate is out of range where it is negative or not below its dimension, each dimension by
//! itself; then the whole slice of its tuple becomes zeros and the tuple is counted. Semantics as
//! TensorFlow 2.21 has them with two differences: the depth is not limited to 7, and batch
//! dimensions must be equal, where TensorFlow reinterprets some that are not.

use super::{
    index::{Negative, OutOfRange, Policy},
    indexed::{Dimension, Map},
};
use crate::{DType, Error, GatherError, Plan, View, layout::Axis, shape};

/// How to gather: TensorFlow's attributes of `gather_nd`, and what a negative index means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GatherNd {
    /// How many leading dimensions `params` and `indices` share, one to one.
    pub batch_dims: usize,
    /// What becomes of tuples that are out of range.
    pub out_of_range: OutOfRange,
    /// What a negative index means.
    pub negative: Negative,
}

impl Plan {
    /// Plans gathering from `params` of this shape and element type, with indices of shape
    /// `indices`.
    ///
    /// ```
    /// use wgslice::{DType, GatherNd, Indices, Negative, Plan};
    ///
    /// let options = GatherNd { negative: Negative::Wrap, ..GatherNd::default() };
    /// let plan = Plan::gather_nd(&[2, 3], &[2, 2], options, DType::U8)?;
    /// let mut result = [0; 2];
    /// plan.run_with(&[1, 2, 3, 4, 5, 6], Indices::I32(&[1, 0, 0, -1]), &mut result)?;
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
        options: GatherNd,
        dtype: DType,
    ) -> Result<Self, Error> {
        View::of(params)?.gather_nd(indices, options, dtype)
    }
}

impl View {
    /// Plans gathering from this view: [`Plan::gather_nd`] of what it selects, which is nowhere
    /// written down in between.
    ///
    /// ```
    /// use wgslice::{DType, GatherNd, View, slice};
    ///
    /// // Rows of a table, backwards and every other column.
    /// let table = View::of(&[1000, 64])?.strided_slice(&slice![.., ..; -2])?;
    /// let plan = table.gather_nd(&[20, 1], GatherNd::default(), DType::F32)?;
    /// assert_eq!(plan.shape(), [20, 32]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Plan::gather_nd`].
    pub fn gather_nd(
        &self,
        indices: &[usize],
        options: GatherNd,
        dtype: DType,
    ) -> Result<Plan, Error> {
        let GatherNd {
            batch_dims,
            out_of_range,
            negative,
        } = options;
        shape::elements(indices)?;
        let (depth, tuples) = check(&self.shape, indices, batch_dims)?;
        let rows = shape::elements(tuples)?;
        if rows > 0 && self.elements() == 0 {
            let params = self.shape.clone();
            return Err(GatherError::EmptyParams { params, rows }.into());
        }
        let indexed = batch_dims..batch_dims + depth;
        let sizes = self.shape[indexed.clone()].iter();
        let coordinates = sizes.zip(&self.strides[indexed.clone()]);
        let map = Map {
            name: "gather_nd",
            offset: self.offset,
            walk: Dimension::batch(self, 0..batch_dims)
                .chain(Dimension::added(&tuples[batch_dims..]))
                .chain(Dimension::kept(self, indexed.end..self.shape.len()))
                .collect(),
            coordinates: coordinates
                .map(|(&size, &stride)| Axis { size, stride })
                .collect(),
            params: self.shape.clone(),
            indices: indices.to_vec(),
            tuple_dims: tuples.len(),
            policy: Policy {
                out_of_range,
                negative,
            },
        };
        map.plan(self, dtype.size())
    }
}

/// The shape rules, in TensorFlow's order. Splits the shape of `indices` into the length and the
/// shape of its tuples.
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
