//! Index expressions that select all combinations of the positions in slices and arrays, like Zarr's `oindex`.

use super::Ndsel;
use crate::zarr::Error;
use std::fmt;
use wgslice::{
    SliceSpec, View,
    spec::{IndexItem, IndexSpec, SliceItem},
};

/// An expression applied to a source.
#[derive(Debug)]
pub(super) struct Expression {
    /// The view that the slice entries select. A dimension that an array indexes stays whole in the view.
    pub(super) view: View,
    /// For each dimension of the source, the dimension of the result that it becomes. `None` if an index removes it.
    pub(super) dims: Vec<Option<usize>>,
    pub(super) arrays: Vec<ArrayEntry>,
}

/// The positions that an array entry selects.
#[derive(Debug)]
pub(super) struct ArrayEntry {
    /// The source's dimension that the array indexes. It becomes a dimension of the result.
    pub(super) source_dim: usize,
    /// The selected positions in this dimension of the source, in the result's order.
    pub(super) positions: Vec<usize>,
}

/// An expression that is not yet applied to a source: one in Python's notation, or an NDSel message.
#[derive(Debug)]
pub(super) enum ParsedExpression {
    Python(IndexSpec),
    Ndsel(Ndsel),
}

/// Parses an expression. If `outer` is true, its arrays and single indices select all combinations. Otherwise an
/// expression is rejected if NumPy would pair its arrays and single indices.
///
/// # Errors
///
/// [`Error::Usage`] for a rejected expression, or if the text cannot be parsed.
pub(super) fn parse(text: &str, outer: bool) -> Result<ParsedExpression, Error> {
    if text.trim_start().starts_with('{') {
        return Ok(ParsedExpression::Ndsel(text.parse()?));
    }
    let spec: IndexSpec = text
        .parse()
        .map_err(|error: wgslice::Error| Error::usage(format_args!("EXPR: {error}")))?;
    let count = |predicate: fn(&IndexItem) -> bool| {
        spec.items().iter().filter(|&item| predicate(item)).count()
    };
    let array_count = count(|item| !matches!(item, IndexItem::Slice(_)));
    let single_index_count =
        count(|item| matches!(item, IndexItem::Slice(SliceItem::Index { .. })));
    if !outer && array_count > 0 && array_count + single_index_count > 1 {
        return Err(Error::usage(
            "EXPR has several arrays, or arrays and single indices. NumPy lets them walk together, which gather-nd does \
             here; for all combinations of positions, as Zarr's oindex, give --outer",
        ));
    }
    Ok(ParsedExpression::Python(spec))
}

impl ParsedExpression {
    /// Returns the expression for a source of this shape. For a message, also returns the order of the expression's
    /// dimensions in the result.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if a message does not fit the shape.
    pub(super) fn for_shape(
        self,
        shape: &[usize],
    ) -> Result<(IndexSpec, Option<Vec<usize>>), Error> {
        match self {
            Self::Python(spec) => Ok((spec, None)),
            Self::Ndsel(message) => message
                .for_shape(shape)
                .map(|(spec, order)| (spec, Some(order))),
        }
    }
}

impl fmt::Display for ParsedExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Python(spec) => spec.fmt(f),
            Self::Ndsel(message) => message.fmt(f),
        }
    }
}

