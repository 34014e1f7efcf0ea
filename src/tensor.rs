//! [`Tensor`]: an array on a backend's device.

// rustdoc lists methods in the order of these modules: constructors, then views.
#[cfg(feature = "gpu")]
mod buffer;
mod view;

mod run;
mod shape;
#[cfg(feature = "gpu")]
mod texture;

use crate::prelude::*;
use crate::{
    Array, Backend, DType, Element, Error, Plan, SliceSpec, View,
    cpu::{Dest, Pieces},
    error,
    host_pool::PooledBytes,
    shape::check_elements,
    text::Shape,
};
use alloc::{borrow::Cow, sync::Arc};
use core::fmt;

#[cfg(feature = "gpu")]
use crate::{Gpu, backend::Device, element::zeroed, gpu::DeviceBytes};

/// An array on a backend: upload it once, slice and gather many times, and read back the results.
///
/// | make a tensor from | call |
/// |---|---|
/// | values, or a slice of them | [`Backend::upload`], [`Backend::upload_slice`] |
/// | bytes, such as a memory map | [`Tensor::from_bytes`] |
/// | a buffer of the program's own device | `Tensor::from_buffer`; `Tensor::buffers` is the inverse |
/// | a texture | `Tensor::from_texture` |
/// | updates to an array of zeros | [`Tensor::scatter_nd`], [`Tensor::slice_grad`] |
///
/// A tensor is a [view](Tensor::layout) of its memory. Cloning, slicing, transposing and broadcasting copy nothing: the
/// tensors share the memory. Only methods that work in place change a tensor, such as [`Tensor::slice_update`] and
/// [`Tensor::slice_into`]. If other tensors share the memory, these methods first copy it, so the other tensors stay
/// unchanged. [`Tensor::contiguous`] gives a slice its own memory.
///
/// ```
/// use wgslice::{options::GatherNdOptions, slice, Backend};
///
/// let backend = Backend::cpu(); // or Backend::auto()
/// let table = backend.upload((&[0.0f32, 0.1, 1.0, 1.1, 2.0, 2.1], &[3, 2]))?;
/// let ids = backend.upload((&[2i32, 0], &[2, 1]))?;
///
/// let (rows, _) = table.gather_nd(&ids, GatherNdOptions::default())?;
/// let flipped = rows.slice(&slice![.., ..; -1])?;
/// assert_eq!(flipped.to_array::<f32>()?.data, [2.1, 2.0, 0.1, 0.0]);
/// # Ok::<(), wgslice::Error>(())
/// ```
#[derive(Clone)]
pub struct Tensor {
    pub(crate) backend: Backend,
    dtype: DType,
    /// The selection and the order of the tensor's elements in the storage.
    layout: View,
    pub(crate) storage: TensorStorage,
}

/// The memory of a tensor: `Device` if the tensor's backend is a GPU, otherwise one of the other variants.
#[derive(Clone)]
pub(crate) enum TensorStorage {
    /// Host memory that this crate allocated. Clones of the tensor share it.
    Pooled(Arc<PooledBytes>),
    /// The caller's host memory, such as a vector or a memory map. It is never written.
    Borrowed(Arc<dyn AsRef<[u8]> + Send + Sync>),
    #[cfg(feature = "gpu")]
    Device(DeviceBytes),
}

impl TensorStorage {
    /// Returns the bytes in host memory. They are empty if the tensor is on a GPU.
    pub(super) fn host_bytes(&self) -> &[u8] {
        match self {
            Self::Pooled(bytes) => (**bytes).as_ref(),
            Self::Borrowed(bytes) => (**bytes).as_ref(),
            #[cfg(feature = "gpu")]
            Self::Device(_) => &[],
        }
    }

    /// Returns the bytes in host memory, for writing. Returns `None` if another tensor shares the bytes, if they belong
    /// to the caller, or if the tensor is on a GPU.
    pub(super) fn host_bytes_mut(&mut self) -> Option<&mut [u8]> {
        match self {
            Self::Pooled(bytes) => Arc::get_mut(bytes).map(AsMut::as_mut),
            _ => None,
        }
    }
}

impl Tensor {
    pub(crate) fn new(
        backend: &Backend,
        dtype: DType,
        shape: impl Into<Vec<usize>>,
        storage: TensorStorage,
    ) -> Self {
        Self {
            backend: backend.clone(),
            dtype,
            layout: View::whole(&shape.into()),
            storage,
        }
    }

