//! Arrays as indices: the allowed element types, and the integer types that they become.

use wgslice::DType;

use super::{Array, Element};

/// Index values in row-major order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Indices {
    I32(Vec<i32>),
    I64(Vec<i64>),
}

/// An array that cannot be used as indices.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum IndexError {
    #[error(
        "indices must be integers, but it holds {}; save them as int32 or int64, or, if they are a \
         mask, save what numpy.argwhere makes of it",
        .0.name()
    )]
    NotIntegers(Element),
    #[error(
        "the index at {position:?} is {value}, beyond the largest, {}",
        i64::MAX
    )]
    TooLarge { position: Vec<usize>, value: u64 },
}

/// Converts the array's values to i32 if i32 represents all values of the element type, else to i64. Values of uint64
/// may exceed i64, so each is checked.
pub(crate) fn to_indices(array: &Array) -> Result<Indices, IndexError> {
    let (bytes, element) = (array.bytes(), array.element());
    if element.bits_of.is_some() {
        return Err(IndexError::NotIntegers(element));
    }
    Ok(match element.dtype {
        DType::I8 => Indices::I32(each(bytes, |b| i8::from_ne_bytes(b).into())),
        DType::U8 => Indices::I32(each(bytes, |b| u8::from_ne_bytes(b).into())),
        DType::I16 => Indices::I32(each(bytes, |b| i16::from_ne_bytes(b).into())),
        DType::U16 => Indices::I32(each(bytes, |b| u16::from_ne_bytes(b).into())),
        DType::I32 => Indices::I32(each(bytes, i32::from_ne_bytes)),
        DType::U32 => Indices::I64(each(bytes, |b| u32::from_ne_bytes(b).into())),
        DType::I64 => Indices::I64(each(bytes, i64::from_ne_bytes)),
        DType::U64 => Indices::I64(
            each(bytes, u64::from_ne_bytes)
                .into_iter()
                .enumerate()
                .map(|(at, value)| {
                    i64::try_from(value).map_err(|_| IndexError::TooLarge {
                        position: position(at, array.shape()),
                        value,
                    })
                })
                .collect::<Result<_, _>>()?,
        ),
        _ => return Err(IndexError::NotIntegers(element)),
    })
}

fn each<const N: usize, T>(bytes: &[u8], value: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks().0.iter().map(|&b| value(b)).collect()
}

/// Returns the coordinates of element number `flat`, in row-major order, of an array of this shape. The element exists,
/// so no dimension is zero.
fn position(mut flat: usize, shape: &[usize]) -> Vec<usize> {
    let mut position = vec![0; shape.len()];
    for (p, n) in position.iter_mut().zip(shape).rev() {
        *p = flat % n;
        flat /= n;
    }
    position
}
