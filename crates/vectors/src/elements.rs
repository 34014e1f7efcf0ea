//! Encodes values as elements of 1 to 16 bytes, in two's complement and little endian, and decodes such elements.

use wgslice::DType;

/// One element type for each width: 1, 2, 4, 8 and 16 bytes.
pub(crate) const TYPES_BY_WIDTH: [DType; 5] = [
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::Complex128,
];

/// Returns the bytes of `values` as elements of this type's size, or `None` if a value does not fit in an element.
pub(crate) fn encode_elements(values: &[i64], dtype: DType) -> Option<Vec<u8>> {
    let width = dtype.size();
    let mut bytes = Vec::with_capacity(values.len() * width);
    for &value in values {
        let element = &i128::from(value).to_le_bytes()[..width];
        if decode_element(element) != i128::from(value) {
            return None;
        }
        bytes.extend_from_slice(element);
    }
    Some(bytes)
}

/// Returns the value of each element in `bytes`, read as a signed integer of this type's size.
pub(crate) fn decode_elements(bytes: &[u8], dtype: DType) -> Vec<i128> {
    bytes
        .chunks_exact(dtype.size())
        .map(decode_element)
        .collect()
}

fn decode_element(element: &[u8]) -> i128 {
    let is_negative = element.last().is_some_and(|&byte| byte >= 0x80);
    let mut bytes = [if is_negative { 0xff } else { 0 }; 16];
    bytes[..element.len()].copy_from_slice(element);
    i128::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_unchanged_in_every_width_that_holds_them() {
        for (value, min_bytes) in [
            (-128, 1),
            (128, 2),
            (-40_000, 4),
            (1 << 31, 8),
            (i64::MIN, 8),
        ] {
            for dtype in TYPES_BY_WIDTH {
                let decoded =
                    encode_elements(&[value, 0], dtype).map(|bytes| decode_elements(&bytes, dtype));
                let can_hold = dtype.size() >= min_bytes;
                assert_eq!(
                    decoded,
                    can_hold.then(|| vec![value.into(), 0]),
                    "{value} as {dtype}"
                );
            }
        }
    }
}
