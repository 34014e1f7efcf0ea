//! Reads slices of arrays in files piece by piece on the CPU. The files can have any order of elements and bytes.

use crate::files::{Array, Element};
use std::{borrow::Cow, io, ops::Range};
use wgslice::{DType, Error, Plan, SliceSpec, Values, ValuesMut, View, spec::SliceItem};

/// A slice of an array.
#[derive(Debug)]
pub(crate) struct SlicedArray<'a> {
    array: &'a Array,
    /// The slice, with one more dimension if elements are divided into parts.
    view: View,
    dtype: DType,
    /// The shape of the slice in elements.
    shape: Vec<usize>,
}

/// The type, the shape and the slice with which the library reads an array. If the library has no type with the size of
/// an element, each element is divided into parts, which form an additional last dimension.
#[derive(Debug)]
pub(crate) struct ElementParts {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    /// The slice, which includes all parts of each element.
    pub(crate) spec: SliceSpec,
}

impl ElementParts {
    pub(crate) fn new(element: Element, shape: &[usize], spec: &SliceSpec) -> Self {
        let (mut shape, mut spec, size) = (shape.to_vec(), spec.clone(), element.size());
        if !element.has_handles() {
            let dtype = element.dtype;
            return Self { dtype, shape, spec };
        }
        let part_types = [DType::Complex128, DType::U64, DType::U32, DType::U16];
        let divides_element = |dtype: &DType| size.is_multiple_of(dtype.size());
        let dtype = part_types
            .into_iter()
            .find(divides_element)
            .unwrap_or(DType::U8);
        shape.push(size / dtype.size());
        if !spec.items().contains(&SliceItem::Ellipsis) {
            spec = spec.with(SliceItem::Ellipsis);
        }
        let spec = spec.with(..);
        Self { dtype, shape, spec }
    }
}

/// Does the same as [`ElementParts::new`] for an array in Fortran order. Its bytes are read as a row-major array with
/// reversed axes, so the result also has reversed axes.
pub(crate) fn fortran_parts(element: Element, shape: &[usize], spec: &SliceSpec) -> ElementParts {
    let (mut shape, mut items) = (shape.to_vec(), spec.items().to_vec());
    if !items.contains(&SliceItem::Ellipsis) {
        items.push(SliceItem::Ellipsis);
    }
    shape.reverse();
    items.reverse();
    ElementParts::new(element, &shape, &SliceSpec::new(items))
}

/// The reason why a piece cannot be read.
#[derive(Debug)]
pub(crate) enum ReadProblem {
    File(io::Error),
    Library(Error),
}

impl<'a> SlicedArray<'a> {
    pub(crate) fn new(array: &'a Array, spec: &SliceSpec) -> Result<Self, Error> {
        let shape = array.shape();
        // The plan checks the slice of the elements first, so that errors do not mention parts.
        let plan = Plan::slice(shape, spec, array.dtype())?;
        let parts = ElementParts::new(array.element(), shape, spec);
        let rank = shape.len();
        let view = match array.stored().is_some_and(|stored| stored.column_major) {
            // Reverses all axes except the axis of the parts.
            true => {
                let mut sizes = parts.shape.clone();
                sizes[..rank].reverse();
                let mut axes: Vec<usize> = (0..sizes.len()).collect();
                axes[..rank].reverse();
                View::new(&sizes)?.transpose(&axes)?
            }
            false => View::new(&parts.shape)?,
        };
        Ok(Self {
            array,
            view: view.slice(&parts.spec)?,
            dtype: parts.dtype,
            shape: plan.shape().to_vec(),
        })
    }

    /// Returns the shape of the slice.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Cuts the slice into ranges of elements in row-major order. Each range has at most `max_bytes` bytes, or a
    /// single larger element.
    pub(crate) fn cut_into_pieces(&self, max_bytes: usize) -> Vec<Piece> {
        let max_elements = (max_bytes / self.array.element().size().max(1)).max(1);
        split_shape(&self.shape, max_elements)
    }

