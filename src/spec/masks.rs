//! Slices in TensorFlow's encoding: three vectors and five masks. No other file of this crate interprets these masks.
//!
//! Bit `i` of a mask applies to entry `i` of the vectors. If several bits are set for one entry, the first of ellipsis,
//! new axis and shrink axis wins. The begin and end bits have an effect only for a range. Bits beyond the vectors have
//! no effect, except that two ellipsis bits anywhere are an error.

use super::{SliceItem, SliceSpec};
use crate::prelude::*;
use crate::{Error, error};

/// TensorFlow rejects vectors of this many entries or more, because its masks have 32 bits.
const ENTRY_LIMIT: usize = 32;

/// A slice in the encoding of TensorFlow's `StridedSlice`.
///
/// | TensorFlow | `TfStridedSlice` |
/// |---|---|
/// | `begin`, `end`, `strides` (int16, int32 or int64 tensors of rank 1) | `begin`, `end`, `strides` |
/// | `begin_mask` (Java `beginMask`) | bit `i`: `begin[i]` is ignored; the range begins at the first position in the direction of the stride |
/// | `end_mask` (`endMask`) | bit `i`: `end[i]` is ignored; the range ends after the last position |
/// | `ellipsis_mask` (`ellipsisMask`) | bit `i`: entry `i` is `...` |
/// | `new_axis_mask` (`newAxisMask`) | bit `i`: entry `i` is `None` |
/// | `shrink_axis_mask` (`shrinkAxisMask`) | bit `i`: entry `i` is the single index `begin[i]` |
///
/// ```
/// use wgslice::{spec::TfStridedSlice, SliceSpec};
///
/// // x[:2, ::-1]
/// let encoded = TfStridedSlice {
///     begin: vec![0, 0],
///     end: vec![2, 0],
///     strides: vec![1, -1],
///     begin_mask: 0b11,
///     end_mask: 0b10,
///     ..TfStridedSlice::default()
/// };
/// let spec = SliceSpec::try_from(&encoded)?;
/// assert_eq!(spec.to_string(), ":2, ::-1");
/// assert_eq!(spec.view(&[3, 4])?.shape(), [2, 4]);
/// # Ok::<(), wgslice::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TfStridedSlice {
    /// The first position of each range, or the position of a single index.
    pub begin: Vec<i64>,
    /// The end of each range, exclusive.
    pub end: Vec<i64>,
    /// The stride of each range. A single index must have a positive stride, which has no effect.
    pub strides: Vec<i64>,
    /// Bit `i` is set if `begin[i]` is ignored.
    pub begin_mask: i32,
    /// Bit `i` is set if `end[i]` is ignored.
    pub end_mask: i32,
    /// Bit `i` is set if entry `i` is the ellipsis. At most one bit may be set.
    pub ellipsis_mask: i32,
    /// Bit `i` is set if entry `i` is a new axis.
    pub new_axis_mask: i32,
    /// Bit `i` is set if entry `i` is a single index.
    pub shrink_axis_mask: i32,
}

impl TfStridedSlice {
    fn item(&self, entry: usize) -> SliceItem {
        let has_bit = |mask: i32| mask >> entry & 1 == 1;
        let stride = self.strides[entry];
        if has_bit(self.ellipsis_mask) {
            SliceItem::Ellipsis
        } else if has_bit(self.new_axis_mask) {
            SliceItem::NewAxis
        } else if has_bit(self.shrink_axis_mask) {
            let index = self.begin[entry];
            // All positive strides of a single index have the same meaning and become 1. Other strides stay unchanged,
            // so that applying the slice to a shape fails.
            let stride = stride.min(1);
            SliceItem::Index { index, stride }
        } else {
            SliceItem::Range {
                begin: (!has_bit(self.begin_mask)).then_some(self.begin[entry]),
                end: (!has_bit(self.end_mask)).then_some(self.end[entry]),
                stride,
            }
        }
    }
}

impl TryFrom<&TfStridedSlice> for SliceSpec {
    type Error = Error;

    fn try_from(encoded: &TfStridedSlice) -> Result<Self, Error> {
        let [begin_count, end_count, stride_count] =
            [&encoded.begin, &encoded.end, &encoded.strides].map(|vector| vector.len());
        if begin_count != end_count || begin_count != stride_count || begin_count >= ENTRY_LIMIT {
            return Err(error::spec::wrong_vector_lengths(
                begin_count,
                end_count,
                stride_count,
            ));
        }
        if encoded.ellipsis_mask.count_ones() > 1 {
            return Err(error::spec::multiple_ellipses());
        }
        Ok((0..begin_count).map(|entry| encoded.item(entry)).collect())
    }
}

/// Encodes like TensorFlow's `Tensor.__getitem__`: ignored entries of `begin` and `end` are 0, ignored strides are 1,
/// and the end of a single index is the next position.
impl TryFrom<&SliceSpec> for TfStridedSlice {
    type Error = Error;

    fn try_from(spec: &SliceSpec) -> Result<Self, Error> {
        let entry_count = spec.items().len();
        if entry_count >= ENTRY_LIMIT {
            return Err(error::spec::wrong_vector_lengths(
                entry_count,
                entry_count,
                entry_count,
            ));
        }
        let mut tf_slice = Self::default();
        for (entry, item) in spec.items().iter().enumerate() {
            let bit = 1 << entry;
            let (mut begin, mut end, mut stride) = (0, 0, 1);
            match *item {
                SliceItem::Ellipsis => tf_slice.ellipsis_mask |= bit,
                SliceItem::NewAxis => tf_slice.new_axis_mask |= bit,
                SliceItem::Index { index, stride: s } => {
                    tf_slice.shrink_axis_mask |= bit;
                    (begin, end, stride) = (index, index.saturating_add(1), s);
                }
                SliceItem::Range {
                    begin: b,
                    end: e,
                    stride: s,
                } => {
                    tf_slice.begin_mask |= if b.is_none() { bit } else { 0 };
                    tf_slice.end_mask |= if e.is_none() { bit } else { 0 };
                    (begin, end, stride) = (b.unwrap_or(0), e.unwrap_or(0), s);
                }
            }
            tf_slice.begin.push(begin);
            tf_slice.end.push(end);
            tf_slice.strides.push(stride);
        }
        if tf_slice.ellipsis_mask.count_ones() > 1 {
            return Err(error::spec::multiple_ellipses());
        }
        Ok(tf_slice)
    }
}
