//! Methods that change the layout of a tensor without a copy: slices, transposes and broadcasts.

use super::Tensor;
use crate::{Error, Plan, SliceSpec, View, cpu::Dest};

impl Tensor {
    /// Returns a slice of this tensor. Nothing is copied: the slice shares the memory.
    ///
    /// While the slice exists, all of this memory is kept, and the next in-place change of this tensor first copies the
    /// memory. If you keep a small slice, call [`contiguous`](Self::contiguous) on it.
    ///
    /// ```
    /// use wgslice::{slice, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let x = backend.upload((&[1, 2, 3, 4, 5, 6], &[3, 2]))?;
    /// let last_column = x.slice(&slice![.., -1])?;
    /// assert_eq!(last_column.to_array::<i32>()?.data, [2, 4, 6]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for a slice that does not fit the tensor's shape.
    #[doc(alias("strided_slice", "flip", "reverse", "narrow"))]
    pub fn slice(&self, spec: &SliceSpec) -> Result<Self, Error> {
        Ok(self.with_layout(self.layout.slice(spec)?))
    }

    /// Reorders the dimensions: dimension `d` of the result is dimension `permutation[d]` of this tensor. Nothing is
    /// copied.
    ///
    /// ```
    /// use wgslice::Backend;
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let rows = backend.upload((&[1u8, 2, 3, 4, 5, 6], &[2, 3]))?;
    /// assert_eq!(rows.transpose(&[1, 0])?.to_vec::<u8>()?, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`Permutation`).
    #[doc(alias = "permute")]
    pub fn transpose(&self, permutation: &[usize]) -> Result<Self, Error> {
        Ok(self.with_layout(self.layout.transpose(permutation)?))
    }

    /// Broadcasts the tensor to this shape: see [`View::broadcast_to`]. Nothing is copied.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`Broadcast`); [`Error::ShapeTooLarge`].
    #[doc(alias = "expand")]
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self, Error> {
        Ok(self.with_layout(self.layout.broadcast_to(shape)?))
    }

    /// Returns this tensor in contiguous memory, in row-major order. A view is copied into its own memory; other
    /// tensors are returned without a copy. On a GPU the call submits the work and does not wait for it.
    ///
    /// # Errors
    ///
    /// An error of the device.
    #[doc(alias = "ascontiguousarray")]
    pub fn contiguous(&self) -> Result<Self, Error> {
        let (dtype, shape) = (self.dtype, self.shape());
        if self.is_contiguous() {
            return Ok(Self::new(&self.backend, dtype, shape, self.storage.clone()));
        }
        if !self.backend.is_cpu() {
            let copy = Plan::from_layout(&self.layout, dtype);
            return Ok(Self::run(&copy, &[self])?.0.swap_remove(0));
        }
        let copy = |dest: Dest<'_>| {
            self.layout
                .copy(dtype, self.storage.host_bytes(), dest, self.backend.threads);
            Ok(())
        };
        let bytes = self.layout.len() * dtype.size();
        let storage = self
            .backend
            .host_storage(bytes, self.layout.pieces(dtype), copy)?
            .0;
        Ok(Self::new(&self.backend, dtype, shape, storage))
    }

    /// Returns a tensor with another layout of the same memory.
    pub(crate) fn with_layout(&self, layout: View) -> Self {
        Self {
            layout,
            ..self.clone()
        }
    }

    /// Returns the selection of elements from the tensor's memory, as offset, shape and strides. A plan that is made
    /// for this view reads the tensor without a copy: see [`Tensor::run`].
    pub fn layout(&self) -> &View {
        &self.layout
    }

    /// Returns whether the tensor consists of all of its memory, in row-major order.
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_whole() || self.layout.is_all()
    }
}