    /// Reads a piece. Returns its elements in row-major order and native byte order.
    pub(crate) fn read(&self, piece: &Piece) -> Result<Vec<u8>, ReadProblem> {
        let view = self
            .view
            .slice(&piece.piece_spec())
            .map_err(ReadProblem::Library)?;
        let plan = Plan::contiguous(view, self.dtype).map_err(ReadProblem::Library)?;
        // Each piece has its own map of the file, so that the pages of earlier pieces do not accumulate.
        let source = self
            .array
            .window(0..self.array.len())
            .map_err(ReadProblem::File)?;
        let mut piece_bytes = vec![0; plan.outputs()[0].bytes()];
        let values = [Values::from_bytes(self.dtype, source.as_ref())];
        let report = plan.run_cpu(
            &values,
            &mut [ValuesMut::from_bytes(self.dtype, &mut piece_bytes)],
        );
        report.map_err(ReadProblem::Library)?;
        Ok(
            match self
                .array
                .stored()
                .map(|stored| stored.to_native(&piece_bytes))
            {
                Some(Cow::Owned(native)) => native,
                _ => piece_bytes,
            },
        )
    }
}

/// Consecutive elements of a slice: a position in the first dimensions, a range in the next dimension, and all of the
/// remaining dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    position: Vec<usize>,
    /// `None` if the array has no dimensions.
    range: Option<Range<usize>>,
}

impl Piece {
    fn piece_spec(&self) -> SliceSpec {
        let to_i64 = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let index = |&at: &usize| SliceItem::Index {
            index: to_i64(at),
            stride: 1,
        };
        let range = self.range.as_ref().map(|range| SliceItem::Range {
            begin: Some(to_i64(range.start)),
            end: Some(to_i64(range.end)),
            stride: 1,
        });
        self.position.iter().map(index).chain(range).collect()
    }
}

/// Splits an array into pieces of at most `max_elements` elements.
fn split_shape(shape: &[usize], max_elements: usize) -> Vec<Piece> {
    let inner_count = |axis: usize| shape[axis + 1..].iter().product::<usize>();
    let Some(axis) = (0..shape.len()).find(|&axis| inner_count(axis) <= max_elements) else {
        let position = Vec::new();
        let range = None;
        return vec![Piece { position, range }];
    };
    if shape.contains(&0) {
        return Vec::new();
    }
    let step = (max_elements / inner_count(axis)).max(1);
    let outer_count: usize = shape[..axis].iter().product();
    (0..outer_count)
        .flat_map(|mut flat| {
            let mut position = vec![0; axis];
            for (coordinate, size) in position.iter_mut().zip(&shape[..axis]).rev() {
                (*coordinate, flat) = (flat % size, flat / size);
            }
            (0..shape[axis]).step_by(step).map(move |begin| Piece {
                position: position.clone(),
                range: Some(begin..shape[axis].min(begin.saturating_add(step))),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_consecutive_and_complete() {
        for shape in [
            &[][..],
            &[1],
            &[7],
            &[3, 4],
            &[2, 3, 4],
            &[4, 1, 5],
            &[1, 1],
            &[0, 3],
        ] {
            let total: usize = shape.iter().product();
            let elements: Vec<i32> = (0..).take(total).collect();
            for max_elements in [1, 2, 3, 5, 12, 100] {
                let view = View::new(shape).unwrap();
                let mut read = Vec::new();
                for piece in split_shape(shape, max_elements) {
                    let selected = view.slice(&piece.piece_spec()).unwrap();
                    let plan = Plan::contiguous(selected, DType::I32).unwrap();
                    let mut part = vec![0; plan.shape().iter().product()];
                    plan.run_cpu(&[(&elements).into()], &mut [(&mut part).into()])
                        .unwrap();
                    assert!(
                        (1..=max_elements).contains(&part.len()),
                        "{shape:?}: {piece:?}"
                    );
                    read.extend(part);
                }
                assert_eq!(read, elements, "{shape:?} in pieces of {max_elements}");
            }
        }
    }
}
