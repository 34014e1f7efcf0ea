//! [`ArgumentError`], which hides how many ways there are to be wrong.

use super::{
    AssemblyError, ConvertError, CropError, Error, GatherError, IndexError, MaskError,
    ScatterError, SpecError, TextureError, ValueError, ViewError, XlaError,
};

/// Arguments that contradict each other, or that do not fit the shape. The message names the argument, its value, the
/// rule and the way out, and [`ArgumentError::kind`] is for programs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ArgumentError(Box<Reason>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
enum Reason {
    Spec(#[from] SpecError),
    View(#[from] ViewError),
    Gather(#[from] GatherError),
    Assembly(#[from] AssemblyError),
    Index(#[from] IndexError),
    Convert(#[from] ConvertError),
    Crop(#[from] CropError),
    Mask(#[from] MaskError),
    Scatter(#[from] ScatterError),
    Texture(#[from] TextureError),
    Value(#[from] ValueError),
    Xla(#[from] XlaError),
}

macro_rules! from {
    ($($reason:ty)*) => {$(
        impl From<$reason> for Error {
            fn from(reason: $reason) -> Self {
                Self::Argument(ArgumentError(Box::new(reason.into())))
            }
        }
    )*};
}

from! { SpecError ViewError AssemblyError IndexError GatherError ConvertError CropError MaskError ScatterError TextureError ValueError XlaError }

impl ArgumentError {
    /// A name for the rule that is broken. It does not change when the message does.
    ///
    /// | of | names |
    /// |---|---|
    /// | all | `dest_mismatch`, `device_mismatch`, `dtype`, `dtype_mismatch`, `index_dtype`, `unused_option` |
    /// | slices | `axis`, `axis_twice`, `dy_shape`, `mask`, `multiple_ellipses`, `onnx_lengths`, `scalar_input`, `shrink_out_of_range`, `shrink_stride`, `slice_begin`, `slice_size`, `slice_vectors`, `spec_vectors`, `stride_zero`, `too_many_specs` |
    /// | views and parts | `box`, `broadcast`, `dest_shape`, `in_place`, `into_view`, `no_parts`, `permutation`, `plan_argument`, `repeats`, `reshape` |
    /// | concat, stack, split, pad, roll, tile, repeat | `array_shape`, `axis`, `constant`, `entries`, `no_arrays`, `padding`, `pieces`, `shifts`, `sources`, `split_sizes` |
    /// | index expressions with arrays | `array_shapes`, `mask_shape`, `outer_rank`, `position`, `values` |
    /// | gathers | `axis`, `batch_dims`, `batch_shape`, `elements_shape`, `empty_params`, `index_depth`, `indices_rank`, `params_rank` |
    /// | masks | `axis`, `broadcast`, `condition`, `mask_capacity`, `mask_count`, `mask_dtype`, `mask_index`, `mask_scalar`, `mask_shape`, `mask_values` |
    /// | conversions | `axis`, `convert_dtype`, `convert_operation`, `convert_positions`, `convert_scale`, `convert_source` |
    /// | crops and pastes | `crop_box_size`, `crop_items`, `crop_rank`, `crop_shape`, `crop_strides`, `stride_zero` |
    /// | scatters | `axis`, `elements_shape`, `empty_output`, `undefined`, `updates_rank`, `updates_shape` |
    /// | XLA's gather and scatter | `dimension_numbers`, `empty_output`, `undefined` |
    /// | textures | `channels`, `channels_of_selection`, `format`, `mip_level`, `multisampled`, `not_on_gl`, `on_cpu`, `texels_convert`, `texture_shape`, `usage` |
    ///
    /// ```
    /// use wgslice::{slice, Backend, Error};
    ///
    /// let error = Backend::cpu().slice((&[1, 2, 3], &[3]), &slice![..; 0]).unwrap_err();
    /// assert!(matches!(&error, Error::Argument(why) if why.kind() == "stride_zero"), "{error}");
    /// ```
    pub fn kind(&self) -> &'static str {
        match &*self.0 {
            Reason::Spec(error) => match error {
                SpecError::Axis { .. } => "axis",
                SpecError::AxisTwice { .. } => "axis_twice",
                SpecError::DyShape { .. } => "dy_shape",
                SpecError::Lengths { .. } => "onnx_lengths",
                SpecError::Mask { .. } => "mask",
                SpecError::MultipleEllipses => "multiple_ellipses",
                SpecError::ScalarInput => "scalar_input",
                SpecError::ShrinkOutOfRange { .. } => "shrink_out_of_range",
                SpecError::ShrinkStride { .. } => "shrink_stride",
                SpecError::SliceBegin { .. } => "slice_begin",
                SpecError::SliceSize { .. } => "slice_size",
                SpecError::SliceVectors { .. } => "slice_vectors",
                SpecError::StrideZero { .. } => "stride_zero",
                SpecError::TooManySpecs { .. } => "too_many_specs",
                SpecError::Vectors { .. } => "spec_vectors",
            },
            Reason::View(error) => match error {
                ViewError::Box { .. } => "box",
                ViewError::Broadcast { .. } => "broadcast",
                ViewError::NoParts { .. } => "no_parts",
                ViewError::Permutation { .. } => "permutation",
                ViewError::Argument { .. } => "plan_argument",
                ViewError::DestShape { .. } => "dest_shape",
                ViewError::InPlace { .. } => "in_place",
                ViewError::IntoView { .. } => "into_view",
                ViewError::Repeats { .. } => "repeats",
                ViewError::Reshape { .. } => "reshape",
            },
            Reason::Gather(error) => match error {
                GatherError::Axis { .. } => "axis",
                GatherError::BatchDims { .. } | GatherError::BatchDimsOfAxis { .. } => "batch_dims",
                GatherError::BatchShape { .. } => "batch_shape",
                GatherError::ElementsShape { .. } => "elements_shape",
                GatherError::EmptyParams { .. } => "empty_params",
                GatherError::IndexDepth { .. } => "index_depth",
                GatherError::IndicesRank => "indices_rank",
                GatherError::ParamsRank => "params_rank",
            },
            Reason::Assembly(error) => match error {
                AssemblyError::ArrayShape { .. } => "array_shape",
                AssemblyError::Axis { .. } => "axis",
                AssemblyError::Constant { .. } => "constant",
                AssemblyError::Entries { .. } => "entries",
                AssemblyError::NoArrays => "no_arrays",
                AssemblyError::Padding { .. } => "padding",
                AssemblyError::Pieces { .. } => "pieces",
                AssemblyError::Shifts { .. } => "shifts",
                AssemblyError::Sources { .. } => "sources",
                AssemblyError::SplitSizes { .. } => "split_sizes",
            },
            Reason::Index(error) => match error {
                IndexError::ArrayShapes { .. } => "array_shapes",
                IndexError::MaskShape { .. } => "mask_shape",
                IndexError::OuterRank { .. } => "outer_rank",
                IndexError::Position { .. } => "position",
                IndexError::Values { .. } => "values",
            },
            Reason::Convert(error) => match error {
                ConvertError::Axis { .. } => "axis",
                ConvertError::DType { .. } => "convert_dtype",
                ConvertError::Operation { .. } => "convert_operation",
                ConvertError::Positions { .. } => "convert_positions",
                ConvertError::Scale { .. } => "convert_scale",
                ConvertError::Source { .. } => "convert_source",
            },
            Reason::Crop(error) => match error {
                CropError::BoxSize { .. } => "crop_box_size",
                CropError::Items { .. } => "crop_items",
                CropError::Rank { .. } => "crop_rank",
                CropError::Shape { .. } => "crop_shape",
                CropError::StrideZero { .. } => "stride_zero",
                CropError::Strides { .. } => "crop_strides",
            },
            Reason::Mask(error) => match error {
                MaskError::Axis { .. } => "axis",
                MaskError::Capacity { .. } => "mask_capacity",
                MaskError::ConditionRank { .. } | MaskError::Condition { .. } => "condition",
                MaskError::Count { .. } => "mask_count",
                MaskError::DType { .. } => "mask_dtype",
                MaskError::Index { .. } => "mask_index",
                MaskError::Scalar => "mask_scalar",
                MaskError::Shape { .. } => "mask_shape",
                MaskError::Values { .. } => "mask_values",
            },
            Reason::Scatter(error) => match error {
                ScatterError::Axis { .. } => "axis",
                ScatterError::ElementsShape { .. } => "elements_shape",
                ScatterError::EmptyOutput { .. } => "empty_output",
                ScatterError::Undefined { .. } => "undefined",
                ScatterError::UpdateForEachIndex { .. } | ScatterError::UpdatesShape { .. } => {
                    "updates_shape"
                }
                ScatterError::UpdatesRank { .. } => "updates_rank",
            },
            Reason::Value(error) => match error {
                ValueError::DType { .. } => "dtype",
                ValueError::DTypeMismatch { .. } => "dtype_mismatch",
                ValueError::DestMismatch { .. } => "dest_mismatch",
                ValueError::DeviceMismatch { .. } => "device_mismatch",
                ValueError::IndexDType { .. } => "index_dtype",
                ValueError::UnusedOption { .. } => "unused_option",
            },
            Reason::Xla(_) => "dimension_numbers",
            Reason::Texture(error) => match error {
                TextureError::Channels { .. } => "channels",
                TextureError::ChannelsOfSelection { .. } => "channels_of_selection",
                TextureError::Format { .. } => "format",
                TextureError::MipLevel { .. } => "mip_level",
                TextureError::Multisampled { .. } => "multisampled",
                TextureError::NotOnGl { .. } => "not_on_gl",
                TextureError::OnCpu => "on_cpu",
                TextureError::Converts { .. } => "texels_convert",
                TextureError::Shape { .. } => "texture_shape",
                TextureError::Usage { .. } => "usage",
            },
        }
    }
}
