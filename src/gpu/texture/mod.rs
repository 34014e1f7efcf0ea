//! Textures as arrays: [`Texels`] selects texels, which are copied to or from a tensor without padding.
//!
//! | file | decides |
//! |---|---|
//! | `format` | which element type and how many channels a format has |
//! | `rows` | which box of the texture is copied, where its texels are in rows padded to multiples of 256 bytes, and the moves between these rows and the tensor |
//! | `encode` | the commands: the copy of the box, and the dispatches |

mod encode;
mod format;
mod rows;

use crate::{Conversion, DType, Error, SliceSpec, View, error, plan::Works};
use format::channels_of;
use rows::CHANNEL_DIMENSION;
use wgpu::{TextureDimension, TextureFormat, TextureUsages};

/// A selection of a texture's texels: an array of shape `[layers, height, width, channels]`, or a slice or a transpose
/// of this array. No texel is copied until the selection is read or written:
///
/// | | into your own encoder | immediately |
/// |---|---|---|
/// | texels to a tensor | [`Gpu::encode_from_texture`](crate::Gpu::encode_from_texture) | [`Tensor::from_texture`](crate::Tensor::from_texture) |
/// | a tensor to texels | [`Gpu::encode_to_texture`](crate::Gpu::encode_to_texture) | [`Tensor::write_texture`](crate::Tensor::write_texture) |
///
/// The layers are the layers of an array texture, the six faces of a cube map or the depth of a 3D texture. The
/// channels are in the order of the format's name: blue is channel 0 of `Bgra8Unorm`. Elements are the stored bits: a
/// channel of `Rgba8Unorm` or `Rgba8UnormSrgb` is a [`DType::U8`], although shaders read it as a fraction.
///
/// ```no_run
/// # fn example(gpu: &wgslice::Gpu, frame: &wgpu::Texture, batch: &wgpu::Buffer) -> Result<(), wgslice::Error> {
/// use wgslice::{gpu::Texels, slice};
///
/// // Half of the size, upside down; red, green and blue of Bgra8Unorm; channels first.
/// let texels = Texels::new(frame)?
///     .slice(&slice![0, ..; -2, ..; 2, 2..; -1])?
///     .transpose(&[2, 0, 1])?;
/// let mut encoder = gpu.device().create_command_encoder(&Default::default());
/// gpu.encode_from_texture(&mut encoder, &texels, batch.slice(..))?;
/// gpu.queue().submit([encoder.finish()]);
/// # Ok(())
/// # }
/// ```
///
/// Supported formats have one, two or four channels of 8, 16 or 32 bits each: every format of wgpu with a name of `R`,
/// `Rg` or `Rgba`, then `8`, `16` or `32`, then the kind of number; and `Bgra8Unorm`. A name can end with `Srgb`.
#[derive(Clone, Debug)]
pub struct Texels {
    texture: wgpu::Texture,
    mip_level: u32,
    /// The type of the format's elements.
    stored_dtype: DType,
    /// The number of channels of the format.
    format_channels: usize,
    /// For each channel of the array, the number of the format's channel.
    channel_order: Vec<usize>,
    /// The selection from the array of shape `[layers, height, width, channel_order.len()]`.
    view: View,
    conversion: Option<TexelConversion>,
    /// The works that were prepared for the selection.
    works: Works,
}

/// The conversion of elements between texels and a tensor. In `Read`, the conversion's axis belongs to the array with
/// all channels of the format.
#[derive(Clone, Debug)]
enum TexelConversion {
    /// Applies when the selection is read.
    Read(Conversion),
    /// Applies when a tensor of this type is written to the selection.
    Written(DType, Conversion),
}

impl Texels {
    /// Returns the same selection with the works that were prepared for it.
    pub(super) fn with_works(&self, works: Works) -> Self {
        let mut texels = self.clone();
        texels.works = works;
        texels
    }

    /// Selects all texels of the texture's largest mip level.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for an unsupported format or a multisampled texture.
    pub fn new(texture: &wgpu::Texture) -> Result<Self, Error> {
        Self::of_level(texture, 0)
    }

    /// Selects all texels of this mip level. Level 0 is the largest.
    ///
    /// # Errors
    ///
    /// The errors of [`Texels::new`]; [`Error::Argument`] for a level that the texture does not have.
    pub fn of_level(texture: &wgpu::Texture, mip_level: u32) -> Result<Self, Error> {
        let (samples, levels) = (texture.sample_count(), texture.mip_level_count());
        let format: TextureFormat = texture.format();
        let Some((stored, channels)) = channels_of(format) else {
            return Err(error::texture::unsupported_format(format));
        };
        if samples != 1 {
            return Err(error::texture::multisampled_texture(samples));
        }
        if mip_level >= levels {
            return Err(error::texture::mip_level(mip_level, levels));
        }
        let size_at_level = |size: u32| (size >> mip_level).max(1) as usize;
        let layers = match texture.dimension() {
            TextureDimension::D3 => size_at_level(texture.depth_or_array_layers()),
            _ => texture.depth_or_array_layers() as usize,
        };
        let (height, width) = (
            size_at_level(texture.height()),
            size_at_level(texture.width()),
        );
        Ok(Self {
            texture: texture.clone(),
            works: Works::default(),
            mip_level,
            stored_dtype: stored,
            format_channels: channels,
            channel_order: (0..channels).collect(),
            view: View::new(&[layers, height, width, channels])?,
            conversion: None,
        })
    }

