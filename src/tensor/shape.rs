//! The number of elements of a tensor, and tensors with another shape.

use super::Tensor;
use crate::prelude::*;
use crate::{Element, Error, View, error, shape::elements};

impl Tensor {
    /// Returns the number of elements: 1 for a scalar.
    pub(super) fn len(&self) -> usize {
        self.shape().iter().product()
    }

    /// Returns the same values in another shape, in row-major order. Copies the values only if the tensor is a view.
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
            return Err(error::view::wrong_element_count(self.shape(), shape));
        }
        let contiguous_tensor = self.contiguous()?;
        Ok(contiguous_tensor.with_layout(View::whole(shape)))
    }

    /// Reads the values back in row-major order, like [`Tensor::to_array`] but without the shape.
    ///
    /// # Errors
    ///
    /// The errors of [`Tensor::to_array`].
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, Error> {
        Ok(self.to_array()?.data)
    }
}
