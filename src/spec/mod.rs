//! [`SliceSpec`], the common form of all notations for slices.
//!
//! A [`SliceSpec`] is a list of [`SliceItem`]s, not yet applied to a shape: the content of the brackets of Python's
//! `x[…]`.
//!
//! | notation | to a `SliceSpec` | from a `SliceSpec` |
//! |---|---|---|
//! | TensorFlow's vectors and masks | `SliceSpec::try_from(&encoded)` of a [`TfStridedSlice`] | `TfStridedSlice::try_from(&spec)` |
//! | Python text | `"1, 2:4, ..., ::-1".parse()` | `spec.to_string()` |
//! | Rust | [`slice!`](crate::slice!)`[1, 2..4, Ellipsis, ..; -1]` | |
//! | ONNX's starts, ends, axes and steps | [`SliceSpec::onnx`] | |
//! | ndarray's `s![]`, with the feature `ndarray` | `s![1, 2..4, ..;-1].into()` | |
//!
//! An [`IndexSpec`] is a slice with some entries that are arrays of positions or masks.
//!
//! Applied to a shape, a [`SliceSpec`] becomes a [`View`](crate::View).

mod arrays;
pub(crate) mod items;
mod macros;
mod masks;
mod onnx;
mod text;

pub use arrays::{IndexItem, IndexSpec};
pub use masks::TfStridedSlice;

use items::SliceSpec;

/// One entry of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SliceItem {
    /// A single index: the dimension is dropped. A negative index counts from the end.
    Index {
        /// The position: 0 is the first and -1 the last of the dimension.
        index: i64,
        /// Has no effect if it is positive. Otherwise applying the slice to a shape is an error.
        stride: i64,
    },
    /// `begin:end:stride` with Python's meaning: negative bounds count from the end, and bounds that are still outside
    /// the dimension are clamped to it.
    Range {
        /// The first position. `None` begins at the first position in the direction of the stride.
        begin: Option<i64>,
        /// The end, exclusive. `None` includes the last position in the direction of the stride.
        end: Option<i64>,
        /// The distance from one position to the next. Negative strides walk down. Applying a slice with stride 0 is an
        /// error.
        stride: i64,
    },
    /// Selects all positions of each dimension that no other item indexes. A slice has at most one ellipsis. Without an
    /// ellipsis, the dimensions after the last item stay whole.
    Ellipsis,
    /// A new dimension of size 1.
    NewAxis,
}

impl SliceItem {
    /// The whole dimension: `:`.
    pub(crate) const FULL: Self = Self::Range {
        begin: None,
        end: None,
        stride: 1,
    };

    /// Returns the same item with another stride. An ellipsis or a new axis has no stride and is returned unchanged.
    #[must_use]
    pub fn with_stride(self, stride: i64) -> Self {
        match self {
            Self::Index { index, .. } => Self::Index { index, stride },
            Self::Range { begin, end, .. } => Self::Range { begin, end, stride },
            Self::Ellipsis | Self::NewAxis => self,
        }
    }

    /// Returns whether the item indexes a dimension of the input.
    pub(crate) fn takes_dimension(&self) -> bool {
        matches!(self, Self::Index { .. } | Self::Range { .. })
    }
}
