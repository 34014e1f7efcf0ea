//! Views: selections from an array. They compose, and no element is copied until a result is needed.
//!
//! A view is an offset into its source, and a size and a signed stride for each dimension. Operations on views change
//! only these numbers. So a slice of a transposed slice of a slice is one view, one plan, and one pass over the data:
//!
//! | operation | effect on a dimension | file |
//! |---|---|---|
//! | slice | moves the offset, shrinks the size, multiplies the stride by the step, which can be negative | `select` |
//! | new axis | inserts size 1 and stride 0 | `select` |
//! | transpose | reorders dimensions | this file |
//! | broadcast | enlarges the size and sets the stride to 0 | this file |
//! | windows | inserts a dimension with the same stride | `strided` |
//! | reshape | merges and splits dimensions with a common stride | `strided` |
//!
//! Nothing overflows: a stride is kept only where it connects two existing elements, and the distance between existing
//! elements is less than the size of the source.

// rustdoc lists methods in the order of the modules. `whole` has the constructors, which come first.
mod whole;

mod select;
pub(crate) mod strided;

use crate::prelude::*;
use crate::{Error, error, shape};

/// A strided selection of a row-major array, not copied yet.
///
/// Element `(i, j, …)` of the view is element `offset + i · strides[0] + j · strides[1] + …` of the source. Strides
/// count elements and can be negative. They are 0 along dimensions of size 1, along broadcast dimensions, and in empty
/// views.
///
/// ```
/// use wgslice::{slice, DType, Plan, View};
///
/// // x[1:].T[::-1] of an array of shape [3, 4], as one plan:
/// let view = View::new(&[3, 4])?
///     .slice(&slice![1..])?
///     .transpose(&[1, 0])?
///     .slice(&slice![..; -1])?;
/// assert_eq!((view.offset(), view.shape(), view.strides()), (7, &[4, 2][..], &[-1, 4][..]));
///
/// let x: Vec<u8> = (0..12).collect();
/// let mut result = [0u8; 8];
/// Plan::contiguous(&view, DType::U8)?.run_cpu(&[(&x).into()], &mut [(&mut result).into()])?;
/// assert_eq!(result, [7, 11, 6, 10, 5, 9, 4, 8]);
/// # Ok::<(), wgslice::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct View {
    pub(crate) source: Vec<usize>,
    pub(crate) offset: usize,
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<isize>,
}

impl View {
    /// Returns the shape of the source.
    pub fn source_shape(&self) -> &[usize] {
        &self.source
    }

    /// Returns the position of the view's first element in the source, in elements, or 0 if the view is empty.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the shape of the view.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns a stride for each dimension of the view, in elements of the source.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Returns the number of selected elements. A repeated element counts each time.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns whether the view selects no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reorders the dimensions: dimension `i` of the result is dimension `permutation[i]`, as in `numpy.transpose`.
    ///
    /// ```
    /// use wgslice::View;
    ///
    /// let images = View::new(&[8, 480, 640, 3])?.transpose(&[0, 3, 1, 2])?;
    /// assert_eq!(images.shape(), [8, 3, 480, 640]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] unless `permutation` contains each dimension exactly once.
    #[doc(alias = "permute")]
    pub fn transpose(&self, permutation: &[usize]) -> Result<Self, Error> {
        let rank = self.shape.len();
        let mut named_dims = vec![false; rank];
        for &dimension in permutation {
            if let Some(is_named) = named_dims.get_mut(dimension) {
                *is_named = true;
            }
        }
        if permutation.len() != rank || named_dims.contains(&false) {
            return Err(error::view::permutation(permutation, rank));
        }
        Ok(Self {
            source: self.source.clone(),
            offset: self.offset,
            shape: permutation.iter().map(|&d| self.shape[d]).collect(),
            strides: permutation.iter().map(|&d| self.strides[d]).collect(),
        })
    }

    /// Broadcasts the view to this shape, like `numpy.broadcast_to`: dimensions are compared from the last to the
    /// first, dimensions of size 1 are repeated, and missing leading dimensions are added.
    ///
    /// ```
    /// use wgslice::View;
    ///
    /// let row = View::new(&[3])?.broadcast_to(&[4, 3])?;
    /// assert_eq!(row.strides(), [0, 1]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] if a dimension of another size than 1 would change or `shape` has fewer dimensions than the
    /// view; [`Error::ShapeTooLarge`].
    #[doc(alias = "expand")]
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self, Error> {
        shape::elements(shape)?;
        let can_broadcast = |(&from, &to): (&usize, &usize)| from == to || from == 1;
        let added_dims = shape.len().checked_sub(self.shape.len());
        let added_dims = added_dims.filter(|&added_dims| {
            self.shape
                .iter()
                .zip(&shape[added_dims..])
                .all(can_broadcast)
        });
        let Some(added_dims) = added_dims else {
            return Err(error::view::broadcast(&self.shape, shape));
        };
        // Dimensions of size 1 already have stride 0.
        let mut strides = vec![0; added_dims];
        strides.extend(&self.strides);
        let mut view = Self {
            source: self.source.clone(),
            offset: self.offset,
            shape: shape.to_vec(),
            strides,
        };
        view.normalize();
        Ok(view)
    }

    /// Returns whether the view is the whole source, in its shape and order. True for an empty view with the shape of
    /// an empty source.
    pub(crate) fn is_all(&self) -> bool {
        self.shape == self.source && (self.is_whole() || self.is_empty())
    }

    /// Returns whether the view selects all elements of its source in their order.
    pub(crate) fn is_whole(&self) -> bool {
        let mut next_stride = 1;
        let mut dims = self.shape.iter().zip(&self.strides).rev();
        dims.all(|(&size, &stride)| {
            let is_contiguous = size == 1 || stride == next_stride;
            next_stride *= size.cast_signed();
            is_contiguous
        }) && self.source.iter().product::<usize>().cast_signed() == next_stride
    }

    /// Sets the offset and the strides of an empty view to 0, so that empty views of one shape are equal.
    pub(crate) fn normalize(&mut self) {
        if self.shape.contains(&0) {
            self.offset = 0;
            self.strides.fill(0);
        }
    }
}
