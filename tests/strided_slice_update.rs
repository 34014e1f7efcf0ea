//! Tests of `strided_slice_update`: TensorFlow's table of value shapes, slices of many patterns, and tensors that share
//! memory.

use crate::harness::{Sizes, check_update, devices};
use wgslice::{Backend, DType, Plan, SliceSpec, Tensor, slice, spec::TfStridedSlice};

fn check(shape: &[usize], spec: &str, value_shape: &[usize]) {
    check_at(Sizes::All, shape, spec, value_shape);
}

fn check_at(sizes: Sizes, shape: &[usize], spec: &str, value_shape: &[usize]) {
    let spec: SliceSpec = spec.parse().unwrap();
    let encoded = TfStridedSlice::try_from(&spec).unwrap();
    check_update(shape, &encoded, value_shape, sizes);
}

/// Tests shapes of values that broadcast to the shape of the slice, and shapes that do not.
#[test]
fn value_shapes() {
    for value_shape in [&[][..], &[1], &[1, 1], &[3], &[1, 3], &[2], &[3, 1], &[0]] {
        check(&[5], "1:4", value_shape);
    }
    for value_shape in [&[][..], &[1], &[1, 1], &[2]] {
        check(&[5], "2", value_shape);
    }
    for value_shape in [&[4][..], &[1, 4], &[1, 1, 4], &[3], &[2, 4]] {
        check(&[3, 4], "1", value_shape);
    }
    for value_shape in [&[3, 1, 4][..], &[4], &[3, 1, 1], &[3, 4], &[3, 1]] {
        check(&[3, 4], ":, None", value_shape);
    }
    for value_shape in [&[4][..], &[3, 4], &[1, 3, 4], &[2, 3, 4], &[], &[3, 1]] {
        check(&[3, 4], "...", value_shape);
    }
    check(&[3, 4], "::-1, ::-2", &[3, 2]);
    check(&[], "...", &[]);
    check(&[], "...", &[1]);
    check(&[], "None", &[1]);
}

/// An empty slice accepts a value of any shape, and writes nothing.
#[test]
fn empty_slices_take_any_value() {
    check(&[5], "3:1", &[2, 2]);
    check(&[5], "3:1", &[7, 7, 7]);
    check(&[0, 3], "...", &[5]);
    check(&[4, 3], "2:2, 1", &[0]);
}

/// Tests all element sizes, with many steps and alignments. The bytes around the slice do not change.
#[test]
fn updates_keep_the_bytes_around_the_slice() {
    for spec in [
        "::2, ::3",
        "1::3, ::-2",
        ":, 3:9",
        "2, :",
        ":, 5",
        "::-1, 1::5",
        "1:4, 2:30:7",
    ] {
        for shape in [[5, 33], [6, 64], [4, 31]] {
            check(&shape, spec, &[]);
            let parsed: SliceSpec = spec.parse().unwrap();
            let value_shape = parsed.view(&shape).unwrap().shape().to_vec();
            check(&shape, spec, &value_shape);
            if let [rows, columns] = value_shape[..] {
                check(&shape, spec, &[rows, 1]);
                check(&shape, spec, &[columns]);
            }
        }
    }
}

/// Tests rows of 2 to 43 elements. If elements have 1 byte, the slices begin and end at every byte of a word, and a
/// word can contain elements of several rows.
#[test]
fn short_rows() {
    for length in 1..=40 {
        let check_short = |shape: &[usize], spec: &str, value_shape: &[usize]| {
            check_at(Sizes::of_length(length), shape, spec, value_shape);
        };
        for (first, spec) in [
            (1, ":, 1:-1"),
            (2, "::2, 2:"),
            (0, ":, :-1:-1"),
            (1, ":, 1:-1:2"),
        ] {
            let shape = [3, length + first + 1];
            let parsed: SliceSpec = spec.parse().unwrap();
            let value_shape = parsed.view(&shape).unwrap().shape().to_vec();
            check_short(&shape, spec, &value_shape);
        }
        check_short(&[3, length + 2], ":, -2:0:-1", &[3, length]);
        check_short(&[3, 3 * length + 1], ":, 1::3", &[length]);
        check_short(&[2, length + 1], ":, 1:", &[2, 1]);
    }
}

/// Tests units so far apart that their words are not neighbours, and rows that take several iterations of a loop on a
/// GPU.
#[test]
fn wide_rows() {
    for step in [5, 13, 17, 63, 64, 65, 129, 2500] {
        let spec = format!("1::2, 3::{step}");
        let parsed: SliceSpec = spec.parse().unwrap();
        let value_shape = parsed.view(&[4, 5001]).unwrap().shape().to_vec();
        check(&[4, 5001], &spec, &value_shape);
    }
    check(&[70, 4001], "1:, 1:4000", &[69, 3999]);
    check(&[70, 4001], "1:, 1::2", &[69, 2000]);
    check(&[70, 4001], "1:, 1:4000:3", &[69, 1333]);
}

