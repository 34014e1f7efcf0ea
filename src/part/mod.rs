//! Parts of slices and gathers: which box of the source a box of the result needs, and the plan that makes the box of
//! the result from the box of the source.

mod gather;
mod source_box;

use crate::{Error, Plan, View, error::ViewError};
use std::ops::Range;

/// A part of a slice or a gather, as [`Plan::part`] and [`Plan::part_with`] return it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Part {
    /// The smallest box of the source that contains all elements that the part reads: a range for each dimension. If
    /// the part reads nothing, all ranges are empty. For a gather with tuples out of range, the box also covers what
    /// these tuples would read in the dimensions without indices.
    pub source: Vec<Range<usize>>,
    /// The plan that makes the box of the result from the box of the source.
    pub plan: Plan,
    /// The index tuples of a gather, for [`Plan::run_cpu`]. Indices count from the beginning of the box of the
    /// source. All indices of a tuple that is out of range are -1. Empty for a slice.
    pub indices: Vec<i64>,
}

impl Plan {
    /// Returns the part of a slice or a view that makes a box of its result. The box is given as a range for each
    /// dimension.
    ///
    /// The box of the source is the smallest that suffices. So an array that does not fit in memory, such as one in a
    /// store of chunks, can be sliced box by box, in any order and on several machines.
    ///
    /// ```
    /// use wgslice::{slice, DType, Plan};
    ///
    /// // x[::2, ::-1] of [100, 100], and of that rows 10 to 20 of the first 5 columns.
    /// let plan = Plan::slice(&[100, 100], &slice![..; 2, ..; -1], DType::U8)?;
    /// let part = plan.part(&[10..20, 0..5])?;
    /// assert_eq!(part.source, [20..39, 95..100]);
    /// assert_eq!(part.plan.shape(), [10, 5]);
    ///
    /// // The bytes of x[20:39, 95:100], in which element (i, j) is i + j.
    /// let bytes: Vec<u8> = (20..39).flat_map(|i| (95..100).map(move |j| i + j)).collect();
    /// let mut result = [0; 50];
    /// part.plan.run_cpu_bytes(&bytes, None, &mut result)?;
    /// assert_eq!(result[..6], [119, 118, 117, 116, 115, 121]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] if the ranges do not lie in the result, or for a plan that is neither a
    /// slice nor a view.
    pub fn part(&self, result: &[Range<usize>]) -> Result<Part, Error> {
        self.check_box(result)?;
        if !self.is_slice() {
            return Err(self.no_parts());
        }
        let dims = self.result_dims();
        let strides: Vec<_> = dims.iter().map(|dim| dim.from).collect();
        let found = self.source_box(&strides, result);
        let view = View {
            source: found.extents(),
            offset: found.offset(),
            shape: result.iter().map(Range::len).collect(),
            strides: found.strides(strides.len()),
        };
        Ok(Part {
            source: found.ranges,
            plan: Self::of_view(view, self.dtype),
            indices: Vec::new(),
        })
    }

    fn check_box(&self, result: &[Range<usize>]) -> Result<(), Error> {
        let within =
            |(range, &size): (&Range<usize>, &usize)| range.start <= range.end && range.end <= size;
        if result.len() == self.shape.len() && result.iter().zip(&self.shape).all(within) {
            return Ok(());
        }
        Err(ViewError::Box {
            ranges: result.to_vec(),
            shape: self.shape.clone(),
        }
        .into())
    }

    fn no_parts(&self) -> Error {
        ViewError::NoParts {
            operation: self.name(),
        }
        .into()
    }
}