    /// Returns the size of each dimension, the outermost first. The shape of a scalar is empty.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// Returns the element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the backend on which the tensor is stored.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Writes a slice of this tensor into an existing tensor `dest`, which must have the shape and the element type of
    /// the result and be on the same device. If nothing else shares the memory of `dest`, the slice is written there:
    /// `dest` gets no new memory, and on a GPU it keeps its [buffers](Self::buffers). On a GPU the call submits the
    /// work and does not wait for it.
    ///
    /// No other tensor changes, so `dest` can be a clone of this tensor. `dest` gets new memory in these cases: if it
    /// is a view, such as a slice; if it shares its memory with another tensor; if it is on a GPU and a report that is
    /// not yet read needs it as its indices; or if it is on the CPU and contains bytes that were passed to
    /// [`Tensor::from_bytes`].
    ///
    /// ```
    /// use wgslice::{slice, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let frames = backend.upload((&[1, 2, 3, 4, 5, 6], &[3, 2]))?;
    /// let mut frame = frames.slice(&slice![0, ..; -1])?;
    /// assert_eq!(frame.to_array::<i32>()?.data, [2, 1]);
    ///
    /// frames.slice_into(&slice![1, ..; -1], &mut frame)?; // frame gets its own memory
    /// frames.slice_into(&slice![2, ..; -1], &mut frame)?; // into that memory
    /// assert_eq!(frame.to_array::<i32>()?.data, [6, 5]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for a `dest` on another device, or with another shape or element type than the result. After
    /// these errors `dest` is unchanged. An error of the device leaves the values of `dest` unspecified.
    pub fn slice_into(&self, spec: &SliceSpec, dest: &mut Self) -> Result<(), Error> {
        self.check_same_device("dest", dest)?;
        let plan = Plan::slice(&self.layout, spec, self.dtype)?;
        if (dest.dtype, dest.shape()) != (self.dtype, plan.shape()) {
            return Err(error::value::dest_mismatch(
                dest.shape(),
                dest.dtype,
                plan.shape(),
                self.dtype,
            ));
        }
        Self::run_into(&plan, &[self], &mut [dest]).map(drop)
    }

    /// Reads the values back.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] if `T` is not the tensor's element type; [`Error::WouldBlock`] for a tensor on a GPU in a
    /// browser; or an error of the device.
    pub fn to_array<T: Element>(&self) -> Result<Array<T>, Error> {
        self.check_elements_are::<T>()?;
        Ok(Array::collect(self.shape(), self.read_pieces(), |dest| self.read(dest))?.0)
    }

    /// Reads the values back into existing memory. Allocating new memory for a large result can take longer than
    /// transferring the result from the device.
    ///
    /// ```
    /// use wgslice::{slice, Backend};
    ///
    /// let backend = Backend::cpu(); // or Backend::auto()
    /// let frames = backend.upload((&[1u8, 2, 3, 4, 5, 6], &[3, 2]))?;
    /// let mut frame = [0u8; 2];
    /// frames.slice(&slice![1, ..; -1])?.read_into(&mut frame)?;
    /// assert_eq!(frame, [4, 3]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Tensor::to_array`]; [`Error::Length`] if `values` and the tensor differ in length. An error of
    /// the device leaves the values unspecified.
    pub fn read_into<T: Element>(&self, values: &mut [T]) -> Result<(), Error> {
        self.check_elements_are::<T>()?;
        check_elements("values", self.shape(), values.len())?;
        T::fill(values, |bytes| self.read(bytes.into()))
    }

    /// Like [`Tensor::to_array`], but without blocking, for programs that run in a browser or in an async runtime. It
    /// has the same errors, except [`Error::WouldBlock`].
    #[cfg(feature = "gpu")]
    pub async fn to_array_async<T: Element>(&self) -> Result<Array<T>, Error> {
        self.check_elements_are::<T>()?;
        let (mut array, ()) = Array::collect(self.shape(), Pieces::WithZeros, |dest| {
            dest.all();
            Ok(())
        })?;
        self.read_into_async(&mut array.data).await?;
        Ok(array)
    }

    /// Like [`Tensor::read_into`], but without blocking, for programs that run in a browser or in an async runtime. It
    /// has the same errors, except [`Error::WouldBlock`].
    ///
    /// ```
    /// use wgslice::{slice, Backend};
    ///
    /// # async fn example(backend: Backend) -> Result<(), wgslice::Error> {
    /// let frames = backend.upload((&[1u8, 2, 3, 4, 5, 6], &[3, 2]))?;
    /// let mut frame = [0u8; 2];
    /// frames.slice(&slice![1, ..; -1])?.read_into_async(&mut frame).await?;
    /// assert_eq!(frame, [4, 3]);
    /// # Ok(())
    /// # }
    /// # pollster::block_on(example(Backend::auto()))?;
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    #[cfg(feature = "gpu")]
    pub async fn read_into_async<T: Element>(&self, values: &mut [T]) -> Result<(), Error> {
        let contiguous_tensor = self.contiguous()?;
        let Some((gpu, source)) = contiguous_tensor.on_device() else {
            return self.read_into(values);
        };
        self.check_elements_are::<T>()?;
        check_elements("values", self.shape(), values.len())?;
        if let Some(bytes) = T::as_bytes_mut(values) {
            return gpu.open_device().download_async(source, bytes).await;
        }
        let bytes = contiguous_tensor.bytes_async().await?;
        T::fill(values, |dest| {
            dest.copy_from_slice(&bytes);
            Ok(())
        })
    }

