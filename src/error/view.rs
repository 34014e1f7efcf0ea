//! Errors of views.

use super::{Error, argument, axes::AxisList};
use crate::prelude::*;
use crate::text::Shape;
use core::ops::Range;

/// Returns the error for a permutation that does not name each dimension once.
pub(crate) fn permutation(permutation: &[usize], rank: usize) -> Error {
    argument!(
        Permutation,
        "the permutation {permutation:?} does not order {rank} dimensions: \
         it must name each of 0 to {rank} (exclusive) once"
    )
}

/// Returns the error for a shape that the view cannot be broadcast to.
pub(crate) fn broadcast(from_shape: &[usize], to_shape: &[usize]) -> Error {
    argument!(
        Broadcast,
        "shape {} cannot be broadcast to {}: counted from the last, each dimension must be equal or 1",
        Shape(from_shape),
        Shape(to_shape)
    )
}

/// Returns the error for a plan whose result cannot be written to a view.
pub(crate) fn written_to(operation: &str) -> Error {
    argument!(
        WrittenTo,
        "{operation} has no result that could be written to a view: it changes an array itself, or converts; use a \
         slice, a gather or a crop"
    )
}

/// Returns the error for a destination whose shape differs from the result's.
pub(crate) fn dest_shape(found_shape: &[usize], needed_shape: &[usize]) -> Error {
    argument!(
        DestShape,
        "the destination is a view of shape {}, but the result has shape {}",
        Shape(found_shape),
        Shape(needed_shape)
    )
}

/// Returns the error for a plan that changes an array in place, in a call that makes a new array.
pub(crate) fn in_place(operation: &str) -> Error {
    argument!(
        InPlace,
        "{operation} changes an array in place: pass it to Tensor::run_into with the tensor to change"
    )
}

/// Returns the error for a tensor with neither the layout nor the shape of the plan's input.
pub(crate) fn wrong_input_layout(
    argument: &str,
    found_shape: &[usize],
    needed_shape: &[usize],
) -> Error {
    argument!(
        PlanArgument,
        "{argument} has shape {}, but the plan needs {}: pass a tensor of this shape, or plan for Tensor::layout",
        Shape(found_shape),
        Shape(needed_shape)
    )
}

/// Returns the error for a destination that selects an element twice.
pub(crate) fn repeated_element(shape: &[usize]) -> Error {
    argument!(
        Repeats,
        "the destination, a view of shape {}, selects elements several times: write to a view without broadcasts and with \
         strides that reach each element once",
        Shape(shape)
    )
}

/// Returns the error for a destination that might select an element twice: the search for such an element ended without
/// an answer.
pub(crate) fn undecided_repeats(shape: &[usize], strides: &[isize]) -> Error {
    argument!(
        Undecided,
        "it takes too long to check that the destination, a view of shape {} with strides {strides:?}, selects each element \
         once: write to a view with strides larger than the range of all smaller ones",
        Shape(shape)
    )
}

/// Returns the error for a number of strides that differs from the number of dimensions.
pub(crate) fn strides(shape: &[usize], strides: &[isize]) -> Error {
    argument!(
        Strides,
        "there are {} strides, {strides:?}, but shape {} has {}: pass one for each dimension",
        strides.len(),
        Shape(shape),
        shape.len()
    )
}

/// Returns the error for a view that extends beyond its memory. `bounds` has the view's lowest and highest position,
/// or is `None` for an empty view with an offset that is too large.
pub(crate) fn outside(
    shape: &[usize],
    strides: &[isize],
    offset: usize,
    elements: usize,
    bounds: Option<[i128; 2]>,
) -> Error {
    let extent = match bounds {
        Some([low, high]) => format!("reaches from element {low} to {high}"),
        None => format!("begins at element {offset}"),
    };
    argument!(
        Outside,
        "a view of shape {} with strides {strides:?} and offset {offset} {extent}, outside of memory of {elements} elements: \
         strides and offset count elements, not bytes",
        Shape(shape)
    )
}

/// Returns the error for windows that do not fit in their axis, or with a step of 0.
pub(crate) fn windows(
    size: usize,
    step: usize,
    axis: isize,
    shape: &[usize],
    max_size: usize,
) -> Error {
    let sizes = match max_size {
        0 => "the axis has no positions".into(),
        1 => "the size must be 1".into(),
        _ => format!("the size must be from 1 to {max_size}"),
    };
    argument!(
        Windows,
        "windows of size {size} and step {step} do not fit axis {axis} of {}: {sizes}, and the step must be 1 or more",
        Shape(shape)
    )
}

/// Returns the error for an axis that a view does not have.
pub(crate) fn axis(axis: isize, rank: usize) -> Error {
    argument!(
        Axis,
        "axis {axis} is out of range: the view {}",
        AxisList(rank)
    )
}

/// Returns the error for a shape whose number of elements differs from the view's.
pub(crate) fn reshape_view(from_shape: &[usize], to_shape: &[usize]) -> Error {
    argument!(
        Reshape,
        "a view of shape {} cannot be reshaped to {}: both must have equally many elements",
        Shape(from_shape),
        Shape(to_shape)
    )
}

/// Returns the error for a shape that a view can get only if its elements are copied.
pub(crate) fn reshape_strides(
    from_shape: &[usize],
    strides: &[isize],
    to_shape: &[usize],
) -> Error {
    argument!(
        ReshapeStrides,
        "a view of shape {} with strides {strides:?} cannot get the shape {} without a copy: use Plan::contiguous first",
        Shape(from_shape),
        Shape(to_shape)
    )
}

/// Returns the error for a shape whose number of elements differs from the tensor's.
pub(crate) fn wrong_element_count(from_shape: &[usize], to_shape: &[usize]) -> Error {
    argument!(
        Reshape,
        "a tensor of shape {} cannot be reshaped to {}: both must have equally many elements",
        Shape(from_shape),
        Shape(to_shape)
    )
}

/// Returns the error for a box that extends beyond the result of a plan.
pub(crate) fn outside_box(ranges: &[Range<usize>], shape: &[usize]) -> Error {
    argument!(
        Box,
        "the box {ranges:?} extends beyond a result of shape {}: \
         it must have one range for each dimension, within the size of the dimension",
        Shape(shape)
    )
}

/// Returns the error for a plan that the called method cannot cut into parts.
pub(crate) fn no_parts(operation: &str) -> Error {
    argument!(
        NoParts,
        "a {operation} has no such parts: Plan::part takes slices, views, and gathers with their indices"
    )
}
