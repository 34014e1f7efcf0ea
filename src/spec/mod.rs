//! The one form that every slice takes, whichever way it comes in.
//!
//! A [`SliceSpec`] is a list of [`SliceItem`]s, still without a shape: what stands between the
//! brackets of `x[…]` in Python. These doors lead to it, and some back out:
//!
//! | door | in | out |
//! |---|---|---|
//! | TensorFlow's vectors and masks ([`masks`]) | [`StridedSlice`](crate::StridedSlice) `.try_into()` | `StridedSlice::try_from(&spec)` |
//! | Python text ([`text`]) | `"1, 2:4, ..., ::-1".parse()` | `spec.to_string()` |
//! | Rust ([`macros`]) | [`slice!`](crate::slice!)`[1, 2..4, Ellipsis, ..; -1]` | |
//! | ONNX's starts, ends, axes and steps ([`onnx`]) | [`SliceSpec::onnx`] | |
//! | ndarray's `s![]`, with the feature `ndarray` | `s![1, 2..4, ..;-1].into()` | |
//!
//! Against a shape it becomes a [`View`](crate::View).

mod macros;
mod masks;
mod onnx;
mod text;

pub use macros::{Ellipsis, NewAxis};
pub use masks::StridedSlice;

/// One entry of a slice: what happens to one dimension, or between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SliceItem {
    /// A single index: the dimension disappears. Negative counts from the end.
    Index {
        /// The index.
        index: i64,
        /// TensorFlow lets a single index carry a stride and only demands that it is positive; it
        /// has no other effect. 1 everywhere else.
        stride: i64,
    },
    /// `begin:end:stride` with Python's meaning: `None` is the far end in the direction of the
    /// stride, negative values count from the end once and are then clamped.
    Range {
        /// First position, inclusive.
        begin: Option<i64>,
        /// Last position, exclusive.
        end: Option<i64>,
        /// Distance from one position to the next. Not 0.
        stride: i64,
    },
    /// All dimensions that no other item takes, whole. At most one; where there is none it stands
    /// at the end.
    Ellipsis,
    /// A new dimension of size 1.
    NewAxis,
}

impl SliceItem {
    /// The whole dimension: `:`.
    pub const FULL: Self = Self::Range {
        begin: None,
        end: None,
        stride: 1,
    };

    /// The same item with another stride. An ellipsis and a new axis have none and stay as they
    /// are.
    #[must_use]
    pub fn with_stride(self, stride: i64) -> Self {
        match self {
            Self::Index { index, .. } => Self::Index { index, stride },
            Self::Range { begin, end, .. } => Self::Range { begin, end, stride },
            Self::Ellipsis | Self::NewAxis => self,
        }
    }

    /// Whether the item takes a dimension of the input.
    pub(crate) fn takes_dimension(&self) -> bool {
        matches!(self, Self::Index { .. } | Self::Range { .. })
    }
}

/// A slice, not yet applied to a shape.
///
/// ```
/// use wgslice::{slice, Ellipsis, NewAxis, SliceSpec, StridedSlice};
///
/// let text: SliceSpec = "1, 2:4, None, ..., :-3:-1, :".parse()?;
/// let rust = slice![1, 2..4, NewAxis, Ellipsis, ..-3; -1, ..];
/// assert_eq!(text, rust);
///
/// let encoded = StridedSlice::try_from(&text)?;
/// assert_eq!(encoded.begin_mask, 48);
/// assert_eq!(encoded.end_mask, 32);
/// assert_eq!(encoded.ellipsis_mask, 8);
/// assert_eq!(encoded.new_axis_mask, 4);
/// assert_eq!(encoded.shrink_axis_mask, 1);
/// assert_eq!(SliceSpec::try_from(&encoded)?, text);
/// assert_eq!(text.to_string(), "1, 2:4, None, ..., :-3:-1, :");
/// # Ok::<(), wgslice::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SliceSpec {
    items: Vec<SliceItem>,
}

impl SliceSpec {
    /// A slice of these items.
    pub fn new(items: impl Into<Vec<SliceItem>>) -> Self {
        Self {
            items: items.into(),
        }
    }

    /// The items, in order.
    pub fn items(&self) -> &[SliceItem] {
        &self.items
    }

    /// Adds an item, as in `SliceSpec::default().with(1).with(2..4).with(Ellipsis)`.
    #[must_use]
    pub fn with(mut self, item: impl Into<SliceItem>) -> Self {
        self.items.push(item.into());
        self
    }
}

impl FromIterator<SliceItem> for SliceSpec {
    fn from_iter<I: IntoIterator<Item = SliceItem>>(items: I) -> Self {
        Self::new(Vec::from_iter(items))
    }
}
