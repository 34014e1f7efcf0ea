//! The array `params` of an operation: a view of a tensor.

use super::*;

/// A view of a tensor.
#[derive(Clone, Debug)]
pub struct Params<'a> {
    /// The tensor that is viewed.
    pub tensor: &'a Tensor,
    /// The steps of the view. Empty for the whole tensor.
    pub view: Vec<Step>,
}

impl<'a> Params<'a> {
    pub(super) fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            tensor: case.tensor("params")?,
            view: case.arguments().steps("view")?,
        })
    }

    pub(super) fn reference_array(&self) -> Result<Tensor, ReferenceError> {
        apply_view_steps(self.tensor, &self.view)
    }

    pub(super) fn upload(&self, run: &DeviceRun<'_>) -> Result<wgslice::Tensor, Error> {
        run.upload_view(self.tensor, &self.view)
    }
}

/// In a third of the calls, draws the steps of a view of an array with this shape, and inserts them into `args`.
/// Returns the shape of the view.
pub(super) fn random_view(
    rng: &mut Rng,
    source_shape: &[usize],
    args: &mut Map<String, Value>,
) -> Vec<usize> {
    if rng.u8(..3) > 0 {
        return source_shape.to_vec();
    }
    let steps = draw_view_steps(rng, source_shape);
    match viewed_shape(source_shape, &steps) {
        // A gather needs at least one dimension. Steps that make a scalar are left out, and so are steps that fail.
        Some(shape) if !shape.is_empty() => {
            args.insert("view".into(), steps.into());
            shape
        }
        _ => source_shape.to_vec(),
    }
}
