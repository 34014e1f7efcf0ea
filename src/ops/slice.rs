//! `slice`: a block given by its first position and its size, TensorFlow's `tf.slice`.
//!
//! The rules are stricter than for strided_slice: nothing is clamped, a negative begin is an error, and the only
//! negative size is -1, which stands for the rest of the dimension. A valid block becomes a [`SliceSpec`], so it needs
//! neither its own walk nor its own shader.

use crate::{Error, SliceSpec, error, spec::SliceItem};

/// The size that means all positions from `begin` to the end of the dimension, as in `tf.slice`.
const ALL_REMAINING: i64 = -1;

impl SliceSpec {
    /// Returns the slice that selects the block of `size` at position `begin` of an array of this shape. `begin` and
    /// `size` have one entry for each dimension. If an entry of `size` is -1, the block extends to the end of that
    /// dimension.
    ///
    /// ```
    /// use wgslice::{Backend, SliceSpec};
    ///
    /// let block = SliceSpec::block(&[2, 3], &[0, 1], &[-1, 2])?;
    /// assert_eq!(block.to_string(), "0:2, 1:3");
    /// let array = Backend::cpu().slice((&[1, 2, 3, 4, 5, 6], &[2, 3]), &block)?;
    /// assert_eq!((array.shape, array.data), (vec![2, 2], vec![2, 3, 5, 6]));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]: the error that TensorFlow raises first.
    pub fn block(shape: &[usize], begin: &[i64], size: &[i64]) -> Result<Self, Error> {
        let rank = shape.len();
        if begin.len() != rank || size.len() != rank {
            return Err(error::spec::slice_vectors(begin.len(), size.len(), rank));
        }
        let dimensions = shape.iter().zip(begin.iter().zip(size)).enumerate();
        let items = dimensions.map(|(dimension, (&count, (&begin, &size)))| {
            let end = checked_end(dimension, count, begin, size)?;
            Ok(SliceItem::Range {
                begin: Some(begin),
                end: Some(end),
                stride: 1,
            })
        });
        items.collect()
    }
}

/// Checks a block of `size` at position `begin` of dimension number `dimension`, which has `element_count` elements.
/// Returns the position after the block.
fn checked_end(
    dimension: usize,
    element_count: usize,
    begin: i64,
    size: i64,
) -> Result<i64, Error> {
    // A number of elements that does not fit in an i64 becomes negative, so every block is out of range.
    let signed_count = i64::try_from(element_count).unwrap_or(i64::MIN);
    let remaining_count = signed_count.saturating_sub(begin);
    let is_begin_valid = (0..=signed_count).contains(&begin);
    let is_within = size == ALL_REMAINING || (0..=remaining_count).contains(&size);
    // In a dimension without elements, TensorFlow reports a wrong `size` as a wrong `begin`.
    if !is_begin_valid || !is_within && element_count == 0 {
        return Err(error::spec::slice_begin(dimension, begin, element_count));
    }
    if !is_within {
        return Err(error::spec::slice_size(
            dimension,
            begin,
            size,
            element_count,
        ));
    }
    Ok(begin
        + if size == ALL_REMAINING {
            remaining_count
        } else {
            size
        })
}
