//! Runs the calls of golden vectors and of random cases on every device of the harness.

use super::{
    How, ScatterCase, Sizes, check_block, check_gathering, check_grad, check_scatter, check_slice,
    check_update, check_view,
};
use wgslice::{
    Combine, Gather, GatherNd, Negative, Order, OutOfRange, Scatter, reference::Indexing,
};
use wgslice_vectors::{Call, Params, Tensor};

/// Runs the shapes and arguments of a call on every device against the reference, with values of the harness.
///
/// Element sizes and unspecified options alternate by `number`: whether out-of-range indices are an error, the combination and
/// order of a scatter, and the index type of a gather.
#[track_caller]
pub(crate) fn check_call(call: &Call<'_>, number: usize) {
    let sizes = Sizes::InTurn(number);
    match call {
        Call::StridedSlice { input, spec } => check_slice(&input.shape, spec, sizes),
        Call::View { input, steps } => check_view(&input.shape, steps, sizes),
        Call::Slice { input, begin, size } => check_block(&input.shape, begin, size, sizes),
        Call::StridedSliceGrad { shape, spec, dy } => check_grad(shape, spec, &dy.shape, sizes),
        Call::StridedSliceUpdate { input, spec, value } => {
            check_update(&input.shape, spec, &value.shape, sizes);
        }
        Call::GatherNd {
            params,
            indices,
            batch_dims,
            indexing,
        } => {
            let options = GatherNd {
                batch_dims: *batch_dims,
                out_of_range: out_of_range(*indexing, number),
                negative: negative(*indexing),
            };
            gather(number, params, indices, How::GatherNd(options));
        }
        Call::Gather {
            params,
            indices,
            axis,
            batch_dims,
            indexing,
        } => {
            let options = Gather {
                axis: Some((*axis).try_into().unwrap()),
                batch_dims: (*batch_dims).try_into().unwrap(),
                out_of_range: out_of_range(*indexing, number),
                negative: negative(*indexing),
            };
            gather(number, params, indices, How::Gather(options));
        }
        Call::BatchGather {
            params,
            indices,
            indexing,
        } => {
            let options = Gather {
                out_of_range: out_of_range(*indexing, number),
                negative: negative(*indexing),
                ..Gather::batch(indices.shape.len())
            };
            gather(number, params, indices, How::BatchGather(options));
        }
        Call::ScatterNd {
            indices,
            updates,
            shape,
            indexing,
        } => {
            // Sometimes rows go into zeros, which TensorFlow has no operation for.
            let combine = match number % 4 {
                3 => Combine::Update,
                _ => Combine::Add,
            };
            scatter(number, *indexing, shape, (indices, updates), true, combine);
        }
        Call::TensorScatterNd {
            tensor,
            indices,
            updates,
            adds,
            indexing,
        } => {
            let combine = if *adds { Combine::Add } else { Combine::Update };
            let rows = (*indices, *updates);
            scatter(number, *indexing, &tensor.shape, rows, false, combine);
        }
    }
}

#[track_caller]
fn gather(number: usize, params: &Params<'_>, indices: &Tensor, how: How) {
    let params = (&params.tensor.shape[..], &params.view[..]);
    check_gathering(number, params, (&indices.data, &indices.shape), how);
}

#[track_caller]
fn scatter(
    number: usize,
    indexing: Indexing,
    shape: &[usize],
    (indices, updates): (&Tensor, &Tensor),
    fresh: bool,
    combine: Combine,
) {
    check_scatter(ScatterCase {
        shape,
        fresh,
        indices: &indices.data,
        indices_shape: &indices.shape,
        updates_shape: &updates.shape,
        options: Scatter {
            combine,
            out_of_range: out_of_range(indexing, number),
            negative: negative(indexing),
            order: [Order::Deterministic, Order::Fast][number / 2 % 2],
        },
    });
}

fn out_of_range(indexing: Indexing, number: usize) -> OutOfRange {
    match indexing.clamp {
        true => OutOfRange::Clamp,
        false => [OutOfRange::Zero, OutOfRange::Error][number % 2],
    }
}

fn negative(indexing: Indexing) -> Negative {
    match indexing.wrap {
        true => Negative::Wrap,
        false => Negative::OutOfRange,
    }
}
