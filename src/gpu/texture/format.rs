//! The texture formats whose texels are arrays of elements.

use crate::DType;
use wgpu::TextureFormat;

/// Returns the element type of a format's channels and the number of channels, or `None` for formats that
/// [`Texels`](super::Texels) does not support.
pub(super) fn channels_of(format: TextureFormat) -> Option<(DType, usize)> {
    use TextureFormat::{
        Bgra8Unorm, Bgra8UnormSrgb, R8Sint, R8Snorm, R8Uint, R8Unorm, R16Float, R16Sint, R16Snorm,
        R16Uint, R16Unorm, R32Float, R32Sint, R32Uint, Rg8Sint, Rg8Snorm, Rg8Uint, Rg8Unorm,
        Rg16Float, Rg16Sint, Rg16Snorm, Rg16Uint, Rg16Unorm, Rg32Float, Rg32Sint, Rg32Uint,
        Rgba8Sint, Rgba8Snorm, Rgba8Uint, Rgba8Unorm, Rgba8UnormSrgb, Rgba16Float, Rgba16Sint,
        Rgba16Snorm, Rgba16Uint, Rgba16Unorm, Rgba32Float, Rgba32Sint, Rgba32Uint,
    };
    Some(match format {
        R8Unorm | R8Uint => (DType::U8, 1),
        R8Snorm | R8Sint => (DType::I8, 1),
        Rg8Unorm | Rg8Uint => (DType::U8, 2),
        Rg8Snorm | Rg8Sint => (DType::I8, 2),
        Rgba8Unorm | Rgba8UnormSrgb | Rgba8Uint | Bgra8Unorm | Bgra8UnormSrgb => (DType::U8, 4),
        Rgba8Snorm | Rgba8Sint => (DType::I8, 4),
        R16Unorm | R16Uint => (DType::U16, 1),
        R16Snorm | R16Sint => (DType::I16, 1),
        R16Float => (DType::F16, 1),
        Rg16Unorm | Rg16Uint => (DType::U16, 2),
        Rg16Snorm | Rg16Sint => (DType::I16, 2),
        Rg16Float => (DType::F16, 2),
        Rgba16Unorm | Rgba16Uint => (DType::U16, 4),
        Rgba16Snorm | Rgba16Sint => (DType::I16, 4),
        Rgba16Float => (DType::F16, 4),
        R32Uint => (DType::U32, 1),
        R32Sint => (DType::I32, 1),
        R32Float => (DType::F32, 1),
        Rg32Uint => (DType::U32, 2),
        Rg32Sint => (DType::I32, 2),
        Rg32Float => (DType::F32, 2),
        Rgba32Uint => (DType::U32, 4),
        Rgba32Sint => (DType::I32, 4),
        Rgba32Float => (DType::F32, 4),
        _ => return None,
    })
}
