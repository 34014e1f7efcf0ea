//! Views: selections of an array that compose, and move nothing until a result is asked for.
//!
//! A view is an offset into its source, and for each dimension a size and a signed stride. Every
//! operation here maps one such form to another, so that a slice of a transposed slice of a slice is
//! one view, one plan, and one pass over the data:
//!
//! | operation | what happens to a dimension | file |
//! |---|---|---|
//! | slice | the offset moves, the size shrinks, the stride is multiplied, also by negative steps | `select` |
//! | new axis | size 1 and stride 0 come in between | `select` |
//! | transpose | it goes elsewhere | here |
//! | broadcast | its size grows, and its stride becomes 0 | here |
//!
//! Nothing overflows: a stride is only kept where it joins two elements that exist, and whatever
//! spans existing elements is smaller than the source.

mod select;

use crate::{Error, ViewError, shape};

/// A strided selection of a row-major array, not yet moved.
///
/// Element `(i, j, …)` of the view is element `offset + i · strides[0] + j · strides[1] + …` of the
/// source. Strides count elements; they may be negative, and are 0 along dimensions of size 1 and
/// along those that repeat.
///
/// ```
/// use wgslice::{slice, DType, View};
///
/// // x[1:].T[::-1] of an array of shape [3, 4], as one plan:
/// let view = View::of(&[3, 4])?
///     .strided_slice(&slice![1..])?
///     .transpose(&[1, 0])?
///     .strided_slice(&slice![..; -1])?;
/// assert_eq!((view.offset(), view.shape(), view.strides()), (7, &[4, 2][..], &[-1, 4][..]));
///
/// let x: Vec<u8> = (0..12).collect();
/// let plan = view.plan(DType::U8);
/// let mut result = [0; 8];
/// plan.run(&x, &mut result)?;
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
    /// All of an array of this shape.
    ///
    /// # Errors
    ///
    /// [`Error::ShapeTooLarge`].
    pub fn of(shape: &[usize]) -> Result<Self, Error> {
        shape::elements(shape)?;
        Ok(Self::whole(shape))
    }

    /// All of an array whose shape was checked.
    pub(crate) fn whole(shape: &[usize]) -> Self {
        let mut strides = vec![0; shape.len()];
        let mut next = 1;
        for (stride, &size) in strides.iter_mut().zip(shape).rev() {
            if size > 1 {
                *stride = next;
                next *= size.cast_signed();
            }
        }
        let view = Self {
            source: shape.to_vec(),
            offset: 0,
            shape: shape.to_vec(),
            strides,
        };
        view.normal()
    }

    /// All of so many elements, of which there are not too many.
    #[cfg(feature = "gpu")]
    pub(crate) fn flat(elements: usize) -> Self {
        Self {
            source: vec![elements],
            offset: 0,
            shape: vec![elements],
            strides: vec![1],
        }
    }

    /// The shape of the source.
    pub fn source(&self) -> &[usize] {
        &self.source
    }

    /// The source element of the first element. 0 where the view is empty.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The shape of the result.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// One stride for each dimension of the result, in elements of the source.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// The number of elements. It cannot overflow: a broadcast is checked when it is made.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// The dimensions in another order: dimension `i` of the result is dimension `permutation[i]`, as
    /// in `numpy.transpose`.
    ///
    /// ```
    /// use wgslice::View;
    ///
    /// let images = View::of(&[8, 480, 640, 3])?.transpose(&[0, 3, 1, 2])?;
    /// assert_eq!(images.shape(), [8, 3, 480, 640]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ViewError::Permutation`] where a dimension is missing, or named twice.
    pub fn transpose(&self, permutation: &[usize]) -> Result<Self, Error> {
        let rank = self.shape.len();
        let mut named = vec![false; rank];
        for &dimension in permutation {
            if let Some(named) = named.get_mut(dimension) {
                *named = true;
            }
        }
        if permutation.len() != rank || named.contains(&false) {
            let permutation = permutation.to_vec();
            return Err(ViewError::Permutation { permutation, rank }.into());
        }
        Ok(Self {
            source: self.source.clone(),
            offset: self.offset,
            shape: permutation.iter().map(|&d| self.shape[d]).collect(),
            strides: permutation.iter().map(|&d| self.strides[d]).collect(),
        })
    }

    /// The view repeated until it has this shape, as in `numpy.broadcast_to`: shapes are compared from
    /// the last dimension on, dimensions of size 1 repeat, and missing ones come in front.
    ///
    /// ```
    /// use wgslice::View;
    ///
    /// let row = View::of(&[3])?.broadcast_to(&[4, 3])?;
    /// assert_eq!(row.strides(), [0, 1]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ViewError::Broadcast`] where another dimension than one of size 1 would change;
    /// [`Error::ShapeTooLarge`].
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self, Error> {
        shape::elements(shape)?;
        let fits = |(&from, &to): (&usize, &usize)| from == to || from == 1;
        let added = shape.len().checked_sub(self.shape.len());
        let added = added.filter(|&added| self.shape.iter().zip(&shape[added..]).all(fits));
        let Some(added) = added else {
            return Err(ViewError::Broadcast {
                from: self.shape.clone(),
                to: shape.to_vec(),
            }
            .into());
        };
        // Dimensions of size 1 have the stride 0 already.
        let mut strides = vec![0; added];
        strides.extend(&self.strides);
        let view = Self {
            source: self.source.clone(),
            offset: self.offset,
            shape: shape.to_vec(),
            strides,
        };
        Ok(view.normal())
    }

    /// Moves the beginning to position `first` along a stride, where there is an element.
    fn advance(&mut self, first: usize, stride: isize) {
        let units = first.cast_signed().wrapping_mul(stride);
        self.offset = self.offset.wrapping_add_signed(units);
    }

    /// Empty views of a shape are equal.
    fn normal(mut self) -> Self {
        if self.shape.contains(&0) {
            self.offset = 0;
            self.strides.fill(0);
        }
        self
    }
}