    /// Chooses channels: channel `i` of the result is channel `channels[i]` of this selection. `&[2, 1, 0, 3]` swaps
    /// RGBA and BGRA; `&[3]` selects only alpha.
    ///
    /// A single slice cannot select channels in an order such as `2, 1, 0, 3`. If all channels of the format are
    /// written, or if channels are read in the last dimension or with a conversion, one gather copies them. Otherwise
    /// the order is split into slices, with one dispatch each: planes in this order take one dispatch for `2, 1, 0` and
    /// one for `3`.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for a duplicate channel, for a channel that the selection does not have, or if the texels
    /// were already sliced or transposed.
    pub fn channels(&self, channels: &[usize]) -> Result<Self, Error> {
        let source = self.view.source_shape();
        if self.view != View::new(source)? {
            return Err(error::texture::channels_of_selection(self.view.shape()));
        }
        let mut named_channels = vec![false; source[3]];
        for &channel in channels {
            match named_channels.get_mut(channel) {
                Some(is_named) if !*is_named => *is_named = true,
                _ => return Err(error::texture::wrong_channels(channels, source[3])),
            }
        }
        Ok(Self {
            channel_order: channels
                .iter()
                .map(|&channel| self.channel_order[channel])
                .collect(),
            view: View::new(&[source[0], source[1], source[2], channels.len()])?,
            ..self.clone()
        })
    }

    /// Returns a slice of the selection, like [`View::slice`].
    ///
    /// # Errors
    ///
    /// [`Error::Argument`].
    pub fn slice(&self, spec: &SliceSpec) -> Result<Self, Error> {
        Ok(self.with_selection(self.view.slice(spec)?))
    }

    /// Reorders the dimensions, like [`View::transpose`].
    ///
    /// # Errors
    ///
    /// [`Error::Argument`].
    pub fn transpose(&self, permutation: &[usize]) -> Result<Self, Error> {
        Ok(self.with_selection(self.view.transpose(permutation)?))
    }

    /// Returns the same selection with a conversion: elements are converted when they are read, in the same dispatch.
    /// The tensor then has the type to which the conversion converts. An axis of the conversion is an axis of `[layers,
    /// height, width, channels]` with the chosen channels, even if the selection was sliced or transposed.
    ///
    /// ```no_run
    /// # fn example(gpu: &wgslice::Gpu, frame: &wgpu::Texture, input: &wgpu::Buffer) -> Result<(), wgslice::Error> {
    /// use wgslice::{gpu::Texels, slice, Conversion, DType};
    ///
    /// // The red, green and blue of Bgra8Unorm as [3, height, width] of f32, normalised.
    /// let (mean, deviation) = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]);
    /// let normalised = |c: usize, x: f32| (x / 255.0 - mean[c]) / deviation[c];
    /// let texels = Texels::new(frame)?
    ///     .channels(&[2, 1, 0])?
    ///     .converted(&Conversion::table(DType::U8, DType::F32, -1, 3, normalised)?)?
    ///     .slice(&slice![0])?
    ///     .transpose(&[2, 0, 1])?;
    /// let mut encoder = gpu.device().create_command_encoder(&Default::default());
    /// gpu.encode_from_texture(&mut encoder, &texels, input.slice(..))?;
    /// gpu.queue().submit([encoder.finish()]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Plan::converted`](crate::Plan::converted); [`Error::Argument`] (`TexelsConvert` for texels that
    /// already have a conversion).
    pub fn converted(&self, conversion: &Conversion) -> Result<Self, Error> {
        self.check_plain()?;
        let conversion =
            conversion.with_table(&View::whole(self.view.source_shape()), self.stored_dtype)?;
        // The conversion has an entry for each chosen channel. It needs an entry for each channel of the format.
        let order_position = |channel| {
            self.channel_order
                .iter()
                .position(|&selected| selected == channel)
        };
        let places: Vec<_> = (0..self.format_channels)
            .map(|c| order_position(c).unwrap_or(0))
            .collect();
        let conversion = conversion.at_positions(CHANNEL_DIMENSION, &places);
        Ok(self.with_conversion(TexelConversion::Read(conversion)))
    }

