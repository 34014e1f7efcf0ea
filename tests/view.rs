//! Views that compose: a slice of a transpose of a broadcast of a slice is one plan, and gives what the
//! reference gives step by step, on every device.

use crate::harness::{SIZES, Select, devices, elements, kind, naive_slice, to_bytes};
use wgslice::{
    SliceSpec, StridedSlice, View,
    reference::{self, ReferenceError},
};

fn slice(text: &str) -> Select {
    Select::Slice(text.parse().unwrap())
}

fn transpose(permutation: &[usize]) -> Select {
    Select::Transpose(permutation.to_vec())
}

fn broadcast(shape: &[usize]) -> Select {
    Select::Broadcast(shape.to_vec())
}

/// What the reference makes of values in one step.
fn step(
    (shape, values): (Vec<usize>, Vec<u128>),
    step: &Select,
) -> Result<(Vec<usize>, Vec<u128>), ReferenceError> {
    match step {
        Select::Slice(spec) => naive_slice(&values, &shape, &encoded(spec)),
        Select::Transpose(permutation) => reference::transpose(&values, &shape, permutation),
        Select::Broadcast(to) => {
            let values = reference::broadcast_to(&values, &shape, to)?;
            Ok((to.clone(), values))
        }
    }
}

fn encoded(spec: &SliceSpec) -> StridedSlice {
    spec.try_into().unwrap()
}

#[track_caller]
fn check(shape: &[usize], steps: &[Select]) {
    let source = elements(shape.iter().product());
    let expected = steps
        .iter()
        .try_fold((shape.to_vec(), source.clone()), step)
        .unwrap();
    let view = steps
        .iter()
        .try_fold(View::of(shape).unwrap(), |view, step| step.of_view(&view))
        .unwrap();
    assert_eq!(view.shape(), expected.0, "{shape:?} {steps:?}");
    for dtype in SIZES {
        let plan = view.plan(dtype);
        let bytes = to_bytes(&source, dtype.size());
        let expected = to_bytes(&expected.1, dtype.size());
        for device in devices() {
            let what = || format!("{}: {shape:?} {steps:?}: {plan}", device.name);
            let tensor = device.backend.adopt(dtype, shape, bytes.clone()).unwrap();
            let selected = steps
                .iter()
                .try_fold(tensor.view(), |view, step| step.of_tensor(&view))
                .unwrap();
            assert_eq!(*selected.layout(), view, "{}", what());
            let moved = selected.to_tensor().unwrap();
            assert!(moved.bytes().unwrap() == expected, "{}", what());
        }
    }
}

#[test]
fn slices_of_slices() {
    check(
        &[9, 8],
        &[slice("1:8"), slice("::-2, 2:"), slice("1:, ::-1")],
    );
    check(
        &[40],
        &[slice("::-1"), slice("3:30:3"), slice("::-2"), slice("1")],
    );
    check(
        &[6, 7, 5],
        &[slice("..., 1"), slice("None, ::-1"), slice("0, :, ::3")],
    );
    // What is empty stays so.
    check(&[4, 5], &[slice("2:2"), slice("..., ::-1"), slice("None")]);
}

#[test]
fn transposes_and_broadcasts() {
    check(&[4, 5, 6], &[transpose(&[2, 0, 1]), transpose(&[1, 2, 0])]);
    check(&[7, 33], &[transpose(&[1, 0]), slice("::-1, 2:")]);
    check(
        &[5, 1, 3],
        &[broadcast(&[2, 5, 4, 3]), slice("1, ::-2, 1:, ::-1")],
    );
    check(&[1], &[broadcast(&[70]), slice("3:")]);
    check(&[], &[broadcast(&[3, 4]), transpose(&[1, 0])]);
    check(&[3, 0], &[transpose(&[1, 0]), broadcast(&[2, 0, 3])]);
    let all = [
        slice("1:, ::-1"),
        transpose(&[1, 0, 2]),
        slice("None, 2:, ..., ::2"),
    ];
    check(&[3, 6, 16], &all);
}

/// The errors of a step are those of an array of the shape that the steps before it give.
#[test]
fn steps_that_do_not_fit_are_errors() {
    let view = View::of(&[3, 1, 4])
        .unwrap()
        .strided_slice(&"1:".parse().unwrap());
    let values = ([2, 1, 4].to_vec(), elements(8));
    for wrong in [
        slice("5"),
        slice("::0"),
        slice("0, 0, 0, 0"),
        transpose(&[0, 1]),
        transpose(&[0, 1, 1]),
        broadcast(&[2, 1, 5]),
        broadcast(&[1, 4]),
    ] {
        let error = wrong.of_view(view.as_ref().unwrap()).unwrap_err();
        let expected = step(values.clone(), &wrong).unwrap_err();
        assert_eq!(kind(&error), expected.kind, "{wrong:?}");
    }
}
