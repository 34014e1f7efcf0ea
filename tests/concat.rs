//! Tests edge cases of `concat`, `stack` and `split`. Golden vectors and random cases compare `concat` and `stack` with
//! the reference on every device.

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
    for (shapes, axis, concat, stack) in [
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
            (Plan::concat(&make_views(shapes), axis, DType::F32), concat),
            (Plan::stack(&make_views(shapes), axis, DType::F32), stack),
        ];
        for (outcome, tag) in outcomes {
            let found = outcome.err().map_or("", |error| kind(&error));
            assert_eq!(found, tag, "{shapes:?} along {axis}");
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
    for (sizes, axis, tag) in [
        (&[3, 2][..], 0, "split_sizes"),
        (&[usize::MAX, 5], 0, "split_sizes"),
        (&[4], 1, "axis"),
    ] {
        let error = View::new(&[4]).unwrap().split(sizes, axis).unwrap_err();
        assert_eq!(kind(&error), tag, "{error}");
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
    fn check_concat<T: Element + PartialEq>(value: impl Fn(usize) -> T) {
        let cpu = Backend::cpu();
        for (count, piece) in [(2, 1), (3, 1), (4, 1), (5, 2), (7, 1), (64, 1), (3, 2)] {
            let rows = 40_001 / count;
            let arrays: Vec<Vec<T>> = (0..count)
                .map(|array| {
                    (0..rows * piece)
                        .map(|at| value(at * count + array))
                        .collect()
                })
                .collect();
            let mut expected = Vec::with_capacity(count * rows * piece);
            for row in 0..rows {
                for array in &arrays {
                    expected.extend_from_slice(&array[row * piece..][..piece]);
                }
            }
            let shape = [rows, piece];
            let refs: Vec<_> = arrays.iter().map(|array| (array, &shape).into()).collect();
            let what = format!("{:?}: {count} arrays, pieces of {piece}", T::DTYPE);
            for threads in [1, 3] {
                let backend = cpu.clone().with_threads(threads);
                let joined = backend.concat(&refs, 1).unwrap();
                assert!(
                    joined.data == expected,
                    "concat of {what}, {threads} threads"
                );
                let stacked = backend.stack(&refs, 1).unwrap();
                assert!(
                    stacked.data == expected,
                    "stack of {what}, {threads} threads"
                );
            }
            let views = vec![View::new(&shape).unwrap(); count];
            let plan = Plan::concat(&views, 1, T::DTYPE).unwrap();
            // The explanation shows whether the tested loop runs.
            let is_short = piece * T::DTYPE.size() <= 16;
            assert_eq!(
                cpu.explain(&plan).contains("instead of the steps"),
                is_short,
                "{what}"
            );
            // Views of parts of arrays run the steps instead of the loop.
            let parts = View::new(&[rows + 1, piece])
                .unwrap()
                .split(&[1, rows], 0)
                .unwrap();
            let plan = Plan::concat(&vec![parts[1].clone(); count], 1, T::DTYPE).unwrap();
            assert!(!cpu.explain(&plan).contains("instead"), "{what}");
        }
    }
    check_concat(|n| u8::try_from(n % 251).expect("below 251"));
    check_concat(|n| u16::try_from(n % 65_521).expect("below 65,521"));
    check_concat(|n| n as f32);
    check_concat(|n| n as i64);
    check_concat(|n| [n as f64, -1.0]);
}