    /// Returns the bytes of the elements, in row-major order. They are borrowed from a contiguous tensor on the CPU,
    /// copied from a view on the CPU, and read back from a GPU.
    ///
    /// # Errors
    ///
    /// [`Error::WouldBlock`] for a tensor on a GPU in a browser; or an error of the device.
    pub fn bytes(&self) -> Result<Cow<'_, [u8]>, Error> {
        if !self.is_contiguous() {
            return Ok(Cow::Owned(self.contiguous()?.bytes()?.into_owned()));
        }
        match &self.storage {
            #[cfg(feature = "gpu")]
            TensorStorage::Device(_) => {
                let mut bytes = zeroed(self.len_bytes())?;
                self.read(bytes.as_mut_slice().into())?;
                Ok(Cow::Owned(bytes))
            }
            host => Ok(Cow::Borrowed(host.host_bytes())),
        }
    }

    /// Like [`Tensor::bytes`], but without blocking, for programs that run in a browser or in an async runtime. It has
    /// the same errors, except [`Error::WouldBlock`].
    ///
    /// ```
    /// use wgslice::{slice, Backend};
    ///
    /// # async fn example(backend: Backend) -> Result<(), wgslice::Error> {
    /// let x = backend.upload((&[0x0102u16, 0x0304], &[2]))?;
    /// let reversed = x.slice(&slice![..; -1])?;
    /// let bytes = reversed.bytes_async().await?;
    /// assert_eq!(*bytes, [0x0304u16.to_ne_bytes(), 0x0102u16.to_ne_bytes()].concat());
    /// # Ok(())
    /// # }
    /// # pollster::block_on(example(Backend::auto()))?;
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    #[cfg(feature = "gpu")]
    pub async fn bytes_async(&self) -> Result<Cow<'_, [u8]>, Error> {
        let contiguous_tensor = self.contiguous()?;
        let Some((gpu, source)) = contiguous_tensor.on_device() else {
            return self.bytes();
        };
        let mut bytes = zeroed(self.len_bytes())?;
        gpu.open_device().download_async(source, &mut bytes).await?;
        Ok(Cow::Owned(bytes))
    }

    fn check_elements_are<T: Element>(&self) -> Result<(), Error> {
        if T::DTYPE == self.dtype {
            return Ok(());
        }
        Err(error::value::wrong_dtype(self.dtype, T::DTYPE))
    }

    pub(crate) fn read(&self, dest: Dest<'_>) -> Result<(), Error> {
        if !self.is_contiguous() && self.backend.is_cpu() {
            // A view is copied in one pass from the storage to the caller.
            self.layout.copy(
                self.dtype,
                self.storage.host_bytes(),
                dest,
                self.backend.threads,
            );
            return Ok(());
        }
        if !self.is_contiguous() {
            return self.contiguous()?.read(dest);
        }
        #[cfg(feature = "gpu")]
        if let Some((gpu, source)) = self.on_device() {
            return gpu.open_device().download_bytes(source, dest.all());
        }
        dest.copy_from(&self.bytes()?, self.backend.threads);
        Ok(())
    }

    /// Returns the pieces that [`Self::read`] copies.
    fn read_pieces(&self) -> Pieces {
        match self.backend.is_cpu() {
            false => Pieces::WithZeros,
            true if self.is_contiguous() => Pieces::WithoutZeros,
            true => self.layout.pieces(self.dtype),
        }
    }

    /// Returns the device and the bytes on it, or `None` if the tensor is on the CPU.
    #[cfg(feature = "gpu")]
    fn on_device(&self) -> Option<(&Gpu, &DeviceBytes)> {
        match (&self.backend.device, &self.storage) {
            (Device::Gpu(gpu), TensorStorage::Device(bytes)) => Some((gpu, bytes)),
            _ => None,
        }
    }

    /// Returns the bytes on the device, or `None` if the tensor is on the CPU.
    #[cfg(feature = "gpu")]
    fn device_bytes(&self) -> Option<&DeviceBytes> {
        match &self.storage {
            TensorStorage::Device(bytes) => Some(bytes),
            _ => None,
        }
    }

    #[cfg(feature = "gpu")]
    fn len_bytes(&self) -> usize {
        self.shape().iter().product::<usize>() * self.dtype.size()
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dtype, backend, .. } = self;
        write!(f, "Tensor({dtype} {}", Shape(self.shape()))?;
        if !self.is_contiguous() {
            write!(f, ", view of {}", Shape(self.layout.source_shape()))?;
        }
        write!(f, " on {backend})")
    }
}
