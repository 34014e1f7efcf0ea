//! `strided_slice`: the elements that a spec selects, and their shape.
//!
//! There are three steps, each a function: [`assign_entries`] assigns the entries of the spec to the dimensions of the
//! input, [`select_positions`] turns the entry of one dimension into a range of positions, and
//! [`Selection::source_coordinates`] lists the elements by their coordinates. The first broken rule is reported, in
//! this order: vectors, ellipses, entries for a scalar or too many entries, and then for each input dimension a stride
//! of 0, a single index with a negative stride, and a single index out of range.

use super::{ReferenceError, all_coordinates, check_length, fail_with, value_at};

/// A slice specification: three vectors of one length, and five masks whose bit `i` applies to entry `i`.
///
/// An entry is an ellipsis (all dimensions without other entries), a new axis of size 1, an index whose axis is dropped
/// (shrink), or a range. If an entry has the bits of several masks, the first in this list applies. Dimensions that
/// remain after the last entry stay whole.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spec<'a> {
    /// The first position of each range, or the index of a dropped axis. A negative position counts from the end.
    pub begin: &'a [i64],
    /// The end of each range, exclusive. A negative end counts from the end of the dimension.
    pub end: &'a [i64],
    /// The step of each range, which must not be 0. For an index it must be positive.
    pub strides: &'a [i64],
    /// Bit `i` is set if the range of entry `i` ignores `begin[i]` and starts at the first element of the dimension or,
    /// with a negative stride, at the last.
    pub begin_mask: i32,
    /// Bit `i` is set if the range of entry `i` ignores `end[i]` and runs to the last element of the dimension or, with
    /// a negative stride, to the first.
    pub end_mask: i32,
    /// Bit `i` is set if entry `i` is the ellipsis. At most one of the 32 bits may be set.
    pub ellipsis_mask: i32,
    /// Bit `i` is set if entry `i` is a new axis.
    pub new_axis_mask: i32,
    /// Bit `i` is set if entry `i` indexes one position and drops the axis.
    pub shrink_axis_mask: i32,
}

/// Returns the shape and the values of `input[spec]`, for an `input` of any rank in row-major order.
///
/// ```
/// use wgslice_vectors::reference::{Spec, strided_slice};
///
/// // The last column of a 2x3 table, bottom up, as a column: x[::-1, -1, newaxis]
/// let table = ["a", "b", "c", "d", "e", "f"].map(String::from);
/// let spec = Spec {
///     begin: &[0, -1, 0],
///     end: &[0, 0, 0],
///     strides: &[-1, 1, 1],
///     begin_mask: 0b001,
///     end_mask: 0b001,
///     shrink_axis_mask: 0b010,
///     new_axis_mask: 0b100,
///     ..Spec::default()
/// };
/// assert_eq!(strided_slice(&table, &[2, 3], &spec)?, (vec![2, 1], vec!["f".into(), "c".into()]));
///
/// let spec = Spec { begin: &[2], end: &[3], strides: &[1], shrink_axis_mask: 1, ..spec };
/// let error = strided_slice(&table, &[2, 3], &spec).unwrap_err();
/// assert_eq!(error.kind, "shrink_out_of_range");
/// assert_eq!(error.message, "slice index 2 of dimension 0 out of bounds.");
/// # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
/// ```
///
/// # Errors
///
/// Fails with one of the kinds between `data_length` and `shrink_out_of_range` in the table of [`ReferenceError`],
/// except `too_large`.
pub fn strided_slice<T: Clone>(
    input: &[T],
    shape: &[usize],
    spec: &Spec<'_>,
) -> Result<(Vec<usize>, Vec<T>), ReferenceError> {
    check_length("input", input.len(), shape)?;
    let selection = Selection::new(shape, spec)?;
    let values = selection
        .source_coordinates()
        .map(|source| value_at(input, shape, &source).clone())
        .collect();
    Ok((selection.shape, values))
}

/// The elements that a spec selects from an array.
pub(super) struct Selection {
    /// The shape of the result.
    pub(super) shape: Vec<usize>,
    axes: Vec<ResultAxis>,
    ranges: Vec<PythonRange>,
}

