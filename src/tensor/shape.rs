//! Sizes that follow from a tensor's shape, and changes of the shape: reshaping, squeezing and transposing.

use super::Tensor;
use crate::{Element, Error, error, shape::elements};

impl Tensor {
    /// The number of elements: 1 for a scalar.
    pub(super) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// The same values in another shape, in row-major order, without a copy.
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let rows = backend.upload((&[1u8, 2, 3, 4, 5, 6], &[2, 3]))?;
    /// assert_eq!(rows.reshape(&[3, 1, 2])?.shape(), [3, 1, 2]);
    /// assert!(rows.reshape(&[4]).is_err());
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] if `shape` does not have the tensor's number of elements; [`Error::ShapeTooLarge`].
    pub fn reshape(&self, shape: &[usize]) -> Result<Self, Error> {
        if elements(shape)? != self.len() {
            return Err(error::view::reshape(&self.shape, shape));
        }
        Ok(Self {
            shape: shape.to_vec(),
            ..self.clone()
        })
    }

    /// A new tensor whose dimension `d` is dimension `permutation[d]` of this one. To slice the result or gather from
    /// it, use [`TensorView::transpose`](crate::TensorView::transpose), which copies nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`], or an error of the device.
    pub fn transpose(&self, permutation: &[usize]) -> Result<Self, Error> {
        self.view().transpose(permutation)?.to_tensor()
    }

    /// Reads the values back, in row-major order: [`Tensor::to_array`] without the shape.
    ///
    /// # Errors
    ///
    /// As [`Tensor::to_array`].
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, Error> {
        Ok(self.to_array()?.data)
    }
}
