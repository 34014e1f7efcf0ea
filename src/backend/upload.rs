//! Uploads host values to a backend's device.

use crate::{
    ArrayRef, Backend, DType, Element, Error, SliceSpec, Tensor, View,
    backend::Device,
    cpu::{Dest, Pieces},
    moves::Move,
    shape::{check_elements, check_length, elements},
    tensor::TensorStorage,
};
use alloc::sync::Arc;

impl Backend {
    /// Copies host values to the device and returns them as a tensor.
    ///
    /// # Errors
    ///
    /// [`Error::Length`], [`Error::ShapeTooLarge`], or an error of the device.
    pub fn upload<'a, T: Element>(
        &self,
        values: impl Into<ArrayRef<'a, T>>,
    ) -> Result<Tensor, Error> {
        let (memory, view) = values.into().memory("values")?;
        if view != View::whole(view.shape()) {
            return self.upload_view(&memory, &view);
        }
        let bytes = T::as_bytes(&memory);
        let storage = match &self.device {
            Device::Cpu => {
                let copy = |dest: Dest<'_>| {
                    dest.copy_from(bytes, self.threads);
                    Ok(())
                };
                self.host_storage(bytes.len(), Pieces::WithoutZeros, copy)?
                    .0
            }
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => TensorStorage::Device(
                gpu.open_device()
                    .upload_slice_of(&Move::from_view(view.clone(), T::DTYPE), bytes)?,
            ),
        };
        Ok(Tensor::new(self, T::DTYPE, view.shape(), storage))
    }

    /// Uploads a slice of host values as a tensor. Only the selected elements are copied, in one pass. An ndarray array
    /// with gaps between its elements takes two passes.
    ///
    /// ```
    /// use wgslice::{slice, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let batch = backend.upload_slice((&[1, 2, 3, 4, 5, 6], &[3, 2]), &slice![1.., ..; -1])?;
    /// assert_eq!(batch.to_vec::<i32>()?, [4, 3, 6, 5]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`], [`Error::Length`], [`Error::ShapeTooLarge`], or an error of the device.
    pub fn upload_slice<'a, T: Element>(
        &self,
        values: impl Into<ArrayRef<'a, T>>,
        spec: &SliceSpec,
    ) -> Result<Tensor, Error> {
        let (memory, view) = values.into().sliced("values", spec)?;
        self.upload_view(&memory, &view)
    }

    /// Uploads the elements that a view selects from host values, in one pass.
    pub(crate) fn upload_view<T: Element>(
        &self,
        values: &[T],
        view: &View,
    ) -> Result<Tensor, Error> {
        let slice_move = Move::from_view(view.clone(), T::DTYPE);
        check_elements("values", view.source_shape(), values.len())?;
        let bytes = T::as_bytes(values);
        let storage = match &self.device {
            Device::Cpu => {
                let run = |dest: Dest<'_>| self.run_slice(&slice_move, bytes, dest);
                self.host_storage(slice_move.result_bytes(), slice_move.pieces(), run)?
                    .0
            }
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => {
                TensorStorage::Device(gpu.open_device().upload_slice_of(&slice_move, bytes)?)
            }
        };
        Ok(Tensor::new(self, T::DTYPE, view.shape(), storage))
    }

    /// Uploads the bytes of elements of this type.
    #[cfg(feature = "gpu")]
    pub(crate) fn upload_bytes(
        &self,
        bytes: &[u8],
        dtype: DType,
        shape: &[usize],
    ) -> Result<Tensor, Error> {
        let storage = match &self.device {
            Device::Cpu => {
                self.host_storage(bytes.len(), Pieces::WithoutZeros, |dest| {
                    dest.copy_from(bytes, self.threads);
                    Ok(())
                })?
                .0
            }
            Device::Gpu(gpu) => {
                let slice_move = Move::from_view(View::whole(shape), dtype);
                TensorStorage::Device(gpu.open_device().upload_slice_of(&slice_move, bytes)?)
            }
        };
        Ok(Tensor::new(self, dtype, shape, storage))
    }

    /// Takes `len` bytes of host memory from the pool and calls `fill` to write them. `fill` must write all of them,
    /// because their contents are unspecified. Returns the memory and the result of `fill`.
    pub(crate) fn host_storage<R>(
        &self,
        len: usize,
        pieces: Pieces,
        fill: impl FnOnce(Dest<'_>) -> Result<R, Error>,
    ) -> Result<(TensorStorage, R), Error> {
        let (bytes, outcome) = self.host_pool.collect(len, pieces, fill)?;
        Ok((TensorStorage::Pooled(Arc::new(bytes)), outcome))
    }
}

impl Tensor {
    /// Makes a tensor from the bytes of a row-major array, in native byte order.
    ///
    /// On the CPU the tensor keeps `bytes` and copies nothing, so only the parts of a memory-mapped file that an
    /// operation needs are read. On a GPU the bytes are uploaded.
    ///
    /// ```
    /// use wgslice::{Backend, DType, Tensor};
    ///
    /// let bytes: Vec<u8> = [1u16, 2, 3, 4].iter().flat_map(|value| value.to_ne_bytes()).collect();
    /// let tensor = Tensor::from_bytes(&Backend::cpu(), bytes, DType::U16, &[2, 2])?;
    /// assert_eq!(tensor.to_vec::<u16>()?, [1, 2, 3, 4]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Length`], [`Error::ShapeTooLarge`], or an error of the device.
    pub fn from_bytes(
        backend: &Backend,
        bytes: impl AsRef<[u8]> + Send + Sync + 'static,
        dtype: DType,
        shape: &[usize],
    ) -> Result<Self, Error> {
        let needed_bytes = elements(shape)? * dtype.size();
        check_length("bytes", shape, "bytes", needed_bytes, bytes.as_ref().len())?;
        let storage = match &backend.device {
            Device::Cpu => TensorStorage::Borrowed(Arc::new(bytes)),
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => {
                let slice_move = Move::from_view(View::whole(shape), dtype);
                TensorStorage::Device(
                    gpu.open_device()
                        .upload_slice_of(&slice_move, bytes.as_ref())?,
                )
            }
        };
        Ok(Self::new(backend, dtype, shape, storage))
    }
}
