//! Views compose: a slice of a transpose of a broadcast of a slice is one plan, and equals the reference step
//! by step, on every device.

use crate::harness::{broadcast, check_view as check, elements, kind, slice, transpose};
use wgslice::View;

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
    // Empty views stay empty.
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

/// The errors of a step are those of an array with the shape of the previous step.
#[test]
fn steps_that_do_not_fit_are_errors() {
    let view = View::of(&[3, 1, 4])
        .unwrap()
        .strided_slice(&"1:".parse().unwrap());
    let values = (vec![2, 1, 4], elements(8));
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
        let expected = wrong.of_values(values.clone()).unwrap_err();
        assert_eq!(kind(&error), expected.kind, "{wrong:?}");
    }
}
