//! Slices in ONNX's encoding: starts, ends and steps for given axes of a known shape.

use super::{SliceItem, SliceSpec};
use crate::prelude::*;
use crate::{Error, error, shape};

impl SliceSpec {
    /// Reads a slice of an array of this shape in the encoding of ONNX's `Slice`. Without `axes`, entry `i` is for
    /// dimension `i`. Without `steps`, all steps are 1.
    ///
    /// ```
    /// use wgslice::{Backend, SliceSpec};
    ///
    /// let data = [1, 2, 3, 4, 5, 6, 7, 8];
    /// let spec = SliceSpec::onnx(&[2, 4], &[0, 1], &[-1, 1000], None, None)?;
    /// assert_eq!(Backend::cpu().slice((&data, &[2, 4]), &spec)?.data, [2, 3, 4]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// ONNX differs from Python and TensorFlow in one case. With a negative step, a start before the beginning of the
    /// dimension becomes position 0, whereas Python and TensorFlow select nothing:
    ///
    /// ```
    /// use wgslice::SliceSpec;
    ///
    /// let onnx = SliceSpec::onnx(&[5], &[-20], &[-30], None, Some(&[-1]))?;
    /// let python: SliceSpec = "-20:-30:-1".parse()?;
    /// assert_eq!(onnx.view(&[5])?.shape(), [1]);
    /// assert_eq!(python.view(&[5])?.shape(), [0]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] if the vectors differ in length, if there are more entries than dimensions and no `axes`, if
    /// an axis does not exist or occurs twice, or if a step is 0.
    pub fn onnx(
        shape: &[usize],
        starts: &[i64],
        ends: &[i64],
        axes: Option<&[i64]>,
        steps: Option<&[i64]>,
    ) -> Result<Self, Error> {
        let (rank, entry_count) = (shape.len(), starts.len());
        let lengths = [
            entry_count,
            ends.len(),
            axes.map_or(entry_count, <[i64]>::len),
            steps.map_or(entry_count, <[i64]>::len),
        ];
        if lengths != [entry_count; 4] {
            let [start_count, end_count, axis_count, step_count] = lengths;
            return Err(error::spec::wrong_onnx_lengths(
                start_count,
                end_count,
                axis_count,
                step_count,
            ));
        }
        if axes.is_none() && entry_count > rank {
            return Err(error::spec::too_many_specs(entry_count, rank));
        }
        let mut items = vec![None; rank];
        for entry in 0..entry_count {
            let dimension = match axes {
                Some(axes) => nonnegative_axis(axes[entry], rank)?,
                None => entry,
            };
            let stride = steps.map_or(1, |steps| steps[entry]);
            if stride == 0 {
                return Err(error::spec::stride_zero(dimension));
            }
            // For a size above i64::MAX any value is fine, because applying the slice to such a shape fails.
            let size = i64::try_from(shape[dimension]).unwrap_or(i64::MAX);
            let starts_before_dimension = stride < 0 && starts[entry] < -size;
            let item = SliceItem::Range {
                begin: Some(if starts_before_dimension {
                    0
                } else {
                    starts[entry]
                }),
                end: Some(ends[entry]),
                stride,
            };
            if items[dimension].replace(item).is_some() {
                return Err(error::spec::axis_twice(dimension));
            }
        }
        let item_or_full = |item: Option<SliceItem>| item.unwrap_or(SliceItem::FULL);
        Ok(items.into_iter().map(item_or_full).collect())
    }
}

/// Returns `axis` as one of `rank` dimensions, counted from 0. A negative `axis` counts from the end. Fails if there is
/// no such dimension.
fn nonnegative_axis(axis: i64, rank: usize) -> Result<usize, Error> {
    let native_axis = isize::try_from(axis).ok();
    native_axis
        .and_then(|axis| shape::axis(axis, rank))
        .ok_or_else(|| error::spec::axis_out_of_range(axis, rank))
}
