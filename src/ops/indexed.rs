//! Gathers and crops as walks: index tuples select the positions in the source at which slices and boxes start.
//!
//! The walk has the dimensions of the result. Each dimension has a distance in the source. Its positions either have
//! their own tuples or share the same tuples:
//!
//! | dimension of the result | distance in the source | tuples |
//! |---|---|---|
//! | batch, or in `gather_elements` any except `axis` | the distance of the dimension in params | own |
//! | added by the index tensor, or `axis` of `gather_elements` | 0 | own |
//! | of params, not indexed | the distance of the dimension in params | shared |
//! | of a box, in a crop | 0, because a coordinate moves the position | shared |
//!
//! The tuples are in row-major order. Params can be any view, because flips, steps, transposes and broadcasts only
//! change distances.
//!
//! Several units can have the same tuple. If it is out of range, it counts once.

use crate::prelude::*;
use crate::{
    DType, Error, View,
    moves::Move,
    moves::{Effect, IndexTensor, Operation},
    ops::index::{IndexShape, Policy},
    shape,
    walk::{Coordinate, Dim, MAX_UNIT, Walk},
};
use core::ops::Range;

/// Returns the dimensions `range` of params as batch dimensions, in which each position has its own tuples.
pub(crate) fn as_batch_dims(params: &View, range: Range<usize>) -> impl Iterator<Item = Dim> {
    sizes_and_strides(params, range).map(|(size, from)| Dim::with_own_tuples(size, from))
}

/// Returns the dimensions `range` of params, which are neither batch dimensions nor indexed.
pub(crate) fn kept_dims(params: &View, range: Range<usize>) -> impl Iterator<Item = Dim> {
    sizes_and_strides(params, range).map(|(size, from)| Dim::shared(size, from))
}

/// Returns dimensions of these sizes, which only the index tensor has.
pub(crate) fn added_dims(sizes: &[usize]) -> impl Iterator<Item = Dim> {
    sizes.iter().map(|&size| Dim::with_own_tuples(size, 0))
}

/// Returns a coordinate for each dimension of params in `range`. The first coordinate reads column `first_column` of
/// the tuples, and each other coordinate reads the next column.
pub(crate) fn coordinates_for(
    params: &View,
    range: Range<usize>,
    first_column: usize,
) -> impl Iterator<Item = Coordinate> {
    let strides = sizes_and_strides(params, range).enumerate();
    strides.map(move |(d, (size, stride))| Coordinate::indexed(size, stride, first_column + d))
}

fn sizes_and_strides(view: &View, range: Range<usize>) -> impl Iterator<Item = (usize, isize)> {
    let (sizes, strides) = (&view.shape[range.clone()], &view.strides[range]);
    sizes.iter().copied().zip(strides.iter().copied())
}

impl IndexTensor {
    /// Returns the index tensor of this shape and type. Its first `tuple_dims` dimensions number the tuples. The tuples
    /// index the move's destination.
    pub(crate) fn new(
        indices: IndexShape,
        tuple_dims: usize,
        policy: Policy,
    ) -> Result<Self, Error> {
        Ok(Self {
            index_type: indices.index_type("indices")?,
            shape: indices.shape,
            tuple_dims,
            target: None,
            policy,
        })
    }
}

impl Move {
    /// Plans a gather from the view `params` with elements of this type. The walk has `coordinates` and the dimensions
    /// `dims`, whose sizes are the shape of the result. Distances count elements.
    pub(crate) fn of_gather(
        operation: Operation,
        params: View,
        dims: Vec<Dim>,
        coordinates: Vec<Coordinate>,
        indices: IndexTensor,
        dtype: DType,
    ) -> Result<Self, Error> {
        let shape: Vec<usize> = dims.iter().map(|dim| dim.size).collect();
        let walk = match shape::elements(&shape)? {
            0 => None,
            _ => {
                let mut walk = Walk::strided(dtype.size(), params.offset.cast_signed(), 0, dims);
                walk.in_order();
                walk.coordinates = coordinates;
                walk.columns = indices.shape[indices.tuple_dims..].iter().product();
                walk.counts_tuples = true;
                walk.reduce(MAX_UNIT);
                Some(walk)
            }
        };
        Ok(Self {
            operation,
            shape,
            dtype,
            source: params.source,
            walk,
            effect: Effect::Make,
            conversion: None,
            indices: Some(IndexTensor {
                target: Some(params.shape),
                ..indices
            }),
        })
    }
}
