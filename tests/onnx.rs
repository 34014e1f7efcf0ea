//! Compares ONNX's `Slice` with its specification and with the examples of its documentation and tests.

use crate::harness::kind;
use wgslice::{Backend, SliceSpec};

/// Returns the positions of a dimension that the specification selects, found one at a time.
fn slice_positions(size: i64, start: i64, end: i64, step: i64) -> Vec<i64> {
    if size == 0 {
        return Vec::new();
    }
    let from_start = |bound: i64| if bound < 0 { bound + size } else { bound };
    let mut positions = Vec::new();
    if step > 0 {
        let end = from_start(end).clamp(0, size);
        let mut position = from_start(start).clamp(0, size);
        while position < end {
            positions.push(position);
            position += step;
        }
    } else {
        let end = from_start(end).clamp(-1, size - 1);
        let mut position = from_start(start).clamp(0, size - 1);
        while position > end {
            positions.push(position);
            position += step;
        }
    }
    positions
}

#[test]
fn every_range_of_small_dimensions() {
    for size in 0..=4 {
        let data: Vec<i64> = (0..size).collect();
        let shape = [data.len()];
        let bounds: Vec<i64> = (-6..=6).chain([i64::MIN, i64::MAX]).collect();
        for &start in &bounds {
            for &end in &bounds {
                for step in [1, 2, 3, 7, -1, -2, -3, -7] {
                    let spec =
                        SliceSpec::onnx(&shape, &[start], &[end], None, Some(&[step])).unwrap();
                    let result = Backend::cpu().slice((&data, &shape), &spec).unwrap();
                    // Bounds of ±100 select the same positions as the extreme 64-bit bounds, and do not overflow in
                    // `slice_positions`.
                    let clamped = |bound: i64| bound.clamp(-100, 100);
                    assert_eq!(
                        result.data,
                        slice_positions(size, clamped(start), clamped(end), step),
                        "{start}:{end}:{step} of {size}"
                    );
                }
            }
        }
    }
}

/// The cases of ONNX's backend tests, each with the equivalent slice as text.
#[test]
fn the_cases_of_the_backend_tests() {
    type Case<'a> = (
        &'a [i64],
        &'a [i64],
        Option<&'a [i64]>,
        Option<&'a [i64]>,
        &'a str,
    );
    let cases: [Case<'_>; 8] = [
        (&[0, 0], &[3, 10], Some(&[0, 1]), Some(&[1, 1]), "0:3, 0:10"),
        (&[0], &[-1], Some(&[1]), Some(&[1]), ":, 0:-1"),
        (&[1000], &[1000], Some(&[1]), Some(&[1]), ":, 1000:1000"),
        (&[1], &[1000], Some(&[1]), Some(&[1]), ":, 1:1000"),
        (&[0, 0, 3], &[20, 10, 4], None, None, ":, :, 3:4"),
        (
            &[0, 0, 3],
            &[20, 10, 4],
            Some(&[0, 1, 2]),
            None,
            ":, :, 3:4",
        ),
        (
            &[20, 10, 4],
            &[0, 0, 1],
            Some(&[0, 1, 2]),
            Some(&[-1, -3, -2]),
            "20:0:-1, 10:0:-3, 4:1:-2",
        ),
        (
            &[0, 0, 3],
            &[20, 10, 4],
            Some(&[0, -2, -1]),
            None,
            ":, :, 3:4",
        ),
    ];
    let shape = [20, 10, 5];
    for (starts, ends, axes, steps, python_text) in cases {
        let spec = SliceSpec::onnx(&shape, starts, ends, axes, steps).unwrap();
        let expected: SliceSpec = python_text.parse().unwrap();
        assert_eq!(spec.view(&shape), expected.view(&shape), "{python_text}");
    }
}

#[test]
fn slices_that_onnx_does_not_allow() {
    let onnx_error = |shape: &[usize], starts: &[i64], ends: &[i64], axes, steps| {
        SliceSpec::onnx(shape, starts, ends, axes, steps).unwrap_err()
    };
    let two_steps: &[i64] = &[1, 1];
    for (starts, ends, axes, steps) in [
        (&[0][..], &[1, 2][..], None, None),
        (&[0], &[1], Some(&[][..]), None),
        (&[0], &[1], None, Some(two_steps)),
    ] {
        let error = onnx_error(&[3], starts, ends, axes, steps);
        assert_eq!(kind(&error), "onnx_lengths");
        assert!(error.to_string().contains("must be"), "{error}");
    }
    for (rank, axis) in [
        (2, 2),
        (2, -3),
        (2, i64::MAX),
        (2, i64::MIN),
        (0, 0),
        (0, -1),
    ] {
        let axes: &[i64] = &[axis];
        let error = SliceSpec::onnx(&vec![3; rank], &[0], &[1], Some(axes), None).unwrap_err();
        assert_eq!(kind(&error), "axis");
        assert!(error.to_string().contains(&axis.to_string()), "{error}");
        assert!(
            rank == 0 || error.to_string().contains("must be"),
            "{error}"
        );
    }
    let repeated_axis: &[i64] = &[1, -1];
    let error = onnx_error(&[3, 3], &[0, 0], &[1, 1], Some(repeated_axis), None);
    assert_eq!(kind(&error), "axis_twice");

    let error = onnx_error(&[3], &[0, 0], &[1, 1], None, None);
    assert_eq!(kind(&error), "too_many_specs");
    let zero_step: &[i64] = &[0];
    let error = onnx_error(&[3, 3], &[0], &[1], Some(&[-1]), Some(zero_step));
    assert_eq!(kind(&error), "stride_zero");
    assert!(error.to_string().contains("must be"), "{error}");
    assert_eq!(
        onnx_error(&[], &[0], &[1], Some(&[0]), None).to_string(),
        "axis is 0, but the input is a scalar, which has no axis: it must have at least one dimension"
    );
}
