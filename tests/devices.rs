//! The shapes and arguments of every golden vector, on every device of the harness: with WebGPU's
//! default limits, with limits so low that everything is cut into windows, and in tensors that lie
//! in several buffers.
//!
//! The harness compares with the reference, at every element size; the reference agrees with what
//! TensorFlow gave for these vectors (`golden`).

use crate::{
    harness::{check_gather, check_grad, check_slice, check_update},
    vectors::{
        arguments::Encoded,
        call::Call,
        case::{Case, parse},
    },
};
use std::collections::BTreeMap;
use wgslice::StridedSlice;

fn encoded(spec: Encoded) -> StridedSlice {
    let [
        begin_mask,
        end_mask,
        ellipsis_mask,
        new_axis_mask,
        shrink_axis_mask,
    ] = spec.masks;
    StridedSlice {
        begin: spec.begin,
        end: spec.end,
        strides: spec.strides,
        begin_mask,
        end_mask,
        ellipsis_mask,
        new_axis_mask,
        shrink_axis_mask,
    }
}

/// Whether there is such an operation to be checked.
fn check(case: &Case) -> bool {
    match Call::of(case).unwrap().expect("an operation that exists") {
        Call::StridedSlice { input, spec } => check_slice(&input.shape, &encoded(spec)),
        Call::StridedSliceUpdate { input, spec, value } => {
            check_update(&input.shape, &encoded(spec), &value.shape);
        }
        Call::StridedSliceGrad { shape, spec, dy } => {
            check_grad(&shape, &encoded(spec), &dy.shape);
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
            *checked.entry(case.op).or_insert(0) += 1;
        }
    }
    let checked: Vec<_> = checked
        .iter()
        .map(|(op, &count)| (&op[..], count))
        .collect();
    let expected = [
        ("gather_nd", 267),
        ("strided_slice", 785),
        ("strided_slice_grad", 167),
        ("tensor_strided_slice_update", 230),
    ];
    assert_eq!(checked, expected);
}
