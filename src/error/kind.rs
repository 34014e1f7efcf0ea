//! The rules that arguments can break. Each has a name, so programs do not need to parse messages.

macro_rules! kinds {
    ($($kind:ident $name:literal $description:literal;)*) => {
        /// The rule that arguments break. The kind of an error stays the same even if its message changes. The "Errors"
        /// sections of many functions list the kinds.
        ///
        /// ```
        /// use wgslice::{error::ArgumentKind, slice, Backend, Error};
        ///
        /// let error = Backend::cpu().slice((&[1, 2, 3], &[3]), &slice![..; 0]).unwrap_err();
        /// let is_stride = |error: &Error| matches!(error, Error::Argument(why) if why.kind() == ArgumentKind::StrideZero);
        /// assert!(is_stride(&error), "{error}");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ArgumentKind {
            $(#[doc = $description] $kind,)*
        }

        impl ArgumentKind {
            /// Returns the name in lower case, such as `"stride_zero"`, for logs and files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

// The kinds are grouped by subject: any call, slices, views and parts, assembled arrays, index expressions, gathers,
// masks, conversions, crops and pastes, scatters, XLA, textures.
kinds! {
    Arguments "arguments" "More or fewer inputs or outputs than the plan has.";
    Axis "axis" "An axis that the array does not have.";
    DestMismatch "dest_mismatch" "A destination of another shape or element type than the result.";
    DeviceMismatch "device_mismatch" "Two tensors on different devices.";
    Dtype "dtype" "A tensor that is read as an element type other than its own.";
    DtypeMismatch "dtype_mismatch" "An array of another element type than the array that it goes into.";
    IndexDtype "index_dtype" "Indices that are not i32, i64 or u32.";
    Steps "steps" "A plan in which several steps write the result, in a call that needs a single such step.";

    AxisTwice "axis_twice" "A dimension that ONNX's `axes` name twice.";
    DyShape "dy_shape" "A `dy` that does not have the shape of the slice.";
    MultipleEllipses "multiple_ellipses" "More than one ellipsis.";
    OnnxLengths "onnx_lengths" "ONNX's `starts`, `ends`, `axes` and `steps` of different lengths.";
    ScalarInput "scalar_input" "An index or a range for a scalar, which has no dimension.";
    ShrinkOutOfRange "shrink_out_of_range" "A single index outside of its dimension.";
    ShrinkStride "shrink_stride" "A single index with a negative stride.";
    SliceBegin "slice_begin" "A block that begins outside of its dimension.";
    SliceSize "slice_size" "A block that ends outside of its dimension, or has a negative size other than -1.";
    SliceVectors "slice_vectors" "A block whose `begin` or `size` does not have an entry for each dimension.";
    SpecVectors "spec_vectors" "Vectors `begin`, `end` and `strides` of different lengths, or of more than 31 entries.";
    StrideZero "stride_zero" "A stride of 0.";
    TooManySpecs "too_many_specs" "More indices and ranges than dimensions.";

    Box "box" "A box that is not inside the result of the plan.";
    Broadcast "broadcast" "A shape that another shape cannot be broadcast to.";
    DestShape "dest_shape" "A destination of another shape than the result.";
    InPlace "in_place" "A plan that changes an array in place, in a call that makes a new array.";
    NoParts "no_parts" "A plan that the called method cannot cut into parts.";
    Outside "outside" "A view that extends beyond its memory.";
    Permutation "permutation" "A permutation that does not name each dimension once.";
    PlanArgument "plan_argument" "A tensor of another shape than the plan needs.";
    Repeats "repeats" "A destination that selects an element twice.";
    Reshape "reshape" "A shape of another number of elements.";
    ReshapeStrides "reshape_strides" "A shape for which the elements of the view must be copied.";
    Strides "strides" "More or fewer strides than dimensions.";
    Undecided "undecided" "A destination for which the search for elements that it selects twice takes too long.";
    Windows "windows" "Windows that do not fit their axis, or a step of 0 between them.";
    WrittenTo "written_to" "A plan that has no result that could be written to a view.";

    ArrayShape "array_shape" "An array with a shape that does not match the first array.";
    Constant "constant" "A padding constant that is not a scalar.";
    Entries "entries" "An argument that does not have a number for each dimension.";
    NoArrays "no_arrays" "No arrays, so the result has no shape.";
    Padding "padding" "A padding that is longer than the mode allows.";
    Pieces "pieces" "More pieces than one call can join.";
    Shifts "shifts" "More or fewer shifts than axes.";
    SplitSizes "split_sizes" "Sizes of parts that do not add up to the size of the dimension.";

    ArrayShapes "array_shapes" "Arrays of an index expression that cannot be broadcast against each other.";
    OuterRank "outer_rank" "An array of an outer expression that does not have one dimension.";
    Position "position" "A position outside of its dimension.";
    Values "values" "An array of an index expression whose values do not fill its shape.";

    BatchDims "batch_dims" "A number of batch dimensions that the arrays or the axis do not allow.";
    BatchShape "batch_shape" "Batch dimensions of params and of indices that differ.";
    ElementsShape "elements_shape" "Indices of another rank than the array, or longer in a dimension other than the axis.";
    EmptyParams "empty_params" "Index tuples for params without elements.";
    IndexDepth "index_depth" "Index tuples with more integers than params has dimensions after the batch dimensions.";
    IndicesRank "indices_rank" "Indices of `gather_nd` that are a scalar.";
    ParamsRank "params_rank" "Params that are a scalar.";

    Condition "condition" "A condition that is not a vector, or is longer than the axis.";
    Count "count" "A plan that has no number of true elements, or has it as an output already.";
    MaskCapacity "mask_capacity" "More true elements than the capacity.";
    MaskCount "mask_count" "More or fewer rows of values than true elements.";
    MaskDtype "mask_dtype" "A mask that is not bool or u8.";
    MaskIndex "mask_index" "A type that does not hold all positions in a mask.";
    MaskScalar "mask_scalar" "A mask that is a scalar.";
    MaskShape "mask_shape" "A mask of other sizes than the dimensions that it selects from.";
    MaskValues "mask_values" "Values of another shape than the slices that they replace.";

    ConvertDtype "convert_dtype" "A type that elements are not converted from or to.";
    ConvertOperation "convert_operation" "A plan that is not a slice, a view, a gather or a crop, or that converts already.";
    ConvertPositions "convert_positions" "More or fewer entries than the axis has positions.";
    ConvertSource "convert_source" "A table for another element type than the source has.";
    ConvertTable "convert_table" "A table for elements of more than 8 bits.";

    CropBoxSize "crop_box_size" "Boxes that are longer than a dimension that they must fit in.";
    CropItems "crop_items" "More or fewer boxes than items, without box indices.";
    CropRank "crop_rank" "An array without a dimension for the items and for each size of the boxes.";
    CropShape "crop_shape" "`begins`, `box_indices`, `flips` or `patches` with a shape that does not fit the boxes, or one of them passed twice.";
    CropStrides "crop_strides" "More or fewer strides than sizes of the boxes.";

    EmptyOutput "empty_output" "Indices, updates or a destination without elements, unless indices and updates both have none.";
    Undefined "undefined" "A combination that is not defined for the element type.";
    UpdatesRank "updates_rank" "Indices or updates that are a scalar.";
    UpdatesShape "updates_shape" "Updates that do not have a slice for each index tuple.";

    DimensionNumbers "dimension_numbers" "Dimension numbers that break a constraint of StableHLO.";

    Channels "channels" "A choice of channels with one twice, or with one that the format does not have.";
    ChannelsOfSelection "channels_of_selection" "Channels that are chosen after the texels were sliced or transposed.";
    Format "format" "A format of texels that are not one, two or four numbers of one element type.";
    MipLevel "mip_level" "A mip level that the texture does not have.";
    Multisampled "multisampled" "A multisampled texture.";
    NotOnGl "not_on_gl" "A texture that wgpu on OpenGL does not copy, or copies wrongly.";
    OnCpu "on_cpu" "A texture with a backend or a tensor on the CPU.";
    TexelsConvert "texels_convert" "Texels with a conversion that the call cannot do.";
    TextureShape "texture_shape" "A tensor of another shape than the texels that it is written to.";
    Usage "usage" "A texture that was created without a usage that the copy needs.";
}