/// Tests more dimensions than fit the uniforms of a shader, and more than TensorFlow accepts.
#[test]
fn many_dimensions() {
    check(&[2; 9], "::-1, ..., :1", &[2, 2, 2, 2, 2, 2, 2, 2, 1]);
    let steps = ["::2"; 8].join(", ");
    check(&[3; 8], &steps, &[2; 8]);
    check(&[3; 8], &steps, &[2, 1, 2, 1, 2, 1, 2, 1]);
    check(&[3; 8], &["::-2"; 8].join(", "), &[1, 2, 2, 1, 1, 2, 2, 1]);
}

/// Tests long rows, which are cut into tiles and several dispatches.
#[test]
fn long_rows() {
    check(&[2, 3001], ":, ::2", &[2, 1501]);
    check(&[2, 3001], ":, 1:2999", &[2, 2998]);
    check(&[2, 3001], ":, ::-1", &[3001]);
    check(&[3000, 3], ":, 1", &[3000]);
    check(&[3000, 3], ":, 1", &[]);
    check(&[7000], "::7", &[1000]);
}

#[test]
fn a_tensor_changes_alone() {
    for backend in devices().iter().map(|device| &device.backend) {
        let mut tensor = backend.upload((&[1i32, 2, 3, 4, 5, 6], &[2, 3])).unwrap();
        let row = backend.upload((&[9i32, 8, 7], &[3])).unwrap();
        let original = tensor.clone();
        tensor.slice_update(&slice![1], &row).unwrap();
        tensor
            .slice_update(&slice![.., 0], &row.slice(&slice![1]).unwrap())
            .unwrap();
        assert_eq!(
            tensor.to_array::<i32>().unwrap().data,
            [8, 2, 3, 8, 8, 7],
            "{backend}"
        );
        assert_eq!(
            original.to_array::<i32>().unwrap().data,
            [1, 2, 3, 4, 5, 6],
            "{backend}"
        );
        // The value shares the memory of the tensor that is updated.
        let reversed = tensor.slice(&slice![.., ..; -1]).unwrap();
        let copy = tensor.clone();
        tensor.slice_update(&slice![..; -1], &copy).unwrap();
        assert_eq!(
            tensor.to_array::<i32>().unwrap().data,
            [8, 8, 7, 8, 2, 3],
            "{backend}"
        );
        let mut updated = tensor.clone();
        updated.slice_update(&slice![], &reversed).unwrap();
        assert_eq!(
            updated.to_array::<i32>().unwrap().data,
            [3, 2, 8, 7, 8, 8],
            "{backend}"
        );
        assert_eq!(
            tensor.to_array::<i32>().unwrap().data,
            [8, 8, 7, 8, 2, 3],
            "{backend}"
        );
    }
}

/// Memory that the caller lends, such as a mapped file, is never written: an update copies it first.
#[test]
fn lent_memory_is_copied() {
    static LENT: [u8; 4] = [1, 2, 3, 4];
    let cpu = Backend::cpu();
    let mut tensor = Tensor::from_bytes(&cpu, LENT, DType::U8, &[4]).unwrap();
    tensor
        .slice_update(&slice![1..3], &cpu.upload((&[0u8], &[])).unwrap())
        .unwrap();
    assert_eq!(tensor.to_array::<u8>().unwrap().data, [1, 0, 0, 4]);
    assert_eq!(LENT, [1, 2, 3, 4]);
}

#[test]
fn host_values_are_updated() {
    for backend in devices().iter().map(|device| &device.backend) {
        let x = [1u16, 2, 3, 4, 5];
        let updated = backend.slice_update((&x, &[5]), &slice![3..0; -1], (&[10, 20, 30], &[3]));
        assert_eq!(updated.unwrap().data, [1, 30, 20, 10, 5], "{backend}");
    }
}

#[test]
fn wrong_values_are_named() {
    let cpu = Backend::cpu();
    let mut x = cpu.upload((&[1i32, 2], &[2])).unwrap();
    let y = cpu.upload((&[1.0f32], &[])).unwrap();
    let error = x.slice_update(&slice![0], &y).unwrap_err();
    assert!(
        error.to_string().starts_with("value is f32, but"),
        "{error}"
    );
    let error = Plan::slice_update(&[5], &slice![1..4], &[3, 1], DType::U8).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("[3,1]") && text.contains("[3]"), "{text}");
}
