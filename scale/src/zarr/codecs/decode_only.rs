//! What codecs of `zarrs` have in common that only decode, and only whole chunks. A codec implements [`DecodeArray`] or
//! [`DecodeBytes`], and [`DecodeOnly`] is its form for `zarrs`.

use std::{any::Any, borrow::Cow, fmt::Debug, num::NonZero, sync::Arc};
use zarrs::{
    array::{
        ArrayBytes, ArrayBytesRaw, ArrayCodecTraits, ArrayToArrayCodecTraits, BytesRepresentation,
        BytesToBytesCodecTraits, ChunkShape, Codec, CodecMetadataOptions, CodecOptions,
        CodecTraits, DataType, FillValue, RecommendedConcurrency,
        codec::api::{CodecError, PartialDecoderCapability, PartialEncoderCapability},
    },
    metadata::Configuration,
    plugin::{ExtensionName, ZarrVersion},
};

/// A codec as metadata describe it.
pub(super) trait Described: Debug + Send + Sync + 'static {
    fn name(&self) -> &'static str;

    fn configuration(&self) -> Option<Configuration>;
}

/// Decodes arrays from arrays.
pub(super) trait DecodeArray: Described {
    fn encoded_data_type(&self, decoded: &DataType) -> Result<DataType, CodecError>;

    /// Returns the encoded fill value: the value of every encoded element of a chunk that is omitted from a shard.
    fn encoded_fill_value(
        &self,
        decoded: &DataType,
        fill: &FillValue,
    ) -> Result<FillValue, CodecError>;

    fn encoded_shape(&self, decoded: &[NonZero<u64>]) -> Result<ChunkShape, CodecError> {
        Ok(decoded.to_vec())
    }

    fn decoded_shape(&self, encoded: &[NonZero<u64>]) -> Result<ChunkShape, CodecError> {
        Ok(encoded.to_vec())
    }

    /// Decodes a chunk. `shape`, `data_type` and `fill` describe the decoded array.
    fn decode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZero<u64>],
        data_type: &DataType,
        fill: &FillValue,
        options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError>;
}

/// Decodes bytes from bytes.
pub(super) trait DecodeBytes: Described {
    /// Returns what is known about the size of the encoded bytes.
    fn encoded_size(&self, decoded: &BytesRepresentation) -> BytesRepresentation;

    fn decode(&self, encoded: &[u8], decoded: &BytesRepresentation) -> Result<Vec<u8>, CodecError>;
}

/// A codec that refuses to encode. It tells `zarrs` that it cannot read or write a part of a chunk.
#[derive(Debug)]
pub(super) struct DecodeOnly<C>(C);

impl<C: DecodeArray> DecodeOnly<C> {
    pub(super) fn of_arrays(codec: C) -> Codec {
        Codec::ArrayToArray(Arc::new(Self(codec)))
    }
}

impl<C: DecodeBytes> DecodeOnly<C> {
    pub(super) fn of_bytes(codec: C) -> Codec {
        Codec::BytesToBytes(Arc::new(Self(codec)))
    }
}

impl<C: Described> DecodeOnly<C> {
    fn cannot_encode<T>(&self) -> Result<T, CodecError> {
        let name = self.0.name();
        Err(CodecError::Other(format!("{name} is only decoded")))
    }
}

impl<C: Described> ExtensionName for DecodeOnly<C> {
    fn name(&self, _: ZarrVersion) -> Option<Cow<'static, str>> {
        Some(self.0.name().into())
    }
}

impl<C: Described> CodecTraits for DecodeOnly<C> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn configuration(&self, _: ZarrVersion, _: &CodecMetadataOptions) -> Option<Configuration> {
        self.0.configuration()
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        PartialDecoderCapability {
            partial_read: false,
            partial_decode: false,
        }
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        PartialEncoderCapability {
            partial_encode: false,
        }
    }
}

impl<C: DecodeArray> ArrayCodecTraits for DecodeOnly<C> {
    fn recommended_concurrency(
        &self,
        _: &[NonZero<u64>],
        _: &DataType,
    ) -> Result<RecommendedConcurrency, CodecError> {
        Ok(RecommendedConcurrency::new_maximum(1))
    }
}

impl<C: DecodeArray> ArrayToArrayCodecTraits for DecodeOnly<C> {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn ArrayToArrayCodecTraits> {
        self
    }

    fn encoded_data_type(&self, decoded: &DataType) -> Result<DataType, CodecError> {
        self.0.encoded_data_type(decoded)
    }

    fn encoded_fill_value(
        &self,
        decoded: &DataType,
        fill: &FillValue,
    ) -> Result<FillValue, CodecError> {
        self.0.encoded_fill_value(decoded, fill)
    }

    fn encoded_shape(&self, decoded: &[NonZero<u64>]) -> Result<ChunkShape, CodecError> {
        self.0.encoded_shape(decoded)
    }

    fn decoded_shape(&self, encoded: &[NonZero<u64>]) -> Result<Option<ChunkShape>, CodecError> {
        self.0.decoded_shape(encoded).map(Some)
    }

    fn encode<'a>(
        &self,
        _: ArrayBytes<'a>,
        _: &[NonZero<u64>],
        _: &DataType,
        _: &FillValue,
        _: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        self.cannot_encode()
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZero<u64>],
        data_type: &DataType,
        fill: &FillValue,
        options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        self.0.decode(bytes, shape, data_type, fill, options)
    }
}

impl<C: DecodeBytes> BytesToBytesCodecTraits for DecodeOnly<C> {
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
        self.0.encoded_size(decoded)
    }

    fn encode<'a>(
        &self,
        _: ArrayBytesRaw<'a>,
        _: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        self.cannot_encode()
    }

    fn decode<'a>(
        &self,
        encoded: ArrayBytesRaw<'a>,
        decoded: &BytesRepresentation,
        _: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        Ok(self.0.decode(&encoded, decoded)?.into())
    }
}
