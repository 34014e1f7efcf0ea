//! Converts an NDSel message to an outer index expression, which selects all combinations of positions in an array.

use super::{Bound, Ndsel, Number, Rule, check_rank, refused};
use crate::zarr::Error;
use serde_json::Value;
use wgslice::spec::{IndexItem, IndexSpec, SliceItem};

impl Ndsel {
    /// Returns the selection from an array of this shape as an outer expression, and the order of its dimensions in the
    /// result.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for positions outside the array, and for a selection that no outer expression can describe.
    pub(in crate::job) fn for_shape(
        &self,
        shape: &[usize],
    ) -> Result<(IndexSpec, Vec<usize>), Error> {
        check_rank("the shape of the array", shape.len(), self.rules.len())?;
        let mut items = Vec::new();
        // For each entry that is not a single position, the dimension of the result that it becomes.
        let mut result_dims = Vec::new();
        for (axis, (rule, &size)) in self.rules.iter().zip(shape).enumerate() {
            let checked_position = |position: i128| match i64::try_from(position) {
                Ok(position) if (0..size as i64).contains(&position) => Ok(position),
                _ => Err(Error::usage(format_args!(
                    "NDSel: position {position} of dimension {axis}, which has {size}: positions are counted from 0, and \
                     below the size"
                ))),
            };
            let (item, dim) = match rule {
                Rule::At(offset) => (single_position(checked_position((*offset).into())?), None),
                &Rule::Along {
                    offset,
                    stride,
                    dim,
                } => {
                    let range = self.coordinate_range(dim, offset, stride, size)?;
                    let position_at =
                        |coordinate: i128| i128::from(offset) + i128::from(stride) * coordinate;
                    let item = match range {
                        [first, end] if first == end => position_range(0, 0, 1),
                        [first, end] if stride == 0 && end - first > 1 => {
                            return Err(repeated_dimension(dim));
                        }
                        [first, end] => {
                            let first = checked_position(position_at(first))?;
                            let last = checked_position(position_at(end - 1))?;
                            position_range(first, last + stride.signum(), stride)
                        }
                    };
                    (item, Some(dim))
                }
                Rule::Listed {
                    offset,
                    stride,
                    list,
                    bounds,
                } => {
                    let (indices, dim) = self.listed(list)?;
                    let mut positions = Vec::new();
                    for index in indices {
                        if Number::At(index) < bounds[0] || Number::At(index) > bounds[1] {
                            let [low, high] = bounds.map(Number::json);
                            let detail =
                                format_args!("NDSel: index {index} is not from {low} to {high}");
                            return Err(Error::usage(detail));
                        }
                        positions.push(checked_position(
                            i128::from(*offset) + i128::from(*stride) * i128::from(index),
                        )?);
                    }
                    match (dim, &positions[..]) {
                        (None, &[position]) => (single_position(position), None),
                        _ => (listed_positions(positions), dim),
                    }
                }
            };
            items.push(item);
            result_dims.extend(dim);
        }
        let rank = self.begin.len();
        for dim in 0..rank {
            match result_dims
                .iter()
                .filter(|&&result_dim| result_dim == dim)
                .count()
            {
                1 => {}
                0 if self.coordinate_count(dim) == Some(1) => {
                    items.push(IndexItem::Slice(SliceItem::NewAxis));
                    result_dims.push(dim);
                }
                0 => return Err(repeated_dimension(dim)),
                _ => return Err(joint_dimension(dim)),
            }
        }
        let order = (0..rank)
            .filter_map(|dim| result_dims.iter().position(|&result_dim| result_dim == dim));
        Ok((IndexSpec::new(items).outer(), order.collect()))
    }

    /// Returns the number of coordinates along a dimension of the box, or `None` if it depends on the array.
    fn coordinate_count(&self, dim: usize) -> Option<i128> {
        match (self.begin[dim].number, self.end[dim].number) {
            (Number::At(begin), Number::At(end)) => Some(i128::from(end) - i128::from(begin)),
            _ => None,
        }
    }

