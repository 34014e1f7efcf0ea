//! The tags by which vector files name errors.

use wgslice::{
    Error,
    error::{CropError, GatherError, ScatterError, SpecError, ViewError},
};

/// Returns the tag that vector files use for an error, or `other` if they have no tag for it.
pub fn kind(error: &Error) -> &'static str {
    match error {
        Error::Spec(error) => match error {
            SpecError::Vectors { .. } => "spec_vectors",
            SpecError::MultipleEllipses => "multiple_ellipses",
            SpecError::ScalarInput => "scalar_input",
            SpecError::TooManySpecs { .. } => "too_many_specs",
            SpecError::StrideZero { .. } => "stride_zero",
            SpecError::ShrinkStride { .. } => "shrink_stride",
            SpecError::ShrinkOutOfRange { .. } => "shrink_out_of_range",
            SpecError::DyShape { .. } => "dy_shape",
            SpecError::SliceVectors { .. } => "slice_vectors",
            SpecError::SliceBegin { .. } => "slice_begin",
            SpecError::SliceSize { .. } => "slice_size",
            _ => "other",
        },
        Error::View(ViewError::Permutation { .. }) => "permutation",
        Error::View(ViewError::Broadcast { .. }) => "broadcast",
        Error::Scatter(error) => match error {
            ScatterError::UpdatesRank { .. } => "updates_rank",
            ScatterError::EmptyOutput { .. } => "empty_output",
            ScatterError::UpdatesShape { .. } | ScatterError::UpdateForEachIndex { .. } => {
                "updates_shape"
            }
            ScatterError::Axis { .. } => "axis",
            ScatterError::ElementsShape { .. } => "elements_shape",
            ScatterError::OutOfRange { .. } => "out_of_range",
            _ => "other",
        },
        Error::Gather(error) => match error {
            GatherError::ParamsRank => "params_rank",
            GatherError::IndicesRank => "indices_rank",
            GatherError::IndexDepth { .. } => "index_depth",
            GatherError::Axis { .. } => "axis",
            GatherError::BatchDims { .. } | GatherError::BatchDimsOfAxis { .. } => "batch_dims",
            GatherError::BatchShape { .. } => "batch_shape",
            GatherError::ElementsShape { .. } => "elements_shape",
            GatherError::EmptyParams { .. } => "empty_params",
            GatherError::OutOfRange { .. } => "out_of_range",
            _ => "other",
        },
        Error::Crop(error) => match error {
            CropError::Rank { .. } => "crop_rank",
            CropError::Strides { .. } => "crop_strides",
            CropError::StrideZero { .. } => "stride_zero",
            CropError::Items { .. } => "crop_items",
            CropError::BoxSize { .. } => "crop_box_size",
            CropError::Outside { .. } => "out_of_range",
            _ => "other",
        },
        Error::DeviceLimit { .. } => "device_limit",
        Error::Device { .. } => "device",
        _ => "other",
    }
}
