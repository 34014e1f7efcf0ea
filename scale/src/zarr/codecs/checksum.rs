//! Checksums of 4 bytes before or after the bytes that they protect, in numcodecs' format.

use super::decode_only::{DecodeBytes, Described};
use serde_json::json;
use zarrs::{
    array::{BytesRepresentation, codec::api::CodecError},
    metadata::{Configuration, v3::MetadataV3},
    plugin::PluginCreateError,
};

pub(super) const CRC32: &str = "numcodecs.crc32";
pub(super) const CRC32C: &str = "numcodecs.crc32c";

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Crc32,
    Crc32c,
}

#[derive(Debug)]
pub(super) struct Checksum {
    kind: Kind,
    is_at_start: bool,
}

impl Checksum {
    /// Makes the codec that `metadata` describes. If it does not give the position of the checksum, `is_at_start` does.
    pub(super) fn new(
        metadata: &MetadataV3,
        kind: Kind,
        is_at_start: bool,
    ) -> Result<Self, PluginCreateError> {
        let location = metadata.configuration().and_then(|it| it.get("location"));
        let is_at_start = match location.map(|location| location.as_str()) {
            None => is_at_start,
            Some(Some("start")) => true,
            Some(Some("end")) => false,
            Some(_) => return Err("the location of a checksum is start or end".into()),
        };
        Ok(Self { kind, is_at_start })
    }

    fn compute(&self, bytes: &[u8]) -> u32 {
        match self.kind {
            Kind::Crc32 => crc32fast::hash(bytes),
            Kind::Crc32c => crc32c::crc32c(bytes),
        }
    }
}

impl Described for Checksum {
    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Crc32 => CRC32,
            Kind::Crc32c => CRC32C,
        }
    }

    fn configuration(&self) -> Option<Configuration> {
        let location = if self.is_at_start { "start" } else { "end" };
        serde_json::from_value(json!({"location": location})).ok()
    }
}

impl DecodeBytes for Checksum {
    fn encoded_size(&self, decoded: &BytesRepresentation) -> BytesRepresentation {
        match decoded {
            BytesRepresentation::FixedSize(size) => BytesRepresentation::FixedSize(size + 4),
            BytesRepresentation::BoundedSize(size) => BytesRepresentation::BoundedSize(size + 4),
            BytesRepresentation::UnboundedSize => BytesRepresentation::UnboundedSize,
        }
    }

    fn decode(&self, encoded: &[u8], _: &BytesRepresentation) -> Result<Vec<u8>, CodecError> {
        let divided = if self.is_at_start {
            encoded.split_first_chunk()
        } else {
            encoded.split_last_chunk().map(|(bytes, sum)| (sum, bytes))
        };
        let Some((sum, bytes)) = divided else {
            return Err(CodecError::Other("its checksum is missing".into()));
        };
        if u32::from_le_bytes(*sum) != self.compute(bytes) {
            return Err(CodecError::InvalidChecksum);
        }
        Ok(bytes.to_vec())
    }
}
