//! gather_nd: a row for each index tuple, beginning where the tuple points into params.
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

use crate::{
    DType, Error, GatherError, Indices, OutOfRange, Plan,
    layout::{Axis, MAX_UNIT},
    plan::{self, Rows},
    shape,
};

/// How to gather: TensorFlow's attributes of `gather_nd`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GatherNd {
    /// How many leading dimensions `params` and `indices` share, one to one.
    pub batch_dims: usize,
    /// What becomes of tuples that are out of range.
    pub out_of_range: OutOfRange,
}

/// The row map: which dimensions a tuple indexes, and how far apart their entries lie.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Map {
    /// One for each coordinate of a tuple, strides in units.
    pub(crate) axes: Vec<Axis>,
    /// Rows of one batch.
    pub(crate) batch_rows: usize,
    /// Units of params in one batch.
    pub(crate) batch_stride: usize,
    /// The shape of indices.
    pub(crate) indices: Vec<usize>,
}

impl Map {
    /// The shape of the index tuples: all of the indices' shape but the last dimension.
    pub(crate) fn tuples(&self) -> &[usize] {
        &self.indices[..self.indices.len() - 1]
    }

    /// Checks that there are as many indices as their shape says.
    pub(crate) fn check_indices(&self, indices: Indices<'_>) -> Result<(), Error> {
        let needed = self.indices.iter().product();
        shape::check_length("indices", &self.indices, "elements", needed, indices.len())
    }
}

impl Plan {
    /// Plans gathering from `params` of this shape and element type, with indices of shape
    /// `indices`.
    ///
    /// # Errors
    ///
    /// [`GatherError`]; [`Error::ShapeTooLarge`].
    pub fn gather_nd(
        params: &[usize],
        indices: &[usize],
        batch_dims: usize,
        dtype: DType,
    ) -> Result<Self, Error> {
        let element = dtype.size();
        let params_elements = shape::elements(params)?;
        shape::elements(indices)?;
        let (depth, tuples) = check(params, indices, batch_dims)?;

        let (batch, inner) = params.split_at(batch_dims);
        let (indexed, slice) = inner.split_at(depth);
        let shape: Vec<usize> = tuples.iter().chain(slice).copied().collect();
        shape::elements(&shape)?;
        let count = shape::elements(tuples)?;
        if count > 0 && params_elements == 0 {
            let params = params.to_vec();
            return Err(GatherError::EmptyParams {
                params,
                rows: count,
            }
            .into());
        }

        let run: usize = slice.iter().product();
        let factor = shape::common_power_of_two(MAX_UNIT / element, [run]);
        let rows = match count {
            0 => Rows::NONE,
            count => Rows {
                unit: element * factor,
                count,
                run: run / factor,
                step: 1,
            },
        };
        let strides = shape::strides(inner);
        let axes = indexed.iter().zip(strides).map(|(&size, stride)| Axis {
            size,
            stride: (stride / factor).cast_signed(),
        });
        let map = Map {
            axes: axes.collect(),
            batch_rows: tuples[batch.len()..].iter().product(),
            batch_stride: inner.iter().product::<usize>() / factor,
            indices: indices.to_vec(),
        };
        Ok(Self {
            shape,
            element,
            source: params.to_vec(),
            rows,
            map: plan::Map::GatherNd(map),
        })
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
