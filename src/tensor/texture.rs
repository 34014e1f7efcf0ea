//! Copies texels to tensors and tensors to texels.

use super::{Tensor, TensorStorage};
use crate::{Backend, Error, backend::Device, error, gpu::Texels};

impl Tensor {
    /// Copies the selected texels of a texture to a new tensor with the texels' shape and element type. The call
    /// submits the work and does not wait for it.
    ///
    /// The backend must use the texture's device: `Backend::from(Gpu::new(&device, &queue))`. The texture needs the
    /// usage `COPY_SRC`.
    ///
    /// ```no_run
    /// # fn example(device: &wgpu::Device, queue: &wgpu::Queue, frame: &wgpu::Texture) -> Result<(), wgslice::Error> {
    /// use wgslice::{gpu::Texels, slice, Backend, Gpu, Tensor};
    ///
    /// let backend = Backend::from(Gpu::new(device, queue)); // make it once
    /// let rgb = Texels::new(frame)?.slice(&slice![.., .., .., ..3])?; // without alpha
    /// let batch = Tensor::from_texture(&backend, &rgb.transpose(&[0, 3, 1, 2])?)?;
    /// assert_eq!(batch.shape()[1], 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]; the errors of [`Gpu::encode_from_texture`](crate::Gpu::encode_from_texture); or an error of
    /// the device.
    pub fn from_texture(backend: &Backend, texels: &Texels) -> Result<Self, Error> {
        let Device::Gpu(gpu) = &backend.device else {
            return Err(error::texture::on_cpu());
        };
        let buffers = gpu.read_texture(texels)?;
        let storage = TensorStorage::Device(buffers);
        Ok(Self::new(backend, texels.dtype(), texels.shape(), storage))
    }

    /// Copies this tensor to the selected texels of a texture on the same device. The copy takes one pass over the
    /// data, even if the tensor is a view, such as transposed values or a mask that is broadcast to all channels. All
    /// other texels, and channels that are not selected, keep their values. The call submits the work and does not wait
    /// for it.
    ///
    /// The texture needs the usage `COPY_DST`. It also needs `COPY_SRC` if the selection does not include all texels
    /// and channels of the smallest box that contains it.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for texels of another shape or element type; the errors of
    /// [`Gpu::encode_to_texture`](crate::Gpu::encode_to_texture); or an error of the device.
    pub fn write_texture(&self, texels: &Texels) -> Result<(), Error> {
        let Device::Gpu(gpu) = &self.backend.device else {
            return Err(error::texture::on_cpu());
        };
        let TensorStorage::Device(source) = &self.storage else {
            return Err(error::texture::on_cpu());
        };
        let (found, needed) = (self.dtype(), texels.dtype());
        if found != needed {
            return Err(error::value::dtype_mismatch("the tensor", found, needed));
        }
        gpu.write_texture(source, &self.layout, texels)
    }
}
