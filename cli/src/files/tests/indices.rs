use wgslice::DType;

use super::assert_says;
use crate::files::{Array, Indices, indices::IndexError, to_indices};

fn read_indices<const N: usize>(dtype: DType, values: &[[u8; N]]) -> Result<Indices, IndexError> {
    to_indices(&Array::new(dtype, vec![values.len()], values.concat()).unwrap())
}

#[test]
fn small_integers_become_i32_and_large_ones_i64() {
    let i32s = |values: &[i32]| Ok(Indices::I32(values.to_vec()));
    let i64s = |values: &[i64]| Ok(Indices::I64(values.to_vec()));
    let i8s = [-128i8, 127].map(i8::to_ne_bytes);
    assert_eq!(read_indices(DType::I8, &i8s), i32s(&[-128, 127]));
    assert_eq!(read_indices(DType::U8, &[[0], [255]]), i32s(&[0, 255]));
    let i16s = [i16::MIN, 2].map(i16::to_ne_bytes);
    assert_eq!(read_indices(DType::I16, &i16s), i32s(&[-32768, 2]));
    let u16s = [3, u16::MAX].map(u16::to_ne_bytes);
    assert_eq!(read_indices(DType::U16, &u16s), i32s(&[3, 65535]));
    let ints = [i32::MIN, i32::MAX].map(i32::to_ne_bytes);
    assert_eq!(read_indices(DType::I32, &ints), i32s(&[i32::MIN, i32::MAX]));
    let u32s = [0, u32::MAX].map(u32::to_ne_bytes);
    assert_eq!(read_indices(DType::U32, &u32s), i64s(&[0, 4_294_967_295]));
    let longs = [i64::MIN, i64::MAX].map(i64::to_ne_bytes);
    assert_eq!(
        read_indices(DType::I64, &longs),
        i64s(&[i64::MIN, i64::MAX])
    );
    let u64s = [0, u64::MAX / 2].map(u64::to_ne_bytes);
    assert_eq!(read_indices(DType::U64, &u64s), i64s(&[0, i64::MAX]));
    assert_eq!(read_indices::<8>(DType::U64, &[]), i64s(&[]));
}

/// A value above the maximum of i64 becomes this maximum, which is out of range of every array.
#[test]
fn a_value_beyond_i64_is_out_of_range() {
    let values = [0, 1 << 63, u64::MAX, 7].map(u64::to_ne_bytes);
    assert_eq!(
        read_indices(DType::U64, &values),
        Ok(Indices::I64(vec![0, i64::MAX, i64::MAX, 7]))
    );
}

#[test]
fn other_types_cannot_be_indices() {
    for dtype in [
        DType::Bool,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
        DType::Complex64,
        DType::Complex128,
    ] {
        let array = Array::new(dtype, vec![1], vec![0; dtype.size()]).unwrap();
        let error = to_indices(&array).unwrap_err();
        assert_eq!(error, IndexError::NotIntegers(dtype.into()));
        assert_says(&error.to_string(), &[dtype.name(), "int32 or int64"]);
    }
}