impl Selection {
    /// Returns the elements that `spec` selects from an array of `shape`.
    pub(super) fn new(shape: &[usize], spec: &Spec<'_>) -> Result<Self, ReferenceError> {
        let (dim_specs, axes) = assign_entries(spec, shape.len())?;
        let mut ranges = Vec::with_capacity(shape.len());
        for (dim, dim_spec) in dim_specs.iter().enumerate() {
            ranges.push(select_positions(dim_spec, dim, shape[dim])?);
        }
        let shape = axes
            .iter()
            .map(|axis| match axis {
                ResultAxis::New => 1,
                ResultAxis::Of(dim) => ranges[*dim].len(),
            })
            .collect();
        Ok(Self {
            shape,
            axes,
            ranges,
        })
    }

    /// Lists the selected elements in the order of the result, each by its coordinates in the array.
    pub(super) fn source_coordinates(&self) -> impl Iterator<Item = Vec<usize>> {
        // An empty result needs no positions. There can be too many for memory, because an array with a dimension of
        // size 0 can have any other sizes.
        let is_empty = self.shape.contains(&0);
        let listed_ranges = self.ranges.iter().filter(|_| !is_empty);
        let positions: Vec<Vec<usize>> = listed_ranges.map(PythonRange::positions).collect();
        all_coordinates(&self.shape).map(move |element| {
            // A shrunk dimension has a single position and no axis in the result.
            let mut source: Vec<usize> = positions.iter().map(|list| list[0]).collect();
            for (axis, &c) in self.axes.iter().zip(&element) {
                if let ResultAxis::Of(dim) = axis {
                    source[*dim] = positions[*dim][c];
                }
            }
            source
        })
    }
}

/// The spec of one input dimension. A masked bound is `None`, as in Python's `slice`.
enum DimensionSpec {
    PythonRange {
        begin: Option<i64>,
        end: Option<i64>,
        stride: i64,
    },
    Index {
        index: i64,
        stride: i64,
    },
}

const WHOLE_DIMENSION: DimensionSpec = DimensionSpec::PythonRange {
    begin: None,
    end: None,
    stride: 1,
};

/// The origin of an axis of the result: a new axis, or the dimension of the input with this number.
enum ResultAxis {
    New,
    Of(usize),
}

/// Assigns the entries of `spec` to the `rank` dimensions of the input. Returns the spec of each of these dimensions,
/// and the axes of the result.
fn assign_entries(
    spec: &Spec<'_>,
    rank: usize,
) -> Result<(Vec<DimensionSpec>, Vec<ResultAxis>), ReferenceError> {
    let Spec {
        begin,
        end,
        strides,
        ..
    } = *spec;
    let entry_count = begin.len();
    if end.len() != entry_count || strides.len() != entry_count || entry_count >= 32 {
        let (end, strides) = (end.len(), strides.len());
        return fail_with(
            "spec_vectors",
            format!(
                "Expected begin, end, and strides to be 1D equal size tensors, but got shapes \
                 [{entry_count}], [{end}], and [{strides}] instead."
            ),
        );
    }
    if spec.ellipsis_mask.count_ones() > 1 {
        return fail_with(
            "multiple_ellipses",
            "Multiple ellipses in slice spec not allowed",
        );
    }
    let is_bit_set = |mask: i32, i: usize| (mask >> i) & 1 == 1;
    let mut dim_specs = Vec::new();
    let mut axes = Vec::new();
    for i in 0..entry_count {
        if is_bit_set(spec.ellipsis_mask, i) {
            // The entries after the ellipsis take the last `dims_after` dimensions. The ellipsis takes all remaining
            // dimensions before them.
            let dims_after = (i + 1..entry_count)
                .filter(|&j| !is_bit_set(spec.new_axis_mask, j))
                .count();
            for dim in dim_specs.len()..rank.saturating_sub(dims_after) {
                dim_specs.push(WHOLE_DIMENSION);
                axes.push(ResultAxis::Of(dim));
            }
        } else if is_bit_set(spec.new_axis_mask, i) {
            axes.push(ResultAxis::New);
        } else if dim_specs.len() < rank {
            if is_bit_set(spec.shrink_axis_mask, i) {
                dim_specs.push(DimensionSpec::Index {
                    index: begin[i],
                    stride: strides[i],
                });
            } else {
                axes.push(ResultAxis::Of(dim_specs.len()));
                dim_specs.push(DimensionSpec::PythonRange {
                    begin: (!is_bit_set(spec.begin_mask, i)).then_some(begin[i]),
                    end: (!is_bit_set(spec.end_mask, i)).then_some(end[i]),
                    stride: strides[i],
                });
            }
        } else if rank == 0 {
            return fail_with("scalar_input", "Attempting to slice scalar input.");
        } else {
            return fail_with(
                "too_many_specs",
                format!("Index out of range using input dim {rank}; input has only {rank} dims"),
            );
        }
    }
    // Without an ellipsis, the remaining dimensions are whole. With an ellipsis, no dimension remains.
    for dim in dim_specs.len()..rank {
        dim_specs.push(WHOLE_DIMENSION);
        axes.push(ResultAxis::Of(dim));
    }
    Ok((dim_specs, axes))
}

