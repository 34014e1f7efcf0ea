//! The steps of a view, and how the library and the reference apply them.

use crate::reference::{self, ReferenceError, Spec};
use wgslice::{Error, SliceSpec, Tensor, View, spec::TfStridedSlice};

/// One step of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A slice, in TensorFlow's encoding.
    Slice(TfStridedSlice),
    /// A transpose. The list is the source's dimensions in their new order.
    Transpose(Vec<usize>),
    /// A broadcast to this shape.
    Broadcast(Vec<usize>),
}

impl Step {
    /// Returns the view after the step.
    ///
    /// # Errors
    ///
    /// Fails with the errors of the view.
    pub fn of_view(&self, view: &View) -> Result<View, Error> {
        match self {
            Self::Slice(encoded) => view.slice(&SliceSpec::try_from(encoded)?),
            Self::Transpose(permutation) => view.transpose(permutation),
            Self::Broadcast(shape) => view.broadcast_to(shape),
        }
    }

    /// Returns a tensor after the step.
    ///
    /// # Errors
    ///
    /// Fails with the errors of the view.
    pub fn of_tensor(&self, tensor: &Tensor) -> Result<Tensor, Error> {
        match self {
            Self::Slice(encoded) => tensor.slice(&SliceSpec::try_from(encoded)?),
            Self::Transpose(permutation) => tensor.transpose(permutation),
            Self::Broadcast(shape) => tensor.broadcast_to(shape),
        }
    }

    /// Returns the reference's result of the step, for a shape and its values.
    ///
    /// # Errors
    ///
    /// Fails with the errors of the reference.
    pub fn of_values<T: Clone>(
        &self,
        (shape, values): (Vec<usize>, Vec<T>),
    ) -> Result<(Vec<usize>, Vec<T>), ReferenceError> {
        match self {
            Self::Slice(encoded) => reference::strided_slice(&values, &shape, &spec_of(encoded)),
            Self::Transpose(permutation) => reference::transpose(&values, &shape, permutation),
            Self::Broadcast(new_shape) => {
                let values = reference::broadcast_to(&values, &shape, new_shape)?;
                Ok((new_shape.clone(), values))
            }
        }
    }
}

/// Returns a slice in the reference's form.
pub fn spec_of(encoded: &TfStridedSlice) -> Spec<'_> {
    let TfStridedSlice {
        ref begin,
        ref end,
        ref strides,
        begin_mask,
        end_mask,
        ellipsis_mask,
        new_axis_mask,
        shrink_axis_mask,
    } = *encoded;
    Spec {
        begin,
        end,
        strides,
        begin_mask,
        end_mask,
        ellipsis_mask,
        new_axis_mask,
        shrink_axis_mask,
    }
}
