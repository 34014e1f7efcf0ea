//! The operations, in a slow and obvious form.
//!
//! This module defines the correct results of the fast paths. It goes through elements one at a time and finds each by
//! its coordinates. It uses no memory strides, no merged axes and no code of `wgslice`, so it does not share mistakes
//! with the fast paths.
//!
//! TensorFlow's operations have the same semantics as TensorFlow 2.21's CPU kernels. Vectors from TensorFlow check
//! this. Vectors from NumPy and JAX check most other operations. Technical limits of TensorFlow (rank 8 for slices,
//! index depth 7 for gathers and scatters) do not apply to this module.
//!
//! Except in [`convert()`], elements can have any type that can be cloned, such as strings:
//!
//! ```
//! use wgslice_vectors::reference::{Spec, strided_slice};
//!
//! let words = ["a", "b", "c", "d", "e"].map(String::from);
//! let every_other = Spec { begin: &[-1], end: &[-6], strides: &[-2], ..Spec::default() };
//! let (shape, values) = strided_slice(&words, &[5], &every_other)?;
//! assert_eq!(shape, [3]);
//! assert_eq!(values, ["e", "c", "a"]);
//! # Ok::<(), wgslice_vectors::reference::ReferenceError>(())
//! ```

mod array_index;
mod broadcast_to;
mod concat;
mod convert;
mod crop;
mod gather;
mod gather_elements;
mod gather_nd;
mod index_update;
mod indexing;
mod mask;
mod pad;
mod roll;
mod scatter_elements;
mod scatter_nd;
mod slice;
mod strided_slice;
mod strided_slice_grad;
mod strided_slice_update;
mod tile;
mod transpose;
mod xla;

pub use array_index::{Entry, array_index};
pub use broadcast_to::broadcast_to;
pub use concat::{concat, stack};
pub use convert::{Conversion, Numbers, convert};
pub use crop::{Boxes, crop, paste};
pub use gather::{batch_gather, gather};
pub use gather_elements::gather_elements;
pub use gather_nd::{Gathered, gather_nd};
pub use index_update::index_update;
pub use indexing::Indexing;
pub use mask::{boolean_mask, compress, masked_scatter, nonzero, select};
pub use pad::{PadMode, pad};
pub use roll::roll;
pub use scatter_elements::scatter_elements;
pub use scatter_nd::{Scattered, scatter_nd, tensor_scatter_nd};
pub use slice::slice;
pub use strided_slice::{Spec, strided_slice};
pub use strided_slice_grad::strided_slice_grad;
pub use strided_slice_update::strided_slice_update;
pub use tile::{repeat, tile};
pub use transpose::transpose;
pub use xla::{Dims as XlaDims, xla_gather, xla_scatter};

use std::{error, fmt, iter};

/// The error of an operation.
///
/// `kind` is a stable tag: the `error_kind` of test vectors. `message` is TensorFlow's text if TensorFlow has a fixed
/// one.
///
/// | kind | rule broken |
/// |---|---|
/// | `data_length` | the number of values is the product of the shape |
/// | `too_large` | the result fits into memory |
/// | `spec_vectors` | begin, end and strides have one length, at most 31 |
/// | `multiple_ellipses` | at most one bit of `ellipsis_mask` is set |
/// | `scalar_input` | a scalar takes only ellipses and new axes |
/// | `too_many_specs` | there is a dimension for every spec that needs one |
/// | `stride_zero` | the stride of a dimension is not 0 |
/// | `shrink_stride` | a shrunk dimension has a positive stride |
/// | `shrink_out_of_range` | the index of a shrunk dimension is inside it |
/// | `dy_shape` | dy has the shape of the slice |
/// | `broadcast` | every axis has the size of the new axis, or size 1 |
/// | `slice_vectors` | begin and size have an entry for each dimension |
/// | `slice_begin` | a block begins inside its dimension, or at its end |
/// | `slice_size` | a block ends inside its dimension |
/// | `permutation` | every axis occurs once |
/// | `axis` | `axis` is a dimension of the array |
/// | `no_arrays`, `array_shape` | there is an array; all shapes are equal, except along the axis of `concat` |
/// | `entries` | paddings and multiples have an entry for each dimension |
/// | `padding` | no end is padded by more than the mode can mirror or repeat |
/// | `shifts` | there is a shift for each axis |
/// | `outer_rank` | an array of an outer index expression has one dimension |
/// | `array_shapes`, `mask_shape` | arrays of positions can be broadcast; a mask has the sizes of the dimensions |
/// | `position` | a position is inside its dimension |
/// | `batch_dims` | `batch_dims` is less than both ranks; in `gather`, at most the rank of indices and the axis |
/// | `batch_shape` | params and indices agree in their batch dimensions |
/// | `params_rank`, `indices_rank` | both have at least one dimension |
/// | `index_depth` | a row of indices has no more integers than params has dimensions after the batch |
/// | `elements_shape` | indices have the rank of the array and are no longer than it except along the axis |
/// | `mask_scalar`, `mask_shape` | a mask has dimensions, and they equal the array's dimensions from the axis on |
/// | `condition` | the condition of `compress` has one dimension and is not longer than the axis |
/// | `mask_values` | each value for a selected slice has the slice's shape |
/// | `crop_rank` | there is a dimension of items, and one for each size of a box |
/// | `crop_strides` | there is a stride for each size |
/// | `crop_shape` | the array that is written has the boxes' shape |
/// | `crop_items` | without box indices, there is a box for each item |
/// | `crop_box_size` | clamped and circular boxes are no longer than their dimensions |
/// | `repeats` | no element of an array is the target of two positions of the view into which boxes are written |
/// | `empty_params` | rows cannot be taken from params without elements |
/// | `dimension_numbers` | StableHLO's constraints on dimension numbers, window sizes and the shape of updates |
/// | `convert_positions` | there is one scale, or one for each position |
/// | `updates_rank` | indices and updates of a scatter have at least one dimension |
/// | `empty_output` | if indices, updates or the output are empty, both indices and updates are empty |
/// | `updates_shape` | indices have rank 2 or more, each row a slice of updates; in `scatter_elements`, equal shapes |
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReferenceError {
    /// The tag of the broken rule.
    pub kind: &'static str,
    /// The problem: the broken rule, the offending values, or both.
    pub message: String,
}