    /// Returns the same selection for tensors of type `dtype`, which are converted when they are written. The
    /// conversion takes one more dispatch and scratch memory. The result must have the type of the format's elements.
    /// The conversion's axis is an axis of the tensor.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`DtypeMismatch` for a conversion to another type; `TexelsConvert` for texels that already
    /// have a conversion). Writing to the texels then has the errors of [`Plan::converted`](crate::Plan::converted).
    pub fn converted_from(&self, dtype: DType, conversion: &Conversion) -> Result<Self, Error> {
        self.check_plain()?;
        let (result_dtype, stored_dtype) = (conversion.dtype(), self.stored_dtype);
        if result_dtype != stored_dtype {
            let argument = "the conversion";
            return Err(error::value::dtype_mismatch(
                argument,
                result_dtype,
                stored_dtype,
            ));
        }
        Ok(self.with_conversion(TexelConversion::Written(dtype, conversion.clone())))
    }

    fn with_conversion(&self, conversion: TexelConversion) -> Self {
        Self {
            conversion: Some(conversion),
            ..self.clone()
        }
    }

    /// Fails if the texels already have a conversion.
    fn check_plain(&self) -> Result<(), Error> {
        let problem = "convert already: convert the texels of the texture, once";
        match self.conversion {
            None => Ok(()),
            Some(_) => Err(error::texture::unsupported_conversion(problem)),
        }
    }

    /// Returns the conversion for reading, if there is one. Fails if the texels convert when they are written.
    fn conversion_read(&self) -> Result<Option<&Conversion>, Error> {
        let problem = "convert what is written to them, and cannot be read: read texels without the conversion";
        match &self.conversion {
            None => Ok(None),
            Some(TexelConversion::Read(conversion)) => Ok(Some(conversion)),
            Some(TexelConversion::Written(..)) => {
                Err(error::texture::unsupported_conversion(problem))
            }
        }
    }

    /// Returns the conversion for writing, if there is one. Fails if the texels have a conversion for reading.
    fn conversion_written(&self) -> Result<Option<(DType, &Conversion)>, Error> {
        let problem = "convert what is read from them, and cannot be written: write to texels without the conversion, or of \
                   Texels::converted_from";
        match &self.conversion {
            None => Ok(None),
            Some(TexelConversion::Written(dtype, conversion)) => Ok(Some((*dtype, conversion))),
            Some(TexelConversion::Read(_)) => Err(error::texture::unsupported_conversion(problem)),
        }
    }

    /// Returns the shape of the selection, which is also the shape of the tensor that is copied to or from it.
    pub fn shape(&self) -> &[usize] {
        self.view.shape()
    }

    /// Returns the element type of the tensor. This is the type of a [conversion](Self::converted), if there is one.
    /// Otherwise it is an unsigned integer for `Unorm` and `Uint`, a signed integer for `Snorm` and `Sint`, and a float
    /// for `Float`, with as many bits as a channel of the format.
    pub fn dtype(&self) -> DType {
        match &self.conversion {
            None => self.stored_dtype,
            Some(TexelConversion::Read(conversion)) => conversion.dtype(),
            Some(TexelConversion::Written(dtype, _)) => *dtype,
        }
    }

    /// Returns the size of the tensor in bytes.
    pub(in crate::gpu) fn tensor_bytes(&self) -> usize {
        self.view.len() * self.dtype().size()
    }

    fn with_selection(&self, view: View) -> Self {
        Self {
            view,
            ..self.clone()
        }
    }

    /// Checks that texels can be copied from the texture. Error messages give `why` as the purpose of the copy.
    fn check_readable(&self, backend: wgpu::Backend, why: &'static str) -> Result<(), Error> {
        self.check_usage(TextureUsages::COPY_SRC, why)?;
        let (extent, dimension) = (self.texture.size(), self.texture.dimension());
        let is_cube = dimension == TextureDimension::D2
            && extent.width == extent.height
            && extent.depth_or_array_layers.is_multiple_of(6);
        // On OpenGL, wgpu 30 does not copy all layers of 3D textures, and it does not copy cube maps at all. It
        // mistakes every square texture whose number of layers is a multiple of six for a cube map. Snorm numbers lose
        // their sign, at least on Mesa.
        let unreadable_kind = match self.texture.format() {
            TextureFormat::R8Snorm
            | TextureFormat::Rg8Snorm
            | TextureFormat::Rgba8Snorm
            | TextureFormat::R16Snorm
            | TextureFormat::Rg16Snorm
            | TextureFormat::Rgba16Snorm => "textures of Snorm formats",
            _ if dimension == TextureDimension::D3 => "3D textures",
            _ if is_cube => "square textures with layers for whole cube maps",
            _ => return Ok(()),
        };
        match backend {
            wgpu::Backend::Gl => Err(error::texture::not_on_gl(unreadable_kind)),
            _ => Ok(()),
        }
    }

    fn check_usage(&self, usage: TextureUsages, needed_by: &'static str) -> Result<(), Error> {
        if self.texture.usage().contains(usage) {
            return Ok(());
        }
        let usage = match usage {
            TextureUsages::COPY_SRC => "COPY_SRC",
            _ => "COPY_DST",
        };
        Err(error::texture::missing_usage(usage, needed_by))
    }
}
