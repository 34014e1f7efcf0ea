//! Views of whole arrays.

use super::View;
use crate::prelude::*;
use crate::{Error, shape};

impl View {
    /// Returns the view of a whole array of this shape.
    ///
    /// # Errors
    ///
    /// [`Error::ShapeTooLarge`].
    pub fn new(shape: &[usize]) -> Result<Self, Error> {
        shape::elements(shape)?;
        Ok(Self::whole(shape))
    }

    /// Returns the view of a whole array. The shape must have passed [`shape::elements`], so that no stride overflows.
    pub(crate) fn whole(shape: &[usize]) -> Self {
        let mut next_distance = 1;
        let stride_of_next = |&size: &usize| {
            let stride = next_distance;
            next_distance *= size.max(1).cast_signed();
            if size > 1 { stride } else { 0 }
        };
        let mut strides: Vec<isize> = shape.iter().rev().map(stride_of_next).collect();
        strides.reverse();
        let mut view = Self {
            source: shape.to_vec(),
            offset: 0,
            shape: shape.to_vec(),
            strides,
        };
        view.normalize();
        view
    }

    /// Returns the view of a whole array of one dimension. `[elements]` must have passed [`shape::elements`].
    #[cfg(feature = "gpu")]
    pub(crate) fn flat(elements: usize) -> Self {
        Self {
            source: vec![elements],
            offset: 0,
            shape: vec![elements],
            strides: vec![1],
        }
    }
}
