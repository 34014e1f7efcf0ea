//! Errors of textures.

use super::{Error, argument};
use crate::text::Shape;

/// Returns the error for a format whose texels are not one, two or four numbers of the same element type.
pub(crate) fn unsupported_format(format: wgpu::TextureFormat) -> Error {
    argument!(
        Format,
        "the texture has the format {format:?}, in which a texel is not numbers of one element type: use r, rg or rgba \
         of 8, 16 or 32 bits, or bgra of 8 bits, of any kind (Rgba8Unorm, R16Float, Rg32Uint, …)"
    )
}

/// Returns the error for a multisampled texture, which wgpu does not copy to or from buffers.
pub(crate) fn multisampled_texture(sample_count: u32) -> Error {
    argument!(
        Multisampled,
        "the texture has {sample_count} samples per texel: resolve it into a texture of one sample first"
    )
}

/// Returns the error for a mip level that the texture does not have.
pub(crate) fn mip_level(level: u32, level_count: u32) -> Error {
    argument!(
        MipLevel,
        "the mip level is {level}, but the texture has {level_count}: it must be in [0, {level_count})"
    )
}

/// Returns the error for a choice of channels with a duplicate channel or a channel that the format does not have.
pub(crate) fn wrong_channels(chosen_channels: &[usize], channel_count: usize) -> Error {
    argument!(
        Channels,
        "the channels are {chosen_channels:?}, but the format has {channel_count}: each must be in [0, {channel_count}), and be named \
         at most once"
    )
}

/// Returns the error for a choice of channels that comes after a slice or a transpose of the texels.
pub(crate) fn channels_of_selection(selection_shape: &[usize]) -> Error {
    argument!(
        ChannelsOfSelection,
        "the texels are already a selection of shape {}: choose channels first, then slice and transpose",
        Shape(selection_shape)
    )
}

/// Returns the error for a texture that was created without a usage that the copy needs.
pub(crate) fn missing_usage(usage: &str, needed_by: &str) -> Error {
    argument!(
        Usage,
        "the texture lacks the usage {usage}, which {needed_by} needs: create it with TextureUsages::{usage}"
    )
}

/// Returns the error for a texture that wgpu on OpenGL does not copy to buffers, or copies wrongly.
pub(crate) fn not_on_gl(texture_kind: &str) -> Error {
    argument!(
        NotOnGl,
        "wgpu does not read {texture_kind} on OpenGL: open the device on Vulkan, Metal or DirectX 12, or copy the texels to a \
         2D texture of another format or size first"
    )
}

/// Returns the error for texels with a conversion that the call does not support.
pub(crate) fn unsupported_conversion(problem: &str) -> Error {
    argument!(TexelsConvert, "the texels {problem}")
}

/// Returns the error for a tensor whose shape differs from the shape of the texels that it should be written to.
pub(crate) fn wrong_shape(found_shape: &[usize], needed_shape: &[usize]) -> Error {
    argument!(
        TextureShape,
        "the tensor has shape {}, but the texels have {}: transpose or broadcast the tensor, or slice the texels",
        Shape(found_shape),
        Shape(needed_shape)
    )
}

/// Returns the error for a texture that is used with a CPU backend, or with a tensor on the CPU.
pub(crate) fn on_cpu() -> Error {
    argument!(
        OnCpu,
        "the CPU has no textures: make a backend of the texture's device (Backend::from(Gpu::new(&device, &queue))), \
         and upload tensors there"
    )
}
