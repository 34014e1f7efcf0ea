//! Views from another library's shape, strides and offset; windows; reshaping; and the search for elements that a view
//! selects twice.

use super::View;
use crate::prelude::*;
use crate::{Error, error, shape};
use core::cmp::Reverse;

/// The maximum number of tries in the search for an element that a view selects twice. A try is a combination, possibly
/// partial, of steps along the dimensions.
const MAX_TRIES: usize = 1 << 18;

/// The answer to whether a view selects an element twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeats {
    Never,
    Somewhere,
    /// The search ended without an answer after [`MAX_TRIES`] tries.
    Undecided,
}

impl View {
    /// Returns the view with this shape that begins at element `offset` of memory with `elements` elements. Neighbours
    /// along dimension `d` are `strides[d]` elements apart. Strides can be negative or 0. An element can be selected
    /// several times, unless the view is a destination.
    ///
    /// Other libraries have these names for the numbers:
    ///
    /// | library | shape | strides | offset | elements |
    /// |---|---|---|---|---|
    /// | DLPack | `shape` | `strides`, or null for row-major order | `byte_offset / itemsize` | number in the allocation |
    /// | candle's `Layout` | `dims()` | `stride()` | `start_offset()` | number in the storage |
    /// | NumPy's `as_strided` | `shape` | `strides / itemsize` | position of the first element in the base | `base.size` |
    /// | PyTorch | `size()` | `stride()` | `storage_offset()` | `untyped_storage().nbytes() / itemsize` |
    ///
    /// The view's source is the memory, as an array of one dimension. A plan that is made from the view takes the
    /// whole memory.
    ///
    /// ```
    /// use wgslice::{DType, Plan, View};
    ///
    /// // The columns of a table, the last column first. The table has 2 rows with a pitch of 4.
    /// let view = View::from_strides(&[3, 2], &[-1, 4], 2, 7)?;
    /// let (memory, mut columns) = ([1u8, 2, 3, 0, 4, 5, 6], [0u8; 6]);
    /// Plan::contiguous(&view, DType::U8)?.run_cpu(&[(&memory).into()], &mut [(&mut columns).into()])?;
    /// assert_eq!(columns, [3, 6, 2, 5, 1, 4]);
    ///
    /// // Writes the columns back to their places.
    /// let mut copy = [0u8; 7];
    /// let write_back = Plan::contiguous(&[3, 2], DType::U8)?.written_to(&view)?;
    /// write_back.run_cpu(&[(&columns).into()], &mut [(&mut copy).into()])?;
    /// assert_eq!(copy, memory);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`Strides` if there are more or fewer strides than dimensions; `Outside` if the view
    /// extends beyond the memory); [`Error::ShapeTooLarge`].
    #[doc(alias = "as_strided")]
    pub fn from_strides(
        shape: &[usize],
        strides: &[isize],
        offset: usize,
        elements: usize,
    ) -> Result<Self, Error> {
        if shape.len() != strides.len() {
            return Err(error::view::strides(shape, strides));
        }
        shape::elements(&[elements])?;
        let is_empty = shape::elements(shape)? == 0;
        // The sum of all sizes is below 2^59, and strides are below 2^63, so no sum in this function overflows.
        let (mut low, mut high) = (offset as i128, offset as i128);
        for (&size, &stride) in shape.iter().zip(strides).filter(|dim| *dim.0 > 1) {
            let dim_reach = (size - 1) as i128 * stride as i128;
            low += dim_reach.min(0);
            high += dim_reach.max(0);
        }
        let is_within = match is_empty {
            true => offset <= elements,
            false => low >= 0 && high < elements as i128,
        };
        if !is_within {
            let bounds = (!is_empty).then_some([low, high]);
            return Err(error::view::outside(
                shape, strides, offset, elements, bounds,
            ));
        }
        let significant_stride =
            |(&size, &stride): (&usize, &isize)| if size > 1 { stride } else { 0 };
        let mut view = Self {
            source: vec![elements],
            offset,
            shape: shape.to_vec(),
            strides: shape.iter().zip(strides).map(significant_stride).collect(),
        };
        view.normalize();
        Ok(view)
    }