impl Expression {
    /// Applies an expression to a source of this shape.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the expression does not fit the shape.
    pub(super) fn new(spec: &IndexSpec, shape: &[usize]) -> Result<Self, Error> {
        let whole = SliceItem::Range {
            begin: None,
            end: None,
            stride: 1,
        };
        let slices = spec.items().iter().map(|item| match item {
            IndexItem::Slice(item) => *item,
            _ => whole,
        });
        let slices: Vec<SliceItem> = slices.collect();
        let takes_dim =
            |item: &SliceItem| !matches!(item, SliceItem::NewAxis | SliceItem::Ellipsis);
        let taken_dims = slices.iter().filter(|item| takes_dim(item)).count();
        let view = SliceSpec::new(slices).view(shape);
        let view = view.map_err(Error::usage)?;
        let mut arrays = Vec::new();
        let (mut dims, mut dim) = (Vec::with_capacity(shape.len()), 0);
        let keep_dims = |dims: &mut Vec<_>, dim: &mut usize, count| {
            dims.extend((*dim..*dim + count).map(Some));
            *dim += count;
        };
        for (number, item) in spec.items().iter().enumerate() {
            match item {
                IndexItem::Slice(SliceItem::Index { .. }) => dims.push(None),
                IndexItem::Slice(SliceItem::NewAxis) => dim += 1,
                IndexItem::Slice(SliceItem::Ellipsis) => {
                    keep_dims(&mut dims, &mut dim, shape.len() - taken_dims)
                }
                item => {
                    let source_dim = dims.len();
                    if let Some(positions) = positions(item, number, shape[source_dim])? {
                        arrays.push(ArrayEntry {
                            source_dim,
                            positions,
                        });
                    }
                    keep_dims(&mut dims, &mut dim, 1);
                }
            }
        }
        let dims_after_entries = shape.len() - dims.len();
        keep_dims(&mut dims, &mut dim, dims_after_entries);
        Ok(Self { view, dims, arrays })
    }

    /// Permutes the dimensions of the result to the order `axes`, as `numpy.transpose` does.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if `axes` does not name each dimension exactly once.
    pub(super) fn transpose(&mut self, axes: &[usize]) -> Result<(), Error> {
        let transposed = self.view.transpose(axes);
        self.view =
            transposed.map_err(|error| Error::usage(format_args!("--transpose: {error}")))?;
        for dim in &mut self.dims {
            *dim = dim.and_then(|dim| axes.iter().position(|&axis| axis == dim));
        }
        Ok(())
    }

    /// Returns the shape of the result.
    pub(super) fn shape(&self) -> Vec<usize> {
        let mut shape = self.view.shape().to_vec();
        for array in &self.arrays {
            if let Some(dim) = self.dims[array.source_dim] {
                shape[dim] = array.positions.len();
            }
        }
        shape
    }
}

/// Returns the positions that entry `number` selects in a dimension of `size` positions, or `None` if the entry is a
/// slice.
fn positions(item: &IndexItem, number: usize, size: usize) -> Result<Option<Vec<usize>>, Error> {
    let (IndexItem::Positions { shape, .. } | IndexItem::Mask { shape, .. }) = item else {
        return Ok(None);
    };
    if shape.len() != 1 {
        return Err(Error::usage(format_args!(
            "EXPR: entry {number} is an array of shape {shape:?}, but here an array has one dimension: the positions \
             along its dimension of the source"
        )));
    }
    match item {
        IndexItem::Mask { values, .. } if values.len() == size => {
            let selected = values.iter().enumerate().filter(|(_, is_true)| **is_true);
            Ok(Some(selected.map(|(position, _)| position).collect()))
        }
        IndexItem::Mask { values, .. } => Err(Error::usage(format_args!(
            "EXPR: the mask of entry {number} has {} values, but its dimension has {size} positions",
            values.len()
        ))),
        IndexItem::Positions { values, .. } => {
            let position = |&value: &i64| {
                // This cannot overflow, because a dimension has fewer than 2^63 positions.
                let from_start = if value < 0 {
                    value + size as i64
                } else {
                    value
                };
                let position = usize::try_from(from_start).ok().filter(|&at| at < size);
                position.ok_or_else(|| {
                    Error::usage(format_args!(
                        "EXPR: {value} in entry {number} is no position of a dimension of {size}: positions are below \
                         {size}, and from -{size} on count from the end"
                    ))
                })
            };
            values
                .iter()
                .map(position)
                .collect::<Result<_, _>>()
                .map(Some)
        }
        IndexItem::Slice(_) => Ok(None),
    }
}
