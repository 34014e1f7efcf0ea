//! [`ArgumentError`], which hides how many ways there are to be wrong. The other files of this folder have a function for
//! each, by the operations that it concerns.

use super::Error;
use crate::prelude::*;

/// Arguments that contradict each other, or that do not fit the shape. The message names the argument, its value, the
/// rule and the way out, and [`ArgumentError::kind`] is for programs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ArgumentError {
    kind: &'static str,
    message: String,
}

impl ArgumentError {
    /// A name for the rule that is broken. It does not change when the message does.
    ///
    /// | of | names |
    /// |---|---|
    /// | all | `arguments`, `dest_mismatch`, `device_mismatch`, `dtype`, `dtype_mismatch`, `index_dtype`, `steps`, `unused_option` |
    /// | slices | `axis`, `axis_twice`, `dy_shape`, `mask`, `multiple_ellipses`, `onnx_lengths`, `scalar_input`, `shrink_out_of_range`, `shrink_stride`, `slice_begin`, `slice_size`, `slice_vectors`, `spec_vectors`, `stride_zero`, `too_many_specs` |
    /// | views and parts | `axis`, `box`, `broadcast`, `dest_shape`, `in_place`, `into_view`, `no_parts`, `outside`, `permutation`, `plan_argument`, `repeats`, `reshape`, `reshape_strides`, `strides`, `undecided`, `windows` |
    /// | concat, stack, split, pad, roll, tile, repeat | `array_shape`, `axis`, `constant`, `entries`, `no_arrays`, `padding`, `pieces`, `shifts`, `split_sizes` |
    /// | index expressions with arrays | `array_shapes`, `mask_shape`, `outer_rank`, `position`, `values` |
    /// | gathers | `axis`, `batch_dims`, `batch_shape`, `elements_shape`, `empty_params`, `index_depth`, `indices_rank`, `params_rank` |
    /// | masks | `axis`, `broadcast`, `condition`, `count`, `mask_capacity`, `mask_count`, `mask_dtype`, `mask_index`, `mask_scalar`, `mask_shape`, `mask_values` |
    /// | conversions | `axis`, `convert_dtype`, `convert_operation`, `convert_positions`, `convert_source`, `convert_table` |
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
        self.kind
    }
}

/// The error of a kind, with a message.
pub(super) fn of_kind(kind: &'static str, message: String) -> Error {
    Error::Argument(ArgumentError { kind, message })
}

/// The error of a kind, with a message that is given as to `format!`.
macro_rules! argument {
    ($kind:literal, $($message:tt)*) => {
        $crate::error::argument::of_kind($kind, alloc::format!($($message)*))
    };
}
pub(super) use argument;
