//! Checks on random cases that the naive reference, the CPU path and the GPUs give the same bits.
//!
//! The cases are drawn by `wgslice-vectors`, as for `wgslice verify --random`, from the seed of all tests; `bash
//! tests/run` uses another seed in each run. A device runs plans on tensors or on the caller's buffers, between guard
//! bytes. A failing case is reduced and printed as a line of a vector file.

use crate::harness::{
    SEED, Sizes, check_case, check_slice, draw_count, print_cases, with_draw_count,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use wgslice::spec::TfStridedSlice;
use wgslice_vectors::{
    Call, Case, Operation,
    random::{answered, case_of, reduce},
};

/// The maximum number of candidates that are tried to reduce a failing case.
const MAX_CANDIDATES: usize = 500;

/// Checks `count` cases of an operation that satisfy `condition`.
#[track_caller]
fn check_operation(operation: Operation, count: usize, condition: impl Fn(&Case) -> bool) {
    let cases = (0..).map(|number| case_of(operation, *SEED, number));
    for case in cases.filter(condition).take(count) {
        let draw_count = draw_count();
        let fails = |smaller: &Case| {
            // A panic ends the case, and no value of the case is used again.
            let check = || catch_unwind(AssertUnwindSafe(|| check_case(smaller)));
            Call::of(smaller).is_ok() && with_draw_count(draw_count, check).is_err()
        };
        if fails(&case) {
            let smallest = answered(reduce(&case, MAX_CANDIDATES, fails)).unwrap();
            panic!(
                "case {} fails, and this reduced case fails with the last panic above:\n{}",
                case.line,
                smallest.to_line()
            );
        }
    }
    print_cases();
}

/// The operations of the tests below. The last test checks all other operations, so that a new operation is checked
/// without a change to this file.
const CHECKED_OPERATIONS: &[Operation] = &[
    Operation::StridedSlice,
    Operation::Slice,
    Operation::View,
    Operation::StridedSliceUpdate,
    Operation::StridedSliceGrad,
    Operation::ScatterNd,
    Operation::TensorScatterNdUpdate,
    Operation::TensorScatterNdAdd,
    Operation::TensorScatterNdSub,
    Operation::TensorScatterNdMin,
    Operation::TensorScatterNdMax,
    Operation::ScatterElements,
    Operation::GatherNd,
    Operation::Gather,
    Operation::BatchGather,
    Operation::GatherElements,
    Operation::Crop,
    Operation::Paste,
];

fn any_case(_: &Case) -> bool {
    true
}

#[test]
fn random_slices() {
    check_operation(Operation::StridedSlice, 600, any_case);
}

#[test]
fn random_blocks() {
    check_operation(Operation::Slice, 150, any_case);
}

#[test]
fn random_views() {
    check_operation(Operation::View, 150, any_case);
}

#[test]
fn random_updates() {
    check_operation(Operation::StridedSliceUpdate, 300, any_case);
}

#[test]
fn random_gradients() {
    check_operation(Operation::StridedSliceGrad, 300, any_case);
}

#[test]
fn random_scatters() {
    check_operation(Operation::ScatterNd, 90, any_case);
    check_operation(Operation::TensorScatterNdUpdate, 80, any_case);
    check_operation(Operation::TensorScatterNdAdd, 80, any_case);
    check_operation(Operation::TensorScatterNdSub, 20, any_case);
    check_operation(Operation::TensorScatterNdMin, 20, any_case);
    check_operation(Operation::TensorScatterNdMax, 20, any_case);
    check_operation(Operation::ScatterElements, 100, any_case);
}

fn reads_view(case: &Case) -> bool {
    case.args.contains_key("view")
}

#[test]
fn random_gathers() {
    let reads_array = |case: &Case| !reads_view(case);
    check_operation(Operation::GatherNd, 200, reads_array);
    check_operation(Operation::Gather, 150, reads_array);
    check_operation(Operation::BatchGather, 50, any_case);
    check_operation(Operation::GatherElements, 100, reads_array);
}

#[test]
fn random_crops() {
    check_operation(Operation::Crop, 150, any_case);
}

#[test]
fn random_pastes() {
    check_operation(Operation::Paste, 300, any_case);
}

/// Tests random gathers whose params are views.
#[test]
fn random_gathers_of_views() {
    check_operation(Operation::GatherNd, 200, reads_view);
    check_operation(Operation::Gather, 200, reads_view);
    check_operation(Operation::GatherElements, 100, reads_view);
}

/// Tests every begin and end up to 2 beyond either end of a short axis, with strides from -3 to 3.
#[test]
fn every_range_of_a_short_axis() {
    for size in 0..4usize {
        let n = size as i64;
        for begin in -n - 2..=n + 2 {
            for end in -n - 2..=n + 2 {
                for stride in [-3, -2, -1, 1, 2, 3] {
                    for (begin_mask, end_mask) in [(0, 0), (1, 0), (0, 1)] {
                        let encoded = TfStridedSlice {
                            begin: vec![begin],
                            end: vec![end],
                            strides: vec![stride],
                            begin_mask,
                            end_mask,
                            ..TfStridedSlice::default()
                        };
                        crate::harness::check_slice_on_cpu(&[size], &encoded);
                    }
                }
            }
        }
    }
}

/// Tests rows that are aligned for the widest loads and packed stores of shaders, and rows that are aligned only for
/// narrower loads and stores.
#[test]
fn rows_of_many_alignments() {
    let whole_slice = TfStridedSlice {
        begin: vec![0; 3],
        end: vec![0; 3],
        strides: vec![1; 3],
        begin_mask: 7,
        end_mask: 7,
        ..TfStridedSlice::default()
    };
    for shape in [[2, 3, 32], [2, 3, 64], [1, 4, 24], [2, 3, 66], [4, 4, 3]] {
        for (axis, stride) in [(2, -1), (2, 2), (2, -3), (1, -1), (1, 2)] {
            let mut strides = whole_slice.strides.clone();
            strides[axis] = stride;
            let encoded = TfStridedSlice {
                strides,
                ..whole_slice.clone()
            };
            check_slice(&shape, &encoded, Sizes::All);
            // The slice begins and ends within units.
            let encoded = TfStridedSlice {
                begin: vec![0, 0, 1],
                end: vec![0, 0, -1],
                begin_mask: 3,
                end_mask: 3,
                ..encoded
            };
            check_slice(&shape, &encoded, Sizes::All);
        }
    }
}

#[test]
fn random_cases_of_other_operations() {
    for operation in Operation::ALL {
        if !CHECKED_OPERATIONS.contains(operation) {
            check_operation(*operation, 40, any_case);
        }
    }
}
