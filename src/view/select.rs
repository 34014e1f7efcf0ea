//! A slice of a view: every dimension is resolved to positions that exist.
//!
//! Three steps, as TensorFlow takes them: the items are checked against the rank, the ellipsis is
//! expanded, and each dimension is resolved in turn, so that the first error is TensorFlow's.

use super::View;
use crate::{Error, SliceItem, SliceSpec, SpecError};

impl View {
    /// The slice of this view, itself a view of the same source: nothing is moved.
    ///
    /// # Errors
    ///
    /// [`SpecError`], the same that TensorFlow raises first for an array of the view's shape.
    pub fn strided_slice(&self, spec: &SliceSpec) -> Result<Self, Error> {
        let ellipsis_dims = spec.ellipsis_dims(self.shape.len())?;
        let mut view = Self {
            source: self.source.clone(),
            offset: self.offset,
            shape: Vec::with_capacity(self.shape.len()),
            strides: Vec::with_capacity(self.shape.len()),
        };
        let mut dimension = 0;
        // Where no ellipsis is written, one stands at the end.
        let implied = (!spec.items().contains(&SliceItem::Ellipsis)).then_some(SliceItem::Ellipsis);
        for &item in spec.items().iter().chain(&implied) {
            match item {
                SliceItem::NewAxis => view.push(Positions::all(1), 0),
                SliceItem::Ellipsis => {
                    for _ in 0..ellipsis_dims {
                        view.push(
                            Positions::all(self.shape[dimension]),
                            self.strides[dimension],
                        );
                        dimension += 1;
                    }
                }
                SliceItem::Index { index, stride } => {
                    let position = single(dimension, self.shape[dimension], index, stride)?;
                    view.advance(position, self.strides[dimension]);
                    dimension += 1;
                }
                SliceItem::Range { begin, end, stride } => {
                    let size = self.shape[dimension];
                    let positions = Positions::range(dimension, size, begin, end, stride)?;
                    view.push(positions, self.strides[dimension]);
                    dimension += 1;
                }
            }
        }
        Ok(view.normal())
    }

    fn push(&mut self, positions: Positions, stride: isize) {
        let Positions { first, step, count } = positions;
        if count > 0 {
            self.advance(first, stride);
        }
        self.shape.push(count);
        // With two positions or more the stride spans existing elements and cannot overflow.
        let stride = if count > 1 { step * stride } else { 0 };
        self.strides.push(stride);
    }
}

impl SliceSpec {
    /// Applies the slice to an array of this shape.
    ///
    /// # Errors
    ///
    /// [`SpecError`], the same that TensorFlow raises first; [`Error::ShapeTooLarge`].
    pub fn view(&self, shape: &[usize]) -> Result<View, Error> {
        View::of(shape)?.strided_slice(self)
    }

    /// Checks the items against the rank, and counts the dimensions that are left for the
    /// ellipsis, written or implied.
    fn ellipsis_dims(&self, rank: usize) -> Result<usize, SpecError> {
        let ellipses = self.items().iter().filter(|i| **i == SliceItem::Ellipsis);
        if ellipses.count() > 1 {
            return Err(SpecError::MultipleEllipses);
        }
        let specs = self.items().iter().filter(|i| i.takes_dimension()).count();
        match rank.checked_sub(specs) {
            Some(left) => Ok(left),
            None if rank == 0 => Err(SpecError::ScalarInput),
            None => Err(SpecError::TooManySpecs { specs, rank }),
        }
    }
}

/// The positions `first`, `first + step`, … that are taken of one dimension.
struct Positions {
    first: usize,
    step: isize,
    count: usize,
}

impl Positions {
    fn all(count: usize) -> Self {
        Self {
            first: 0,
            step: 1,
            count,
        }
    }

    fn range(
        dimension: usize,
        size: usize,
        begin: Option<i64>,
        end: Option<i64>,
        stride: i64,
    ) -> Result<Self, SpecError> {
        if stride == 0 {
            return Err(SpecError::StrideZero { dimension });
        }
        // A shape that passed `elements` has dimensions far below i64::MAX.
        let size = size as i64;
        // Going down, "one before the start" is a place where a range can end.
        let (low, high) = if stride > 0 {
            (0, size)
        } else {
            (-1, size - 1)
        };
        let clamp = |v: i64| if v < 0 { v + size } else { v }.clamp(low, high);
        let (near, far) = if stride > 0 { (low, high) } else { (high, low) };
        let begin = begin.map_or(near, clamp);
        let end = end.map_or(far, clamp);
        let distance = if stride > 0 { end - begin } else { begin - end };
        if distance <= 0 {
            return Ok(Self::all(0));
        }
        let count = (distance.unsigned_abs() - 1) / stride.unsigned_abs() + 1;
        // First and count lie within the dimension; a stride that an isize cannot hold spans more
        // than that, so that count is 1 and it is never taken.
        Ok(Self {
            first: usize::try_from(begin).unwrap_or(0),
            step: isize::try_from(stride).unwrap_or(0),
            count: usize::try_from(count).unwrap_or(0),
        })
    }
}

/// The position of a single index.
fn single(dimension: usize, size: usize, index: i64, stride: i64) -> Result<usize, SpecError> {
    if stride == 0 {
        return Err(SpecError::StrideZero { dimension });
    }
    if stride < 0 {
        return Err(SpecError::ShrinkStride { dimension, stride });
    }
    let position = if index < 0 {
        index + size as i64
    } else {
        index
    };
    usize::try_from(position)
        .ok()
        .filter(|&position| position < size)
        .ok_or(SpecError::ShrinkOutOfRange {
            dimension,
            index,
            size,
        })
}
