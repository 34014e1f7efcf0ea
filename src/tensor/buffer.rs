//! Makes tensors from the caller's buffers and returns the buffers of tensors.

use super::{Tensor, TensorStorage};
use crate::prelude::*;
use crate::{
    Backend, DType, Error, backend::Device, gpu::DeviceBytes, shape::elements, text::Shape,
};
use wgpu::BufferUsages;

impl Tensor {
    /// Makes a tensor from the values of a buffer, without a copy. The values are in row-major order and begin at the
    /// buffer's first byte. The tensor shares the buffer: other commands that write to the buffer change the tensor.
    /// The tensor's methods that work in place, such as [`Tensor::slice_update`], write to the buffer, unless a clone
    /// of the tensor or a pending report shares it.
    ///
    /// The buffer must belong to the backend's device. This call cannot check this: wgpu reports a buffer of another
    /// device at its first use. The buffer needs the usage `STORAGE`. It also needs `COPY_SRC` in three cases: to read
    /// the tensor back, to change the tensor while a clone shares the buffer, and for reports that include an
    /// out-of-range index. If the buffer also has `COPY_DST`, updates of contiguous rows are recorded as buffer copies.
    /// The buffer can be longer than the values. Its size must be at least the size of the values, rounded up to a
    /// multiple of 4 bytes, and at least 4 bytes.
    ///
    /// ```no_run
    /// use wgslice::{slice, wgpu, Backend, DType, Gpu, Tensor};
    ///
    /// # fn example(device: &wgpu::Device, queue: &wgpu::Queue, frame: wgpu::Buffer) -> Result<(), wgslice::Error> {
    /// let backend = Backend::from(Gpu::new(device, queue));
    /// let frame = Tensor::from_buffer(&backend, frame, DType::U8, &[480, 640, 4])?;
    /// let rgb = frame.slice(&slice![.., .., ..3])?.contiguous()?;
    /// let bytes: &wgpu::Buffer = &rgb.buffers()?[0];
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Buffer`] if the buffer is too short, lacks a usage or is passed with the CPU as the backend;
    /// [`Error::ShapeTooLarge`].
    pub fn from_buffer(
        backend: &Backend,
        buffer: wgpu::Buffer,
        dtype: DType,
        shape: &[usize],
    ) -> Result<Self, Error> {
        let refused_buffer = |problem| {
            Err(Error::Buffer {
                argument: "tensor's",
                problem,
            })
        };
        let bytes = elements(shape)? * dtype.size();
        if let Device::Cpu = backend.device {
            return refused_buffer(
                "is on a GPU, but the backend is the CPU: pass Backend::from(Gpu::new(&device, &queue)) \
                 of the buffer's device"
                    .into(),
            );
        }
        let usage = BufferUsages::STORAGE;
        if !buffer.usage().contains(usage) {
            return refused_buffer(format!(
                "has the usages {:?}, but needs {usage:?}: create it with them",
                buffer.usage()
            ));
        }
        let needed_bytes = bytes.max(1).next_multiple_of(4);
        if buffer.size() < needed_bytes as u64 {
            return refused_buffer(format!(
                "has {} bytes, but {dtype} {} needs {needed_bytes}, in whole words of 4 bytes: pass a longer one",
                buffer.size(),
                Shape(shape)
            ));
        }
        let bytes = DeviceBytes::from_caller(buffer, bytes);
        Ok(Self::new(
            backend,
            dtype,
            shape,
            TensorStorage::Device(bytes),
        ))
    }

    /// Returns the buffers with the tensor's values on a GPU, in row-major order, or no buffers on the CPU. There is
    /// one buffer, unless the tensor is larger than the device's `max_buffer_size`: then there are several of equal
    /// size, except that the last can be smaller. The buffers are padded to a multiple of 16 bytes. A tensor made by
    /// [`Tensor::from_buffer`] has the caller's buffer instead, whatever its size, until a method that works in place
    /// gives the tensor its own memory.
    ///
    /// A clone of a buffer stays valid when the tensor is dropped: no other tensor reuses the memory.
    ///
    /// # Errors
    ///
    /// [`Error::Buffer`] for a view, such as a slice, because a view does not have its own buffers: use
    /// [`Tensor::contiguous`] first.
    pub fn buffers(&self) -> Result<&[wgpu::Buffer], Error> {
        match &self.storage {
            _ if !self.is_contiguous() => Err(Error::Buffer {
                argument: "tensor's",
                problem: "holds another tensor's values, too, since this tensor is a view: call \
                          Tensor::contiguous first"
                    .into(),
            }),
            TensorStorage::Device(bytes) => Ok(bytes.expose_buffers()),
            _ => Ok(&[]),
        }
    }
}
