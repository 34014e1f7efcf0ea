//! `slice`: a block given by where it begins and how large it is, TensorFlow's `tf.slice`.
//!
//! A way to say what the view of a strided_slice is, with stricter rules: nothing is cut to fit, and
//! but for the size -1 nothing counts from the end.

use crate::{DType, Error, Plan, SpecError, View};

/// The size that reaches to the end of a dimension.
const REST: i64 = -1;

impl View {
    /// The block that begins at `begin` and has `size`, one entry for each dimension. A size of -1
    /// reaches to the end of its dimension.
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
    /// [`SpecError::SliceVectors`], [`SpecError::SliceBegin`] or [`SpecError::SliceSize`], the same
    /// that TensorFlow raises first.
    pub fn slice(&self, begin: &[i64], size: &[i64]) -> Result<Self, Error> {
        let rank = self.shape.len();
        if begin.len() != rank || size.len() != rank {
            return Err(SpecError::SliceVectors {
                begin: begin.len(),
                size: size.len(),
                rank,
            }
            .into());
        }
        let mut blocks = Vec::with_capacity(rank);
        for (dimension, (&begin, &size)) in begin.iter().zip(size).enumerate() {
            blocks.push(block(dimension, self.shape[dimension], begin, size)?);
        }
        Ok(self.blocks(&blocks))
    }
}

impl Plan {
    /// Plans `tf.slice`: the block of an input of this shape that begins at `begin` and has `size`, as
    /// in [`View::slice`].
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
    /// As [`View::slice`]; [`Error::ShapeTooLarge`].
    pub fn slice(
        shape: &[usize],
        begin: &[i64],
        size: &[i64],
        dtype: DType,
    ) -> Result<Self, Error> {
        Ok(View::of(shape)?.slice(begin, size)?.plan(dtype))
    }
}

/// The positions of one dimension: the first, and how many.
fn block(
    dimension: usize,
    count: usize,
    begin: i64,
    size: i64,
) -> Result<(usize, usize), SpecError> {
    let error = SpecError::SliceBegin {
        dimension,
        begin,
        count,
    };
    let first = usize::try_from(begin)
        .ok()
        .filter(|&first| first <= count)
        .ok_or(error)?;
    let rest = count - first;
    let taken = match size {
        REST => Some(rest),
        _ => usize::try_from(size).ok().filter(|&size| size <= rest),
    };
    match taken {
        Some(taken) => Ok((first, taken)),
        // TensorFlow finds a dimension without elements to begin wrongly, whatever it is.
        None if count == 0 => Err(SpecError::SliceBegin {
            dimension,
            begin,
            count,
        }),
        None => Err(SpecError::SliceSize {
            dimension,
            begin,
            size,
            count,
        }),
    }
}
