//! numcodecs' `fixedscaleoffset`, as `zarrs` decodes it, with zarr-python's fill value.

use super::{NO_PARTIAL_DECODER, NO_PARTIAL_ENCODER, encoded_like_numpy, only_decodes};
use std::{any::Any, borrow::Cow, num::NonZero, sync::Arc};
use zarrs::{
    array::{
        ArrayBytes, ArrayCodecTraits, ArrayToArrayCodecTraits, CodecMetadataOptions, CodecOptions,
        CodecTraits, DataType, FillValue, RecommendedConcurrency,
        codec::{
            FixedScaleOffsetCodec,
            api::{CodecError, PartialDecoderCapability, PartialEncoderCapability},
        },
    },
    metadata::{Configuration, v3::MetadataV3},
    plugin::{ExtensionName, PluginCreateError, ZarrVersion},
};

pub(super) const NAME: &str = "numcodecs.fixedscaleoffset";

#[derive(Debug)]
pub(super) struct ScaleOffset(FixedScaleOffsetCodec);

impl ScaleOffset {
    pub(super) fn new(metadata: &MetadataV3) -> Result<Self, PluginCreateError> {
        let configuration = metadata.to_typed_configuration()?;
        FixedScaleOffsetCodec::new_with_configuration(&configuration).map(Self)
    }
}

impl ExtensionName for ScaleOffset {
    fn name(&self, _: ZarrVersion) -> Option<Cow<'static, str>> {
        Some(NAME.into())
    }
}

impl CodecTraits for ScaleOffset {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn configuration(
        &self,
        version: ZarrVersion,
        options: &CodecMetadataOptions,
    ) -> Option<Configuration> {
        self.0.configuration(version, options)
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        NO_PARTIAL_DECODER
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        NO_PARTIAL_ENCODER
    }
}

impl ArrayCodecTraits for ScaleOffset {
    fn recommended_concurrency(
        &self,
        shape: &[NonZero<u64>],
        data_type: &DataType,
    ) -> Result<RecommendedConcurrency, CodecError> {
        self.0.recommended_concurrency(shape, data_type)
    }
}

impl ArrayToArrayCodecTraits for ScaleOffset {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn ArrayToArrayCodecTraits> {
        self
    }

    fn encoded_data_type(&self, decoded: &DataType) -> Result<DataType, CodecError> {
        self.0.encoded_data_type(decoded)
    }

    /// Returns the fill value itself, in the stored type. zarr-python omits a chunk of a shard if all of its encoded
    /// elements equal the fill value. `zarrs` encodes the fill value too.
    fn encoded_fill_value(
        &self,
        decoded: &DataType,
        fill: &FillValue,
    ) -> Result<FillValue, CodecError> {
        encoded_like_numpy(fill, decoded, &self.encoded_data_type(decoded)?)
    }

    fn encode<'a>(
        &self,
        _: ArrayBytes<'a>,
        _: &[NonZero<u64>],
        _: &DataType,
        _: &FillValue,
        _: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        Err(only_decodes(NAME))
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
