//! Reads a tensor back as bytes, whatever its element type.

use half::{bf16, f16};
use wgslice::{DType, Element, Error, Tensor};

/// Returns the bytes of a tensor, in row-major order.
pub(crate) async fn bytes(tensor: &Tensor) -> Result<Vec<u8>, Error> {
    match tensor.dtype() {
        DType::U8 => Ok(tensor.to_array_async().await?.data),
        DType::Bool => read::<bool, 1>(tensor, |value| [value.into()]).await,
        DType::I8 => read::<i8, 1>(tensor, i8::to_le_bytes).await,
        DType::I16 => read::<i16, 2>(tensor, i16::to_le_bytes).await,
        DType::U16 => read::<u16, 2>(tensor, u16::to_le_bytes).await,
        DType::F16 => read::<f16, 2>(tensor, f16::to_le_bytes).await,
        DType::BF16 => read::<bf16, 2>(tensor, bf16::to_le_bytes).await,
        DType::I32 => read::<i32, 4>(tensor, i32::to_le_bytes).await,
        DType::U32 => read::<u32, 4>(tensor, u32::to_le_bytes).await,
        DType::F32 => read::<f32, 4>(tensor, f32::to_le_bytes).await,
        DType::I64 => read::<i64, 8>(tensor, i64::to_le_bytes).await,
        DType::U64 => read::<u64, 8>(tensor, u64::to_le_bytes).await,
        DType::F64 => read::<f64, 8>(tensor, f64::to_le_bytes).await,
        DType::Complex64 => {
            let complex_bytes = |[real, imaginary]: [f32; 2]| {
                let (low, high) = (real.to_bits(), imaginary.to_bits());
                (u64::from(low) | u64::from(high) << 32).to_le_bytes()
            };
            read::<[f32; 2], 8>(tensor, complex_bytes).await
        }
        _ => {
            let complex_bytes = |[real, imaginary]: [f64; 2]| {
                let (low, high) = (real.to_bits(), imaginary.to_bits());
                (u128::from(low) | u128::from(high) << 64).to_le_bytes()
            };
            read::<[f64; 2], 16>(tensor, complex_bytes).await
        }
    }
}

async fn read<T: Element, const N: usize>(
    tensor: &Tensor,
    bytes: impl Fn(T) -> [u8; N],
) -> Result<Vec<u8>, Error> {
    let values = tensor.to_array_async::<T>().await?.data;
    Ok(values.into_iter().flat_map(bytes).collect())
}
