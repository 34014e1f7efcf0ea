//! Runs the shapes and arguments of every golden vector on devices of the harness: on the CPU and, for each vector, on
//! one drawn device of each adapter. Among these are devices with WebGPU's default limits, with limits so low that most
//! plans need several dispatches, and with tensors of several buffers.
//!
//! The harness compares results with the reference, which agrees with TensorFlow on these vectors, as `golden` checks.
//! Except for scatters, a vector runs at one element size on each device. `wgslice verify` runs each vector at all
//! sizes and with all index types, on the CPU and on adapters as programs open them.

use crate::harness::{check_case, devices, print_cases, with_strict_one_in};
use std::collections::BTreeMap;
use wgslice_vectors::{Call, check, parse, random::variant};

/// Strict devices interpret shaders, so they run only one in this many vectors, or all under `WGSLICE_TEST_ALL=1`.
const STRICT_INTERVAL: u64 = 10;

#[test]
fn every_vector_on_every_device() {
    let mut vector_counts = BTreeMap::new();
    for case in parse(include_str!("vectors/seed1.jsonl")) {
        let case = case.unwrap();
        with_strict_one_in(STRICT_INTERVAL, || check_case(&case));
        *vector_counts.entry(case.op.name()).or_insert(0) += 1;
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
    assert!(vector_counts.into_iter().eq(expected));
    print_cases();
}

/// Every device assembles arrays like TensorFlow and NumPy.
#[test]
fn every_assembly_on_every_device() {
    for case in parse(include_str!("vectors/assembly.jsonl")) {
        with_strict_one_in(STRICT_INTERVAL, || check_case(&case.unwrap()));
    }
    print_cases();
}

/// Every device gathers the elements that arrays of indices select, as NumPy does.
#[test]
fn every_array_index_on_every_device() {
    for case in parse(include_str!("vectors/array_index.jsonl")) {
        with_strict_one_in(STRICT_INTERVAL, || check_case(&case.unwrap()));
    }
    print_cases();
}

/// Every device updates the elements that arrays of indices select, as NumPy does.
#[test]
fn every_index_update_on_every_device() {
    for case in parse(include_str!("vectors/index_update.jsonl")) {
        with_strict_one_in(STRICT_INTERVAL, || check_case(&case.unwrap()));
    }
    print_cases();
}

/// Every device updates the elements that the index expressions of JAX's tests select.
#[test]
fn every_index_expression_of_jax_on_every_device() {
    for case in parse(include_str!("vectors/jax_index.jsonl")) {
        with_strict_one_in(STRICT_INTERVAL, || check_case(&case.unwrap()));
    }
    print_cases();
}

/// Every device selects the elements at which a mask is true, as TensorFlow and NumPy do.
#[test]
fn every_selection_by_mask_on_every_device() {
    for case in parse(include_str!("vectors/mask.jsonl")) {
        with_strict_one_in(STRICT_INTERVAL, || check_case(&case.unwrap()));
    }
    print_cases();
}

/// Every device writes boxes to the elements that TensorFlow writes.
#[test]
fn every_paste_on_every_device() {
    for case in parse(include_str!("vectors/paste.jsonl")) {
        with_strict_one_in(STRICT_INTERVAL, || check_case(&case.unwrap()));
    }
    print_cases();
}

/// Every device combines floats with the same bits as TensorFlow. A vector runs with one index type and one policy.
#[test]
fn every_scatter_of_floats_on_every_device() {
    for case in parse(include_str!("vectors/scatter_floats.jsonl")) {
        let case = case.unwrap();
        let (call, variant) = (Call::of(&case).unwrap(), variant(&case).unwrap());
        let mut drawn = &[][..];
        with_strict_one_in(STRICT_INTERVAL, || drawn = devices());
        for device in drawn {
            let outcome = check(&case, &call, &device.backend, &variant);
            outcome.unwrap_or_else(|problem| {
                panic!("line {}, {}: {variant}: {problem}", case.line, device.name)
            });
        }
    }
    print_cases();
}