    /// Returns the first coordinate along dimension `dim` of the box, and the exclusive end of the coordinates.
    /// Implicit or infinite bounds are limited to coordinates with positions in the array's dimension of size `size`.
    /// Fails if a bound is still infinite.
    fn coordinate_range(
        &self,
        dim: usize,
        offset: i64,
        stride: i64,
        size: usize,
    ) -> Result<[i128; 2], Error> {
        let [begin, end] = [self.begin[dim], self.end[dim]];
        let (offset, wide_stride, size) = (i128::from(offset), i128::from(stride), size as i128);
        // The first coordinate whose position is at least `position` or, if the stride is negative, at most `position`.
        let first_coordinate = |position: i128| {
            let distance = (position - offset) * wide_stride.signum();
            distance.div_euclid(wide_stride.abs())
                + i128::from(distance.rem_euclid(wide_stride.abs()) > 0)
        };
        let inside_range = match stride.signum() {
            1 => Some([first_coordinate(0), first_coordinate(size)]),
            -1 => Some([first_coordinate(size - 1), first_coordinate(-1)]),
            _ => None,
        };
        let limited = |bound: Bound, side: usize| match (bound.number, inside_range) {
            (Number::At(number), Some(inside_range)) if bound.is_implicit => {
                Ok(i128::from(number).clamp(inside_range[0].min(inside_range[1]), inside_range[1]))
            }
            (Number::At(number), _) => Ok(number.into()),
            (_, Some(inside_range)) if bound.number == [Number::Below, Number::Above][side] => {
                Ok(inside_range[side])
            }
            _ => Err(Error::usage(format_args!(
                "NDSel: the array does not say where dimension {dim} ends: give finite bounds"
            ))),
        };
        Ok([limited(begin, 0)?, limited(end, 1)?])
    }

    /// Returns the numbers of an index array, and the dimension of the box along which they are listed. The dimension
    /// is `None` if a single number belongs to no dimension. Fails if numbers are listed along several dimensions.
    fn listed(&self, list: &Value) -> Result<(Vec<i64>, Option<usize>), Error> {
        let (mut sizes, mut values) = (Vec::new(), Vec::new());
        if !flatten_lists(list, 0, &mut sizes, &mut values) {
            return refused("invalid_json", "index_array is no array of 64-bit integers");
        }
        // An empty list can have fewer levels than the box has dimensions. The missing sizes count as 1.
        if values.is_empty() {
            sizes.resize(sizes.len().max(self.begin.len()), 1);
        }
        check_rank("the shape of index_array", sizes.len(), self.begin.len())?;
        let mut long_dims = (0..sizes.len()).filter(|&dim| sizes[dim] != 1);
        let dim = long_dims.next();
        if let Some(dim) = dim {
            if long_dims.next().is_some() {
                return Err(joint_dimension(dim));
            }
            let count = self.coordinate_count(dim).unwrap_or(sizes[dim] as i128);
            if count != sizes[dim] as i128 {
                let number_count = sizes[dim];
                let detail = format_args!(
                    "index_array has {number_count} numbers along dimension {dim}, which has {count}"
                );
                return refused("rank_mismatch", detail);
            }
        }
        // An array with a single number along its only dimension belongs to that dimension.
        Ok((values, dim.or((sizes.len() == 1).then_some(0))))
    }
}

fn repeated_dimension(dim: usize) -> Error {
    Error::usage(format_args!(
        "NDSel: dimension {dim} has the same positions of the array everywhere, and selections here repeat none"
    ))
}

fn joint_dimension(dim: usize) -> Error {
    Error::usage(format_args!(
        "NDSel: several dimensions of the array go along dimension {dim}: points, which gather-nd selects, with the \
         coordinates in an .npy file and --out-of-range error"
    ))
}

fn single_position(position: i64) -> IndexItem {
    IndexItem::Slice(SliceItem::Index {
        index: position,
        stride: 1,
    })
}

fn listed_positions(values: Vec<i64>) -> IndexItem {
    let shape = vec![values.len()];
    IndexItem::Positions { values, shape }
}

fn position_range(begin: i64, end: i64, stride: i64) -> IndexItem {
    let stride = if stride == 0 { 1 } else { stride };
    IndexItem::Slice(SliceItem::Range {
        begin: Some(begin),
        // In Python's notation, -1 would be the last position.
        end: (end >= 0).then_some(end),
        stride,
    })
}

/// Appends the integers of nested lists to `values`, and finds the sizes of the lists. Returns whether all lists at the
/// same depth have the same size, and all innermost items are integers.
fn flatten_lists(
    value: &Value,
    depth: usize,
    sizes: &mut Vec<usize>,
    values: &mut Vec<i64>,
) -> bool {
    let Some(items) = value.as_array() else {
        values.extend(value.as_i64());
        return value.is_i64() && depth == sizes.len();
    };
    if values.is_empty() && depth == sizes.len() {
        sizes.push(items.len());
    }
    sizes.get(depth) == Some(&items.len())
        && items
            .iter()
            .all(|item| flatten_lists(item, depth + 1, sizes, values))
}
