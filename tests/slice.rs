//! Compares blocks, which are slices by start index and size, with the reference. Blocks are planned as strided slices.

use crate::harness::{devices, kind, run_bytes};
use wgslice::{DType, Plan, SliceSpec, View};
use wgslice_vectors::reference;

/// Tests every begin and size from -3 to 5 in short dimensions, and the lowest and highest 64-bit integers.
#[test]
fn every_block_of_short_dimensions() {
    let mut bounds: Vec<i64> = (-3..=5).collect();
    bounds.extend([i64::MIN, i64::MAX]);
    for shape in [[0, 2], [1, 3], [3, 0]] {
        let input: Vec<i32> = (0..).take(shape.iter().product()).collect();
        for &begin in &bounds {
            for &size in &bounds {
                for (second_begin, second_size) in [(0, -1), (1, 1), (0, 9)] {
                    let (begins, sizes) = ([begin, second_begin], [size, second_size]);
                    let plan = SliceSpec::block(&shape, &begins, &sizes)
                        .and_then(|block| Plan::slice(&shape, &block, DType::I32));
                    match (plan, reference::slice(&input, &shape, &begins, &sizes)) {
                        (Ok(plan), Ok((expected_shape, expected))) => {
                            assert_eq!(plan.shape(), expected_shape);
                            let mut got = vec![-1; expected.len()];
                            let bytes = bytemuck::cast_slice_mut(&mut got);
                            run_bytes(&plan, bytemuck::cast_slice(&input), None, bytes).unwrap();
                            assert_eq!(got, expected);
                        }
                        (Err(error), Err(expected)) => assert_eq!(kind(&error), expected.kind),
                        (plan, expected) => panic!("{begins:?} {sizes:?}: {plan:?}, {expected:?}"),
                    }
                }
            }
        }
    }
}

#[test]
fn vectors_of_wrong_lengths_are_errors() {
    for (begin, size) in [(&[0][..], &[1][..]), (&[0, 0], &[1]), (&[0; 3], &[1; 3])] {
        let error = SliceSpec::block(&[3, 4], begin, size).unwrap_err();
        assert_eq!(kind(&error), "slice_vectors");
    }
    assert_eq!(
        SliceSpec::block(&[], &[], &[]).unwrap().view(&[]).unwrap(),
        View::new(&[]).unwrap()
    );
}

#[test]
fn errors_name_the_argument_and_its_limits() {
    let message = |begin, size| {
        let block = SliceSpec::block(&[5], &[begin], &[size]);
        block.unwrap_err().to_string()
    };
    assert!(message(6, -1).contains("begin[0] is 6") && message(6, -1).contains("[0, 5]"));
    assert!(message(3, 3).contains("size[0] is 3 from 3 on"));
}

#[test]
fn blocks_on_drawn_devices() {
    for backend in devices().iter().map(|device| &device.backend) {
        let values: Vec<i16> = (0..24).collect();
        let block = backend
            .slice(
                (&values, &[4, 6]),
                &SliceSpec::block(&[4, 6], &[1, 2], &[2, -1]).unwrap(),
            )
            .unwrap();
        assert_eq!(block.data, [8, 9, 10, 11, 14, 15, 16, 17], "{backend}");
    }
}
