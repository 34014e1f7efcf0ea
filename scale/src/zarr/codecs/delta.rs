//! Differences between neighbouring elements in row-major order, in numcodecs' format: the first element, and the
//! difference of each other element from the element before it.

use super::{
    decode_only::{DecodeArray, Described},
    encoded_like_numpy,
};
use serde_json::{Value, json};
use std::{num::NonZero, ops::Add};
use wgslice::DType;
use zarrs::{
    array::{ArrayBytes, CodecOptions, DataType, FillValue, codec::api::CodecError},
    metadata::{Configuration, v3::MetadataV3},
    plugin::PluginCreateError,
};

pub(super) const NAME: &str = "numcodecs.delta";

/// Parses NumPy's name for an element type, as in `<i4`. Also returns whether its bytes are in big-endian order.
/// Returns `None` for an unknown name.
pub(in crate::zarr) fn element(name: &str) -> Option<(DType, bool)> {
    let is_big = name.starts_with('>');
    let name = name.strip_prefix(['<', '>', '|', '=']).unwrap_or(name);
    let dtype = match name {
        "b1" => DType::Bool,
        "i1" => DType::I8,
        "u1" => DType::U8,
        "i2" => DType::I16,
        "u2" => DType::U16,
        "f2" => DType::F16,
        "i4" => DType::I32,
        "u4" => DType::U32,
        "f4" => DType::F32,
        "i8" => DType::I64,
        "u8" => DType::U64,
        "f8" => DType::F64,
        "c8" => DType::Complex64,
        "c16" => DType::Complex128,
        _ => return None,
    };
    Some((dtype, is_big))
}

#[derive(Debug)]
pub(super) struct Delta {
    /// The names of the element type and of the stored type.
    names: [String; 2],
    decoded: DType,
    stored: DType,
    /// The stored type, for `zarrs`.
    stored_type: DataType,
}

impl Delta {
    pub(super) fn new(metadata: &MetadataV3) -> Result<Self, PluginCreateError> {
        let text = |field: &str| {
            let configuration = metadata.configuration()?;
            configuration.get(field)?.as_str().map(str::to_owned)
        };
        let Some(decoded) = text("dtype") else {
            return Err("delta needs a dtype".into());
        };
        let names = [decoded.clone(), text("astype").unwrap_or(decoded)];
        let unknown =
            || PluginCreateError::Other(format!("delta does not take elements of {names:?}"));
        // Configurations that people write can also have long names, such as `int32`.
        let by_long_name = |name: &str| DType::ALL.into_iter().find(|dtype| dtype.name() == name);
        let find = |name: &str| {
            element(name)
                .map(|(dtype, _)| dtype)
                .or_else(|| by_long_name(name))
        };
        let [decoded, stored] = [&names[0], &names[1]].map(|name| find(name));
        let (decoded, stored) = (decoded.ok_or_else(unknown)?, stored.ok_or_else(unknown)?);
        use DType as D;
        let is_integer = |dtype| {
            let integers = [D::I8, D::U8, D::I16, D::U16, D::I32, D::U32, D::I64, D::U64];
            integers.contains(&dtype)
        };
        let is_float = |dtype| [D::F32, D::F64].contains(&dtype);
        if !(is_integer(decoded) && is_integer(stored) || is_float(decoded) && is_float(stored)) {
            return Err(unknown());
        }
        let stored_type = DataType::from_metadata(&MetadataV3::new(stored.name()))?;
        Ok(Self {
            names,
            decoded,
            stored,
            stored_type,
        })
    }
}

impl Described for Delta {
    fn name(&self) -> &'static str {
        NAME
    }

    fn configuration(&self) -> Option<Configuration> {
        let [dtype, astype] = &self.names;
        let configuration: Value = json!({"dtype": dtype, "astype": astype});
        serde_json::from_value(configuration).ok()
    }
}

impl DecodeArray for Delta {
    fn encoded_data_type(&self, decoded: &DataType) -> Result<DataType, CodecError> {
        if decoded.name_v3().as_deref() != Some(self.decoded.name()) {
            return Err(CodecError::UnsupportedDataType(
                decoded.clone(),
                NAME.into(),
            ));
        }
        Ok(self.stored_type.clone())
    }

    /// Returns the fill value itself, in the stored type. zarr-python omits a chunk of a shard if all of its
    /// differences equal the fill value.
    fn encoded_fill_value(
        &self,
        decoded: &DataType,
        fill: &FillValue,
    ) -> Result<FillValue, CodecError> {
        encoded_like_numpy(fill, decoded, &self.stored_type)
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        _: &[NonZero<u64>],
        _: &DataType,
        _: &FillValue,
        _: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        let stored = bytes.into_fixed()?;
        Ok(ArrayBytes::from(sums(&stored, self.stored, self.decoded)))
    }
}

/// Returns the running sums of the differences in `stored`. The differences have the type `from`, and the sums the type
/// `to`.
fn sums(stored: &[u8], from: DType, to: DType) -> Vec<u8> {
    use DType as D;
    // Sums of integers wrap, so the widest type gives the same result.
    let integers = |read: fn(&[u8]) -> i64| {
        let mut sum = 0_i64;
        let sums = stored.chunks_exact(from.size()).map(move |bytes| {
            sum = sum.wrapping_add(read(bytes));
            sum
        });
        match to.size() {
            1 => sums.flat_map(|sum| (sum as i8).to_ne_bytes()).collect(),
            2 => sums.flat_map(|sum| (sum as i16).to_ne_bytes()).collect(),
            4 => sums.flat_map(|sum| (sum as i32).to_ne_bytes()).collect(),
            _ => sums.flat_map(i64::to_ne_bytes).collect(),
        }
    };
    match from {
        D::I8 => integers(|bytes| i8::from_ne_bytes(array(bytes)).into()),
        D::U8 => integers(|bytes| u8::from_ne_bytes(array(bytes)).into()),
        D::I16 => integers(|bytes| i16::from_ne_bytes(array(bytes)).into()),
        D::U16 => integers(|bytes| u16::from_ne_bytes(array(bytes)).into()),
        D::I32 => integers(|bytes| i32::from_ne_bytes(array(bytes)).into()),
        D::U32 => integers(|bytes| u32::from_ne_bytes(array(bytes)).into()),
        D::I64 | D::U64 => integers(|bytes| i64::from_ne_bytes(array(bytes))),
        _ => {
            let differences = stored.chunks_exact(from.size()).map(|bytes| match from {
                D::F32 => f64::from(f32::from_ne_bytes(array(bytes))),
                _ => f64::from_ne_bytes(array(bytes)),
            });
            // NumPy adds in the type of the result.
            if to == D::F32 {
                let differences = differences.map(|difference| difference as f32);
                add_up(differences).flat_map(f32::to_ne_bytes).collect()
            } else {
                add_up(differences).flat_map(f64::to_ne_bytes).collect()
            }
        }
    }
}

/// Returns the running sums. They start with the first element instead of 0, because it can be -0.
fn add_up<T: Copy + Add<Output = T>>(
    differences: impl Iterator<Item = T>,
) -> impl Iterator<Item = T> {
    let mut sum = None;
    differences.map(move |difference| {
        let next = sum.map_or(difference, |sum: T| sum + difference);
        sum = Some(next);
        next
    })
}

/// Returns the bytes of an element. The slice must have the size of the element's type.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().unwrap_or([0; N])
}