    /// Returns windows of `size` positions along an axis, as a new last dimension. Each window begins `step` positions
    /// after the previous window. This is PyTorch's `unfold` and, with a step of 1, NumPy's `sliding_window_view`.
    /// Dimension `axis` numbers the windows. Positions after the last whole window are left out.
    ///
    /// ```
    /// use wgslice::{Backend, DType, Plan, View};
    ///
    /// let windows = View::new(&[7])?.windows(0, 3, 2)?;
    /// assert_eq!((windows.shape(), windows.strides()), (&[3, 3][..], &[2, 1][..]));
    /// let plan = Plan::contiguous(windows, DType::I32)?;
    /// let (copied, _) = Backend::cpu().run::<i32>(&plan, &[(&[0, 1, 2, 3, 4, 5, 6]).into()])?;
    /// assert_eq!(copied.data, [0, 1, 2, 2, 3, 4, 4, 5, 6]);
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`Axis`; `Windows` if `size` or `step` is 0, or if `size` is larger than the
    /// axis); [`Error::ShapeTooLarge`].
    #[doc(alias("unfold", "sliding_window_view"))]
    pub fn windows(&self, axis: isize, size: usize, step: usize) -> Result<Self, Error> {
        let rank = self.shape.len();
        let d = shape::axis(axis, rank).ok_or_else(|| error::view::axis(axis, rank))?;
        let position_count = self.shape[d];
        if size == 0 || size > position_count || step == 0 {
            return Err(error::view::windows(
                size,
                step,
                axis,
                &self.shape,
                position_count,
            ));
        }
        let mut view = self.clone();
        let window_count = (position_count - size) / step + 1;
        // With one position the stride is unused, and the product could overflow, so it is 0.
        let stride_of = |dim_size: usize, times: usize| match dim_size {
            1 => 0,
            _ => self.strides[d] * times.cast_signed(),
        };
        view.shape[d] = window_count;
        view.strides[d] = stride_of(window_count, step);
        view.shape.push(size);
        view.strides.push(stride_of(size, 1));
        shape::elements(&view.shape)?;
        view.normalize();
        Ok(view)
    }

    /// Returns the same elements in the same order with another shape, without a copy, if strides can describe it.
    ///
    /// ```
    /// use wgslice::{slice, View};
    ///
    /// let x = View::new(&[4, 6])?;
    /// let halves = x.slice(&slice![.., ..; 2])?.reshape(&[2, 2, 3])?;
    /// assert_eq!(halves.strides(), [12, 6, 2]);
    /// assert!(x.transpose(&[1, 0])?.reshape(&[24]).is_err());
    /// # Ok::<(), wgslice::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] (`Reshape` if the shape has another number of elements, `ReshapeStrides` if the elements
    /// must be copied for it); [`Error::ShapeTooLarge`].
    pub fn reshape(&self, shape: &[usize]) -> Result<Self, Error> {
        let count = shape::elements(shape)?;
        if count != self.len() {
            return Err(error::view::reshape_view(&self.shape, shape));
        }
        let mut view = Self {
            shape: shape.to_vec(),
            strides: vec![0; shape.len()],
            ..self.clone()
        };
        if count == 0 {
            view.normalize();
            return Ok(view);
        }
        let dims = self.shape.iter().copied().zip(self.strides.iter().copied());
        let old_dims: Vec<(usize, isize)> = dims.filter(|dim| dim.0 > 1).collect();
        // A group of old dimensions is matched with a group of new dimensions that has the same number of elements.
        let (mut from_begin, mut to_begin) = (0, 0);
        while from_begin < old_dims.len() {
            let (mut from_end, mut to_end) = (from_begin + 1, to_begin + 1);
            let (mut from_size, mut to_size) = (old_dims[from_begin].0, shape[to_begin]);
            while from_size != to_size {
                if to_size < from_size {
                    to_size *= shape[to_end];
                    to_end += 1;
                } else {
                    from_size *= old_dims[from_end].0;
                    from_end += 1;
                }
            }
            let group = &old_dims[from_begin..from_end];
            let are_joined =
                |pair: &[(usize, isize)]| pair[0].1 == pair[1].1 * pair[1].0.cast_signed();
            if !group.windows(2).all(are_joined) {
                return Err(error::view::reshape_strides(
                    &self.shape,
                    &self.strides,
                    shape,
                ));
            }
            let mut stride = group[group.len() - 1].1;
            for d in (to_begin..to_end).rev().filter(|&d| shape[d] > 1) {
                view.strides[d] = stride;
                // After the outermost dimension, the product can exceed the size of the array, but it is not used.
                stride = stride.wrapping_mul(shape[d].cast_signed());
            }
            (from_begin, to_begin) = (from_end, to_end);
        }
        Ok(view)
    }