/// Returns the positions that `dim_spec` selects in dimension `dim`, which has `size` positions.
fn select_positions(
    dim_spec: &DimensionSpec,
    dim: usize,
    size: usize,
) -> Result<PythonRange, ReferenceError> {
    // An i128 holds every sum and difference of an i64 and a size.
    let size = size as i128;
    let wrap = |v: i64| {
        if v < 0 {
            i128::from(v) + size
        } else {
            i128::from(v)
        }
    };
    let (DimensionSpec::PythonRange { stride, .. } | DimensionSpec::Index { stride, .. }) =
        *dim_spec;
    if stride == 0 {
        return fail_with("stride_zero", format!("strides[{dim}] must be non-zero"));
    }
    match *dim_spec {
        DimensionSpec::Index { stride: ..0, .. } => fail_with(
            "shrink_stride",
            "only stride 1 allowed on non-range indexing.",
        ),
        DimensionSpec::Index { index, .. } => {
            let index = wrap(index);
            if !(0..size).contains(&index) {
                return fail_with(
                    "shrink_out_of_range",
                    format!("slice index {index} of dimension {dim} out of bounds."),
                );
            }
            Ok(PythonRange {
                begin: index,
                end: index + 1,
                step: 1,
            })
        }
        DimensionSpec::PythonRange { begin, end, stride } => {
            let step = i128::from(stride);
            let (default_begin, default_end) = if step > 0 { (0, size) } else { (size - 1, -1) };
            let clamped_bound = |v: i64| {
                wrap(v).clamp(
                    default_begin.min(default_end),
                    default_begin.max(default_end),
                )
            };
            Ok(PythonRange {
                begin: begin.map_or(default_begin, clamped_bound),
                end: end.map_or(default_end, clamped_bound),
                step,
            })
        }
    }
}

/// Python's `range(begin, end, step)`, already clamped to a dimension.
struct PythonRange {
    begin: i128,
    end: i128,
    step: i128,
}

impl PythonRange {
    fn len(&self) -> usize {
        let distance = if self.step > 0 {
            self.end - self.begin
        } else {
            self.begin - self.end
        };
        let step = self.step.abs();
        to_usize((distance.max(0) + step - 1) / step)
    }

    fn positions(&self) -> Vec<usize> {
        let mut positions = Vec::new();
        let mut i = self.begin;
        while if self.step > 0 {
            i < self.end
        } else {
            i > self.end
        } {
            positions.push(to_usize(i));
            i += self.step;
        }
        positions
    }
}

fn to_usize(value: i128) -> usize {
    usize::try_from(value).expect("a position or a count in a dimension is at most its size")
}

#[cfg(test)]
mod tests {
    use super::{DimensionSpec, select_positions};

    #[test]
    fn the_length_of_a_range_is_the_number_of_its_positions() {
        let bounds = || {
            (-8..=8)
                .map(Some)
                .chain([None, Some(i64::MIN), Some(i64::MAX)])
        };
        for size in 0..6 {
            for (begin, end) in bounds().flat_map(|b| bounds().map(move |e| (b, e))) {
                for stride in [i64::MIN, -7, -3, -2, -1, 1, 2, 3, 7, i64::MAX] {
                    let range = select_positions(
                        &DimensionSpec::PythonRange { begin, end, stride },
                        0,
                        size,
                    )
                    .unwrap();
                    assert_eq!(
                        range.len(),
                        range.positions().len(),
                        "{begin:?}:{end:?}:{stride} of {size}"
                    );
                }
            }
        }
    }
}
