//! Codecs of chunks that the crate `zarrs` lacks or has in a slow form. They only decode, because no result is written
//! with them.
//!
//! | module | content |
//! |---|---|
//! | `delta` | differences between neighbouring elements |
//! | `lz4` | LZ4 as numcodecs writes it |
//! | `checksum` | CRC-32 and CRC-32C before or after the bytes |
//! | `decode_only` | what these codecs have in common |
//! | `scale_offset` | numcodecs' scaled numbers, with zarr-python's fill value |
//! | `transpose` | another order of the dimensions |

mod checksum;
mod decode_only;
mod delta;
mod lz4;
mod scale_offset;
mod transpose;

pub(super) use delta::element;
pub(super) use transpose::NAME as TRANSPOSE;

use decode_only::DecodeOnly;
use std::sync::LazyLock;
use wgslice::{Conversion, DType, Plan, Values, ValuesMut};
use zarrs::{
    array::{
        Codec, DataType, FillValue,
        codec::api::{CodecError, CodecRuntimePluginV3, register_codec_v3},
    },
    metadata::v3::MetadataV3,
    plugin::PluginCreateError,
};

type CreateCodec = fn(&MetadataV3) -> Result<Codec, PluginCreateError>;

/// The codecs, by their names in metadata.
const CODECS_BY_NAME: [(&str, CreateCodec); 6] = [
    (delta::NAME, |metadata| {
        delta::Delta::new(metadata).map(DecodeOnly::of_arrays)
    }),
    (lz4::NAME, |_| Ok(DecodeOnly::of_bytes(lz4::Lz4))),
    (checksum::CRC32, |metadata| {
        let codec = checksum::Checksum::new(metadata, checksum::Kind::Crc32, true)?;
        Ok(DecodeOnly::of_bytes(codec))
    }),
    (checksum::CRC32C, |metadata| {
        let codec = checksum::Checksum::new(metadata, checksum::Kind::Crc32c, false)?;
        Ok(DecodeOnly::of_bytes(codec))
    }),
    (scale_offset::NAME, |metadata| {
        scale_offset::ScaleOffset::new(metadata).map(DecodeOnly::of_arrays)
    }),
    (transpose::NAME, |metadata| {
        transpose::Transpose::new(metadata).map(DecodeOnly::of_arrays)
    }),
];

/// Registers the codecs with `zarrs`.
pub(super) fn register() {
    static REGISTERED: LazyLock<()> = LazyLock::new(|| {
        for (name, create) in CODECS_BY_NAME {
            register_codec_v3(CodecRuntimePluginV3::new(
                move |found| found == name,
                create,
            ));
        }
    });
    LazyLock::force(&REGISTERED);
}

/// Converts a fill value from one type to another, by the rules of NumPy's `astype`.
fn encoded_like_numpy(
    fill: &FillValue,
    from: &DataType,
    to: &DataType,
) -> Result<FillValue, CodecError> {
    let unsupported = |data_type: &DataType| {
        CodecError::UnsupportedDataType(data_type.clone(), "a fill value".to_owned())
    };
    let dtype = |data_type: &DataType| {
        let name = data_type.name_v3();
        let known = DType::ALL.into_iter();
        let mut found = known.filter(|dtype| name.as_deref() == Some(dtype.name()));
        found.next().ok_or_else(|| unsupported(data_type))
    };
    let (from, to) = (dtype(from)?, dtype(to)?);
    let plan = Plan::contiguous(&[1], from);
    let plan = plan.and_then(|plan| plan.converted(&Conversion::astype(to)));
    let mut bytes = vec![0; to.size()];
    let converted = plan.and_then(|plan| {
        let values = Values::from_bytes(from, fill.as_ne_bytes());
        let outputs = &mut [ValuesMut::from_bytes(to, &mut bytes)];
        plan.run_cpu(&[values], outputs)
    });
    converted.map_err(|error| CodecError::Other(error.to_string()))?;
    Ok(FillValue::new(bytes))
}
