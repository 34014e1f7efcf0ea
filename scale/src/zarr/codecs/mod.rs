//! Codecs of chunks that the crate `zarrs` lacks or has in a slow form. They only decode, because no result is written
//! with them.
//!
//! | module | content |
//! |---|---|
//! | `delta` | differences between neighbouring elements |
//! | `lz4` | LZ4 as numcodecs writes it |
//! | `checksum` | CRC-32 and CRC-32C before or after the bytes |
//! | `transpose` | another order of the dimensions |

mod checksum;
mod delta;
mod lz4;
mod transpose;

pub(super) use delta::element;
pub(super) use transpose::NAME as TRANSPOSE;

use std::sync::{Arc, LazyLock};
use zarrs::{
    array::{
        Codec,
        codec::api::{
            CodecError, CodecRuntimePluginV3, PartialDecoderCapability, PartialEncoderCapability,
            register_codec_v3,
        },
    },
    metadata::v3::MetadataV3,
    plugin::PluginCreateError,
};

type CreateCodec = fn(&MetadataV3) -> Result<Codec, PluginCreateError>;

/// The codecs, by their names in metadata.
const CODECS_BY_NAME: [(&str, CreateCodec); 5] = [
    ("numcodecs.delta", |metadata| {
        let codec = delta::Delta::new(metadata)?;
        Ok(Codec::ArrayToArray(Arc::new(codec)))
    }),
    ("numcodecs.lz4", |_| {
        Ok(Codec::BytesToBytes(Arc::new(lz4::Lz4)))
    }),
    ("numcodecs.crc32", |metadata| {
        let codec = checksum::Checksum::new(metadata, checksum::Kind::Crc32, true)?;
        Ok(Codec::BytesToBytes(Arc::new(codec)))
    }),
    ("numcodecs.crc32c", |metadata| {
        let codec = checksum::Checksum::new(metadata, checksum::Kind::Crc32c, false)?;
        Ok(Codec::BytesToBytes(Arc::new(codec)))
    }),
    (transpose::NAME, |metadata| {
        let codec = transpose::Transpose::new(metadata)?;
        Ok(Codec::ArrayToArray(Arc::new(codec)))
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

/// These codecs only decode whole chunks.
const NO_PARTIAL_DECODER: PartialDecoderCapability = PartialDecoderCapability {
    partial_read: false,
    partial_decode: false,
};
const NO_PARTIAL_ENCODER: PartialEncoderCapability = PartialEncoderCapability {
    partial_encode: false,
};

fn only_decodes(name: &str) -> CodecError {
    CodecError::Other(format!("{name} is only decoded"))
}
