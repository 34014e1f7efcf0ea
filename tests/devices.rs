//! The shapes and arguments of every golden vector on every device of the harness: with WebGPU's default
//! limits, with limits so low that everything is cut into windows, and in tensors of several buffers.
//!
//! The harness compares with the reference, at every element size. The reference agrees with TensorFlow on
//! these vectors (`golden`).

use crate::harness::{check_case, check_gather};
use std::collections::BTreeMap;
use wgslice_vectors::{Call, parse};

#[test]
fn every_vector_on_every_device() {
    let mut checked = BTreeMap::new();
    for case in parse(include_str!("vectors/seed1.jsonl")) {
        let case = case.unwrap();
        match Call::of(&case).unwrap() {
            // Most vectors are gathers. Without those, one element size and one index type would be enough.
            Call::GatherNd(call) => check_gather(
                &call.params.tensor.shape,
                &call.indices.data,
                &call.indices.shape,
                call.batch_dims,
            ),
            _ => check_case(&case),
        }
        *checked.entry(case.op.name()).or_insert(0) += 1;
    }
    let expected = [
        ("gather", 196),
        ("gather_nd", 267),
        ("scatter_nd", 97),
        ("slice", 157),
        ("strided_slice", 785),
        ("strided_slice_grad", 167),
        ("tensor_scatter_nd_update", 101),
        ("tensor_strided_slice_update", 230),
    ];
    assert!(checked.into_iter().eq(expected));
}
