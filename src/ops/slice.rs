//! `slice`: a block given by where it begins and how large it is, TensorFlow's `tf.slice`.
//!
//! It is a strided_slice with stricter rules: nothing is cut to fit, and but for the size -1 nothing
//! counts from the end. So a block that passes them becomes a [`SliceSpec`], and has no map or shader of
//! its own.

use crate::{DType, Error, Plan, SliceItem, SliceSpec, SpecError, View};

/// The size that reaches to the end of a dimension.
const REST: i64 = -1;

impl SliceSpec {
    /// The slice that takes the block that begins at `begin` and has `size`, of an array of this shape.
    /// There is one entry for each dimension; a size of -1 reaches to the end of its dimension.
    ///
    /// ```
    /// use wgslice::SliceSpec;
    ///
    /// let block = SliceSpec::block(&[4, 6], &[1, 2], &[2, -1])?;
    /// assert_eq!(block.to_string(), "1:3, 2:6");
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SpecError::SliceVectors`], [`SpecError::SliceBegin`] or [`SpecError::SliceSize`], the same
    /// that TensorFlow raises first.
    pub fn block(shape: &[usize], begin: &[i64], size: &[i64]) -> Result<Self, Error> {
        let rank = shape.len();
        if begin.len() != rank || size.len() != rank {
            return Err(SpecError::SliceVectors {
                begin: begin.len(),
                size: size.len(),
                rank,
            }
            .into());
        }
        let dimensions = shape.iter().zip(begin.iter().zip(size)).enumerate();
        let items = dimensions.map(|(dimension, (&count, (&begin, &size)))| {
            let end = end(dimension, count, begin, size)?;
            Ok(SliceItem::Range {
                begin: Some(begin),
                end: Some(end),
                stride: 1,
            })
        });
        items.collect()
    }
}

impl View {
    /// The block of this view that begins at `begin` and has `size`, as in [`SliceSpec::block`].
    ///
    /// ```
    /// use wgslice::View;
    ///
    /// let block = View::of(&[4, 6])?.slice(&[1, 2], &[2, -1])?;
    /// assert_eq!((block.offset(), block.shape()), (8, &[2, 4][..]));
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`SliceSpec::block`].
    pub fn slice(&self, begin: &[i64], size: &[i64]) -> Result<Self, Error> {
        self.strided_slice(&SliceSpec::block(&self.shape, begin, size)?)
    }
}

impl Plan {
    /// Plans `tf.slice`: the block of an input of this shape that begins at `begin` and has `size`, as
    /// in [`SliceSpec::block`].
    ///
    /// ```
    /// use wgslice::{DType, Plan};
    ///
    /// let plan = Plan::slice(&[5], &[1], &[3], DType::U8)?;
    /// let mut block = [0; 3];
    /// plan.run(&[0, 1, 2, 3, 4], &mut block)?;
    /// assert_eq!(block, [1, 2, 3]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`SliceSpec::block`]; [`Error::ShapeTooLarge`].
    pub fn slice(
        shape: &[usize],
        begin: &[i64],
        size: &[i64],
        dtype: DType,
    ) -> Result<Self, Error> {
        Ok(Self::of_view(
            View::of(shape)?.slice(begin, size)?,
            dtype.size(),
        ))
    }
}

/// Where a block ends in one dimension of `count` elements.
fn end(dimension: usize, count: usize, begin: i64, size: i64) -> Result<i64, SpecError> {
    // Negative where it cannot be had, which is then out of every range.
    let elements = i64::try_from(count).unwrap_or(i64::MIN);
    let rest = elements.saturating_sub(begin);
    let begins = (0..=elements).contains(&begin);
    let ends = size == REST || (0..=rest).contains(&size);
    // Of a dimension without elements TensorFlow says that the block begins wrongly.
    if !begins || !ends && count == 0 {
        return Err(SpecError::SliceBegin {
            dimension,
            begin,
            count,
        });
    }
    if !ends {
        return Err(SpecError::SliceSize {
            dimension,
            begin,
            size,
            count,
        });
    }
    Ok(begin + if size == REST { rest } else { size })
}
