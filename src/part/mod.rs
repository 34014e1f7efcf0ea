//! Parts of slices and gathers: finds the box of the source that a box of the result needs, and makes the plan between
//! the two boxes.

mod gather;
mod source_box;

use crate::prelude::*;
use crate::{Error, Plan, Values, View, cpu::Indices, error, moves::Move};
use core::ops::Range;

/// A part of a slice or a gather, as [`Plan::part`] returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Part {
    /// The smallest box of the source that contains all elements that the part reads: a range for each dimension. If
    /// the part reads nothing, all ranges are empty. A tuple of a gather that is out of range reads nothing, but if
    /// other tuples are valid, the box covers its position in the dimensions without indices, such as batch dimensions.
    pub source: Vec<Range<usize>>,
    /// The plan that makes the box of the result from the box of the source.
    pub plan: Plan,
    /// The index tuples of a gather, for [`Plan::run_cpu`]. Indices count from the beginning of the box of the
    /// source. All indices of a tuple that is out of range are -1. Empty for a slice.
    pub indices: Vec<i64>,
}

impl Plan {
    /// Returns the part of a slice, a view or a gather that makes a box of its result. The box is given as a range for
    /// each dimension. For a gather, `indices` are the indices in the box that [`Plan::part_of_indices`] returns, in
    /// row-major order. These indices determine the box of `params` that is read.
    ///
    /// The box of the source is as small as possible. So an array that does not fit in memory, such as an array in a
    /// store of chunks, can be sliced box by box, in any order and on several machines.
    ///
    /// ```
    /// use wgslice::{slice, DType, Plan};
    ///
    /// // Rows 10 to 20 and the first 5 columns of x[::2, ::-1]. x has shape [100, 100].
    /// let plan = Plan::slice(&[100, 100], &slice![..; 2, ..; -1], DType::U8)?;
    /// let part = plan.part(&[10..20, 0..5], None)?;
    /// assert_eq!(part.source, [20..39, 95..100]);
    /// assert_eq!(part.plan.shape(), [10, 5]);
    ///
    /// // The bytes of x[20:39, 95:100]; element (i, j) of x is i + j.
    /// let bytes: Vec<u8> = (20..39).flat_map(|i| (95..100).map(move |j| i + j)).collect();
    /// let mut result = [0u8; 50];
    /// part.plan.run_cpu(&[(&bytes).into()], &mut [(&mut result).into()])?;
    /// assert_eq!(result[..6], [119, 118, 117, 116, 115, 121]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// ```
    /// use wgslice::{options::GatherOptions, DType, Plan};
    ///
    /// // Rows 700, 650 and 2000 of an array of shape [1000, 100]. Row 2000 does not exist.
    /// let plan = Plan::gather(&[1000, 100], &[3], GatherOptions::default(), DType::U8)?;
    /// let result = [0..3, 20..30];
    /// assert_eq!(plan.part_of_indices(&result)?, [0..3]);
    /// let part = plan.part(&result, Some((&[700, 650, 2000]).into()))?;
    /// assert_eq!(part.source, [650..701, 20..30]);
    /// assert_eq!(part.indices, [50, 0, -1]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] if the ranges are not in the result, or for another operation, such as a crop, or for a
    /// gather without `indices`; [`Error::Length`] if `indices` has more or fewer integers than their box;
    /// [`Error::InvalidIndices`] if a tuple is out of range and the policy is
    /// [`OutOfRange::Error`](crate::options::OutOfRange::Error). This error has the tuple's position in the whole index
    /// tensor.
    pub fn part(
        &self,
        result: &[Range<usize>],
        indices: Option<Values<'_>>,
    ) -> Result<Part, Error> {
        let only_move = self
            .single_move()
            .ok_or_else(|| error::view::no_parts(self.name()))?;
        let Some(indices) = indices.filter(|_| only_move.tuples().is_some()) else {
            return only_move.part(result, None);
        };
        let index_type = only_move.index_type_of(indices.dtype(), "indices")?;
        indices.with_indices(index_type, |indices| only_move.part(result, Some(indices)))
    }
}

impl Plan {
    /// Returns the box of the index tensor that a box of a gather's result needs: a range for each dimension of
    /// `indices`.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] if the ranges are not in the result, or for a plan that is not a gather, such as a crop.
    pub fn part_of_indices(&self, result: &[Range<usize>]) -> Result<Vec<Range<usize>>, Error> {
        let only_move = self
            .single_move()
            .ok_or_else(|| error::view::no_parts(self.name()))?;
        only_move.part_of_indices(result)
    }
}

impl Move {
    pub(crate) fn part(
        &self,
        result: &[Range<usize>],
        indices: Option<Indices<'_>>,
    ) -> Result<Part, Error> {
        self.check_box(result)?;
        match indices {
            Some(indices) if !self.is_slice() => return self.part_of_gather(result, indices),
            None if !self.is_slice() => return Err(self.no_parts()),
            _ => {}
        }
        let dims = self.result_dims();
        let strides: Vec<_> = dims.iter().map(|dim| dim.from).collect();
        let source_box = self.source_box(&strides, result);
        let view = View {
            source: source_box.box_extents(),
            offset: source_box.offset(),
            shape: result.iter().map(Range::len).collect(),
            strides: source_box.strides(strides.len()),
        };
        Ok(Part {
            source: source_box.ranges,
            plan: Plan::from_move(Self::from_view(view, self.dtype)),
            indices: Vec::new(),
        })
    }

    fn check_box(&self, result: &[Range<usize>]) -> Result<(), Error> {
        let is_within =
            |(range, &size): (&Range<usize>, &usize)| range.start <= range.end && range.end <= size;
        if result.len() == self.shape.len() && result.iter().zip(&self.shape).all(is_within) {
            return Ok(());
        }
        Err(error::view::outside_box(result, &self.shape))
    }

    fn no_parts(&self) -> Error {
        error::view::no_parts(self.name())
    }
}