impl fmt::Display for ReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl error::Error for ReferenceError {}

fn fail_with<T>(kind: &'static str, message: impl Into<String>) -> Result<T, ReferenceError> {
    Err(ReferenceError {
        kind,
        message: message.into(),
    })
}

/// Formats a shape as in TensorFlow's messages: `[3,4]`.
fn format_shape(shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
    format!("[{}]", sizes.join(","))
}

/// Returns the product of the sizes of a shape, or `None` if it does not fit a `usize`.
fn element_count(shape: &[usize]) -> Option<usize> {
    // A zero makes the product 0, even if the other sizes would overflow.
    if shape.contains(&0) {
        return Some(0);
    }
    shape
        .iter()
        .try_fold(1_usize, |count, &size| count.checked_mul(size))
}

/// Makes an empty vector with capacity for the values of a result of `shape`.
///
/// If there is too little memory, returns the error `too_large` instead of aborting, because even a short shape can
/// request any amount of memory.
fn vec_for_shape<T>(shape: &[usize]) -> Result<Vec<T>, ReferenceError> {
    let mut values = Vec::new();
    if element_count(shape).is_none_or(|count| values.try_reserve_exact(count).is_err()) {
        let shape = format_shape(shape);
        return fail_with(
            "too_large",
            format!("no memory for a result of shape {shape}"),
        );
    }
    Ok(values)
}

/// Returns the values of an array of `shape` whose elements are all `T::default()`, or the error `too_large`.
fn zeros_of_shape<T: Clone + Default>(shape: &[usize]) -> Result<Vec<T>, ReferenceError> {
    let mut values = vec_for_shape(shape)?;
    values.resize(element_count(shape).unwrap_or(0), T::default());
    Ok(values)
}

fn check_length(name: &str, length: usize, shape: &[usize]) -> Result<(), ReferenceError> {
    if element_count(shape) == Some(length) {
        return Ok(());
    }
    let shape = format_shape(shape);
    fail_with(
        "data_length",
        format!("{name} has {length} values, which do not fill its shape {shape}"),
    )
}

/// Returns the coordinates of every element of `shape`, in row-major order.
fn all_coordinates(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    let first_element = (!shape.contains(&0)).then(|| vec![0; shape.len()]);
    iter::successors(first_element, |previous| {
        let mut next = previous.clone();
        for axis in (0..shape.len()).rev() {
            next[axis] += 1;
            if next[axis] < shape[axis] {
                return Some(next);
            }
            next[axis] = 0;
        }
        None
    })
}

/// Returns the value at `coordinates` of a row-major array of `shape`.
fn value_at<'a, T>(values: &'a [T], shape: &[usize], coordinates: &[usize]) -> &'a T {
    &values[row_major_position(shape, coordinates)]
}

/// Returns the value at `coordinates` of a row-major array of `shape`, for writing.
fn value_at_mut<'a, T>(values: &'a mut [T], shape: &[usize], coordinates: &[usize]) -> &'a mut T {
    &mut values[row_major_position(shape, coordinates)]
}

fn row_major_position(shape: &[usize], coordinates: &[usize]) -> usize {
    iter::zip(shape, coordinates).fold(0, |sum, (size, c)| sum * size + c)
}
