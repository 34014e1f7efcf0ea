//! Selections of a tensor's elements that are not copied yet.

use super::Tensor;
use crate::{DType, Error, Pending, Plan, Report, SliceSpec, View};

/// A selection of a tensor's elements that is not copied yet. Slices, transposes and broadcasts compose, and a copy of
/// the final selection, or a gather from it, is one pass over the data.
///
/// ```
/// use wgslice::{options::GatherOptions, slice, Backend};
///
/// let backend = Backend::cpu(); // or Backend::auto()
/// let table = backend.upload((&[0.0f32, 0.1, 0.2, 1.0, 1.1, 1.2], &[2, 3]))?;
/// let columns = table.view().transpose(&[1, 0])?; // 3 rows of 2, not copied
///
/// let reversed = columns.slice(&slice![..; -1])?.to_tensor()?;
/// assert_eq!(reversed.to_array::<f32>()?.data, [0.2, 1.2, 0.1, 1.1, 0.0, 1.0]);
///
/// let ids = backend.upload((&[2i32, 0], &[2, 1]))?;
/// let (some, _) = columns.gather_nd(&ids, GatherOptions::default())?;
/// assert_eq!(some.to_array::<f32>()?.data, [0.2, 1.2, 0.0, 1.0]);
/// # Ok::<(), wgslice::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TensorView {
    pub(super) tensor: Tensor,
    pub(super) view: View,
}

impl Tensor {
    /// A view of the whole tensor, to be sliced, transposed, broadcast or gathered from.
    pub fn view(&self) -> TensorView {
        TensorView {
            tensor: self.clone(),
            view: View::whole(&self.shape),
        }
    }
}

impl TensorView {
    /// The shape of the view, which may differ from the tensor's.
    pub fn shape(&self) -> &[usize] {
        self.view.shape()
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.tensor.dtype()
    }

    /// The selection as offset, shape and strides in the tensor.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// A slice of the selection: [`View::slice`].
    ///
    /// # Errors
    ///
    /// [`Error::Argument`].
    pub fn slice(&self, spec: &SliceSpec) -> Result<Self, Error> {
        self.selecting(self.view.slice(spec)?)
    }

    /// Reorders the dimensions: [`View::transpose`].
    ///
    /// # Errors
    ///
    /// [`Error::Argument`].
    pub fn transpose(&self, permutation: &[usize]) -> Result<Self, Error> {
        self.selecting(self.view.transpose(permutation)?)
    }

    /// Broadcasts to this shape: [`View::broadcast_to`].
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]; [`Error::ShapeTooLarge`].
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self, Error> {
        self.selecting(self.view.broadcast_to(shape)?)
    }

    /// Copies the selection into a new tensor. If the selection is the whole tensor in its order, the new tensor shares
    /// its memory instead. On a GPU the work is submitted, not waited for.
    ///
    /// # Errors
    ///
    /// An error of the device.
    pub fn to_tensor(&self) -> Result<Tensor, Error> {
        self.tensor.selected(self.view.clone())
    }

    /// Runs `plan`, a gather from the selection, with these indices.
    pub(crate) fn gathered(
        &self,
        plan: &Plan,
        indices: &Tensor,
    ) -> Result<(Tensor, Pending<Report>), Error> {
        self.tensor.make(plan, Some(indices))
    }

    /// The tensor of whose elements this is a selection.
    pub(crate) fn tensor(&self) -> &Tensor {
        &self.tensor
    }

    /// Another selection of the same tensor.
    pub(crate) fn of_tensor(&self, view: View) -> Self {
        let tensor = self.tensor.clone();
        Self { tensor, view }
    }

    fn selecting(&self, view: View) -> Result<Self, Error> {
        Ok(self.of_tensor(view))
    }
}
