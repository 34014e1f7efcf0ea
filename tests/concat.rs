//! Tests edge cases of `concat`, `stack` and `split`. The modules `devices` and `property` run golden vectors and
//! random cases of `concat` and `stack`.

use crate::harness::{devices, kind};
use wgslice::{Backend, DType, Element, Plan, Tensor, View};

fn make_views(shapes: &[&[usize]]) -> Vec<View> {
    shapes
        .iter()
        .map(|shape| View::new(shape).unwrap())
        .collect()
}

#[test]
fn arrays_that_do_not_match_are_errors() {
    for (shapes, axis, concat_kind, stack_kind) in [
        (&[][..], 0, "no_arrays", "no_arrays"),
        (&[&[][..], &[]], 0, "axis", ""),
        (&[&[2], &[2]], 2, "axis", "axis"),
        (&[&[2], &[2]], -3, "axis", "axis"),
        (&[&[2], &[2]], isize::MIN, "axis", "axis"),
        (&[&[2], &[3]], 0, "", "array_shape"),
        (&[&[2, 3], &[2, 4]], 0, "array_shape", "array_shape"),
        (&[&[2, 3], &[2]], 0, "array_shape", "array_shape"),
    ] {
        let outcomes = [
            (
                Plan::concat(&make_views(shapes), axis, DType::F32),
                concat_kind,
            ),
            (
                Plan::stack(&make_views(shapes), axis, DType::F32),
                stack_kind,
            ),
        ];
        for (outcome, expected_kind) in outcomes {
            let error_kind = outcome.err().map_or("", |error| kind(&error));
            assert_eq!(error_kind, expected_kind, "{shapes:?} along {axis}");
        }
    }
    let long_views = make_views(&[&[usize::MAX / 64], &[usize::MAX / 64], &[usize::MAX / 64]]);
    let error = Plan::concat(&long_views, 0, DType::U8).unwrap_err();
    assert!(error.to_string().contains("too many elements"), "{error}");
    let error = Plan::concat(&make_views(&[&[2, 3], &[2, 4]]), 0, DType::F32).unwrap_err();
    assert_eq!(
        error.to_string(),
        "array 1 has shape [2,4], but the first has [2,3]: both must be equal except in dimension 0, the axis"
    );
}

#[test]
fn split_parts_are_joined_again() {
    let values: Vec<u16> = (0..60).collect();
    for device in devices() {
        let x = device.backend.upload((&values, &[3, 4, 5])).unwrap();
        for (axis, sizes) in [(0, &[1, 0, 2][..]), (1, &[3, 1]), (-1, &[2, 2, 1])] {
            let parts = x.split(sizes, axis).unwrap();
            let joined = Tensor::concat(&parts.iter().collect::<Vec<_>>(), axis).unwrap();
            assert_eq!(joined.to_vec::<u16>().unwrap(), values, "{}", device.name);
        }
    }
    let parts = Backend::cpu().split((&values, &[60]), &[59, 1], 0).unwrap();
    assert_eq!((parts[0].data.len(), &parts[1].data[..]), (59, &[59][..]));
    for (sizes, axis, expected_kind) in [
        (&[3, 2][..], 0, "split_sizes"),
        (&[usize::MAX, 5], 0, "split_sizes"),
        (&[4], 1, "axis"),
    ] {
        let error = View::new(&[4]).unwrap().split(sizes, axis).unwrap_err();
        assert_eq!(kind(&error), expected_kind, "{error}");
    }
}

/// Host values give the same results as tensors, even booleans, for which only the bytes 0 and 1 are valid.
#[test]
fn host_values_are_joined() {
    for device in devices() {
        let (a, b) = ((&[true, false], &[2]), (&[false, true], &[2]));
        let stacked = device.backend.stack(&[a.into(), b.into()], 1).unwrap();
        assert_eq!(stacked.shape, [2, 2]);
        assert_eq!(stacked.data, [true, false, false, true], "{}", device.name);
        let empty = device
            .backend
            .concat(&[(&[0u8; 0], &[0, 3]).into()], 0)
            .unwrap();
        assert_eq!((empty.shape, empty.data), (vec![0, 3], vec![]));
    }
}

