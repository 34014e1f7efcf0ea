//! From a slice and a shape to offset, shape and strides: the canonical form.
//!
//! Four steps, as TensorFlow takes them: the items are checked against the rank, the ellipsis is
//! expanded, every dimension is resolved to positions that exist, and the result is an offset into
//! the source with one shape entry and one signed stride for each dimension of the result.
//!
//! For `x[1, ::-2]` on shape `[3, 4]`: dimension 0 is the single index 1, worth offset 4;
//! dimension 1 starts at 3 and steps by −2, two elements. Offset 7, shape `[2]`, strides `[-2]`.

use crate::{Error, SliceItem, SliceSpec, SpecError, shape};

/// A rectangular, strided selection of a row-major array: what a slice means for one shape.
///
/// Element `(i, j, …)` of the view is element `offset + i · strides[0] + j · strides[1] + …` of the
/// source. Strides count elements and may be negative, or 0 for dimensions of size 1.
///
/// ```
/// let view = wgslice::slice![1, ..; -2].view(&[3, 4])?;
/// assert_eq!((view.offset(), view.shape(), view.strides()), (7, &[2][..], &[-2][..]));
/// # Ok::<(), wgslice::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct View {
    pub(crate) offset: usize,
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<isize>,
}

impl View {
    /// The source element of the first element. 0 where the view is empty.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The shape of the result.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// One stride for each dimension of the result, in elements of the source.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// The number of elements. It cannot overflow: a view never has more than its source.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}

impl SliceSpec {
    /// Applies the slice to an array of this shape.
    ///
    /// # Errors
    ///
    /// [`SpecError`], the same that TensorFlow raises first; [`Error::ShapeTooLarge`].
    pub fn view(&self, shape: &[usize]) -> Result<View, Error> {
        shape::elements(shape)?;
        let ellipsis_dims = self.ellipsis_dims(shape.len())?;
        let source_strides = shape::strides(shape);
        let mut view = View {
            offset: 0,
            shape: Vec::with_capacity(shape.len()),
            strides: Vec::with_capacity(shape.len()),
        };
        let mut dimension = 0;
        // Where no ellipsis is written, one stands at the end.
        let implied = (!self.items().contains(&SliceItem::Ellipsis)).then_some(SliceItem::Ellipsis);
        for &item in self.items().iter().chain(&implied) {
            match item {
                SliceItem::NewAxis => view.push(Positions::only(0), 0),
                SliceItem::Ellipsis => {
                    for _ in 0..ellipsis_dims {
                        view.push(Positions::all(shape[dimension]), source_strides[dimension]);
                        dimension += 1;
                    }
                }
                SliceItem::Index { index, stride } => {
                    let position = single(dimension, shape[dimension], index, stride)?;
                    view.offset += position * source_strides[dimension];
                    dimension += 1;
                }
                SliceItem::Range { begin, end, stride } => {
                    let size = shape[dimension];
                    let positions = Positions::range(dimension, size, begin, end, stride)?;
                    view.push(positions, source_strides[dimension]);
                    dimension += 1;
                }
            }
        }
        if view.shape.contains(&0) || shape.contains(&0) {
            view.offset = 0;
            view.strides.fill(0);
        }
        Ok(view)
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

impl View {
    /// Adds a dimension to the result.
    fn push(&mut self, positions: Positions, source_stride: usize) {
        let Positions { first, step, count } = positions;
        if count > 0 {
            self.offset += first * source_stride;
        }
        self.shape.push(count);
        // With two positions or more the stride spans existing elements and cannot overflow.
        let stride = if count > 1 {
            step * source_stride.cast_signed()
        } else {
            0
        };
        self.strides.push(stride);
    }
}

/// The positions `first`, `first + step`, … that are taken of one dimension.
struct Positions {
    first: usize,
    step: isize,
    count: usize,
}

impl Positions {
    fn only(first: usize) -> Self {
        Self {
            first,
            step: 1,
            count: 1,
        }
    }

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
