//! numcodecs' `fixedscaleoffset`, as `zarrs` decodes it, with zarr-python's fill value.

use super::{
    decode_only::{DecodeArray, Described},
    encoded_like_numpy,
};
use std::num::NonZero;
use zarrs::{
    array::{
        ArrayBytes, ArrayToArrayCodecTraits, CodecMetadataOptions, CodecOptions, CodecTraits,
        DataType, FillValue,
        codec::{FixedScaleOffsetCodec, api::CodecError},
    },
    metadata::{Configuration, v3::MetadataV3},
    plugin::{PluginCreateError, ZarrVersion},
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

impl Described for ScaleOffset {
    fn name(&self) -> &'static str {
        NAME
    }

    fn configuration(&self) -> Option<Configuration> {
        self.0
            .configuration(ZarrVersion::V3, &CodecMetadataOptions::default())
    }
}

impl DecodeArray for ScaleOffset {
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