    /// Returns whether the view selects an element twice.
    pub(crate) fn repeats(&self) -> Repeats {
        let dims = self.shape.iter().zip(&self.strides);
        let mut dims: Vec<(usize, usize)> = dims
            .filter(|dim| *dim.0 > 1)
            .map(|(&size, stride)| (size - 1, stride.unsigned_abs()))
            .collect();
        if self.is_empty() {
            return Repeats::Never;
        }
        if dims.iter().any(|dim| dim.1 == 0) {
            return Repeats::Somewhere;
        }
        dims.sort_by_key(|dim| Reverse(dim.1));
        // For each dimension, the largest distance between two elements that differ only in this and later dimensions.
        let mut reaches = vec![0; dims.len() + 1];
        for d in (0..dims.len()).rev() {
            reaches[d] = reaches[d + 1] + dims[d].0 * dims[d].1;
        }
        // If each stride is larger than the reach of all inner dimensions together, no element repeats.
        if (0..dims.len()).all(|d| dims[d].1 > reaches[d + 1]) {
            return Repeats::Never;
        }
        // The view has more elements than the range of its positions, so two elements have the same position.
        if self.len() > reaches[0] + 1 {
            return Repeats::Somewhere;
        }
        let mut remaining_tries = MAX_TRIES;
        match sums_to_zero(&dims, &reaches, 0, true, &mut remaining_tries) {
            Some(true) => Repeats::Somewhere,
            Some(false) => Repeats::Never,
            None => Repeats::Undecided,
        }
    }
}

/// Returns whether `distance` and some steps of the dimensions sum up to 0. Then two positions are the same element.
/// A dimension can take steps in either direction, at most one fewer than its positions. The first dimension that takes
/// steps goes forward. `has_no_steps` is true if no dimension has taken steps so far. Returns `None` if
/// `remaining_tries` becomes 0 before the answer is found.
fn sums_to_zero(
    dims: &[(usize, usize)],
    reaches: &[usize],
    distance: isize,
    has_no_steps: bool,
    remaining_tries: &mut usize,
) -> Option<bool> {
    let Some((&(max_steps, step), inner)) = dims.split_first() else {
        return Some(distance == 0 && !has_no_steps);
    };
    *remaining_tries = remaining_tries.checked_sub(1)?;
    let (step, max_steps) = (step.cast_signed(), max_steps.cast_signed());
    // The inner dimensions must bring the sum back to 0.
    let inner_reach = reaches[1].cast_signed();
    let min_count = if has_no_steps { 0 } else { -max_steps };
    let low = (-inner_reach - distance).div_euclid(step)
        + isize::from((-inner_reach - distance).rem_euclid(step) > 0);
    let high = (inner_reach - distance).div_euclid(step);
    for count in low.max(min_count)..=high.min(max_steps) {
        let has_no_steps = has_no_steps && count == 0;
        if sums_to_zero(
            inner,
            &reaches[1..],
            distance + count * step,
            has_no_steps,
            remaining_tries,
        )? {
            return Some(true);
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For every small view of three dimensions, the search finds a repeated element exactly when two positions have
    /// the same offset.
    #[test]
    fn repeats_are_found() {
        let mut counts = [0; 2];
        for case_number in 0..4u32.pow(3) * 8u32.pow(3) {
            let digit = |base: u32, at: u32| (case_number / base.pow(at)) as usize;
            let shape = [digit(4, 0) % 4, digit(4, 1) % 4, digit(4, 2) % 4].map(|n| n + 1);
            let stride_digits = case_number / 64;
            let strides = [
                stride_digits % 8,
                stride_digits / 8 % 8,
                stride_digits / 64 % 8,
            ]
            .map(|n| n as isize - 3);
            let view = View::from_strides(&shape, &strides, 50, 100).unwrap();
            let mut offsets = Vec::new();
            for i in 0..shape[0] as isize {
                for j in 0..shape[1] as isize {
                    for k in 0..shape[2] as isize {
                        offsets.push(i * strides[0] + j * strides[1] + k * strides[2]);
                    }
                }
            }
            let position_count = offsets.len();
            offsets.sort_unstable();
            offsets.dedup();
            let expected = match offsets.len() < position_count {
                true => Repeats::Somewhere,
                false => Repeats::Never,
            };
            counts[usize::from(offsets.len() < position_count)] += 1;
            assert_eq!(view.repeats(), expected, "{view:?}");
        }
        assert!(counts.iter().all(|&count| count > 1000), "{counts:?}");
    }

    /// Many dimensions with nearly equal strides take too long, so the search must give up.
    #[test]
    fn a_search_ends() {
        let strides: Vec<isize> = (0..24).map(|n| (1 << 40) + (1 << n)).collect();
        let view = View::from_strides(&[2; 24], &strides, 0, 1 << 50).unwrap();
        assert_eq!(view.repeats(), Repeats::Undecided);
    }
}
