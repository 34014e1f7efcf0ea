//! Decodes chunks with permuted dimensions, such as those in Fortran order. `zarrs` moves their bytes individually;
//! wgslice moves elements in tiles.

use super::decode_only::{DecodeArray, Described};
use crate::zarr::product;
use serde_json::json;
use std::num::NonZero;
use wgslice::{Backend, DType, Plan, View};
use zarrs::{
    array::{ArrayBytes, ChunkShape, CodecOptions, DataType, FillValue, codec::api::CodecError},
    metadata::{Configuration, v3::MetadataV3},
    metadata_ext::codec::transpose::TransposeCodecConfigurationV1,
    plugin::PluginCreateError,
};

/// The name of this codec. It replaces `transpose`, the name of the codec in `zarrs`.
pub(in crate::zarr) const NAME: &str = "wgslice.transpose";

#[derive(Debug)]
pub(super) struct Transpose {
    /// The chunk's dimension for each stored dimension.
    order: Vec<usize>,
    /// The stored dimension for each of the chunk's dimensions.
    inverse: Vec<usize>,
}

impl Transpose {
    pub(super) fn new(metadata: &MetadataV3) -> Result<Self, PluginCreateError> {
        let configuration: TransposeCodecConfigurationV1 = metadata.to_typed_configuration()?;
        // `order` has been checked to be a permutation.
        let order = configuration.order.0.to_vec();
        let mut inverse = vec![0; order.len()];
        for (stored, &dim) in order.iter().enumerate() {
            inverse[dim] = stored;
        }
        Ok(Self { order, inverse })
    }

    /// Permutes a list with one size for each dimension.
    fn permuted<T: Copy>(sizes: &[T], order: &[usize]) -> Result<Vec<T>, CodecError> {
        if sizes.len() != order.len() {
            return Err(CodecError::Other(format!(
                "transpose has {} dimensions, and the chunk has {}",
                order.len(),
                sizes.len()
            )));
        }
        Ok(order.iter().map(|&dim| sizes[dim]).collect())
    }
}

impl Described for Transpose {
    fn name(&self) -> &'static str {
        NAME
    }

    fn configuration(&self) -> Option<Configuration> {
        serde_json::from_value(json!({"order": self.order})).ok()
    }
}

impl DecodeArray for Transpose {
    fn encoded_data_type(&self, decoded: &DataType) -> Result<DataType, CodecError> {
        Ok(decoded.clone())
    }

    fn encoded_fill_value(&self, _: &DataType, fill: &FillValue) -> Result<FillValue, CodecError> {
        Ok(fill.clone())
    }

    fn encoded_shape(&self, decoded: &[NonZero<u64>]) -> Result<ChunkShape, CodecError> {
        Self::permuted(decoded, &self.order)
    }

    fn decoded_shape(&self, encoded: &[NonZero<u64>]) -> Result<ChunkShape, CodecError> {
        Self::permuted(encoded, &self.inverse)
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZero<u64>],
        data_type: &DataType,
        _: &FillValue,
        _: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        let stored = bytes.into_fixed()?;
        let failed =
            |problem: String| CodecError::Other(format!("it cannot be transposed: {problem}"));
        let size = data_type.fixed_size();
        let size = size.ok_or_else(|| failed("its elements differ in length".to_owned()))?;
        let sizes = Self::permuted(shape, &self.order)?;
        let mut sizes: Vec<usize> = sizes.iter().map(|size| size.get() as usize).collect();
        // The bytes of an element form one more dimension, which stays last.
        sizes.push(size);
        let mut order = self.inverse.clone();
        order.push(order.len());
        if stored.len() != product(&sizes) {
            return Err(failed(format!(
                "it has {} bytes, and its shape needs {}",
                stored.len(),
                product(&sizes)
            )));
        }
        // Chunks are decoded on as many threads as there are cores, so one thread is enough for each chunk.
        let backend = Backend::cpu().with_threads(1);
        let view = View::new(&sizes).and_then(|view| view.transpose(&order));
        let plan = view.and_then(|view| Plan::contiguous(view, DType::U8));
        let transposed = plan.and_then(|plan| backend.run::<u8>(&plan, &[(&*stored).into()]));
        let (transposed, _) = transposed.map_err(|error| failed(error.to_string()))?;
        Ok(ArrayBytes::from(transposed.data))
    }
}