#[test]
fn tensors_of_other_types_and_devices_are_errors() {
    let cpu = Backend::cpu();
    let a = cpu.upload((&[1u8], &[1])).unwrap();
    let b = cpu.upload((&[1u16], &[1])).unwrap();
    let error = Tensor::concat(&[&a, &b], 0).unwrap_err();
    assert_eq!(kind(&error), "dtype_mismatch");
    for device in devices().iter().filter(|device| !device.backend.is_cpu()) {
        let c = device.backend.upload((&[1u8], &[1])).unwrap();
        let error = Tensor::stack(&[&a, &c], 0).unwrap_err();
        assert_eq!(kind(&error), "device_mismatch");
    }
    let pair = Plan::stack(&make_views(&[&[1], &[1]]), 0, DType::U8).unwrap();
    let error = pair
        .run_cpu(&[(&[1u8]).into()], &mut [(&mut [0u8; 2]).into()])
        .unwrap_err();
    assert_eq!(kind(&error), "arguments", "{error}");
}

/// Tests planes that are stacked into pixels, and columns that are concatenated. The CPU transposes blocks of the
/// arrays. The last block is not full.
#[test]
fn interleaved_pieces_of_arrays() {
    fn check_concat<T: Element + PartialEq>(value_of: impl Fn(usize) -> T) {
        let cpu = Backend::cpu();
        for (array_count, piece_length) in [(2, 1), (3, 1), (4, 1), (5, 2), (7, 1), (64, 1), (3, 2)]
        {
            let row_count = 40_001 / array_count;
            let arrays: Vec<Vec<T>> = (0..array_count)
                .map(|array| {
                    (0..row_count * piece_length)
                        .map(|index| value_of(index * array_count + array))
                        .collect()
                })
                .collect();
            let mut expected = Vec::with_capacity(array_count * row_count * piece_length);
            for row in 0..row_count {
                for array in &arrays {
                    expected.extend_from_slice(&array[row * piece_length..][..piece_length]);
                }
            }
            let shape = [row_count, piece_length];
            let refs: Vec<_> = arrays.iter().map(|array| (array, &shape).into()).collect();
            let case = format!(
                "{:?}: {array_count} arrays, pieces of {piece_length}",
                T::DTYPE
            );
            for thread_count in [1, 3] {
                let backend = cpu.clone().with_threads(thread_count);
                let joined = backend.concat(&refs, 1).unwrap();
                assert!(
                    joined.data == expected,
                    "concat of {case}, {thread_count} threads"
                );
                let stacked = backend.stack(&refs, 1).unwrap();
                assert!(
                    stacked.data == expected,
                    "stack of {case}, {thread_count} threads"
                );
            }
            let views = vec![View::new(&shape).unwrap(); array_count];
            let plan = Plan::concat(&views, 1, T::DTYPE).unwrap();
            // The explanation shows whether the tested loop runs.
            let is_short = piece_length * T::DTYPE.size() <= 16;
            assert_eq!(
                cpu.explain(&plan).contains("instead of the steps"),
                is_short,
                "{case}"
            );
            // Views of parts of arrays run the steps instead of the loop.
            let parts = View::new(&[row_count + 1, piece_length])
                .unwrap()
                .split(&[1, row_count], 0)
                .unwrap();
            let plan = Plan::concat(&vec![parts[1].clone(); array_count], 1, T::DTYPE).unwrap();
            assert!(!cpu.explain(&plan).contains("instead"), "{case}");
        }
    }
    check_concat(|n| u8::try_from(n % 251).expect("below 251"));
    check_concat(|n| u16::try_from(n % 65_521).expect("below 65,521"));
    check_concat(|n| n as f32);
    check_concat(|n| n as i64);
    check_concat(|n| [n as f64, -1.0]);
}
