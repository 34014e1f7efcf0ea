//! The shapes and arguments of every golden vector, on every device of the harness: with WebGPU's
//! default limits, with limits so low that everything is cut into windows, and in tensors that lie
//! in several buffers.
//!
//! The harness compares with the reference, at every element size; the reference agrees with what
//! TensorFlow gave for these vectors (`golden`).

use crate::harness::{
    ScatterCase, check_block, check_gather, check_grad, check_scatter, check_slice, check_update,
};
use std::collections::BTreeMap;
use wgslice::{Combine, Scatter};
use wgslice_vectors::{Call, Case, parse};

/// Whether there is such an operation to be checked.
fn check(case: &Case) -> bool {
    match Call::of(case).unwrap() {
        Call::StridedSlice { input, spec } => check_slice(&input.shape, &spec),
        Call::StridedSliceUpdate { input, spec, value } => {
            check_update(&input.shape, &spec, &value.shape);
        }
        Call::StridedSliceGrad { shape, spec, dy } => {
            check_grad(&shape, &spec, &dy.shape);
        }
        Call::GatherNd {
            params,
            indices,
            batch_dims,
            ..
        } => check_gather(
            &params.tensor.shape,
            &indices.data,
            &indices.shape,
            batch_dims,
        ),
        Call::Slice { input, begin, size } => check_block(&input.shape, &begin, &size),
        Call::ScatterNd {
            indices,
            updates,
            shape,
            ..
        } => check_scatter(ScatterCase {
            shape: &shape,
            fresh: true,
            indices: &indices.data,
            indices_shape: &indices.shape,
            updates_shape: &updates.shape,
            options: Scatter::default(),
        }),
        Call::TensorScatterNd {
            tensor,
            indices,
            updates,
            adds: false,
            ..
        } => check_scatter(ScatterCase {
            shape: &tensor.shape,
            fresh: false,
            indices: &indices.data,
            indices_shape: &indices.shape,
            updates_shape: &updates.shape,
            options: Scatter {
                combine: Combine::Update,
                ..Scatter::default()
            },
        }),
        _ => return false,
    }
    true
}

#[test]
fn every_vector_on_every_device() {
    let mut checked = BTreeMap::new();
    for case in parse(include_str!("vectors/seed1.jsonl")) {
        let case = case.unwrap();
        if check(&case) {
            *checked.entry(case.op.name()).or_insert(0) += 1;
        }
    }
    let checked: Vec<_> = checked.iter().map(|(&op, &count)| (op, count)).collect();
    let expected = [
        ("gather_nd", 267),
        ("scatter_nd", 97),
        ("slice", 157),
        ("strided_slice", 785),
        ("strided_slice_grad", 167),
        ("tensor_scatter_nd_update", 101),
        ("tensor_strided_slice_update", 230),
    ];
    assert_eq!(checked, expected);
}
