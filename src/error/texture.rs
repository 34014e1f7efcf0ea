//! Errors of textures.

use crate::text::Shape;

/// A texture, or a selection of its texels, that cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(
    not(feature = "gpu"),
    expect(dead_code, reason = "no texture without a GPU")
)]
pub(crate) enum TextureError {
    /// A format whose texels are not one, two or four numbers of the same element type.
    #[error(
        "the texture has the format {format}, whose texels are no numbers of one element type: use r, rg or rgba \
         of 8, 16 or 32 bits, or bgra of 8 bits, of any kind (Rgba8Unorm, R16Float, Rg32Uint, …)"
    )]
    Format {
        /// The name of the format in wgpu.
        format: String,
    },
    /// A multisampled texture, which wgpu does not copy to or from buffers.
    #[error(
        "the texture has {samples} samples per texel: resolve it into a texture of one sample first"
    )]
    Multisampled {
        /// The number of samples of a texel, more than 1.
        samples: u32,
    },
    /// A mip level that the texture does not have.
    #[error("the mip level is {level}, but the texture has {levels}: it must be in [0, {levels})")]
    MipLevel {
        /// The given mip level.
        level: u32,
        /// The number of mip levels of the texture.
        levels: u32,
    },
    /// A choice of channels that names a channel twice, or one that the format does not have.
    #[error(
        "the channels are {chosen:?}, but the format has {channels}: each must be in [0, {channels}), and be named \
         at most once"
    )]
    Channels {
        /// The given channels.
        chosen: Vec<usize>,
        /// The number of channels of the format.
        channels: usize,
    },
    /// Channels that are chosen after the texels were sliced or transposed.
    #[error(
        "channels are chosen of texels that are already a selection of shape {}: choose channels first, then slice \
         and transpose",
        Shape(selected)
    )]
    ChannelsOfSelection {
        /// The shape of the selection.
        selected: Vec<usize>,
    },
    /// A texture that was created without a usage that the copy needs.
    #[error(
        "the texture lacks the usage {usage}, which {needed_by} needs: create it with TextureUsages::{usage}"
    )]
    Usage {
        /// The name of the usage in wgpu.
        usage: &'static str,
        /// What needs the usage.
        needed_by: &'static str,
    },
    /// A texture that wgpu on OpenGL does not copy to buffers, or copies wrongly.
    #[error(
        "wgpu does not read {kind} on OpenGL: open the device on Vulkan, Metal or DirectX 12, or copy the texels to a \
         2D texture of another format or size first"
    )]
    NotOnGl {
        /// The kind of texture, such as `"3D textures"`.
        kind: &'static str,
    },
    /// Texels that convert, in a call that cannot convert them so.
    #[error("the texels {why}")]
    Converts {
        /// What they do, what is not possible, and the way out.
        why: &'static str,
    },
    /// A tensor that is written to texels of another shape.
    #[error(
        "the tensor has shape {}, but the texels have {}: transpose or broadcast the tensor, or slice the texels",
        Shape(found),
        Shape(needed)
    )]
    Shape {
        /// The shape of the tensor.
        found: Vec<usize>,
        /// The shape of the texels.
        needed: Vec<usize>,
    },
    /// A texture that is used with a CPU backend, or with a tensor on the CPU.
    #[error(
        "the CPU has no textures: make a backend of the texture's device (Backend::from(Gpu::new(&device, &queue))), \
         and upload tensors there"
    )]
    OnCpu,
}
