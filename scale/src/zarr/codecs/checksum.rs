//! Checksums of 4 bytes before or after the bytes that they protect, in numcodecs' format.

use super::{NO_PARTIAL_DECODER, NO_PARTIAL_ENCODER, only_decodes};
use serde_json::json;
use std::{any::Any, borrow::Cow, sync::Arc};
use zarrs::{
    array::{
        ArrayBytesRaw, BytesRepresentation, BytesToBytesCodecTraits, CodecMetadataOptions,
        CodecOptions, CodecTraits, RecommendedConcurrency,
        codec::api::{CodecError, PartialDecoderCapability, PartialEncoderCapability},
    },
    metadata::{Configuration, v3::MetadataV3},
    plugin::{ExtensionName, PluginCreateError, ZarrVersion},
};

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

impl ExtensionName for Checksum {
    fn name(&self, _: ZarrVersion) -> Option<Cow<'static, str>> {
        Some(match self.kind {
            Kind::Crc32 => "numcodecs.crc32".into(),
            Kind::Crc32c => "numcodecs.crc32c".into(),
        })
    }
}

impl CodecTraits for Checksum {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn configuration(&self, _: ZarrVersion, _: &CodecMetadataOptions) -> Option<Configuration> {
        let location = if self.is_at_start { "start" } else { "end" };
        serde_json::from_value(json!({"location": location})).ok()
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        NO_PARTIAL_DECODER
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        NO_PARTIAL_ENCODER
    }
}

impl BytesToBytesCodecTraits for Checksum {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn BytesToBytesCodecTraits> {
        self
    }

    fn recommended_concurrency(
        &self,
        _: &BytesRepresentation,
    ) -> Result<RecommendedConcurrency, CodecError> {
        Ok(RecommendedConcurrency::new_maximum(1))
    }

    fn encoded_representation(&self, decoded: &BytesRepresentation) -> BytesRepresentation {
        match decoded {
            BytesRepresentation::FixedSize(size) => BytesRepresentation::FixedSize(size + 4),
            BytesRepresentation::BoundedSize(size) => BytesRepresentation::BoundedSize(size + 4),
            BytesRepresentation::UnboundedSize => BytesRepresentation::UnboundedSize,
        }
    }

    fn encode<'a>(
        &self,
        _: ArrayBytesRaw<'a>,
        _: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        Err(only_decodes("a checksum of numcodecs"))
    }

    fn decode<'a>(
        &self,
        encoded: ArrayBytesRaw<'a>,
        _: &BytesRepresentation,
        _: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
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
        Ok(bytes.to_vec().into())
    }
}
