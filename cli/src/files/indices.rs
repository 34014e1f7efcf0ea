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
         mask, save the result of numpy.argwhere",
        .0.name()
    )]
    NotIntegers(Element),
}

/// Returns `count` numbers of a uint64 array, starting at number `begin`, without the clamping of [`to_indices`].
/// Returns `None` for other types, or if the array is too short.
pub(crate) fn unsigned_numbers(array: &Array, begin: usize, count: usize) -> Option<Vec<u64>> {
    if array.element() != DType::U64.into() {
        return None;
    }
    let numbers = array.bytes().as_chunks().0.get(begin..begin + count)?;
    Some(numbers.iter().map(|&b| u64::from_ne_bytes(b)).collect())
}

/// Converts the array's values to i32 if i32 represents all values of the element type, otherwise to i64. A uint64
/// value above the maximum of i64 becomes that maximum, which is also out of range. Fails if the elements are not
/// integers.
pub(crate) fn to_indices(array: &Array) -> Result<Indices, IndexError> {
    let (bytes, element) = (array.bytes(), array.element());
    if element.foreign_type.is_some() {
        return Err(IndexError::NotIntegers(element));
    }
    Ok(match element.dtype {
        DType::I8 => Indices::I32(map_numbers(bytes, |b| i8::from_ne_bytes(b).into())),
        DType::U8 => Indices::I32(map_numbers(bytes, |b| u8::from_ne_bytes(b).into())),
        DType::I16 => Indices::I32(map_numbers(bytes, |b| i16::from_ne_bytes(b).into())),
        DType::U16 => Indices::I32(map_numbers(bytes, |b| u16::from_ne_bytes(b).into())),
        DType::I32 => Indices::I32(map_numbers(bytes, i32::from_ne_bytes)),
        DType::U32 => Indices::I64(map_numbers(bytes, |b| u32::from_ne_bytes(b).into())),
        DType::I64 => Indices::I64(map_numbers(bytes, i64::from_ne_bytes)),
        DType::U64 => Indices::I64(map_numbers(bytes, |b| {
            i64::try_from(u64::from_ne_bytes(b)).unwrap_or(i64::MAX)
        })),
        _ => return Err(IndexError::NotIntegers(element)),
    })
}

fn map_numbers<const N: usize, T>(bytes: &[u8], value: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks().0.iter().map(|&b| value(b)).collect()
}
